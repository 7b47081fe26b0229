"""The rows of a page as people read them: columns of a table, gaps, and errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.base.gaps import observed_distances
from twofold.export.explorer._packing import Packer
from twofold.export.programs.exported import Exported
from twofold.protocols import AnyArray, Array
from twofold.tables.cells import level_label
from twofold.tables.columns import CategoryColumn, Column, FixedColumn, OrderedColumn
from twofold.tables.layout import TableLayout

MOST_COLORS = 24
"""Levels of a category that sets the initial colors."""

WHOLE = re.compile(r"(^|:)u?int(eger$|\d+)", re.IGNORECASE)
"""Data types of integers: "int64", "UInt8", "arrow:int32", "object:integer"."""

MOST_FIELDS = 400
"""Fields that the page offers to color by."""


@dataclass(frozen=True)
class Rows:
    """The rows to show.

    Attributes
    ----------
    names : list of str or None
        Names of the columns.
    fields : list of dict or None
        Kind and place of each column of a table; None if all are numbers.
    values : ndarray of shape (n, C)
        Numbers, or numbers of levels; any number in gaps.
    gaps : ndarray of bool, shape (n, C)
        Where values are missing.
    complete : ndarray of shape (n, D)
        The rows as the model sees them, gaps filled by the model.
    errors : ndarray of shape (n,)
        Distances to the reconstructions, over observed values.
    """

    names: list[str] | None
    fields: list[dict[str, Any]] | None
    values: Array
    gaps: AnyArray
    complete: Array
    errors: Array

    def packed(self, packer: Packer) -> dict[str, Any]:
        """Return the parts of the page's content."""
        found: dict[str, Any] = {
            "fields": self.fields,
            "data": packer.pack(self.values, by_column=True),
        }
        if self.gaps.any():
            found["gaps"] = packer.pack(self.gaps)
        return found

    @property
    def start(self) -> str:
        """Return the page's name of the column that sets the initial colors."""
        if self.fields is not None and len(self.fields) <= MOST_FIELDS:
            for number, field in enumerate(self.fields):
                if 2 <= len(field.get("levels", ())) <= MOST_COLORS:
                    return f"feature {number}"
        return "0"


def rows_of(found: Exported, rows: Array, latents: Array) -> Rows:
    """Return rows (n, D) of a model's columns, which may have gaps, as the page shows them."""
    gaps: AnyArray = np.isnan(rows)
    images = found.model._decode(latents)
    complete = np.where(gaps, images, rows)
    errors = observed_distances(found.model._data_units, rows, images)
    if found.layout is None:
        values = _without_gaps(rows, gaps)
        return Rows(found.names, None, values, gaps, complete, errors)
    fields = fields_of(found.layout)
    flat = found.show(complete)
    values = np.column_stack([_own(field, flat) for field in fields])
    gaps = np.column_stack([_missing(field, gaps) for field in fields])
    names = [field.pop("name") for field in fields]
    return Rows(names, fields, _without_gaps(values, gaps), gaps, complete, errors)


def _own(field: dict[str, Any], flat: Array) -> Array:
    """Return numbers, or numbers of levels, of rows of flat values."""
    if "fixed" in field:
        return np.zeros(len(flat))
    at = field["at"]
    if "scores" in field:
        scores = np.array([np.inf if score is None else score for score in field["scores"]])
        return np.asarray(np.abs(flat[:, at, None] - scores).argmin(axis=1), dtype=np.float64)
    if "levels" in field:
        levels = flat[:, at : at + len(field["levels"])]
        return np.asarray(levels.argmax(axis=1), dtype=np.float64)
    values: Array = flat[:, at]
    return values


def _missing(field: dict[str, Any], gaps: AnyArray) -> AnyArray:
    if "fixed" in field:
        return np.full(len(gaps), "is_empty" in field)
    return gaps[:, field["at"]]


def _without_gaps(values: Array, gaps: AnyArray) -> Array:
    """Return values with gaps replaced by the smallest value of the column: few bytes if packed."""
    if not gaps.any():
        return values
    least = np.where(gaps, np.inf, values).min(axis=0)
    return np.where(gaps, np.where(np.isfinite(least), least, 0.0), values)


def fields_of(layout: TableLayout) -> list[dict[str, Any]]:
    """Return name, kind and first flat column of each column, in the order of the frame."""
    places = {str(name): place for place, name in enumerate(layout.names)}
    found = []
    at = 0
    for column in layout.columns:
        place = min(places[name] for name in column.members or (column.name,))
        found.append((place, {"name": column.name, "at": at} | _described(column)))
        at += column.width
    return [field for _, field in sorted(found, key=lambda one: one[0])]


def _described(column: Column) -> dict[str, Any]:
    if isinstance(column, FixedColumn):
        is_empty = bool(np.isnan(column.value))
        return {"kind": "number", "fixed": "missing" if is_empty else _fixed_text(column)} | (
            {"is_empty": True} if is_empty else {}
        )
    if isinstance(column, CategoryColumn | OrderedColumn):
        found: dict[str, Any] = {"kind": "number", "levels": _labels(column)}
        if isinstance(column, OrderedColumn):
            pairs = zip(column.scores.tolist(), column.seen, strict=True)
            found["scores"] = [score if seen else None for score, seen in pairs]
        return found
    kind = "integer" if WHOLE.search(column.storage.dtype) else "number"
    if column.kind == "date" or column.native == "duration":
        kind = "date" if column.kind == "date" else "duration"
    return {"kind": kind, "step": getattr(column, "step", 0.0)}


def _labels(column: Column) -> list[str]:
    truths = {"False": "false", "True": "true"} if column.kind == "boolean" else {}
    return [truths.get(label, label) for label in column.labels]


def _fixed_text(column: FixedColumn) -> str:
    """Return the value of a constant column as text."""
    if column.cell_levels:
        return level_label(column.cell_levels[int(column.value)])
    if column.native == "boolean":
        return "true" if column.value else "false"
    if column.native == "date":
        return str(np.datetime64(int(column.value), "D"))
    return f"{column.value:.6g}"

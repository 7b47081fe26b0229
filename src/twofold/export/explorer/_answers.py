"""What a served page asks the real model: decode latents, map new rows, show rows and columns.

Questions and answers are plain data. All questions may come from anyone who knows the address, so
their types and sizes are checked before the model sees them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from twofold.export.explorer._fields import Rows, rows_of
from twofold.export.explorer._write import MadePage
from twofold.protocols import AnyArray, Array

MOST_CELLS = 4_000_000
"""Cells of one answer."""

MOST_NEW_ROWS = 10_000

ReadRows = Callable[[str], tuple[Any, list[str]]]
"""Turns CSV into rows as the caller of the model has them, and names of the rows."""


class Answers:
    """Answers the questions of a page, one at a time: the model may use all cores for each."""

    def __init__(self, made: MadePage, read_rows: ReadRows) -> None:
        self._made = made
        self._read_rows = read_rows
        self._lock = Lock()
        self._kinds: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "decode": self.decode,
            "encode": self.encode,
            "rows": self.rows,
            "column": self.column,
        }

    def __contains__(self, kind: object) -> bool:
        return kind in self._kinds

    def __call__(self, kind: str, question: Any) -> dict[str, Any]:
        """Return the answer to a question; one that cannot be answered is an error."""
        if not isinstance(question, dict):
            raise TypeError("a question is a JSON object.")
        with self._lock, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            answer = self._kinds[kind](question)
        notes = list(dict.fromkeys(str(one.message) for one in caught))
        return answer | ({"notes": notes} if notes else {})

    def decode(self, question: dict[str, Any]) -> dict[str, Any]:
        """Decode ``latents`` (n, q): ``rows`` (n, D') as the decoder of a page returns them."""
        found = self._made.found
        latents = _numbers(question.get("latents"), "latents", found.model._n_features_out)
        _check_size(len(latents), found.n_columns)
        return {"rows": found.decode(latents).tolist()}

    def encode(self, question: dict[str, Any]) -> dict[str, Any]:
        """Map the rows of a table ``csv``: names, latents, errors, log densities and values."""
        text = question.get("csv")
        if not isinstance(text, str) or not text.strip():
            raise ValueError("there are no rows: the first line has names of columns.")
        table, names = self._read_rows(text)
        found = self._made.found
        data = found.read(table)
        if len(data) > MOST_NEW_ROWS:
            raise ValueError(f"{len(data):,} rows are too many; at most {MOST_NEW_ROWS:,} at once.")
        latents = found.latents(data)
        rows = rows_of(found, data, latents)
        return {
            "names": names,
            "latents": latents.tolist(),
            "errors": rows.errors.tolist(),
            "log_densities": found.model.log_density(latents).tolist(),
            "values": _cells(rows, np.arange(len(data))),
        }

    def rows(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the ``values`` of rows of the page by number, with None in gaps."""
        shown = self._made.rows
        numbers = question.get("rows")
        if not isinstance(numbers, list) or not all(type(one) is int for one in numbers):
            raise ValueError("rows must be a list of row numbers.")
        _check_size(len(numbers), shown.values.shape[1])
        if numbers and not (min(numbers) >= 0 and max(numbers) < len(shown.values)):
            raise ValueError(f"rows have numbers from 0 to {len(shown.values) - 1}.")
        return {"values": _cells(shown, np.asarray(numbers, dtype=np.intp))}

    def column(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the ``values`` of a field by number for all rows of the page."""
        shown = self._made.rows
        number, n_fields = question.get("column"), shown.values.shape[1]
        if type(number) is not int or not 0 <= number < n_fields:
            raise ValueError(f"column must be a number from 0 to {n_fields - 1}.")
        return {"values": _with_none(shown.values[:, number], shown.gaps[:, number])}


def _cells(rows: Rows, chosen: AnyArray) -> list[Any]:
    return _with_none(rows.values[chosen], rows.gaps[chosen])


def _with_none(values: Array, gaps: AnyArray) -> list[Any]:
    if not gaps.any():
        return list(values.tolist())
    cells = values.astype(object)
    cells[gaps] = None
    return list(cells.tolist())


def _numbers(value: Any, name: str, width: int) -> Array:
    message = f"{name} must be a list of lists of {width} finite numbers."
    if not isinstance(value, list) or not all(
        isinstance(row, list)
        and len(row) == width
        and all(type(one) in (int, float) for one in row)
        for row in value
    ):
        raise ValueError(message)
    try:
        array = np.array(value, dtype=np.float64).reshape(len(value), width)
    except OverflowError:
        raise ValueError(message) from None
    if not np.isfinite(array).all() or not len(array):
        raise ValueError(message)
    return array


def _check_size(n_rows: int, n_columns: int) -> None:
    most = max(1, MOST_CELLS // max(1, n_columns))
    if n_rows > most:
        raise ValueError(f"{n_rows:,} rows are too many; at most {most:,} at once.")

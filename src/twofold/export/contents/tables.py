"""The tables of maps of data frames and of AnnData."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

from twofold.export.contents.checking import Contents
from twofold.export.contents.estimators import TWO_WAY, anywhere
from twofold.export.contents.fields import (
    LARGEST,
    Field,
    Scope,
    UnfitError,
    a,
    alone,
    amount,
    count,
    either,
    flag,
    flags,
    floats,
    mapping,
    none,
    number,
    optional,
    positive,
    positive_amount,
    record,
    text,
    texts,
    tupled,
    values,
)

WITH_LEVELS: Final = ("text", "category", "ordered")
NATIVE: Final = (*WITH_LEVELS, "number", "boolean", "date", "duration", "empty")
KINDS: Final = (
    "number",
    "log",
    "category",
    "ordered",
    "boolean",
    "date",
    "constant",
    "empty",
)

_plain: Final = either(text(), flag, number(nan=True))
_limit: Final = either(record(text("decimal", "time", "date"), text()), _plain)
level: Final = either(record(text("interval"), _limit, _limit, text()), _limit)
"""A level of a category: see `twofold.tables.cells.plain_level`."""


def _data_type(value: Any, scope: Scope) -> None:
    """Take the name of a data type. Time zones of dateutil may be paths, which it opens."""
    text()(value, scope)
    if "dateutil" in value:
        raise UnfitError("names a time zone of dateutil")


_column: Final[dict[str, Field]] = {
    "name": text(),
    "kind": text(*KINDS),
    "native": text(*NATIVE),
    "storage": a("Storage"),
    "cell_levels": tupled(level, "cell levels?"),
    "members": tupled(text(), "members?"),
    "member_storages": tupled(a("Storage"), "members?"),
}


def _numbers_of_levels(column: Any, points: Any) -> None:
    """Check that plain values of a column with levels are places among them."""
    if column.members:
        levels = column.members
    elif column.native in WITH_LEVELS:
        levels = column.cell_levels
    else:
        return
    points = np.asarray(points, dtype=np.float64)
    points = points[~np.isnan(points)]
    if not np.isin(points, np.arange(len(levels))).all():
        raise UnfitError("has values that are no levels")


def _fixed(column: Any, scope: Scope) -> None:
    if column.members:
        raise UnfitError("is a group of columns without levels")
    _numbers_of_levels(column, [column.value])


def _measured(column: Any, scope: Scope) -> None:
    if column.members or column.native in WITH_LEVELS:
        raise UnfitError("is a number with levels")
    if column.log and not column.floor > 0.0:
        raise UnfitError("takes logarithms of 0")


def _category(column: Any, scope: Scope) -> None:
    scope.agree("width", len(column.levels))
    _numbers_of_levels(column, column.points)


def _ordered(column: Any, scope: Scope) -> None:
    steps = column.scores[column.seen]
    if column.members or len(steps) < 2 or not (np.diff(steps) > 0.0).all():
        raise UnfitError("has no order")
    _numbers_of_levels(column, column.points)


def _columns_of_names(layout: Any, scope: Scope) -> None:
    """Check that columns and names are the same, and that a row can be decoded."""
    names = [str(name) for name in layout.names]
    held = [one for column in layout.columns for one in column.members or (column.name,)]
    if len(set(names)) < len(names) or sorted([*held, *layout.dropped]) != sorted(names):
        raise UnfitError("has columns of other names")
    scope.agree("features", len(names))
    scope.agree("width", layout.width)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            layout.back(np.zeros((1, layout.width)))
    except ImportError:
        pass  # its library is needed only to decode
    except Exception as error:  # noqa: BLE001 - whatever a library raises for unknown types
        raise UnfitError(f"cannot be decoded ({error})") from None


def _measured_genes(cells: Any, scope: Scope) -> None:
    if not set(cells.genes.tolist()) <= set(cells.measured_genes.tolist()):
        raise UnfitError("has genes that were not measured")


TABLES: Final[dict[str, Contents]] = {
    "Storage": Contents(
        {
            "library": text("pandas", "polars", "numpy"),
            "dtype": _data_type,
            "levels": tupled(level, "levels?"),
            "levels_dtype": _data_type,
            "ordered": flag,
        }
    ),
    "FixedColumn": Contents({**_column, "value": number(nan=True)}, agree=_fixed),
    "NumberColumn": Contents(
        {
            **_column,
            "center": amount,
            "scale": positive_amount,
            "log": flag,
            **dict.fromkeys(("offset", "floor", "step"), number(low=0.0, high=LARGEST)),
            "in_text": flag,
        },
        agree=_measured,
    ),
    "CategoryColumn": Contents(
        {
            **_column,
            "levels": tupled(level, "levels"),
            "points": floats("levels"),
            "shares": floats("levels", low=0.0),
            "scale": positive,
        },
        agree=_category,
    ),
    "OrderedColumn": Contents(
        {
            **_column,
            "levels": tupled(level, "levels"),
            "points": floats("levels"),
            "scores": floats("levels"),
            "seen": flags("levels"),
            "center": number(),
            "scale": positive,
        },
        agree=_ordered,
    ),
    "TableLayout": Contents(
        {
            "columns": tupled(
                a("CategoryColumn", "FixedColumn", "NumberColumn", "OrderedColumn"), "columns"
            ),
            "names": tupled(either(none, _plain, alone(tupled(_plain, "parts"))), "features"),
            "dropped": tupled(text(), "dropped?"),
            "library": text("pandas", "polars", "numpy"),
        },
        agree=_columns_of_names,
    ),
    "TableMap": Contents(
        learned={
            "n_features_in_": count("features"),
            "layout_": a("TableLayout", features="features", width="width"),
            "kinds_": mapping(text()),
            "model_": a(*TWO_WAY, features="width", components="components"),
        },
        sometimes=anywhere,
    ),
    "AnnDataMap": Contents(
        {
            "model": a(*TWO_WAY, features="genes"),
            "log_counts": either(none, a("LogCounts", features="measured genes")),
            "genes": texts("genes"),
            "measured_genes": texts("measured genes"),
            "means": values("genes"),
            "layer": optional(text()),
            "whole_numbers": flag,
        },
        agree=_measured_genes,
    ),
}

"""Columns of any library in one plain form: an array of floats, with NaN for gaps.

==========================  =====================================================================
natural kind                values
==========================  =====================================================================
``number``                  the number
``boolean``                 0 and 1
``text``, ``category``,     the position among ``levels``
``ordered``
``date``                    days since 1970-01-01 (UTC)
``duration``                days
``empty``                   NaN: the column has no type, since it has no value
==========================  =====================================================================
"""

from __future__ import annotations

import datetime as dt
import decimal
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.protocols import AnyArray, Array

Level = str | int | float | bool | tuple[Any, ...]
"""A level as plain data. Intervals and times are tuples that start with their type."""

WITH_LEVELS = ("text", "category", "ordered")
MICROSECONDS = 86_400 * 10**6
"""In a day."""


@dataclass(frozen=True)
class Storage:
    """How a frame stores a column: enough to make such a column again.

    Attributes
    ----------
    library : {"pandas", "polars", "numpy"}
        The library of the frame.
    dtype : str
        The data type, as text.
    levels : tuple
        The levels that the data type declares, observed or not.
    levels_dtype : str
        The data type of the levels.
    ordered : bool
        Whether the levels are ordered.
    """

    library: str
    dtype: str
    levels: tuple[Level, ...] = ()
    levels_dtype: str = ""
    ordered: bool = False


@dataclass(frozen=True)
class Cells:
    """The cells of one column.

    Attributes
    ----------
    kind : str
        The natural kind, see the table of this module.
    plain : ndarray of shape (n_samples,)
        The cells; NaN for gaps.
    storage : Storage
        How the frame stores them.
    levels : tuple
        The levels, of kinds that have them.
    """

    kind: str
    plain: Array
    storage: Storage
    levels: tuple[Level, ...] = ()

    @property
    def missing(self) -> AnyArray:
        """Whether each cell is a gap."""
        return np.isnan(self.plain)


def plain_level(level: Any) -> Level:
    """Return a level as plain data, which `original_level` turns back."""
    if isinstance(level, np.generic):
        level = level.item()
    if isinstance(level, str | bool | int | float):
        return level
    if isinstance(level, decimal.Decimal):
        return ("decimal", str(level))
    if hasattr(level, "left") and hasattr(level, "closed"):
        return ("interval", plain_level(level.left), plain_level(level.right), str(level.closed))
    if isinstance(level, dt.datetime):  # pandas.Timestamp as well
        return ("time", level.isoformat())
    if isinstance(level, dt.date):
        return ("date", level.isoformat())
    raise TypeError(f"the level {level!r} is a {type(level).__name__}")


def original_level(level: Level) -> Any:
    """Return the level of which `plain_level` made plain data."""
    if not isinstance(level, tuple):
        return level
    kind, *parts = level
    if kind == "decimal":
        return decimal.Decimal(parts[0])
    if kind == "date":
        return dt.date.fromisoformat(parts[0])
    import pandas as pd

    if kind == "interval":
        left, right, closed = parts
        return pd.Interval(original_level(left), original_level(right), closed)
    return pd.Timestamp(parts[0])


def level_label(level: Level) -> str:
    """Return a level as text for people."""
    if not isinstance(level, tuple):
        return str(level)
    if level[0] == "interval":
        left, right = (level_label(one) for one in level[1:3])
        opening = "[" if level[3] in ("left", "both") else "("
        closing = "]" if level[3] in ("right", "both") else ")"
        return f"{opening}{left}, {right}{closing}"
    return str(level[1])


def sorted_levels(levels: Any) -> tuple[Level, ...]:
    """Return distinct levels in order: numbers before text, other types by their names."""

    def key(level: Level) -> tuple[Any, ...]:
        if isinstance(level, bool | int | float):
            return (0, "", level)
        return (1, type(level).__name__, level)

    return tuple(sorted(levels, key=key))


def text_cells(values: list[Any], storage: Storage) -> Cells:
    """Return the cells of a column of text, with None or an empty text for gaps."""
    try:
        distinct = set(values) - {None, ""}
    except TypeError:
        raise TypeError("it holds objects such as lists, which is not supported") from None
    plain = {one: plain_level(one) for one in distinct}
    levels = sorted_levels(set(plain.values()))
    number_of = {level: number for number, level in enumerate(levels)}
    place = {one: float(number_of[level]) for one, level in plain.items()}
    found = np.array([place.get(one, np.nan) for one in values], dtype=np.float64)
    return Cells("text", found, storage, levels)


def from_codes(codes: AnyArray) -> Array:
    """Return positions of levels as values: -1 stands for a gap."""
    values = np.asarray(codes).astype(np.float64)
    values[values < 0] = np.nan
    return values


def to_codes(values: Array) -> AnyArray:
    """Return values as positions of levels, with -1 for gaps."""
    return np.where(np.isnan(values), -1.0, values).astype(np.int64)


def to_days(times: AnyArray) -> Array:
    """Return datetimes or timedeltas of NumPy as days, with NaN for NaT."""
    if times.dtype.kind == "M":
        times = times - np.zeros((), dtype=times.dtype)
    days: Array = times / np.timedelta64(1, "D")
    return days


FIRST_DAY, LAST_DAY = -719_162.0, 2_932_896.0
"""The years 1 to 9999, which dates of Python and polars can have."""


def from_days(days: Array, dtype: str) -> AnyArray:
    """Return days as datetimes or timedeltas of a NumPy type, with NaT for NaN.

    Datetimes stay within the years 1 to 9999: a map may decode to days beyond those of the fit.
    """
    if np.dtype(dtype).kind == "M":
        days = np.clip(days, FIRST_DAY, np.nextafter(LAST_DAY + 1.0, 0.0))
    unit = np.datetime_data(np.dtype(dtype))[0]
    one: Any = np.array(1, dtype=f"timedelta64[{unit}]")
    per_day = max(int(np.timedelta64(1, "D") // one), 1)
    gaps = np.isnan(days)
    limit = float(np.iinfo(np.int64).max // per_day - 1)
    kept = np.clip(np.where(gaps, 0.0, days), -limit, limit)
    whole = np.floor(kept)
    # Whole days and the rest apart, to microseconds: a float has no more digits.
    fine = min(per_day, MICROSECONDS)
    rest = np.rint((kept - whole) * fine).astype(np.int64) * (per_day // fine)
    counts = whole.astype(np.int64) * per_day + rest
    times: AnyArray = counts.astype(dtype)
    times[gaps] = "NaT"
    return times


def to_integers(values: Array, dtype: str) -> AnyArray:
    """Return numbers rounded and clipped into the range of an integer type, with 0 for gaps."""
    limits = np.iinfo(dtype)
    rounded = np.rint(np.where(np.isnan(values), 0.0, values))
    # The float of a limit may lie beyond it.
    high, low = rounded >= float(limits.max), rounded <= float(limits.min)
    integers = np.where(high | low, 0.0, rounded).astype(dtype)
    integers[high], integers[low] = limits.max, limits.min
    return integers


def to_floats(values: Array, dtype: str) -> AnyArray:
    """Return numbers in a type of floats; large numbers do not become infinite."""
    limit = float(np.finfo(dtype).max)
    floats: AnyArray = np.clip(values, -limit, limit).astype(dtype)
    return floats


def to_decimals(values: Array, places: int) -> list[decimal.Decimal | None]:
    """Return numbers as decimals with so many places, with None for gaps."""
    return [
        None if np.isnan(one) else decimal.Decimal(f"{one:.{max(places, 0)}f}") for one in values
    ]

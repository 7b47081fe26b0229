"""Dates as days since 1970: their resolution, and dates in columns of text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from twofold.protocols import Array
from twofold.tables.cells import Cells, from_days, level_label, to_days

STEPS = (1.0, 1.0 / 24.0, 1.0 / 1_440.0, 1.0 / 86_400.0)
"""A day, an hour, a minute, a second."""


def coarsest_step(days: Array) -> float:
    """Return the coarsest step of which all days are multiples; 0 if there is none."""
    for step in STEPS:
        # Days since 1970 are exact to some 1e-12.
        if np.allclose(days / step, np.rint(days / step), rtol=0.0, atol=1e-5):
            return step
    return 0.0


def parsed(name: str, cells: Cells) -> Cells:
    """Return a column of text as dates; the text has to be as in ISO 8601."""
    days = np.full(len(cells.levels), np.nan)
    for number, level in enumerate(cells.levels):
        try:
            days[number] = to_days(np.array([level], dtype="datetime64[us]"))[0]
        except (ValueError, TypeError):
            raise ValueError(
                f"kinds[{name!r}]='date': the text {level_label(level)!r} is not a date such as "
                "2024-05-31. Convert the column first, for example with pandas.to_datetime."
            ) from None
    values = np.full(len(cells.plain), np.nan)
    codes = cells.plain[~cells.missing].astype(np.int64)
    values[~cells.missing] = days[codes]
    return replace(cells, kind="date", plain=values, levels=())


def as_text(cells: Cells) -> Cells:
    """Return dates as a column of text, in the form that `parsed` reads."""
    whole = bool((cells.plain[~cells.missing] % 1.0 == 0.0).all())
    times = from_days(cells.plain, "datetime64[D]" if whole else "datetime64[s]")
    levels, codes = np.unique(times[~cells.missing].astype(str), return_inverse=True)
    values = np.full(len(cells.plain), np.nan)
    values[~cells.missing] = codes
    return Cells("text", values, cells.storage, tuple(str(level) for level in levels))

"""A warning for rows in other units than those of the fit.

A model that was fitted to standardized columns and is given the original ones, or the other way
round, returns latents that mean nothing, without an error. Rows of a column are *far* if they lie
more than three of its fitted ranges outside. Two cases are noticed, by a sample of the rows:

* most rows are far in some column;
* in most columns almost all rows lie outside by half a range, or all rows together have collapsed
  to a spot at the end of the range: units that are too large, or standardized columns.

Single rows and small batches are never judged: they may be outliers. Columns that were constant in
the fit say nothing, as they have no range.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse

from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.threads import some_rows
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import warn_user
from twofold.protocols import AnyArray, Array

FEWEST_ROWS = 10
MOST_ROWS = 1_000
"""Rows that are compared; a sample of more."""

MOST_CELLS = 10**7
"""Cells of a sparse table that are made dense to compare them."""

FAR = 3.0
"""Fitted ranges outside of the fitted range beyond which a value is far."""

OUTSIDE = 0.5
ALMOST_ALL = 0.9
MOST_COLUMNS = 0.75
"""Rows outside by half a range, almost all rows, and the share of columns where this is so."""

SPOT, END = 0.02, 0.05
"""Shares of the fitted range: the extent of a spot, and the part that counts as the end."""

FEWEST_IN_A_SPOT = 20
MOST_NAMED = 3


class Fitted(Protocol):
    """A fitted estimator."""

    _data_units: CenteredUnits


def warn_of_other_units(model: Fitted, data: Any) -> None:
    """Warn if data (n, D), dense or sparse, are in other units than those of the fit."""
    units = model._data_units
    if units.lowest is None or units.highest is None or data.shape[0] < FEWEST_ROWS:
        return
    names = getattr(model, "feature_names_in_", None)
    kind = "column"
    if isinstance(units, AffineUnits):
        names, kind = None, "component"
    columns = np.flatnonzero(units.lowest < units.highest)
    if not len(columns):
        return
    low, high = units.lowest[columns], units.highest[columns]
    rows = _images_of_some(units, data)[:, columns]
    with np.errstate(over="ignore", invalid="ignore"):
        # In ranges; halved before the subtraction, which could overflow where the halves cannot.
        ranges = 0.5 * high - 0.5 * low
        excess = np.fmax(0.5 * rows - 0.5 * high, 0.5 * low - 0.5 * rows) / ranges
        wrong = _far(excess)
        if not wrong.any():
            wrong = _outside(excess)
        if not wrong.any():
            wrong = _collapsed(rows, low, high, excess)
    if wrong.any():
        worst = np.flatnonzero(wrong)
        middle = np.nanmedian(excess[:, worst], axis=0)
        worst = worst[np.argsort(-middle, kind="stable")]
        called = [f"{kind} {one}" if names is None else repr(str(names[one])) for one in columns]
        _warn(rows, low, high, worst, called)


def _images_of_some(units: CenteredUnits, data: Any) -> Array:
    """Return the images of a sample of rows, of fewer rows if a sparse table has many columns."""
    most = MOST_ROWS
    if issparse(data) and not isinstance(units, AffineUnits):
        most = max(1, min(most, MOST_CELLS // data.shape[1]))
        return units.images(data[some_rows(data.shape[0], most)].toarray())
    return units.images(data[some_rows(data.shape[0], most)])


def _far(excess: Array) -> AnyArray:
    """Return in which columns most rows are far."""
    return np.asarray(np.mean(excess > FAR, axis=0) > 0.5)


def _outside(excess: Array) -> AnyArray:
    """Return the columns where almost all rows lie outside, if these are most columns."""
    outside = np.mean(excess > OUTSIDE, axis=0) >= ALMOST_ALL
    enough = len(outside) > 1 and outside.mean() >= MOST_COLUMNS
    return outside if enough else np.zeros_like(outside)


def _collapsed(rows: Array, low: Array, high: Array, excess: Array) -> AnyArray:
    """Return the columns whose rows lie at an end of the range, if all rows are at one spot."""
    none = np.zeros(len(low), dtype=bool)
    if len(rows) < FEWEST_IN_A_SPOT or len(low) < 2:
        return none
    extent = np.fmax.reduce(rows, axis=0) - np.fmin.reduce(rows, axis=0)
    unit = float((high - low).max())
    if not 0.0 < _length(extent, unit) < SPOT * _length(high - low, unit):
        return none
    at_end = np.asarray((excess > -END).all(axis=0) & (extent > 0.0))
    return at_end if at_end.mean() >= MOST_COLUMNS else none


def _length(values: Array, unit: float) -> float:
    return float(np.sqrt(np.square(values / unit).sum()))


def _warn(rows: Array, low: Array, high: Array, worst: AnyArray, names: list[str]) -> None:
    """Warn of the worst columns."""
    parts = []
    for column in worst[:MOST_NAMED]:
        given = rows[:, column]
        parts.append(
            f"{names[column]} from {np.nanmin(given):.4g} to {np.nanmax(given):.4g} instead of "
            f"{low[column]:.4g} to {high[column]:.4g}"
        )
    rest = len(worst) - len(parts)
    more = f", and {rest} more column{'s' * (rest > 1)}" * (rest > 0)
    warn_user(
        f"Most rows of X lie far from the rows of the fit: {'; '.join(parts)}{more}. They seem to "
        "be in other units. Pass rows in the units of the fit; with scale='standard', or as the "
        "end of a pipeline with a scaler, a model takes the original units.",
        UserWarning,
    )

r"""Factors of columns: the unit of each column, for tables whose columns have different units.

Data are divided by the factors before they are measured and centered
(`twofold.numerics.units.CenteredUnits`), so that a model does not depend on the columns' units.

============  =====================================================================
``scale``     the factor of a column
============  =====================================================================
"standard"    the standard deviation
"robust"      the interquartile range over 1.349, which is the deviation of a normal
              distribution; the deviation if that range is 0
an array      its values
============  =====================================================================

Missing values (NaN) are left out. A factor scales with its column exactly, so that a column times a
power of two gives bit-identical models. To stay within floats, deviations are measured in powers of
two of each column's own range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.numerics.tree_sums import ArrayRows
from twofold.numerics.units import LARGEST_EXPONENT, ColumnRange
from twofold.protocols import Array, IntArray

KINDS = ("standard", "robust")
NORMAL_QUARTILES = 1.349
"""The interquartile range of a normal distribution with deviation 1."""

ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""Columns whose deviation is below this share of their largest value vary by rounding only."""


def check_scale(scale: Any, n_features: int) -> str | Array | None:
    """Return the parameter ``scale``, an array as float64; raise an error if it is invalid."""
    if scale is None or (isinstance(scale, str) and scale in KINDS):
        return scale
    allowed = (
        f"None, 'standard', 'robust', or an array of {n_features} positive numbers, the unit of "
        "each column"
    )
    if isinstance(scale, str | bool | bytes):
        raise ValueError(f"scale={scale!r} must be {allowed}.")  # noqa: TRY004 - a wrong name
    try:
        factors = np.array(scale, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"scale={scale!r} must be {allowed}.") from error
    if factors.shape != (n_features,):
        raise ValueError(f"scale has shape {factors.shape}: it must be {allowed}.")
    bad = np.flatnonzero(~(np.isfinite(factors) & (factors > 0.0)))
    if len(bad):
        raise ValueError(f"scale[{bad[0]}]={factors[bad[0]]} must be positive: use {allowed}.")
    return factors


def factors_of_rows(scale: Any, X: Array) -> Array | None:
    """Return the factors (D,) of the columns of data (n, D), or None if nothing is scaled."""
    checked = check_scale(scale, X.shape[1])
    if checked is None or not isinstance(checked, str):
        return checked
    source = ArrayRows(X)
    factors = deviations(source.total(observed_range), source.total)
    return _robust(X, factors) if checked == "robust" else factors


def origin_of_rows(scale: Any, X: Array) -> Array:
    """Return the origin (D,) of kernels that depend on it: the mean, the median, or 0."""
    if scale is None or not isinstance(scale, str):
        return np.zeros(X.shape[1])
    center: Array = np.nanmedian(X, axis=0) if scale == "robust" else np.nanmean(X, axis=0)
    return center


def observed_range(X: Array, start: int = 0) -> ColumnRange:  # noqa: ARG001 - a leaf kernel
    """Return the range of the columns without missing values; NaN if there is no other."""
    return _ObservedRange(np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0), X[0])


class _ObservedRange(ColumnRange):
    """A range that leaves out missing values."""

    def __add__(self, other: ColumnRange) -> ColumnRange:
        lowest = np.fmin(self.lowest, other.lowest)
        return _ObservedRange(lowest, np.fmax(self.highest, other.highest), self.first)


Total = Callable[[Callable[[Array, int], Any]], Any]
"""Sums a leaf kernel over all rows."""


def deviations(extent: ColumnRange, total: Total) -> Array:
    """Return the standard deviations (D,) of columns of a known range; 1 for constant ones."""
    safe = _SafeColumns.of(extent)
    spread: _Spread = total(safe.spread)
    with np.errstate(under="ignore"):
        found = np.sqrt(spread.squares / np.maximum(spread.n, 1.0))
        found = np.ldexp(np.ldexp(found, safe.second), safe.first)
    largest = np.fmax(np.abs(extent.lowest), np.abs(extent.highest))
    found = np.where(found > ROUNDING * largest, found, largest)
    varying = extent.lowest < extent.highest
    factors: Array = np.where(varying & (found > 0.0), found, 1.0)
    return factors


def _robust(X: Array, fallback: Array) -> Array:
    """Return the interquartile ranges as deviations, or the fallback where they vanish."""
    factors = fallback.copy()
    for number in range(X.shape[1]):
        column = X[:, number]
        column = column[~np.isnan(column)]
        if not len(column):
            continue
        low, high = np.percentile(column, [25.0, 75.0])
        found = high / NORMAL_QUARTILES - low / NORMAL_QUARTILES
        if found > ROUNDING * max(abs(low), abs(high)):
            factors[number] = found
    return factors


@dataclass(frozen=True)
class _Spread:
    """For each column (D,): the number of values, their mean, and the squared deviations.

    Added by the rule of Chan, Golub and LeVeque (1983), which does not cancel.
    """

    n: Array
    mean: Array
    squares: Array

    def __add__(self, other: _Spread) -> _Spread:
        n = self.n + other.n
        offset = other.mean - self.mean
        share = other.n / np.maximum(n, 1.0)
        squares = self.squares + other.squares + offset * offset * self.n * share
        return _Spread(n, self.mean + offset * share, squares)


@dataclass(frozen=True)
class _SafeColumns:
    """Powers of two (D,) that bring each column to a range of about 1, around its middle."""

    first: IntArray
    second: IntArray
    middle: Array

    @classmethod
    def of(cls, extent: ColumnRange) -> _SafeColumns:
        largest = np.fmax(np.abs(extent.lowest), np.abs(extent.highest))
        varying = extent.lowest < extent.highest
        largest = np.where(varying, largest, 1.0)
        first = np.frexp(largest)[1].astype(np.intp)
        far = np.flatnonzero(np.abs(first) > LARGEST_EXPONENT)
        if len(far):
            raise ValueError(
                f"The values of X are out of range for scale: the largest in column {far[0]} is "
                f"{largest[far[0]]:.3g} in absolute value, and between 1e-301 and 1e301 is "
                "supported. Rescale this column."
            )
        lowest, highest = (
            np.where(varying, _powers(bound[None], -first)[0], 0.0)
            for bound in (extent.lowest, extent.highest)
        )
        second = np.where(varying, np.frexp(highest - lowest)[1], 0).astype(np.intp)
        return cls(first, second, 0.5 * lowest + 0.5 * highest)

    def spread(self, X: Array, start: int = 0) -> _Spread:  # noqa: ARG002 - a leaf kernel
        """Measure some rows in these units."""
        inside = _powers(_powers(X, -self.first) - self.middle, -self.second)
        missing = np.isnan(inside)
        if missing.any():
            n = (~missing).sum(axis=0).astype(np.float64)
            mean = np.where(missing, 0.0, inside).sum(axis=0) / np.maximum(n, 1.0)
            away = np.where(missing, 0.0, inside - mean)
        else:
            n = np.full(X.shape[1], float(len(X)))
            mean = inside.mean(axis=0)
            away = inside - mean
        return _Spread(n, mean, np.einsum("nd,nd->d", away, away))


def _powers(A: Array, exponents: IntArray) -> Array:
    """Return ``A 2**exponents``, exactly; by a product if possible, which is much faster."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if np.abs(exponents).max(initial=0) <= LARGEST_EXPONENT:
            product: Array = A * np.ldexp(1.0, exponents)
            return product
        scaled: Array = np.ldexp(A, exponents)
        return scaled

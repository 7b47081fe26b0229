"""Centered units: the coordinates in which all fitting is done.

Squared distances lose all digits at an offset of 1e8, overflow at a scale of 1e160 and vanish at
1e-200. So data are shifted to their mean and multiplied by a power of two that brings their total
variance into [1, 4). A power of two changes no digit, so data multiplied by one give bit-identical
latents. Constant columns carry nothing and are left out.

With a factor for each column, its own unit (`twofold.numerics.column_factors`), data are divided by
the factors first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from twofold.numerics.threads import map_blocks, row_blocks
from twofold.numerics.tree_sums import ArrayRows
from twofold.protocols import Array

FAR = 2.0**300
"""Coordinates are clipped at this many units, so their squares stay finite."""

LARGEST_EXPONENT = 1000
SMALLEST, LARGEST = 1e-300, 1e300
"""Bounds of converted bandwidths."""


@dataclass(frozen=True)
class ColumnRange:
    """The lowest and highest value of each column (D,), and the first row (D,)."""

    lowest: Array
    highest: Array
    first: Array

    @classmethod
    def of_rows(cls, X: Array, start: int = 0) -> ColumnRange:  # noqa: ARG003 - a leaf kernel
        """Measure some rows."""
        return cls(X.min(axis=0), X.max(axis=0), X[0])

    def __add__(self, other: ColumnRange) -> ColumnRange:
        """Return the range of both sets of rows; these come first."""
        lowest = np.minimum(self.lowest, other.lowest)
        return ColumnRange(lowest, np.maximum(self.highest, other.highest), self.first)

    def divided(self, factors: Array) -> ColumnRange:
        """Return the range of the rows divided by positive factors (D,); the first row stays."""
        return ColumnRange(self.lowest / factors, self.highest / factors, self.first)


@dataclass(frozen=True)
class ColumnMoments:
    """The number of rows, the mean of each column (D,), and the sum of all squared deviations.

    Added by the rule of Chan, Golub and LeVeque (1983), which does not cancel.
    """

    n: int
    mean: Array
    squares: float

    @classmethod
    def of_rows(cls, X: Array) -> ColumnMoments:
        """Measure some rows."""
        mean = X.mean(axis=0)
        deviations = X - mean
        return cls(len(X), mean, float(np.einsum("nd,nd->", deviations, deviations)))

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        """Return the moments of both sets of rows."""
        n = self.n + other.n
        offset = other.mean - self.mean
        share = other.n / n
        squares = self.squares + other.squares + float(offset @ offset) * self.n * share
        return ColumnMoments(n, self.mean + offset * share, squares)


@dataclass(frozen=True)
class Scales:
    """The scales found by a first pass over the data, which keep the second pass within floats.

    ``first`` is the exponent of the largest value. After division by ``2**first``, ``second`` is
    the exponent of the largest range of a column, ``middle`` (D,) the middles of the ranges.
    ``varying`` (D,) marks columns with more than one value, and ``row`` (D,) is the first row.
    ``extent`` is the range of the data; if there are ``factors`` (D,), all but the range and the
    row are those of the data divided by them.
    """

    first: int
    second: int
    middle: Array
    varying: NDArray[np.bool_]
    row: Array
    extent: ColumnRange
    factors: Array | None = None

    @classmethod
    def of(cls, extent: ColumnRange, *, name: str = "X", factors: Array | None = None) -> Scales:
        """Derive the scales from the columns' ranges and, if there are some, their factors."""
        own, extent = extent, extent if factors is None else extent.divided(factors)
        largest = float(max(extent.highest.max(), -extent.lowest.min()))
        first = int(np.frexp(largest)[1])
        if abs(first) > LARGEST_EXPONENT:
            raise ValueError(
                f"The values of {name} are out of range: the largest is {largest:.3g} in absolute "
                f"value, and between 1e-301 and 1e301 is supported. Rescale {name}."
            )
        lowest, highest = (
            _times_power_of_two(bound, -first) for bound in (extent.lowest, extent.highest)
        )
        second = int(np.frexp(float((highest - lowest).max()))[1])
        middle, varying = 0.5 * lowest + 0.5 * highest, lowest < highest
        return cls(first, second, middle, varying, extent.first, own, factors)

    def moments(self, X: Array, start: int = 0) -> ColumnMoments:  # noqa: ARG002 - a leaf kernel
        """Return the moments of some rows around the middles, in units of the largest range."""
        scaled = X if self.factors is None else X / self.factors
        inside = _times_power_of_two(scaled, -self.first)
        return ColumnMoments.of_rows(_times_power_of_two(inside - self.middle, -self.second))

    def units(self, moments: ColumnMoments | None) -> CenteredUnits:
        """Return the units; moments are None if no column varies."""
        if moments is None and self.factors is not None:
            return Scales.of(self.extent).units(None)  # equal rows need no factors
        bounds = self.extent.lowest, self.extent.highest
        if moments is None:
            varying = np.zeros_like(self.varying)
            varying[0] = True  # all rows are equal: keep one column of zeros
            center = np.where(varying, _times_power_of_two(self.row, -self.first), 0.0)
            constants = np.where(varying, 0.0, self.row)
            return CenteredUnits(center, self.first, varying, constants, None, *bounds)
        mean = self.middle + _times_power_of_two(moments.mean, self.second)
        deviation = np.sqrt(moments.squares / moments.n)
        second = self.second + int(np.frexp(deviation)[1]) - 1
        center = np.ldexp(np.where(self.varying, mean, 0.0), -second)
        constants = np.where(self.varying, 0.0, self.row)
        exponent = self.first + second
        return CenteredUnits(center, exponent, self.varying, constants, self.factors, *bounds)


@dataclass(frozen=True)
class CenteredUnits:
    """A shift, a power of two, the columns that vary and, if columns are scaled, their factors.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        The mean in units; 0 for a constant column.
    exponent : int
        One unit is ``2**exponent`` of the data's own units, or of the columns' factors.
    varying : ndarray of bool, shape (n_features,)
        Columns kept in centered units.
    constants : ndarray of shape (n_features,)
        The values of the columns left out, in the data's own units.
    factors : ndarray of shape (n_features,) or None
        What each column is divided by first; None means 1.
    lowest, highest : ndarray of shape (n_features,) or None
        The range of each column, in the data's own units, if it is known.
    """

    # The defaults stand for what older model files lack.
    center: Array
    exponent: int
    varying: NDArray[np.bool_]
    constants: Array
    factors: Array | None = None
    lowest: Array | None = None
    highest: Array | None = None

    @classmethod
    def of(cls, X: Array, *, name: str = "X", factors: Array | None = None) -> CenteredUnits:
        """Measure the units of some data, with factors of the columns if they are given."""
        source = ArrayRows(X)
        scales = Scales.of(source.total(ColumnRange.of_rows), name=name, factors=factors)
        return scales.units(source.total(scales.moments) if scales.varying.any() else None)

    @classmethod
    def identity(cls, n_features: int) -> CenteredUnits:
        """Return the units that change nothing."""
        zeros = np.zeros(n_features)
        return cls(zeros, 0, np.ones(n_features, dtype=np.bool_), zeros)

    @classmethod
    def shifted(cls, X: Array) -> CenteredUnits:
        """Return units that only shift data to their mean and leave out constant columns."""
        varying = X.min(axis=0) < X.max(axis=0)
        if not varying.any():
            varying[0] = True  # all rows are equal: keep one column of zeros
        center = X.mean(axis=0)
        center = np.where(varying, center + (X - center).mean(axis=0), 0.0)
        return cls(center, 0, varying, np.where(varying, 0.0, X[0]))

    def after(self, shift: Array, factors: Array) -> CenteredUnits:
        """Return the units of data ``x`` for which these are those of ``(x - shift) / factors``."""
        own = factors if self.factors is None else self.factors * factors
        moved = _times_power_of_two(shift / own, -self.exponent)
        bounds = [bound if bound is None else bound * factors + shift for bound in self._bounds]
        constants = np.where(self.varying, 0.0, self.constants * factors + shift)
        center = np.where(self.varying, self.center + moved, 0.0)
        return CenteredUnits(center, self.exponent, self.varying, constants, own, *bounds)

    def with_range(self, X: Array) -> CenteredUnits:
        """Return these units with the range of the columns of some data."""
        extent = ArrayRows(X).total(ColumnRange.of_rows)
        return replace(self, lowest=extent.lowest, highest=extent.highest)

    @property
    def n_features(self) -> int:
        """The number of columns of the data."""
        return len(self.center)

    @property
    def origin(self) -> Array:
        """The distance (D,) of the data's center from the origin, in centered units."""
        return self.center

    def images(self, X: Array) -> Array:
        """Return what these units are the units of: the data."""
        return X

    @property
    def _bounds(self) -> tuple[Array | None, Array | None]:
        return self.lowest, self.highest

    def unit(self, power: int = 1) -> float:
        """Return one centered unit, raised to a power, in the caller's units."""
        return float(np.ldexp(1.0, int(np.clip(power * self.exponent, -1074, 1023))))

    @property
    def log_volume(self) -> float:
        """The log of the volume of one centered unit in each direction, in the caller's units."""
        volume = int(self.varying.sum()) * self.exponent * math.log(2.0)
        if self.factors is not None:
            volume += float(np.log(self.factors[self.varying]).sum())
        return volume

    def into(self, X: Array) -> Array:
        """Return data in centered units, without constant columns."""
        columns = np.flatnonzero(self.varying)
        center = self.center[columns]
        factors = None if self.factors is None else self.factors[columns]
        scaled = np.empty((len(X), len(columns)))

        def work(rows: slice) -> None:
            some = X[rows] if len(columns) == X.shape[1] else X[rows].take(columns, axis=1)
            with np.errstate(over="ignore"):  # of each thread
                some = some if factors is None else some / factors
                part = np.subtract(_times_power_of_two(some, -self.exponent), center)
            np.clip(part, -FAR, FAR, out=scaled[rows])

        map_blocks(work, row_blocks(len(X), 8 * 3 * X.shape[1]))
        return scaled

    def back(self, U: Array) -> Array:
        """Return centered units as data, with the constant columns put back exactly."""
        columns = np.flatnonzero(self.varying)
        center = self.center[columns]
        factors = None if self.factors is None else self.factors[columns]
        X = np.empty((len(U), len(self.center)))

        def work(rows: slice) -> None:
            with np.errstate(over="ignore"):  # of each thread
                part = _times_power_of_two(U[rows] + center, self.exponent)
                part = _finite(part if factors is None else part * factors)
            if len(columns) == X.shape[1]:
                X[rows] = part
            else:
                X[rows] = self.constants
                X[rows, columns] = part

        map_blocks(work, row_blocks(len(U), 8 * 3 * X.shape[1]))
        return X

    def distances(self, X: Array, Y: Array) -> Array:
        """Return the Euclidean distances between rows of data, without overflow.

        They are in the data's own units or, with factors, in units of these.
        """
        # Halved before the subtraction, which could overflow where the halves cannot.
        residual = 0.5 * X - 0.5 * Y
        if self.factors is not None:
            with np.errstate(over="ignore"):
                residual = _finite(residual / self.factors)
        largest = np.abs(residual).max(axis=1)
        safe = np.where(largest > 0.0, largest, 1.0)[:, None]
        relative = np.sqrt(np.square(residual / safe).sum(axis=1))
        with np.errstate(over="ignore"):
            return _finite(2.0 * largest * relative)

    def all_columns(self, X: Array) -> Array:
        """Return data divided by the factors and shifted, constant columns included."""
        if self.factors is None:
            return X
        shifted: Array = X / self.factors - np.ldexp(self.center, self.exponent)
        return shifted

    def changes(self, X: Array) -> Array:
        """Return the sums of absolute changes in columns that are left out, in centered units."""
        rest = ~self.varying
        change = np.abs(X - self.constants)[:, rest]
        if self.factors is not None:
            change = change / self.factors[rest]
        changed: Array = np.ldexp(change.sum(axis=1), -self.exponent)
        return changed

    def column_factors(self) -> Array | float:
        """Return the factors (D,) of the data's columns, or 1."""
        return 1.0 if self.factors is None else self.factors


def bandwidth_in_units(bandwidth: float, unit: float) -> float:
    """Convert a bandwidth to a unit, clipped to a safe divisor."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.clip(np.float64(bandwidth) / unit, SMALLEST, LARGEST))


def _times_power_of_two(A: Array, exponent: int) -> Array:
    """Return ``A 2**exponent`` exactly; by a product if possible, which is much faster."""
    if abs(exponent) <= 1000:
        return A * 2.0**exponent
    return np.ldexp(A, exponent)


def _finite(A: Array) -> Array:
    limit = np.finfo(np.float64).max
    return np.clip(A, -limit, limit, out=A)

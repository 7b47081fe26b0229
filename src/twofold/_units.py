"""Centred units: the coordinates in which all fitting is done.

Squared distances lose everything at an offset of 1e8, overflow at a scale of 1e160 and vanish at
1e-200. So data are first shifted to their mean and multiplied by a power of two that brings their
total variance into [1, 4). A power of two changes no digit, hence data multiplied by one give
bit-identical latents. Columns that do not vary carry nothing and are put aside.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from twofold._blocks import map_blocks, row_blocks
from twofold.protocols import Array

__all__ = ["CentredUnits"]

FAR = 2.0**300
"""Coordinates beyond this many units are moved here: their squares stay finite."""

LARGEST_EXPONENT = 1000


@dataclass(frozen=True)
class CentredUnits:
    """A shift, a power of two, and the columns that vary.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        The mean in units; 0 for a constant column.
    exponent : int
        One unit is ``2**exponent`` of the data's own units.
    varying : ndarray of bool, shape (n_features,)
        Columns kept in centred units.
    constants : ndarray of shape (n_features,)
        The values of the columns left out, in the data's own units.
    """

    center: Array
    exponent: int
    varying: NDArray[np.bool_]
    constants: Array

    @classmethod
    def of(cls, X: Array, *, name: str = "X") -> CentredUnits:
        """Measure the units of some data."""
        largest = float(max(X.max(), -X.min()))
        first = int(np.frexp(largest)[1])
        if abs(first) > LARGEST_EXPONENT:
            raise ValueError(
                f"The values of {name} are out of range: the largest is {largest:.3g} in absolute "
                f"value, and between 1e-301 and 1e301 is supported. Rescale {name}."
            )
        blocks = row_blocks(len(X), 8 * 3 * X.shape[1])

        def part(rows: slice, exponent: int) -> Array:
            return _times_power_of_two(X[rows], exponent)

        lowest = np.min(map_blocks(lambda rows: part(rows, -first).min(axis=0), blocks), axis=0)
        highest = np.max(map_blocks(lambda rows: part(rows, -first).max(axis=0), blocks), axis=0)
        varying = lowest < highest
        if not varying.any():
            varying[0] = True  # all rows are equal: one column of zeros stands for them
            center = np.where(varying, lowest, 0.0)
            return cls(center, first, varying, np.where(varying, 0.0, X[0]))
        center = np.where(varying, 0.0, lowest)
        # Twice: the first mean of numbers far from the origin is off by their rounding.
        for _ in range(2):
            shift = partial(_sum_of_deviations, X, -first, center)
            center = np.where(varying, center + sum(map_blocks(shift, blocks)) / len(X), center)
        spread = float(np.maximum(highest - center, center - lowest).max())
        second = int(np.frexp(spread)[1])

        def squares(rows: slice) -> float:
            deviations = _times_power_of_two(part(rows, -first) - center, -second)
            return float(np.einsum("nd,nd->", deviations, deviations))

        total_variance = sum(map_blocks(squares, blocks)) / len(X)
        second += int(np.frexp(np.sqrt(total_variance))[1]) - 1
        center = np.ldexp(np.where(varying, center, 0.0), -second)
        return cls(center, first + second, varying, np.where(varying, 0.0, X[0]))

    @classmethod
    def identity(cls, n_features: int) -> CentredUnits:
        """Return the units that change nothing."""
        zeros = np.zeros(n_features)
        return cls(zeros, 0, np.ones(n_features, dtype=np.bool_), zeros)

    @classmethod
    def shifted(cls, X: Array) -> CentredUnits:
        """Return units that move the mean of some data to the origin and leave out constant columns."""
        varying = X.min(axis=0) < X.max(axis=0)
        if not varying.any():
            varying[0] = True  # all rows are equal: one column of zeros stands for them
        center = X.mean(axis=0)
        center = np.where(varying, center + (X - center).mean(axis=0), 0.0)
        return cls(center, 0, varying, np.where(varying, 0.0, X[0]))

    def into(self, X: Array) -> Array:
        """Return data in centred units, without constant columns."""
        columns = np.flatnonzero(self.varying)
        center = self.center[columns]
        scaled = np.empty((len(X), len(columns)))

        def work(rows: slice) -> None:
            some = X[rows] if len(columns) == X.shape[1] else X[rows].take(columns, axis=1)
            with np.errstate(over="ignore"):  # of each thread
                part = np.subtract(_times_power_of_two(some, -self.exponent), center)
            np.clip(part, -FAR, FAR, out=scaled[rows])

        map_blocks(work, row_blocks(len(X), 8 * 3 * X.shape[1]))
        return scaled

    def back(self, U: Array) -> Array:
        """Return centred units as data, with the constant columns put back exactly."""
        columns = np.flatnonzero(self.varying)
        center = self.center[columns]
        X = np.empty((len(U), len(self.center)))

        def work(rows: slice) -> None:
            with np.errstate(over="ignore"):  # of each thread
                part = _finite(_times_power_of_two(U[rows] + center, self.exponent))
            if len(columns) == X.shape[1]:
                X[rows] = part
            else:
                X[rows] = self.constants
                X[rows, columns] = part

        map_blocks(work, row_blocks(len(U), 8 * 3 * X.shape[1]))
        return X

    def distances(self, X: Array, Y: Array) -> Array:
        """Return the Euclidean distances between rows of data, without overflow."""
        # Halved before the subtraction, which could overflow where the halves cannot.
        residual = 0.5 * X - 0.5 * Y
        largest = np.abs(residual).max(axis=1)
        safe = np.where(largest > 0.0, largest, 1.0)[:, None]
        relative = np.sqrt(np.square(residual / safe).sum(axis=1))
        with np.errstate(over="ignore"):
            return _finite(2.0 * largest * relative)


def _sum_of_deviations(X: Array, exponent: int, center: Array, rows: slice) -> Array:
    total: Array = (_times_power_of_two(X[rows], exponent) - center).sum(axis=0)
    return total


def _times_power_of_two(A: Array, exponent: int) -> Array:
    """Return ``A 2**exponent``, exactly; by a product where that is possible, which is much faster."""
    if abs(exponent) <= 1000:
        return A * 2.0**exponent
    return np.ldexp(A, exponent)


def _finite(A: Array) -> Array:
    limit = np.finfo(np.float64).max
    return np.clip(A, -limit, limit, out=A)

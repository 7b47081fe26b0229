"""Linear coordinates of data, both ways, and chains of maps that work in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import linalg

from twofold.numerics.linalg import MAX_RANK, n_leading_axes, principal_axes, row_norms_sq
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import map_blocks, row_blocks, some_rows
from twofold.protocols import Array

MAX_AXES_ROWS = 2_000

WIDE = 1_000
"""Fewest columns of data that are worth turning into the span of their rows."""


class Predictor(Protocol):
    """Anything with ``predict``."""

    def predict(self, inputs: Array, /) -> Array:
        """Return the images of rows."""
        ...


@dataclass(frozen=True)
class Affine:
    """Coordinates ``x A / unit`` of centered data, and the inverse map.

    Attributes
    ----------
    forth : float or ndarray of shape (D, r), default=1.0
        ``A``: axes in columns, or one factor for all columns.
    backward : float, ndarray of shape (r, D) or None, default=None
        The matrix or factor of the inverse; None means ``A^T``, for orthonormal axes.
    unit : float, default=1.0
        The unit of the coordinates.
    """

    forth: Array | float = 1.0
    backward: Array | float | None = None
    unit: float = 1.0

    @classmethod
    def leading_subspace(cls, data: Array, least: int = 1) -> Affine:
        """Take the leading principal axes of centered data, all columns where they are few."""
        if data.shape[1] <= MAX_RANK:
            return cls()
        axes, variances = principal_axes(data, min(MAX_RANK, len(data)))
        return cls.leading_axes(axes, variances, float(row_norms_sq(data).mean()), least)

    @classmethod
    def leading_axes(cls, axes: Array, variances: Array, total: float, least: int) -> Affine:
        """Take as many axes (k, D) as hold 99 % of the total variance, at least ``least``."""
        return cls(axes[: n_leading_axes(variances, total, least)].T)

    @classmethod
    def span_of_rows(cls, data: Array) -> Affine:
        """Take orthonormal axes of the space that the rows span, for data that `are_wide`.

        Maps that combine these rows linearly have all images in it. A nearest image then costs no
        more than for as many columns as rows, and is the same: what a row has outside the space
        adds a constant to its distances.
        """
        return cls(linalg.qr(data.T, mode="economic", check_finite=False)[0])

    @classmethod
    def one_unit(cls, variance: float, n_columns: int) -> Affine:
        """Divide all columns by the root of their mean variance, given the total."""
        unit = float(np.sqrt(variance / n_columns))
        return cls(1.0 / unit, unit)

    @classmethod
    def whitened(cls, axes: Array, variances: Array) -> Affine:
        """Take principal axes (k, D), leading first, each in units of its standard deviation."""
        kept = variances > 1e-10 * variances[0]
        deviations = np.sqrt(variances[kept])
        return cls(axes[kept].T / deviations, axes[kept] * deviations[:, None])

    def in_units_of(self, unit: float) -> Affine:
        """Return the same axes with another unit; 0 counts as 1."""
        return replace(self, unit=unit or 1.0)

    @property
    def is_identity(self) -> bool:
        """Whether the axes are the columns themselves, apart from the unit."""
        return isinstance(self.forth, float) and self.forth == 1.0

    def into(self, data: Array) -> Array:
        """Return the coordinates (n, r) of data (n, D)."""
        inside = _times(data, self.forth)
        return inside if self.unit == 1.0 else inside / self.unit

    predict = into

    def back(self, coordinates: Array) -> Array:
        """Return the data (n, D) of coordinates (n, r)."""
        inside = coordinates if self.unit == 1.0 else coordinates * self.unit
        if self.backward is None:
            return _times(inside, np.transpose(self.forth) if np.ndim(self.forth) else self.forth)
        return _times(inside, self.backward)


def are_wide(data: Array) -> bool:
    """Tell whether data (n, D) have so many columns that coordinates in their span are cheaper."""
    n_rows, n_columns = data.shape
    return bool(n_columns >= max(WIDE, 2 * n_rows))


def leading_coordinates(targets: Array) -> Array:
    """Return targets (n, D) in few columns, for the choice of a map's parameters.

    Of more than 50 columns these are the leading principal coordinates; the others are noise that
    no choice predicts. Some rows determine the axes.
    """
    if targets.shape[1] <= MAX_RANK:
        return targets
    some = targets[some_rows(len(targets), MAX_AXES_ROWS)]
    center = some.mean(axis=0)
    subspace = Affine.leading_subspace(some - center)

    def work(rows: slice) -> Array:
        return subspace.into(targets[rows] - center)

    return np.concatenate(map_blocks(work, row_blocks(len(targets), 2 * 8 * len(center))))


def _times(A: Array, factor: Array | float) -> Array:
    """Return ``A * factor`` or ``A @ factor``; a factor of 1 changes nothing."""
    if isinstance(factor, float):
        return A if factor == 1.0 else A * factor
    return row_product(A, factor)


@dataclass(frozen=True)
class Inverse:
    """The inverse of an affine map, as a map."""

    affine: Affine

    def predict(self, coordinates: Array) -> Array:
        """Return the data (n, D) of coordinates (n, r)."""
        return self.affine.back(coordinates)


@dataclass(frozen=True)
class Chain:
    """Maps applied one after the other."""

    maps: tuple[Predictor, ...]

    def predict(self, rows: Array) -> Array:
        """Return the images of rows."""
        for one in self.maps:
            rows = one.predict(rows)
        return rows

"""Centered units of an affine image of the data, such as its principal components.

A model that was fitted to images ``y = (x - s) A - a`` of data works in centered units of ``y``.
Its images go back by ``x = y B + b``; for principal components, ``B`` has the axes as rows. Errors
are distances between data, so they include what the images leave out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from twofold.numerics.row_products import row_product
from twofold.numerics.units import CenteredUnits
from twofold.protocols import Array, IntArray

FARTHEST = 1e150
"""Data are clipped at this distance, so that sums over columns stay finite."""


MOST_VALUES = 2**22
"""Stored values of a sparse table that are worked on at a time."""


def _no_numbers() -> Array:
    return np.empty(0)


@dataclass(frozen=True)
class AffineUnits(CenteredUnits):
    """Centered units, in the attributes of the base, behind an affine map.

    Attributes
    ----------
    shift : ndarray of shape (n_features,)
        ``s``, subtracted first, which keeps the digits of data far from the origin.
    matrix : ndarray of shape (n_features, n_images)
        ``A``.
    bias : ndarray of shape (n_images,)
        ``a``.
    inverse : ndarray of shape (n_images, n_features)
        ``B``.
    offset : ndarray of shape (n_features,)
        ``b``.
    column_units : ndarray of shape (n_features,)
        The units in which distances between data are measured.
    """

    shift: Array = field(default_factory=_no_numbers)
    matrix: Array = field(default_factory=_no_numbers)
    bias: Array = field(default_factory=_no_numbers)
    inverse: Array = field(default_factory=_no_numbers)
    offset: Array = field(default_factory=_no_numbers)
    column_units: Array = field(default_factory=_no_numbers)

    @classmethod
    def behind(
        cls, units: CenteredUnits, shift: Array, matrix: Array, inverse: Array, offset: Array
    ) -> AffineUnits:
        """Return the units of data ``x`` whose images ``(x - shift) matrix`` have these units."""
        bias = np.zeros(matrix.shape[1])
        if isinstance(units, AffineUnits):
            bias = units.bias + units.shift @ units.matrix
            matrix = matrix @ units.matrix
            offset = units.offset @ inverse + offset
            inverse = units.inverse @ inverse
        ones = np.ones(len(shift))
        return cls(
            **_own_fields(units),
            shift=shift,
            matrix=matrix,
            bias=bias,
            inverse=inverse,
            offset=offset,
            column_units=ones,
        )

    def after(self, shift: Array, factors: Array) -> AffineUnits:
        """Return the units of data ``x`` for which these are those of ``(x - shift) / factors``."""
        return replace(
            self,
            shift=shift + self.shift * factors,
            matrix=self.matrix / factors[:, None],
            inverse=self.inverse * factors,
            offset=self.offset * factors + shift,
            column_units=self.column_units * factors,
        )

    @property
    def inside(self) -> CenteredUnits:
        """The centered units of the images."""
        return CenteredUnits(**_own_fields(self))

    @property
    def n_features(self) -> int:
        """The number of columns of the data."""
        return len(self.shift)

    @property
    def origin(self) -> Array:
        """The distance (D,) of the data's center from the origin, in units of each column."""
        return np.ldexp(self.shift / self.column_units, -self.exponent)

    @property
    def log_volume(self) -> float:
        """The log of the volume of one centered unit, for as many images as features."""
        return super().log_volume - float(np.linalg.slogdet(self.matrix)[1])

    def images(self, X: Any) -> Array:
        """Return the images of data (n, D), dense or sparse, in which the model was fitted."""
        if issparse(X):
            origin = self.shift @ self.matrix + self.bias
            with np.errstate(over="ignore", invalid="ignore"):
                product: Array = X @ self.matrix
            return np.nan_to_num(product, nan=0.0, posinf=FARTHEST, neginf=-FARTHEST) - origin
        inside = np.clip(X - self.shift, -FARTHEST, FARTHEST)
        mapped: Array = row_product(inside, self.matrix) - self.bias
        return mapped

    def into(self, X: Array) -> Array:
        """Return data in centered units of their images."""
        return super().into(self.images(X))

    def back(self, U: Array) -> Array:
        """Return centered units of images as data."""
        images = np.clip(super().back(U), -FARTHEST, FARTHEST)
        data: Array = row_product(images, self.inverse) + self.offset
        return data

    def of_images(self, images: Array, columns: IntArray) -> Array:
        """Return chosen columns (n, k) of the data of images (n, r)."""
        inside = np.clip(images, -FARTHEST, FARTHEST)
        data: Array = row_product(inside, self.inverse[:, columns]) + self.offset[columns]
        return data

    def sparse_distances(self, X: Any, images: Array) -> Array:
        """Return the distances (n,) of sparse rows to the data of images (n, r).

        With ``B`` and ``b`` in units of the columns, ``|x - (y B + b)|^2`` is the sum of
        ``|x - b|^2``, ``-2 (x - b) B^T y^T`` and ``|y B|^2``, from products of few columns.
        """
        offset, B = self.offset / self.column_units, self.inverse / self.column_units
        size = max(1, MOST_VALUES * X.shape[0] // max(1, X.nnz))
        distances = np.empty(X.shape[0])
        for start in range(0, X.shape[0], size):
            part = slice(start, start + size)
            rows = X[part].astype(np.float64).multiply(1.0 / self.column_units).tocsr()
            distances[part] = _low_rank_distances(rows, images[part], B, offset)
        return distances

    def distances(self, X: Array, Y: Array) -> Array:
        """Return the Euclidean distances between rows of data, in units of the columns."""
        plain = replace(CenteredUnits.identity(self.n_features), factors=self.column_units)
        return plain.distances(X, Y)

    def column_factors(self) -> Array | float:
        """Return the units (D,) of the data's columns."""
        return self.column_units

    def all_columns(self, X: Array) -> Array:
        """Return the images of data, divided by their factors and shifted."""
        return super().all_columns(self.images(X))

    def changes(self, X: Array) -> Array:
        """Return the sums of absolute changes of images that are left out, in centered units."""
        return super().changes(self.images(X))


def _low_rank_distances(rows: Any, images: Array, B: Array, offset: Array) -> Array:
    """Return the distances (n,) between sparse rows and ``images B + offset``."""
    extents = [np.abs(part).max(initial=0.0) for part in (rows.data, images, offset)]
    unit = max(*(float(one) for one in extents), 1e-300)  # squares neither overflow nor vanish
    rows, offset, images = rows / unit, offset / unit, images / unit
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    squares += offset @ offset - 2.0 * (rows @ offset)
    squares -= 2.0 * np.einsum("nr,nr->n", images, rows @ B.T - B @ offset)
    squares += np.einsum("nr,nr->n", images, images @ (B @ B.T))
    distances: Array = unit * np.sqrt(np.maximum(squares, 0.0))
    return distances


def _own_fields(units: CenteredUnits) -> dict[str, Any]:
    """Return the attributes that all centered units have."""
    return {one.name: getattr(units, one.name) for one in fields(CenteredUnits)}

r"""The leading principal subspace of a sparse table, which is never made dense.

The axes are those of the centered and scaled table :math:`C = (X - 1 \mu^T) F^{-1}`. Centering
would fill all zeros, so products with ``C`` are computed from products with ``X``:

.. math::

    C B = X F^{-1} B - 1\,(\mu^T F^{-1} B), \qquad
    C^T Q = F^{-1} X^T Q - F^{-1} \mu\,(1^T Q)

A random block of directions is multiplied by ``C`` and :math:`C^T` in turns, orthonormalized each
time, and the small table of its products gives the axes.

References
----------
N. Halko, P.-G. Martinsson and J. A. Tropp. Finding structure with randomness: probabilistic
algorithms for constructing approximate matrix decompositions. SIAM Review 53, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils.sparsefuncs import mean_variance_axis

from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.linalg import MAX_RANK, fix_signs, n_leading_axes
from twofold.numerics.units import CenteredUnits
from twofold.protocols import Array

EXTRA_DIRECTIONS = 10
N_TURNS, FEW_TURNS, MANY_VALUES = 6, 2, 10**7
"""Turns of products for few and for many stored values; each halves the error at least."""

LEAST, MOST = 1e-100, 1e100
"""Bounds of the largest value, so that squares and their sums stay finite."""


@dataclass(frozen=True)
class SparseSubspace:
    """The leading axes of a sparse table.

    Attributes
    ----------
    axes : ndarray of shape (r, D)
        Orthonormal axes of the centered and scaled table.
    mean : ndarray of shape (D,)
        The mean of each column.
    factors : ndarray of shape (D,)
        What each column is divided by.
    variance : float
        The total variance of the scaled table, that outside of the axes included.
    """

    axes: Array
    mean: Array
    factors: Array
    variance: float

    @classmethod
    def of(cls, rows: Any, scale: Any, least: int = 1) -> SparseSubspace:
        """Find the axes of a CSR matrix (n, D), at least some number of them.

        ``scale`` is None, "standard" or factors (D,).
        """
        largest = float(np.abs(rows.data).max(initial=0.0))
        if largest > 0.0 and not LEAST < largest < MOST:
            raise ValueError(
                f"The values of X are out of range: the largest is {largest:.3g} in absolute "
                f"value, and between {LEAST:g} and {MOST:g} is supported. Rescale X."
            )
        mean, variances = (part.astype(np.float64) for part in mean_variance_axis(rows, axis=0))
        varying = variances > 0.0
        factors = np.ones(len(mean))
        if isinstance(scale, str):
            factors[varying] = np.sqrt(variances[varying])
        elif scale is not None:
            factors = np.asarray(scale, dtype=np.float64)
        variances = np.where(varying, variances, 0.0) / np.square(factors)
        total = float(variances.sum())
        found = cls(np.zeros((0, len(mean))), mean, factors, total)
        axes, kept = found._leading_axes(rows, max(MAX_RANK, least))
        axes[:, ~varying] = 0.0
        return cls(axes[: n_leading_axes(kept, total, least)], mean, factors, total)

    def _times(self, rows: Any, directions: Array) -> Array:
        """Return ``C B`` (n, k) for directions ``B`` (D, k)."""
        scaled = directions / self.factors[:, None]
        product: Array = rows @ scaled - self.mean @ scaled
        return product

    def _transposed_times(self, rows: Any, weights: Array) -> Array:
        """Return ``C^T Q`` (D, k) for weights ``Q`` (n, k)."""
        product: Array = rows.T @ weights - np.outer(self.mean, weights.sum(axis=0))
        product /= self.factors[:, None]
        return product

    def _leading_axes(self, rows: Any, n_axes: int) -> tuple[Array, Array]:
        """Return the leading axes (r, D) and the variances along them."""
        n_axes = min(n_axes, *rows.shape)
        n_directions = min(n_axes + EXTRA_DIRECTIONS, *rows.shape)
        rng = np.random.default_rng(0)
        B = rng.standard_normal((rows.shape[1], n_directions))
        for _ in range(N_TURNS if rows.nnz <= MANY_VALUES else FEW_TURNS):
            Q = _orthonormal(self._times(rows, B))
            B = _orthonormal(self._transposed_times(rows, Q))
        Q = _orthonormal(self._times(rows, B))
        axes, lengths, _ = linalg.svd(self._transposed_times(rows, Q), full_matrices=False)
        variances = np.square(lengths[:n_axes]) / rows.shape[0]
        return fix_signs(axes[:, :n_axes]).T, variances

    def coordinates(self, rows: Any) -> Array:
        """Return the coordinates (n, r) of a CSR matrix (n, D)."""
        return self._times(rows, self.axes.T)

    def units(self, inside: CenteredUnits) -> AffineUnits:
        """Return the units of the table, given those of its coordinates."""
        zeros = np.zeros(len(self.mean))
        placed = AffineUnits.behind(inside, zeros, self.axes.T, self.axes, zeros)
        return placed.after(self.mean, self.factors)


def _orthonormal(A: Array) -> Array:
    basis: Array = linalg.qr(A, mode="economic", check_finite=False)[0]
    return basis

r"""Kernel weights among points, each leaving itself out: what unsupervised kernel regression sums.

.. math:: k_{ij} = k(|z_i - z_j|^2), \quad i \ne j

Two of the ways to hold them (others: `twofold.sums.cells`, `twofold.sums.grid`), one signature. `DenseWeights` is a symmetric matrix, of which half is computed;
it serves wide kernels and any D. `PairWeights`, in `twofold.sums.pairs`, lists the pairs within the
kernel's reach.

The reverse pass gives the gradient with respect to the points of ``sum_ij k_ij (a_i . v_j + b_i)`` for
constant ``a``, ``v``, ``b``: with ``g_ij = 2 k'_ij ((a_i . v_j + b_i) + (a_j . v_i + b_j))`` it is
``sum_j g_ij (z_i - z_j)``, Meinicke et al. (2005), Eqs. (29)-(32).

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twofold._blocks import map_blocks, row_blocks
from twofold._linalg import sqdist
from twofold.protocols import Array, IntArray, RadialKernel
from twofold.sums.reach import profile, profile_and_slope

__all__ = ["DenseWeights", "GramWeights", "SelfWeights"]

TILE = 256


class SelfWeights(Protocol):
    """Kernel weights among points."""

    @property
    def mass(self) -> Array:
        """``sum_j k_ij``, shape (n,)."""
        ...

    def apply(self, values: Array) -> Array:
        """Return ``sum_j k_ij v_j``, shape (n, D)."""
        ...

    def mass_and_apply(self, values: Array) -> tuple[Array, Array]:
        """Return both at once, which for some ways costs no more than one."""
        ...

    def gradient(self, left: Array, right: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""
        ...


class GramWeights(SelfWeights, Protocol):
    """Weights that also serve errors in terms of inner products."""

    def gram_products(self, scale: Array, gram: Array) -> tuple[float, Array, Array]:
        """Return what the error needs of ``C = diag(scale) K - I`` and a Gram matrix ``G``.

        Returns
        -------
        error : float
            ``sum_ij C_ij (C G)_ij``.
        own : ndarray of shape (n,)
            ``sum_j scale_i k_ij (C G)_ij``.
        products : ndarray
            ``(C G)_ij``, for the pairs that are held, to be handed to `pull_gradient`.
        """
        ...

    def pull_gradient(self, products: Array, scale: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij scale_i (products_ij + offset_i)``, shape (n, q)."""
        ...


@dataclass(frozen=True)
class DenseWeights:
    """All weights, as a matrix.

    Attributes
    ----------
    Z : ndarray of shape (n, q)
        The points.
    kernel_matrix : ndarray of shape (n, n)
        ``k_ij``, zero on the diagonal.
    slopes : ndarray of shape (n, n)
        ``k'_ij``, the derivative with respect to the squared distance, over ``slope_unit``.
    slope_unit : float
        For a Gaussian ``k' = -k / 2``, and both matrices are one.
    mass : ndarray of shape (n,)
        Row sums.
    """

    Z: Array
    kernel_matrix: Array
    slopes: Array
    slope_unit: float
    mass: Array
    n_jobs: int | None = None

    @classmethod
    def of(
        cls,
        Z: Array,
        kernel: RadialKernel,
        *,
        groups: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> DenseWeights:
        """Compute the weights.

        Parameters
        ----------
        Z : ndarray of shape (n, q)
            The points.
        kernel : RadialKernel
            The kernel.
        groups : ndarray of int, shape (n,), default=None
            Points of a group leave each other out; None means every point leaves out itself.
        n_jobs : int or None, default=None
            Threads.
        """
        n = len(Z)
        K = np.empty((n, n))
        constant = np.ptp(kernel.dlog_profile(np.array([0.0, 0.25, 0.5]))) == 0.0
        slopes = K if constant else np.empty((n, n))
        unit = float(kernel.dlog_profile(np.zeros(1))[0]) if constant else 1.0
        starts = range(0, n, TILE)
        tiles = [(i, j) for i in starts for j in starts if i <= j]

        def work(tile: tuple[int, int]) -> None:
            rows, columns = (slice(start, min(start + TILE, n)) for start in tile)
            distances = sqdist(Z[rows], Z[columns])
            if constant:
                parts = [(K, profile(kernel, distances))]
            else:
                parts = list(zip((K, slopes), profile_and_slope(kernel, distances), strict=True))
            for matrix, values in parts:
                if groups is not None:
                    values[groups[rows, None] == groups[columns]] = 0.0
                elif rows == columns:
                    np.fill_diagonal(values, 0.0)
                matrix[rows, columns], matrix[columns, rows] = values, values.T

        map_blocks(work, tiles, n_jobs=n_jobs)
        return cls(Z, K, slopes, unit, K.sum(axis=1), n_jobs)

    def apply(self, values: Array) -> Array:
        """Return ``sum_j k_ij v_j``, shape (n, D)."""
        return self.kernel_matrix @ values

    def mass_and_apply(self, values: Array) -> tuple[Array, Array]:
        """Return ``sum_j k_ij`` (n,) and ``sum_j k_ij v_j`` (n, D)."""
        return self.mass, self.apply(values)

    def gradient(self, left: Array, right: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""

        def pull(rows: slice) -> Array:
            block: Array = left[rows] @ right.T
            block += offset[rows, None]
            return block

        return self._gradient(pull)

    def gram_products(self, scale: Array, gram: Array) -> tuple[float, Array, Array]:
        """Return ``C . (C G)``, its part at the weights, and ``C G``; see `SelfWeights`."""
        n = len(self.Z)
        products, error, own = np.empty((n, n)), np.empty(n), np.empty(n)

        def work(rows: slice) -> None:
            weights = self.kernel_matrix[rows] * scale[rows, None]
            block = weights @ gram
            block -= gram[rows]
            own[rows] = np.einsum("ij,ij->i", weights, block)
            error[rows] = own[rows] - block[np.arange(len(block)), np.arange(rows.start, rows.stop)]
            products[rows] = block

        map_blocks(work, row_blocks(n, 3 * 8 * n), n_jobs=self.n_jobs)
        return float(error.sum()), own, products

    def pull_gradient(self, products: Array, scale: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij scale_i (products_ij + offset_i)``, shape (n, q)."""

        def pull(rows: slice) -> Array:
            block = products[rows] + offset[rows, None]
            block *= scale[rows, None]
            return block

        return self._gradient(pull)

    def _gradient(self, pull: object) -> Array:
        """Contract ``Q_ij`` blocks with slopes and differences of points.

        One thin product with ``[Z, 1]`` gives ``sum_j g_ij z_j`` and ``sum_j g_ij`` together.
        """
        n, q = self.Z.shape
        Z1 = np.column_stack([self.Z, np.ones(n)])
        targets = np.empty((n, q + 1))

        def work(rows: slice) -> Array:
            block = pull(rows)  # type: ignore[operator]
            block *= self.slopes[rows]
            targets[rows] = block @ Z1
            sources: Array = block.T @ Z1[rows]
            return sources

        parts = map_blocks(work, row_blocks(n, 2 * 8 * n), n_jobs=self.n_jobs)
        total = targets + np.sum(parts, axis=0)
        gradient: Array = 2.0 * self.slope_unit * (self.Z * total[:, q:] - total[:, :q])
        return gradient

r"""Kernel sums over all pairs by BLAS: between two sets of points, and among one set.

For targets ``z_i``, sources ``s_j`` with values ``v_j``, and a kernel ``k`` of the squared
distance,

.. math::
   m_i = e^{-c_i} \sum_j k_{ij}, \qquad S_i = e^{-c_i} \sum_j k_{ij} v_j, \qquad
   k_{ij} = k(|z_i - s_j|^2),

where the shift :math:`c_i = \max_j \log k_{ij}` keeps every sum finite and every mass at least one,
however far a target lies from all sources. The Nadaraya-Watson estimate is ``S_i / m_i``; the
kernel density is :math:`c_i + \log m_i` up to constants.

All pairs are the method for few points, or for kernels that reach all points. Rows are processed in
blocks, so memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twofold.numerics.linalg import shifted_exp, sqdist
from twofold.numerics.row_products import row_product
from twofold.numerics.sums.reach import profile, profile_and_slope
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import Array, IntArray, RadialKernel

TILE = 256

SMALL_MASS = 1e-6
"""Mass of a point below which kernel values of ``exp(-40)`` may matter beside its others."""


@dataclass(frozen=True)
class ShiftedSums:
    """Shifted kernel sums of some targets: ``c`` (n,), ``m`` (n,) and ``S`` (n, D).

    For a target that no source reaches, ``c`` is ``-inf`` and ``m`` is 0.
    """

    log_shift: Array
    mass: Array
    weighted: Array


@dataclass(frozen=True)
class DenseSums:
    """Kernel sums between two sets of points, over all pairs."""

    kernel: RadialKernel
    n_jobs: int | None = None

    def forward(
        self, targets: Array, sources: Array, values: Array, *, exclude: IntArray | None = None
    ) -> ShiftedSums:
        """Return the sums at targets (n, q) over sources (m, q), in units of the kernel's width.

        Values (m, D) may have no columns if only the mass is needed. ``exclude`` (n,) names one
        source to leave out for each target; leave-one-out is ``np.arange(n)`` with targets equal to
        sources.
        """
        log_shift, mass = np.empty(len(targets)), np.empty(len(targets))
        weighted = np.empty((len(targets), values.shape[1]))

        def work(rows: slice) -> None:
            log_k = self.kernel.log_profile(sqdist(targets[rows], sources))
            if exclude is not None:
                log_k[np.arange(len(log_k)), exclude[rows]] = -np.inf
            weights, log_shift[rows] = shifted_exp(log_k)
            mass[rows] = weights.sum(axis=1)
            weighted[rows] = row_product(weights, values)

        map_blocks(work, row_blocks(len(targets), 4 * 8 * len(sources)), n_jobs=self.n_jobs)
        return ShiftedSums(log_shift, mass, weighted)


@dataclass(frozen=True)
class DenseWeights:
    """All weights among points (n, q), as a matrix; see `twofold.numerics.sums.SelfWeights`.

    ``kernel_matrix`` (n, n) is zero on the diagonal. ``slopes`` (n, n) are the derivatives
    ``k'_ij`` with respect to the squared distance, over ``slope_unit``: for a Gaussian ``k' = -k /
    2``, and both matrices are one. ``mass`` (n,) are row sums.
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
        """Compute the weights; points of a group (n,) leave each other out."""
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
        mass = K.sum(axis=1)
        alone = np.flatnonzero(mass < SMALL_MASS)
        if len(alone):
            k, slope = _small_values(Z, alone, kernel, groups)
            for matrix, values in ((K, k),) if constant else ((K, k), (slopes, slope)):
                matrix[alone], matrix[:, alone] = values, values.T
            mass[alone] = k.sum(axis=1)
        return cls(Z, K, slopes, unit, mass, n_jobs)

    def mass_and_apply(self, values: Array) -> tuple[Array, Array]:
        """Return ``sum_j k_ij`` (n,) and ``sum_j k_ij v_j`` (n, D)."""
        return self.mass, self.kernel_matrix @ values

    def gradient(self, left: Array, right: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""

        def pull(rows: slice) -> Array:
            block: Array = left[rows] @ right.T
            block += offset[rows, None]
            return block

        return self._gradient(pull)

    def gram_products(self, scale: Array, gram: Array) -> tuple[float, Array, Array]:
        """Return the products of ``C = diag(scale) K - I`` with a Gram matrix ``G`` (n, n).

        They are ``sum_ij C_ij (C G)_ij``, ``sum_j scale_i k_ij (C G)_ij`` (n,) and ``C G`` (n, n).
        """
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

    def _gradient(self, pull: Callable[[slice], Array]) -> Array:
        """Contract ``Q_ij`` blocks with slopes and differences of points.

        One thin product with ``[Z, 1]`` gives ``sum_j g_ij z_j`` and ``sum_j g_ij`` together.
        """
        n, q = self.Z.shape
        Z1 = np.column_stack([self.Z, np.ones(n)])
        targets = np.empty((n, q + 1))

        def work(rows: slice) -> Array:
            block = pull(rows)
            block *= self.slopes[rows]
            targets[rows] = block @ Z1
            sources: Array = block.T @ Z1[rows]
            return sources

        parts = map_blocks(work, row_blocks(n, 2 * 8 * n), n_jobs=self.n_jobs)
        total = targets + np.sum(parts, axis=0)
        gradient: Array = 2.0 * self.slope_unit * (self.Z * total[:, q:] - total[:, :q])
        return gradient


def _small_values(
    Z: Array, rows: IntArray, kernel: RadialKernel, groups: IntArray | None
) -> tuple[Array, Array]:
    """Return kernel values and slopes (m, n) of some points, down to the smallest number.

    For a point far from all others, the ratios of tiny values are its weights. If they were cut off
    at ``exp(-40)``, the error would jump where the last neighbor passes the cut.
    """
    distances = sqdist(Z[rows], Z)
    k = np.exp(kernel.log_profile(distances))
    if groups is None:
        k[np.arange(len(rows)), rows] = 0.0
    else:
        k[groups[rows, None] == groups] = 0.0
    slopes: Array = k * np.nan_to_num(kernel.dlog_profile(distances))
    return k, slopes

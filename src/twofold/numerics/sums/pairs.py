"""Kernel weights of the pairs within reach of each other; the cost follows the neighbors.

A KD-tree finds the pairs. For a compact kernel the list is exact; for other kernels, pairs below a
``tolerance`` are left out.

With a Gram matrix ``G``, the products ``(B G)_ij = sum_l B_il G_lj`` are needed for neighbors j of
i only, and l runs over neighbors of i as well. So an evaluation reads the entries of ``G`` between
neighbors of a common point, ``sum_i k_i^2`` of them, whatever the number of features: the "sparse
structure" of Meinicke et al. (2005), Appendix B. This loop and the inner products of pairs are
compiled for large problems if numba is installed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from twofold.numerics.sums._compiled import compiled
from twofold.numerics.sums.reach import kernel_radius, profile_and_slope
from twofold.protocols import Array, IntArray, RadialKernel

CHUNK = 1 << 20


@dataclass(frozen=True)
class PairWeights:
    """The weights of the pairs that reach each other; see `twofold.numerics.sums.SelfWeights`.

    ``first < second`` (n_pairs,) are the points of each pair, ``k`` and ``slopes`` (n_pairs,) the
    kernel and its derivative with respect to the squared distance, ``mass`` (n,) the sums ``sum_j
    k_ij``.
    """

    Z: Array
    first: IntArray
    second: IntArray
    k: Array
    slopes: Array
    mass: Array

    @classmethod
    def of(
        cls,
        Z: Array,
        kernel: RadialKernel,
        *,
        groups: IntArray | None = None,
        tolerance: float = 1e-10,
        radius: float | None = None,
    ) -> PairWeights:
        """Find the pairs within a radius, or above a tolerance, and compute their weights.

        Points of a group (n,) leave each other out.
        """
        if radius is None:
            radius = kernel_radius(kernel, tolerance)
        pairs = cKDTree(Z).query_pairs(radius, output_type="ndarray")
        first, second = pairs[:, 0], pairs[:, 1]
        if groups is not None:
            kept = groups[first] != groups[second]
            first, second = first[kept], second[kept]
        distances = np.zeros(len(first))
        for column in Z.T:
            distances += np.square(column[first] - column[second])
        k, slopes = profile_and_slope(kernel, distances)
        n = len(Z)
        mass = _total(first, k, n) + _total(second, k, n)
        return cls(Z, first, second, k, slopes, mass)

    def mass_and_apply(self, values: Array) -> tuple[Array, Array]:
        """Return ``sum_j k_ij`` (n,) and ``sum_j k_ij v_j`` (n, D)."""
        loops = compiled(work=len(self.first) * values.shape[1])
        if loops is not None:
            summed = np.zeros(values.shape)
            loops.pair_sums(self.k, self.first, self.second, values, summed)
            return self.mass, summed
        n = len(self.Z)
        half = csr_array((self.k, (self.first, self.second)), shape=(n, n))
        return self.mass, np.asarray(half @ values + half.T @ values)

    def gradient(self, left: Array, right: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""
        pull = _pair_products(left, right, self.first, self.second)
        pull += offset[self.first] + offset[self.second]
        return self._gradient(pull)

    def gram_products(self, scale: Array, gram: Array) -> tuple[float, Array, Array]:
        """Return the same as `DenseWeights.gram_products`; ``C G`` at the pairs (2, n_pairs)."""
        n, n_pairs = len(self.Z), len(self.first)
        rows = np.concatenate([self.first, self.second])
        # 16-bit keys get a radix sort, in a tenth of the time.
        keys = rows.astype(np.uint16) if n <= 1 << 16 else rows
        order = np.argsort(keys, kind="stable")
        columns = np.concatenate([self.second, self.first])[order]
        k = np.concatenate([self.k, self.k])[order]
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        rows = rows[order]
        weights = scale[rows] * k
        held = gram[rows, columns]
        products = np.empty(len(columns))
        loops = compiled(work=int(np.square(np.diff(pointers)).sum()))
        over_neighbors = _over_common_neighbors if loops is None else loops.over_common_neighbors
        over_neighbors(pointers, columns, weights, gram, products)
        products -= held
        shares = weights * products
        own = _total(rows, shares, n)
        # sum_ij C_ij (C G)_ij, of which the diagonal is sum_j B_ij G_ij - G_ii.
        error = float(shares.sum() - (weights * held).sum() + np.trace(gram))
        both = np.empty(2 * n_pairs)
        both[order] = products
        return error, own, both.reshape(2, n_pairs)

    def pull_gradient(self, products: Array, scale: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij scale_i (products_ij + offset_i)``, shape (n, q)."""
        forth, back = products
        pull = scale[self.first] * (forth + offset[self.first])
        pull += scale[self.second] * (back + offset[self.second])
        return self._gradient(pull)

    def _gradient(self, pull: Array) -> Array:
        """Contract ``Q_ij + Q_ji`` (n_pairs,) with slopes and differences of points."""
        pull = 2.0 * pull * self.slopes
        gradient = np.empty_like(self.Z)
        n = len(self.Z)
        for number, column in enumerate(self.Z.T):
            along = pull * (column[self.first] - column[self.second])
            gradient[:, number] = _total(self.first, along, n) - _total(self.second, along, n)
        return gradient


def _total(points: IntArray, values: Array, n: int) -> Array:
    """Return for each of n points the sum of its values."""
    totals: Array = np.bincount(points, weights=values, minlength=n).astype(np.float64)
    return totals


def _pair_products(left: Array, right: Array, first: IntArray, second: IntArray) -> Array:
    """Return ``left_i . right_j + left_j . right_i`` for each pair, shape (n_pairs,)."""
    products = np.empty(len(first))
    loops = compiled(work=len(first) * left.shape[1])
    if loops is not None:
        loops.pair_products(left, right, first, second, products)
        return products
    size = max(1, CHUNK // max(1, right.shape[1]))
    for start in range(0, len(first), size):
        some = slice(start, start + size)
        i, j = first[some], second[some]
        products[some] = np.einsum("pd,pd->p", left[i], right[j])
        products[some] += np.einsum("pd,pd->p", left[j], right[i])
    return products


def _over_common_neighbors(
    pointers: IntArray, columns: IntArray, weights: Array, gram: Array, sums: Array
) -> None:
    """Write ``sum_l B_il G_lj`` for the entries (i, j) of a sparse ``B`` in CSR form."""
    counts = np.diff(pointers)
    repeats = np.repeat(counts, counts)
    firsts = np.repeat(pointers[:-1], counts)
    ends = np.cumsum(repeats)
    start = 0
    while start < len(columns):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
        some = slice(start, stop)
        begins = ends[some] - repeats[some] - before
        partner = np.arange(int(ends[stop - 1]) - before)
        partner += np.repeat(firsts[some] - begins, repeats[some])
        of = np.repeat(columns[some], repeats[some])
        sums[some] = np.add.reduceat(weights[partner] * gram[columns[partner], of], begins)
        start = stop

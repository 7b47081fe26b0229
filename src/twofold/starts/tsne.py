r"""t-SNE as a start: few iterations, the same quality of the map.

With affinities ``P_ij`` of the data that sum to one (`twofold.numerics.probabilities`, symmetric)
and ``W_ij = 1 / (1 + |z_i - z_j|^2)`` the gradient of the divergence is

.. math:: g_i = 4 \sum_j (e P_{ij} - W_{ij} / s) W_{ij} (z_i - z_j), \quad s = \sum_{i \ne j} W_{ij}

(van der Maaten & Hinton 2008, with the exaggeration ``e``). Attraction runs over neighbors, the
repulsion of few points over all pairs, in single precision. That of many points comes from a grid:
since :math:`\nabla_i W_{ij} = -2 W_{ij}^2 (z_i - z_j)`, it is the slope of one field of sums
(`twofold.numerics.sums.grid.StudentField`).

The step is ``n / e`` with momentum and gains, and no point moves farther than ``LONGEST_STEP`` at
once. After 250 iterations the divergence is that of scikit-learn's t-SNE after 1,000, or lower
(digits 0.62 and 0.61, a noisy sheet of 2,000 points 0.51 and 0.52), in a seventh of the time. Many
points start from the map of few, and need no exaggeration.

References
----------
L. van der Maaten, G. Hinton. Visualizing data using t-SNE. JMLR 9, 2008.
G. Linderman et al. Fast interpolation-based t-SNE for improved visualization of single-cell RNA-seq
data. Nature Methods 16, 2019.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from twofold.maps.affine import Affine
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.neighbors import nearest, nearest_neighbors
from twofold.numerics.probabilities import neighbor_matrix
from twofold.numerics.sums._compiled import compiled
from twofold.numerics.sums.grid import StudentField
from twofold.numerics.threads import BLOCK_BYTES, map_blocks, row_blocks, single_threaded_blas
from twofold.protocols import AnyArray, Array, IntArray
from twofold.starts.coarse_map import CoarseMap
from twofold.starts.linear import pca

PERPLEXITY = 30.0
EXAGGERATION = 12.0
ITERATIONS = (60, 190)
"""With and without exaggeration."""

LATER_ITERATIONS = 100
"""Of many points, from the map of few."""

GROWTH = 1.0 / 3.0
"""Power of the number of points with which that map grows first. Points repel each other, so maps
of more are larger; to grow by repulsion takes many iterations."""

MOMENTUM = (0.5, 0.8)
LONGEST_STEP = 2.0
FIRST_DEVIATION = 1e-2
FASTER, SLOWER, LEAST_GAIN = 0.2, 0.8, 0.01
N_AVERAGED = 10
"""Neighbors of a point over which the coarse map averages."""

PAIRS_AT_ONCE = 2**22
"""Pairs of a block, which one thread takes: less than a millisecond."""

MULTIPLICATIONS = 5
"""For a pair of points."""

LOOPS = "twofold.starts._tsne_loops"

Forces = Callable[[AnyArray, float], AnyArray]
"""The gradient (n, q) at latents (n, q) with an exaggeration."""

Repulsion = Callable[[AnyArray], tuple[float, AnyArray]]
"""The sum ``s`` of all weights, and ``sum_j W_ij^2 (z_i - z_j)`` (n, q)."""


def few_points(X: Array, n_components: int) -> Array:
    """Return the map (n, q) of few points (n, D)."""
    start = pca(X, n_components)
    deviation = float(start[:, 0].std()) or 1.0
    Z = FIRST_DEVIATION / deviation * start
    k = max(1, int(3.0 * min(PERPLEXITY, (len(X) - 1) / 3.0)))
    forces = _gradient(affinities(X, nearest(X, None, k)[0]), _all_pairs)
    with single_threaded_blas():
        for exaggeration, n_iter, momentum in zip(
            (EXAGGERATION, 1.0), ITERATIONS, MOMENTUM, strict=True
        ):
            Z = _descend(forces, Z, exaggeration, n_iter, momentum)
    return Z


def many_points(X: Array, n_components: int, rng: np.random.Generator) -> Array:
    """Return the map (n, q), q at most 2, of many points (n, D), from a map of some."""
    subspace = Affine.leading_subspace(X - X.mean(axis=0), n_components)
    inside = subspace.into(X - X.mean(axis=0))
    near = nearest_neighbors(inside, int(3.0 * PERPLEXITY), rng)
    coarse = CoarseMap.of(inside, near[:, :N_AVERAGED], rng)
    start = coarse.extend(lambda some: few_points(some, n_components), rng)
    start *= (len(X) / len(coarse.chosen)) ** GROWTH
    forces = _gradient(affinities(inside, near), _field)
    return _descend(forces, start, 1.0, LATER_ITERATIONS, MOMENTUM[1])


def affinities(X: Array, near: IntArray) -> csr_array:
    """Return the symmetric affinities (n, n), of sum one, of points and their nearest (n, k)."""
    P = neighbor_matrix(X, near, perplexity=max(near.shape[1] / 3.0, 1.0))
    both = csr_array(P + P.T)
    both.data /= both.data.sum()
    return both


def _descend(
    forces: Forces, Z: AnyArray, exaggeration: float, n_iter: int, momentum: float
) -> AnyArray:
    """Descend with momentum and gains, which grow while a coordinate keeps its direction."""
    rate = len(Z) / exaggeration
    step, gains = np.zeros_like(Z), np.ones_like(Z)
    for _ in range(n_iter):
        gradient = forces(Z, exaggeration)
        same = gradient * step < 0.0
        gains = np.maximum(np.where(same, gains + FASTER, gains * SLOWER), LEAST_GAIN)
        step = momentum * step - rate * gains * gradient
        length = np.sqrt(np.einsum("nq,nq->n", step, step))
        step *= np.minimum(1.0, LONGEST_STEP / np.maximum(length, 1e-30))[:, None]
        Z = Z + step
        Z -= Z.mean(axis=0)
    return Z


def _gradient(P: csr_array, repulsion: Repulsion) -> Forces:
    """Return the gradient with these affinities and this repulsion."""
    n = P.shape[0]
    loops, small = compiled(MULTIPLICATIONS * n * n, LOOPS), P.data.astype(np.float32)
    blocks = row_blocks(n, BLOCK_BYTES * P.nnz // (n * PAIRS_AT_ONCE) + 1)

    def attraction(points: AnyArray) -> AnyArray:
        """Return ``sum_j P_ij W_ij (z_i - z_j)``."""
        if loops is None:
            differences = np.repeat(points, np.diff(P.indptr), axis=0) - points[P.indices]
            weights = small / (1.0 + row_norms_sq(differences))
            return np.add.reduceat(weights[:, None] * differences, P.indptr[:-1], axis=0)
        pull, columns = np.empty_like(points), np.ascontiguousarray(points.T)

        def work(rows: slice) -> None:
            loops.attract(rows.start, rows.stop, P.indptr, P.indices, small, columns, pull)

        map_blocks(work, blocks)
        return pull

    def forces(Z: AnyArray, exaggeration: float) -> AnyArray:
        pull = attraction(Z.astype(np.float32))
        total, push = repulsion(Z)
        return 4.0 * (exaggeration * pull - push / max(total, 1e-30))

    return forces


def _all_pairs(Z: AnyArray) -> tuple[float, AnyArray]:
    """Return ``s`` and ``sum_j W_ij^2 (z_i - z_j)`` (n, q), over all pairs."""
    n, q = Z.shape
    points: AnyArray = Z.astype(np.float32)
    sums, push = np.empty(n, dtype=np.float32), np.empty((n, q), dtype=np.float32)
    blocks = row_blocks(n, BLOCK_BYTES * n // PAIRS_AT_ONCE)
    loops = compiled(MULTIPLICATIONS * n * n, LOOPS)
    if loops is not None:
        columns = np.ascontiguousarray(points.T)
        map_blocks(lambda rows: loops.repel(rows.start, rows.stop, columns, sums, push), blocks)
    else:
        ones, squares = np.ones((n, 1), dtype=np.float32), row_norms_sq(points)[:, None]
        left = np.hstack([-2.0 * points, ones, squares + 1.0])
        right = np.hstack([points, squares, ones]).T
        with_ones = np.hstack([points, ones])
        for rows in blocks:
            W = np.reciprocal(left[rows] @ right)
            sums[rows] = W.sum(axis=1)
            moments = np.square(W, out=W) @ with_ones
            push[rows] = moments[:, -1:] * points[rows] - moments[:, :-1]
    return float(sums.sum(dtype=np.float64)) - n, push


def _field(Z: AnyArray) -> tuple[float, AnyArray]:
    """Return ``s`` and ``sum_j W_ij^2 (z_i - z_j)`` (n, q), from a grid."""
    sums, slopes = StudentField(Z).sums_and_slopes()
    return float(sums.sum()) - len(Z), -0.5 * slopes

"""k-means of many small sets of the same size at once, by array operations."""

from __future__ import annotations

import numpy as np

from twofold.protocols import Array, IntArray

N_ITERATIONS = 12
"""Lloyd's steps; the codebook error of small sets changes little after ten."""


def batched_codewords(points: Array, n_codes: int, rng: np.random.Generator) -> Array:
    """Return k-means centers (b, n_codes, q) of sets of points (b, m, q), ``n_codes <= m``.

    The initial centers are those of k-means++: each is a point drawn with a probability
    proportional to the squared distance from the centers before it.
    """
    n_sets, n_points, width = points.shape
    sets = np.arange(n_sets)
    codes = np.empty((n_sets, n_codes, width))
    codes[:, 0] = points[sets, rng.integers(n_points, size=n_sets)]
    squares = np.square(points - codes[:, :1]).sum(axis=2)
    for number in range(1, n_codes):
        total = np.cumsum(squares, axis=1)
        drawn = rng.random(n_sets) * total[:, -1]
        place = np.minimum((total < drawn[:, None]).sum(axis=1), n_points - 1)
        codes[:, number] = points[sets, place]
        squares = np.minimum(squares, np.square(points - codes[:, number, None]).sum(axis=2))
    for _ in range(N_ITERATIONS):
        cells = batched_cells(points, codes)
        means, sizes = batched_means(points, cells, n_codes)
        codes = np.where(sizes[:, :, None] > 0, means, codes)
    return codes


def batched_cells(points: Array, codes: Array) -> IntArray:
    """Return the number (b, m) of the nearest codeword (b, k, q) of each point (b, m, q)."""
    # The squared norms of the points do not change which codeword is nearest.
    scores = np.square(codes).sum(axis=2)[:, None] - 2.0 * points @ codes.transpose(0, 2, 1)
    cells: IntArray = scores.argmin(axis=2)
    return cells


def batched_means(rows: Array, cells: IntArray, n_codes: int) -> tuple[Array, IntArray]:
    """Return the mean row (b, k, D) of each cell, zero if it is empty, and its size (b, k)."""
    n_sets, n_rows = cells.shape
    members = np.zeros((n_sets, n_codes, n_rows))
    members[np.arange(n_sets)[:, None], cells, np.arange(n_rows)] = 1.0
    sizes = members.sum(axis=2)
    means: Array = members @ rows / np.maximum(sizes, 1.0)[:, :, None]
    return means, sizes.astype(np.intp)

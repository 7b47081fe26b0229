"""An initial map of many points, from an exact map of few.

Some points are embedded by a slow and good method. All others are placed by their nearest of these,
then smoothed over the neighborhood graph. Three averages over that graph denoise the data before
the few are chosen and compared; only the initial map uses the averages. Medians keep a point whose
neighbors lie in two places from landing between them. The first placement takes geometric medians,
because componentwise ones put many points on lines along the axes. A jitter of 0.3 distances
between neighbors of the coarse map separates points that share a place: with less, the map that
grows from it shatters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from twofold.numerics.neighbors import nearest
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import AnyArray

N_COARSE = 3_000
N_NEAREST = 5
N_AVERAGES = 3
N_SMOOTHINGS = 6
JITTER = 0.3
N_WEISZFELD = 4
SOFTEST = 0.1
"""Share of the mean distance that is added to distances to a median, which may be zero."""


@dataclass(frozen=True)
class CoarseMap:
    """Points averaged over their neighbors (n, D), and the few that represent all.

    ``neighbors`` (n, k) are numbers of points, ``chosen`` (m,) those of the points that are
    embedded first, and ``nearest`` (n, 5) each point's nearest of these, as positions in
    ``chosen``.
    """

    averaged: AnyArray
    neighbors: AnyArray
    chosen: AnyArray
    nearest: AnyArray

    @classmethod
    def of(cls, X: AnyArray, neighbors: AnyArray, rng: np.random.Generator) -> CoarseMap:
        """Average the data (n, D), choose the few, and find the nearest of them to each point."""
        averaged = np.asarray(X, dtype=np.float32)
        for _ in range(N_AVERAGES):
            averaged = _averaged(averaged, neighbors)
        chosen = np.sort(rng.permutation(len(X))[:N_COARSE])
        near, _ = nearest(averaged[chosen], averaged, min(N_NEAREST, len(chosen)))
        return cls(averaged, neighbors, chosen, near)

    def extend(self, embed: Callable[[AnyArray], AnyArray], rng: np.random.Generator) -> AnyArray:
        """Embed the few (m, D) and place all points; return latents (n, q)."""
        few = embed(self.averaged[self.chosen].astype(np.float64))
        Z = middles(few[self.nearest])
        for _ in range(N_SMOOTHINGS):
            Z = _smoothed(Z, self.neighbors)
        distances = np.asarray(cKDTree(few).query(few, k=2)[0])
        spacing = float(np.median(distances[:, 1]))
        jittered: AnyArray = Z + JITTER * spacing * rng.standard_normal(Z.shape)
        return jittered


def _averaged(X: AnyArray, neighbors: AnyArray) -> AnyArray:
    """Return the mean of each point and its neighbors."""
    means = np.empty_like(X)

    def work(rows: slice) -> None:
        total = X[rows].copy()
        for column in neighbors[rows].T:
            total += X[column]
        means[rows] = total / (1 + neighbors.shape[1])

    map_blocks(work, row_blocks(len(X), 4 * 3 * X.shape[1]))
    return means


def _smoothed(Z: AnyArray, neighbors: AnyArray) -> AnyArray:
    """Return the componentwise median of each point and its neighbors."""
    smoothed = np.empty_like(Z)

    def work(rows: slice) -> None:
        own = np.arange(len(Z))[rows, None]
        smoothed[rows] = np.median(Z[np.hstack([own, neighbors[rows]])], axis=1)

    map_blocks(work, row_blocks(len(Z), 8 * 4 * Z.shape[1] * neighbors.shape[1]))
    return smoothed


def middles(groups: AnyArray) -> AnyArray:
    """Return the geometric medians (n, q) of groups of points (n, k, q), nearly.

    A few of Weiszfeld's steps from the componentwise medians. Those alone depend on the axes: many
    points share a coordinate with one of the few, which shows as streaks along the axes.
    """
    middles = np.median(groups, axis=1)
    for _ in range(N_WEISZFELD):
        offsets = groups - middles[:, None]
        distances = np.sqrt(np.einsum("nkq,nkq->nk", offsets, offsets))
        distances += SOFTEST * distances.mean(axis=1, keepdims=True) + 1e-100
        weights = 1.0 / distances
        middles = np.einsum("nk,nkq->nq", weights, groups) / weights.sum(axis=1)[:, None]
    return middles

"""A first map of many points, from an exact map of few.

Some points are embedded by a method that is slow and good; everyone else is placed by their nearest of
these, then smoothed over the graph of neighbours in data space. Three averages over that graph take the noise out
of the data before the few are chosen and compared; the averages serve the first map alone. Medians keep a
point whose neighbours lie in two places from landing between them. A jitter of 0.3 distances between
neighbours of the coarse map spreads points that share a place: with less the map that grows from there
shatters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import AnyArray

__all__ = ["CoarseMap"]

N_COARSE = 2_000
N_NEAREST = 5
N_AVERAGES = 3
N_SMOOTHINGS = 6
JITTER = 0.3


@dataclass(frozen=True)
class CoarseMap:
    """Points, their neighbours, and some of them that stand for all.

    Attributes
    ----------
    averaged : ndarray of shape (n, D)
        The data, averaged over their neighbours.
    neighbors : ndarray of int, shape (n, k)
        Neighbours in data space.
    chosen : ndarray of int, shape (m,)
        The points that are embedded first.
    nearest : ndarray of int, shape (n, 5)
        For each point the nearest of these, by their place in ``chosen``.
    """

    averaged: AnyArray
    neighbors: AnyArray
    chosen: AnyArray
    nearest: AnyArray

    @classmethod
    def of(cls, X: AnyArray, neighbors: AnyArray, rng: np.random.Generator) -> CoarseMap:
        """Average the data, choose the few, and find everyone's nearest of them.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            The data.
        neighbors : ndarray of int, shape (n, k)
            Neighbours in data space.
        rng : Generator
            Chooses the few.
        """
        averaged = np.asarray(X, dtype=np.float32)
        for _ in range(N_AVERAGES):
            averaged = _averaged(averaged, neighbors)
        chosen = np.sort(rng.permutation(len(X))[:N_COARSE])
        nearest = _nearest(averaged, averaged[chosen], min(N_NEAREST, len(chosen)))
        return cls(averaged, neighbors, chosen, nearest)

    def extend(self, embed: Callable[[AnyArray], AnyArray], rng: np.random.Generator) -> AnyArray:
        """Embed the few and place everyone.

        Parameters
        ----------
        embed : callable
            Takes data (m, D) to latents (m, q).
        rng : Generator
            Seeds the jitter.

        Returns
        -------
        ndarray of shape (n, q)
        """
        few = embed(self.averaged[self.chosen].astype(np.float64))
        Z = np.median(few[self.nearest], axis=1)
        for _ in range(N_SMOOTHINGS):
            Z = _smoothed(Z, self.neighbors)
        distances = np.asarray(cKDTree(few).query(few, k=2)[0])
        spacing = float(np.median(distances[:, 1]))
        jittered: AnyArray = Z + JITTER * spacing * rng.standard_normal(Z.shape)
        return jittered


def _averaged(X: AnyArray, neighbors: AnyArray) -> AnyArray:
    """Return the means of each point and its neighbours."""
    means = np.empty_like(X)

    def work(rows: slice) -> None:
        total = X[rows].copy()
        for column in neighbors[rows].T:
            total += X[column]
        means[rows] = total / (1 + neighbors.shape[1])

    map_blocks(work, row_blocks(len(X), 4 * 3 * X.shape[1]))
    return means


def _smoothed(Z: AnyArray, neighbors: AnyArray) -> AnyArray:
    """Return the medians, coordinate by coordinate, over each point and its neighbours."""
    smoothed = np.empty_like(Z)

    def work(rows: slice) -> None:
        own = np.arange(len(Z))[rows, None]
        smoothed[rows] = np.median(Z[np.hstack([own, neighbors[rows]])], axis=1)

    map_blocks(work, row_blocks(len(Z), 8 * 4 * Z.shape[1] * neighbors.shape[1]))
    return smoothed


def _nearest(X: AnyArray, few: AnyArray, k: int) -> AnyArray:
    """Return the numbers of the k nearest of a few points (n, k)."""
    half_norms = 0.5 * row_norms_sq(few)

    def work(rows: slice) -> AnyArray:
        distances = half_norms - X[rows] @ few.T
        if k == len(few):
            return np.broadcast_to(np.arange(k), distances.shape)
        # A copy: a view would keep the ranks of all.
        return np.argpartition(distances, k - 1, axis=1)[:, :k].astype(np.int32)

    return np.concatenate(map_blocks(work, row_blocks(len(X), 4 * 2 * len(few))))

"""Distances along the data: neighbors and a start for stochastic neighbor embedding.

Euclidean neighborhoods of 30 rows reach from one sheet of a roll to the next. The divergence then
asks for latents that fold, wherever the descent starts. Shortest paths in the graph of mutual
neighbors (`twofold.geodesics.graph.mutual_graph`) stay on the sheet. Classical scaling of the same
paths gives the start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from twofold.geodesics.graph import default_mutual_neighbors, mutual_graph, nearest_along
from twofold.geodesics.scaling import classical_scaling, landmark_scaling, squared_geodesics
from twofold.maps.affine import Affine
from twofold.numerics.neighbors import nearest, nearest_neighbors
from twofold.protocols import Array, IntArray

N_LANDMARKS = 250
"""Rows whose paths to all others give the start of many rows."""


@dataclass(frozen=True)
class Paths:
    """Paths along the data; of few rows, all their squared lengths (n, n)."""

    graph: csr_array
    squares: Array | None

    @classmethod
    def of(cls, data: Array, rng: np.random.Generator, *, few: bool) -> Paths:
        """Build the graph of centered data (n, D), connected; few rows get all paths.

        Many rows are compared in their leading principal subspace.
        """
        k = default_mutual_neighbors(len(data))
        if not few:
            data = Affine.leading_subspace(data).into(data)
        near = nearest(data, None, k)[0] if few else nearest_neighbors(data, k, rng)
        graph, _ = mutual_graph(data, near)
        return cls(graph, squared_geodesics(graph, None, np.float64) if few else None)

    def nearest(self, n_neighbors: int) -> tuple[IntArray, Array]:
        """Return each row's nearest others (n, k) along the data, and squared path lengths."""
        neighbors, lengths = nearest_along(self.graph, n_neighbors)
        return neighbors, np.square(lengths, out=lengths)

    def start(self, n_components: int, rng: np.random.Generator) -> Array:
        """Return the latents (n, q) whose distances approximate the paths."""
        if self.squares is not None:
            return classical_scaling(self.squares, n_components)
        n = self.graph.shape[0]
        landmarks = np.sort(rng.choice(n, size=min(n, N_LANDMARKS), replace=False))
        squares = squared_geodesics(self.graph, landmarks, np.float32)
        return landmark_scaling(squares, landmarks, n_components)

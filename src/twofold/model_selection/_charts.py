r"""Local charts of a manifold, and what their latents tell about held-out rows.

A closed surface such as a torus has no map onto the plane without tears, although it has two
dimensions everywhere. So the dimension is judged in pieces: a chart has the rows nearest to a
center along the neighborhood graph, and classical scaling of their geodesic distances gives its
latents. The coordinates are nested, leading first: the first q are the chart of q dimensions.

A chart of q dimensions is judged by its codebook error on held-out rows, as in
`twofold.numerics.codebooks`. Codewords are k-means centers of the training latents, each decoded to
the mean of the training rows in its cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.geodesics.graph import default_mutual_neighbors, geodesic_distances, mutual_graph
from twofold.geodesics.scaling import classical_scaling, squared_geodesics
from twofold.model_selection._batched_kmeans import batched_cells, batched_codewords, batched_means
from twofold.numerics.codebooks import SMALLEST_ERROR
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.neighbors import nearest
from twofold.protocols import Array

SHARE_OF_ROWS = 10
FEWEST_IN_CHART, MOST_IN_CHART = 100, 400
"""Rows of a chart: a tenth of all, within these bounds."""

ROWS_OF_CHARTS = 4_000
FEWEST_CHARTS, MOST_CHARTS = 12, 30
"""Charts: as many as have this many rows together, within these bounds."""

N_FOLDS = 5
ROWS_PER_CODE = 5
MOST_CODES = 64
LEVELS = 4
"""Codewords for each latent dimension of a chart, as far as there are rows."""


@dataclass(frozen=True)
class Charts:
    """Rows (c, m, D) and latents (c, m, q) of charts; ``variances`` (c,) are those of the rows.

    The rows of a chart are in random order; each fifth of them is held out once.
    """

    rows: Array
    latents: Array
    variances: Array

    @classmethod
    def of(cls, data: Array, n_dimensions: int, rng: np.random.Generator) -> Charts:
        """Find charts of centered, distinct rows (n, D), with latents of so many dimensions."""
        n = len(data)
        size = min(max(FEWEST_IN_CHART, min(n // SHARE_OF_ROWS, MOST_IN_CHART)), n)
        size -= size % N_FOLDS
        near = nearest(data, None, default_mutual_neighbors(n), rng=rng)[0]
        graph = mutual_graph(data, near)[0]
        n_charts = max(FEWEST_CHARTS, min(ROWS_OF_CHARTS // size, MOST_CHARTS))
        center, closest = int(rng.integers(n)), np.full(n, np.inf)
        members, latents = [], []
        for _ in range(n_charts):
            lengths = geodesic_distances(graph, indices=[center])[0]
            # The paths from the center pass through closer rows only: the piece is connected.
            chart = np.sort(np.argsort(lengths, kind="stable")[:size])
            piece = graph[chart][:, chart].tocsr()
            scaled = classical_scaling(squared_geodesics(piece, None, np.float64), n_dimensions)
            order = rng.permutation(size)
            members.append(chart[order])
            latents.append(scaled[order])
            # The next center is far from all former ones, but not the farthest row, an outlier.
            closest = np.minimum(closest, np.square(lengths))
            total = closest.sum()
            center = int(rng.choice(n, p=closest / total)) if total > 0.0 else int(rng.integers(n))
        rows = data[np.array(members)]
        rows -= rows.mean(axis=1, keepdims=True)
        return cls(rows, np.array(latents), np.square(rows).sum(axis=2).mean(axis=1))

    def n_codes(self, n_dimensions: int) -> int:
        """Return the size of the codebook that judges charts of so many dimensions."""
        n_train = int(self.rows.shape[1]) * (N_FOLDS - 1) // N_FOLDS
        enough = int(min(LEVELS ** min(n_dimensions, 8), MOST_CODES))
        return min(enough, n_train // ROWS_PER_CODE)

    def scores(self, n_dimensions: int, n_codes: int, rng: np.random.Generator) -> Array:
        """Return the negative log of the relative codebook error of each chart (c,)."""
        latents = self.latents[:, :, :n_dimensions]
        errors = np.zeros(len(latents))
        for fold in range(N_FOLDS):
            held_out = np.arange(latents.shape[1]) % N_FOLDS == fold
            known = latents[:, ~held_out]
            codes = batched_codewords(known, n_codes, rng)
            decoded, _ = batched_means(
                self.rows[:, ~held_out], batched_cells(known, codes), n_codes
            )
            cells = batched_cells(latents[:, held_out], codes)
            for chart, rebuilt in enumerate(decoded):
                lost = row_norms_sq(self.rows[chart, held_out] - rebuilt[cells[chart]])
                errors[chart] += float(lost.mean()) / N_FOLDS
        relative = np.divide(errors, self.variances, out=errors, where=self.variances > 0.0)
        scores: Array = -np.log(np.maximum(relative, SMALLEST_ERROR))
        return scores

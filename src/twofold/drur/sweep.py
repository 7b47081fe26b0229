r"""Sweeps: the maps of unsupervised regression from sums over all rows.

The turns of a fit need only as many rows as determine two small networks. A sweep then includes the
others: it projects each row with the present maps, and solves both regressions for the sums over
all rows. It works on one leaf of rows at a time (`twofold.numerics.tree_sums`), so rows may come
from memory, a file or a cluster.

The up-map is solved for all columns of the data at once. The map to the coordinates in which rows
are projected follows from it, since a ridge regression is linear in its targets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.drur.alternation import Turns, project_rows
from twofold.drur.maps import FinalMaps
from twofold.drur.radial_regression import NetworkSums, RidgeSystem, network_of
from twofold.maps import KernelRidgeMap, RBFNetwork
from twofold.maps.affine import Affine, Chain, Inverse, Predictor
from twofold.numerics.linalg import row_norms_sq, sqdist
from twofold.numerics.threads import row_blocks
from twofold.numerics.tree_sums import RowSums
from twofold.protocols import Array, Map

BLOCK_ROWS = 16_384


@dataclass(frozen=True)
class SweepSums(RowSums):
    """The sum of the squares of rows, and the sums of the maps to solve."""

    squares: float
    up: NetworkSums | None
    down: NetworkSums | None


@dataclass(frozen=True)
class Sweep:
    """One pass over all rows; called with the centered rows of a leaf.

    Rows are projected in ``coordinates`` with the present maps, unless the latents of all rows are
    ``known`` (n, q); ``kept`` (n, q) receives them. Projections start from F, or from one of the
    ``codewords`` (k, q), some known latents. Maps that ``are_networks`` are solved anew.
    """

    coordinates: Affine
    up: Map
    down: Map
    codewords: Array
    are_networks: tuple[bool, bool] = (True, True)
    known: Array | None = None
    kept: Array | None = None

    def latents_of(self, inside: Array) -> Array:
        """Return the latents (n, q) of coordinates (n, rank)."""
        pulls = self.down.predict(inside)
        latents, _ = project_rows(self.up, inside, pulls, self._starts(inside, pulls))
        return latents

    def _starts(self, inside: Array, pulls: Array) -> Array:
        """Return the values of F, or the best codewords where these have a lower energy.

        F may be far off for rows that took no part in the turns. Such rows would stay where f is
        not determined, and spoil both regressions.
        """
        best = row_norms_sq(inside - self.up.predict(pulls))
        # The energy at a codeword is a squared distance between pairs of data and latents.
        words = np.hstack([self.up.predict(self.codewords), self.codewords])
        starts = pulls.copy()
        for rows in row_blocks(len(inside), 8 * 3 * len(words)):
            energies = sqdist(np.hstack([inside[rows], pulls[rows]]), words)
            nearest = energies.argmin(axis=1)
            lower = energies[np.arange(len(nearest)), nearest] < best[rows]
            starts[rows][lower] = self.codewords[nearest[lower]]
        return starts

    def __call__(self, data: Array, first: int = 0) -> SweepSums:
        """Return the sums over centered rows (n, D), the first of which has this number."""
        inside = self.coordinates.into(data)
        rows = slice(first, first + len(data))
        latents = self.latents_of(inside) if self.known is None else self.known[rows]
        if self.kept is not None:
            self.kept[rows] = latents
        return SweepSums(
            float(row_norms_sq(data).sum()),
            _sums_of(self.up, latents, data) if self.are_networks[0] else None,
            _sums_of(self.down, inside, latents) if self.are_networks[1] else None,
        )

    def solved(self, sums: SweepSums, share: float) -> FinalMaps:
        """Return the maps for the sums over all rows.

        ``share`` is that of the rows which the present maps were learned from: ridges grow with
        the number of rows.
        """
        alphas = [getattr(one, "alpha_", np.nan) / share for one in (self.up, self.down)]
        up, down = self.up, self.down
        decoder: Predictor = Chain((up, Inverse(self.coordinates)))
        if sums.up is not None:
            decoder = network = _solved(up, sums.up, alphas[0])
            weights = self.coordinates.into(network.weights_)
            bias = self.coordinates.into(network.intercept_[None])[0]
            up = network_of(network.centers_, network.bandwidth_, alphas[0], (weights, bias))
        if sums.down is not None:
            down = _solved(down, sums.down, alphas[1])
        return FinalMaps(up, down, decoder)


def _sums_of(network: Map, inputs: Array, targets: Array) -> NetworkSums:
    """Return the sums over rows that determine a network."""
    assert isinstance(network, RBFNetwork)
    return NetworkSums.of(network.features(inputs), targets)


def _solved(network: Map, sums: NetworkSums, alpha: float) -> RBFNetwork:
    """Return the network with the same centers and bandwidth for the sums over all rows."""
    assert isinstance(network, RBFNetwork)
    system = RidgeSystem.of(sums, network.features(network.centers_), alpha)
    return network_of(network.centers_, network.bandwidth_, alpha, system.solve(sums))


@dataclass(frozen=True)
class Embedder:
    """Latents of rows under the maps of all rows, starting from those of the maps before."""

    before: Sweep
    maps: FinalMaps

    def latents_of(self, data: Array, starts: Array | None = None) -> Array:
        """Return the latents (n, q) of centered rows (n, D); missing starts are computed."""
        inside = self.before.coordinates.into(data)
        if starts is None:
            starts = self.before.latents_of(inside)
        return project_rows(self.maps.up, inside, self.maps.down.predict(inside), starts)[0]

    def latents_of_all(self, data: Array, starts: Array | None = None) -> Array:
        """Return the latents of many rows, computed in blocks."""
        blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, len(data), BLOCK_ROWS)]
        return np.concatenate(
            [self.latents_of(data[one], None if starts is None else starts[one]) for one in blocks]
        )


def joint_maps(turns: Turns, data: Array, inside: Array) -> tuple[FinalMaps, Array]:
    """Return the maps of a nonparametric fit for all rows, held-out ones too, and all latents."""
    up, down = turns.up, turns.down
    assert isinstance(up, KernelRidgeMap)
    assert isinstance(down, KernelRidgeMap)
    scale = (up.bandwidth_, up.alpha_)
    down = KernelRidgeMap._solved(inside, turns.latents, down.bandwidth_, down.alpha_)
    up = KernelRidgeMap._solved(turns.latents, inside, *scale)
    Z, _ = project_rows(up, inside, down.predict(inside), turns.latents)
    return FinalMaps(up, down, KernelRidgeMap._solved(turns.latents, data, *scale)), Z

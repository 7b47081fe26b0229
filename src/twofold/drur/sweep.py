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
from typing import Any

import numpy as np

from twofold.drur.alternation import Turns, project_rows
from twofold.drur.maps import FinalMaps
from twofold.drur.nonparametric import expansion
from twofold.drur.radial_regression import RidgeSystem, network_of, row_sums
from twofold.maps import RBFNetwork
from twofold.maps.affine import Affine, Chain, Inverse
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.tree_sums import Sums
from twofold.protocols import Array


@dataclass(frozen=True)
class Sweep:
    """One pass over all rows; called with the centered rows of a leaf.

    Rows are projected in ``coordinates`` with the present maps, unless the latents of all rows are
    ``known`` (n, q); ``kept`` (n, q) receives them. Maps that ``are_networks`` are solved anew.
    """

    coordinates: Affine
    up: Any
    down: Any
    are_networks: tuple[bool, bool] = (True, True)
    known: Array | None = None
    kept: Array | None = None

    def latents_of(self, inside: Array) -> Array:
        """Return the latents (n, q) of coordinates (n, rank)."""
        pulls = self.down.predict(inside)
        latents, _ = project_rows(self.up, inside, pulls, pulls)
        return latents

    def __call__(self, data: Array, first: int = 0) -> Sums:
        """Return the sums over centered rows (n, D), the first of which has this number."""
        inside = self.coordinates.into(data)
        rows = slice(first, first + len(data))
        latents = self.latents_of(inside) if self.known is None else self.known[rows]
        if self.kept is not None:
            self.kept[rows] = latents
        sums = Sums(n_rows=len(data), squares=float(row_norms_sq(data).sum()))
        if self.are_networks[0]:
            sums["up"] = row_sums(self.up.features(latents), data)
        if self.are_networks[1]:
            sums["down"] = row_sums(self.down.features(inside), latents)
        return sums

    def solved(self, sums: Sums, share: float) -> FinalMaps:
        """Return the maps for the sums over all rows.

        ``share`` is that of the rows which the present maps were learned from: ridges grow with
        the number of rows.
        """
        alphas = [getattr(one, "alpha_", np.nan) / share for one in (self.up, self.down)]
        up, down = self.up, self.down
        decoder: Any = Chain((up, Inverse(self.coordinates)))
        if "up" in sums:
            decoder = _solved(up, sums["up"], alphas[0])
            solution = (
                self.coordinates.into(decoder.weights_),
                self.coordinates.into(decoder.intercept_[None])[0],
            )
            up = network_of(up.centers_, up.bandwidth_, alphas[0], solution)
        if "down" in sums:
            down = _solved(down, sums["down"], alphas[1])
        return FinalMaps(up, down, decoder)


def _solved(network: RBFNetwork, sums: Sums, alpha: float) -> RBFNetwork:
    """Return the network with the same centers and bandwidth for the sums over all rows."""
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


def joint_maps(turns: Turns, data: Array, inside: Array) -> tuple[FinalMaps, Array]:
    """Return the maps of a nonparametric fit for all rows, held-out ones too, and all latents."""
    fitted: tuple[Any, Any] = (turns.up, turns.down)
    up_setting, down_setting = ((one.bandwidth_, one.alpha_) for one in fitted)
    down = expansion(inside, turns.latents, down_setting)
    up = expansion(turns.latents, inside, up_setting)
    Z, _ = project_rows(up, inside, down.predict(inside), turns.latents)
    return FinalMaps(up, down, expansion(turns.latents, data, up_setting)), Z

r"""A sweep over all rows, block by block: the maps of unsupervised regression from sums over every row.

The turns of a fit need no more rows than determine two small networks. A sweep then takes in the others: each row is
projected with the maps as they are, and both regressions are solved for the sums over all rows. Only one block is in
memory at a time, so rows may come from a file, or from anywhere.

The up-map is solved for all columns of the data at once; the map to the coordinates in which rows are projected
follows from it, since a ridge regression is linear in its targets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from twofold._linalg import row_norms_sq
from twofold.estimators._drur_maps import Coordinates, FinalMaps, ToCoordinates
from twofold.joint_regression import expansion
from twofold.maps import RBFNetwork
from twofold.maps._moments import CrossMoments, FeatureMoments, RidgeSystem, moments_of
from twofold.maps.radial_regression import network_of
from twofold.protocols import Array
from twofold.unsupervised_regression import Turns, project_rows

__all__ = ["Sweep", "joint_maps", "maps_of_all_rows"]

BLOCK_ROWS = 50_000


@dataclass
class Sums:
    """The sums over rows from which one network is solved."""

    features: FeatureMoments | None = None
    cross: CrossMoments | None = None

    def add(self, network: RBFNetwork, inputs: Array, targets: Array) -> None:
        """Take in some rows."""
        n_features = len(network.centers_)
        features, cross = moments_of(
            lambda rows: network._features(inputs[rows]), n_features, targets
        )
        assert features is not None
        self.features = features if self.features is None else self.features + features
        self.cross = cross if self.cross is None else self.cross + cross

    def solve(self, network: RBFNetwork, alpha: float) -> RBFNetwork:
        """Return the network with the same centres and width that the rows lead to."""
        assert self.features is not None
        assert self.cross is not None
        gram = network._features(network.centers_)
        solution = RidgeSystem.of(self.features, gram, alpha).solve(self.cross)
        return network_of(network.centers_, network.bandwidth_, alpha, solution)


@dataclass
class Sweep:
    """One pass over all rows.

    Parameters
    ----------
    coordinates : Coordinates
        Where rows are projected.
    up, down : Map
        The maps as they are.
    ours : tuple of bool
        Whether they are our radial networks, which are solved anew; other maps stay.
    """

    coordinates: Coordinates
    up: Any
    down: Any
    ours: tuple[bool, bool] = (True, True)
    n_rows: int = 0
    sum_of_squares: float = 0.0
    _up_sums: Sums = field(default_factory=Sums)
    _down_sums: Sums = field(default_factory=Sums)

    def add(self, data: Array, latents: Array | None = None) -> Array:
        """Take in centred rows (n, D), and return their latents.

        Parameters
        ----------
        data : ndarray of shape (n, D)
            Centred data, in all columns.
        latents : ndarray of shape (n, q), default=None
            The rows' latents; None means to project the rows.
        """
        inside = self.coordinates.predict(data)
        if latents is None:
            pulls = self.down.predict(inside)
            latents, _ = project_rows(self.up, inside, pulls, pulls)
        if self.ours[0]:
            self._up_sums.add(self.up, latents, data)
        if self.ours[1]:
            self._down_sums.add(self.down, inside, latents)
        self.n_rows += len(data)
        self.sum_of_squares += float(row_norms_sq(data).sum())
        return latents

    def solve(self, share: float) -> FinalMaps:
        """Return the maps that all rows lead to.

        Parameters
        ----------
        share : float
            Of the rows from which the maps were learned: their ridges grow with the rows.
        """
        alphas = [getattr(one, "alpha_", np.nan) / share for one in (self.up, self.down)]
        up, down, decoder = self.up, self.down, ToCoordinates(self.coordinates, self.up)
        if self.ours[0]:
            decoder = self._up_sums.solve(up, alphas[0])
            solution = (
                self.coordinates.predict(decoder.weights_),
                self.coordinates.predict(decoder.intercept_[None])[0],
            )
            up = network_of(up.centers_, up.bandwidth_, alphas[0], solution)
        if self.ours[1]:
            down = self._down_sums.solve(down, alphas[1])
        return FinalMaps(up, down, decoder)


def maps_of_all_rows(
    turns: Turns,
    data: Array,
    coordinates: Coordinates,
    share: float,
    latents: Array | None,
    ours: tuple[bool, bool],
    *,
    project: bool,
) -> tuple[FinalMaps, Array]:
    """Return the maps of the best turn solved for all rows, and the rows' latents.

    Parameters
    ----------
    turns : Turns
        What the turns found.
    data : ndarray of shape (n, D)
        Centred data.
    coordinates : Coordinates
        Where the turns took place.
    share : float
        Of the rows that took part in them.
    latents : ndarray of shape (n, q) or None
        The latents of the turns, where all rows took part.
    ours : tuple of bool
        Whether the maps up and down are our radial networks.
    project : bool
        Whether to find the latents of all rows with the new maps; otherwise none are returned.
    """
    sweep = Sweep(coordinates, turns.up, turns.down, ours)
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, len(data), BLOCK_ROWS)]
    starts = [sweep.add(data[rows], None if latents is None else latents[rows]) for rows in blocks]
    maps = sweep.solve(share)
    Z = [np.empty((0, starts[0].shape[1]))]
    if not project:
        return maps, Z[0]
    for rows, start in zip(blocks, starts, strict=True):
        inside = coordinates.predict(data[rows])
        Z.append(project_rows(maps.up, inside, maps.down.predict(inside), start)[0])
    return maps, np.concatenate(Z)


def joint_maps(turns: Turns, data: Array, inside: Array) -> tuple[FinalMaps, Array]:
    """Return the maps of a nonparametric fit for all rows, held-out ones among them, and the rows' latents."""
    fitted: tuple[Any, Any] = (turns.up, turns.down)
    up_setting, down_setting = ((one.bandwidth_, one.alpha_) for one in fitted)
    down = expansion(inside, turns.latents, down_setting)
    up = expansion(turns.latents, inside, up_setting)
    Z, _ = project_rows(up, inside, down.predict(inside), turns.latents)
    return FinalMaps(up, down, expansion(turns.latents, data, up_setting)), Z

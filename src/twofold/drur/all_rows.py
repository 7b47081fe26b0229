r"""A sweep over all rows: the maps of unsupervised regression from sums over every row.

The turns of a fit need no more rows than determine two small networks. A sweep then takes in the others: each row is
projected with the maps as they are, and both regressions are solved for the sums over all rows. Only a leaf of rows
(`twofold.numerics.tree_sums`) is worked on at a time, so rows may come from a file, from a cluster, or from anywhere.

The up-map is solved for all columns of the data at once; the map to the coordinates in which rows are projected
follows from it, since a ridge regression is linear in its targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.drur.alternation import Turns, project_rows
from twofold.drur.maps import FinalMaps
from twofold.drur.moments import CrossMoments, FeatureMoments, RidgeSystem
from twofold.drur.nonparametric import expansion
from twofold.drur.radial_regression import network_of
from twofold.maps import RBFNetwork
from twofold.maps.affine import Affine, Chain, Inverse
from twofold.numerics.linalg import row_norms_sq
from twofold.protocols import Array

__all__ = ["Embedder", "Sweep", "SweepSums", "joint_maps"]


@dataclass(frozen=True)
class NetworkSums:
    """The sums over rows from which one network is solved."""

    features: FeatureMoments
    cross: CrossMoments

    @classmethod
    def of_rows(cls, network: RBFNetwork, inputs: Array, targets: Array) -> NetworkSums:
        """Sum over some rows."""
        phi = network._features(inputs)
        features = FeatureMoments(len(phi), phi.sum(axis=0), phi.T @ phi)
        return cls(features, CrossMoments(targets.sum(axis=0), phi.T @ targets))

    def __add__(self, other: NetworkSums) -> NetworkSums:
        """Return the sums over both sets of rows."""
        return NetworkSums(self.features + other.features, self.cross + other.cross)

    def solved(self, network: RBFNetwork, alpha: float) -> RBFNetwork:
        """Return the network with the same centres and width that the rows lead to."""
        gram = network._features(network.centers_)
        solution = RidgeSystem.of(self.features, gram, alpha).solve(self.cross)
        return network_of(network.centers_, network.bandwidth_, alpha, solution)


@dataclass(frozen=True)
class SweepSums:
    """What a sweep adds up: rows, their squares, and the sums of those networks that are solved anew."""

    n_rows: int
    sum_of_squares: float
    up: NetworkSums | None
    down: NetworkSums | None

    def __add__(self, other: SweepSums) -> SweepSums:
        """Return the sums over both sets of rows."""
        return SweepSums(
            self.n_rows + other.n_rows,
            self.sum_of_squares + other.sum_of_squares,
            None if self.up is None or other.up is None else self.up + other.up,
            None if self.down is None or other.down is None else self.down + other.down,
        )


@dataclass(frozen=True)
class Sweep:
    """One pass over all rows; called with the rows of a leaf.

    Parameters
    ----------
    coordinates : Affine
        Where rows are projected.
    up, down : Map
        The maps as they are.
    ours : tuple of bool
        Whether they are our radial networks, which are solved anew; other maps stay.
    known : ndarray of shape (n, q), default=None
        The latents of all rows; None means to project the rows.
    kept : ndarray of shape (n, q), default=None
        Where the rows' latents are written to, if anywhere.
    """

    coordinates: Affine
    up: Any
    down: Any
    ours: tuple[bool, bool] = (True, True)
    known: Array | None = None
    kept: Array | None = None

    def latents_of(self, inside: Array) -> Array:
        """Return the latents (n, q) of coordinates (n, rank)."""
        pulls = self.down.predict(inside)
        latents, _ = project_rows(self.up, inside, pulls, pulls)
        return latents

    def __call__(self, data: Array, first: int = 0) -> SweepSums:
        """Return the sums over centred rows (n, D), in all columns, of which the first has this number."""
        inside = self.coordinates.into(data)
        rows = slice(first, first + len(data))
        latents = self.latents_of(inside) if self.known is None else self.known[rows]
        if self.kept is not None:
            self.kept[rows] = latents
        return SweepSums(
            len(data),
            float(row_norms_sq(data).sum()),
            NetworkSums.of_rows(self.up, latents, data) if self.ours[0] else None,
            NetworkSums.of_rows(self.down, inside, latents) if self.ours[1] else None,
        )

    def solved(self, sums: SweepSums, share: float) -> FinalMaps:
        """Return the maps that all rows lead to.

        Parameters
        ----------
        sums : SweepSums
            Over all rows.
        share : float
            Of the rows from which the maps were learned: their ridges grow with the rows.
        """
        alphas = [getattr(one, "alpha_", np.nan) / share for one in (self.up, self.down)]
        up, down = self.up, self.down
        decoder: Any = Chain((up, Inverse(self.coordinates)))
        if sums.up is not None:
            decoder = sums.up.solved(up, alphas[0])
            solution = (
                self.coordinates.into(decoder.weights_),
                self.coordinates.into(decoder.intercept_[None])[0],
            )
            up = network_of(up.centers_, up.bandwidth_, alphas[0], solution)
        if sums.down is not None:
            down = sums.down.solved(down, alphas[1])
        return FinalMaps(up, down, decoder)


@dataclass(frozen=True)
class Embedder:
    """The latents of rows with the maps of all rows, from where the maps before found them."""

    before: Sweep
    maps: FinalMaps

    def latents_of(self, data: Array, starts: Array | None = None) -> Array:
        """Return the latents (n, q) of centred rows (n, D); starts that are not given are found again."""
        inside = self.before.coordinates.into(data)
        if starts is None:
            starts = self.before.latents_of(inside)
        return project_rows(self.maps.up, inside, self.maps.down.predict(inside), starts)[0]


def joint_maps(turns: Turns, data: Array, inside: Array) -> tuple[FinalMaps, Array]:
    """Return the maps of a nonparametric fit for all rows, held-out ones among them, and the rows' latents."""
    fitted: tuple[Any, Any] = (turns.up, turns.down)
    up_setting, down_setting = ((one.bandwidth_, one.alpha_) for one in fitted)
    down = expansion(inside, turns.latents, down_setting)
    up = expansion(turns.latents, inside, up_setting)
    Z, _ = project_rows(up, inside, down.predict(inside), turns.latents)
    return FinalMaps(up, down, expansion(turns.latents, data, up_setting)), Z

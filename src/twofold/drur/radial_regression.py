r"""Radial basis networks refitted many times: the adaptation step of alternating fits.

`RadialRegression` learns networks ``f(z) = sum_m w_m k(z - mu_m) + b`` (Carreira-Perpinan & Lu 2010, Eqs. 13-16) from
sums over blocks of rows. Width and ridge are chosen on some of the rows: fitted to three quarters of them,
judged on the rest, as in the paper's section 2.2.

Where the inputs stay the same between fits and only the targets move, as for the map from data to latents, the
features and the factor of each system are kept: a further fit then costs one thin product.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twofold.drur.moments import (
    CrossMoments,
    FeatureMoments,
    Features,
    RidgeSystem,
    moments_of,
)
from twofold.maps.rbf_network import RBFNetwork
from twofold.numerics.bandwidths import chosen_width_and_alpha, width_grid
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import map_blocks, row_blocks, some_rows
from twofold.protocols import Array, IntArray

__all__ = ["ALPHAS", "RadialRegression", "network_of"]

ALPHAS = (1e-7, 1e-5, 1e-3, 1e-1)
N_JUDGED = 3_000
RATIO = 2.0**0.5
KEPT_BYTES = 1e9
"""Features kept between fits; beyond this they are computed again."""

KEPT_FACTORS_BYTES = 5e8


class RadialRegression:
    """Networks on given inputs and centres.

    Parameters
    ----------
    inputs : ndarray of shape (n, q)
        Inputs.
    centers : ndarray of shape (M, q)
        Centres.
    """

    def __init__(self, inputs: Array, centers: Array) -> None:
        self.inputs = inputs
        self.centers = centers
        self._system: tuple[float, RidgeSystem] | None = None
        self._judged: dict[tuple[float, float], RidgeSystem] = {}
        self._trial: _Trial | None = None
        self._moments: tuple[float, FeatureMoments] | None = None
        self._kept: tuple[float, Array] | None = None

    def choose(
        self,
        targets: Array,
        alphas: tuple[float, ...],
        near: tuple[float, float] | None = None,
    ) -> tuple[float, float]:
        """Return a width, from the spacing of the centres to their spread, and a ridge of low held-out error.

        Parameters
        ----------
        targets : ndarray of shape (n, D)
            Targets.
        alphas : tuple of float
            Ridges to compare, ascending.
        near : tuple of (float, float), default=None
            Width and ridge to start from; None looks at the whole range of widths first.
        """
        return chosen_width_and_alpha(
            self.widths, alphas, lambda *pair: self._held_out_error(targets, *pair), near
        )

    def _held_out_error(self, targets: Array, width: float, alpha: float) -> float:
        train, test = self._split
        if self._trial is None or self._trial.width != width:
            self._trial = _Trial.of(self, width)
        trial = self._trial
        system = self._judged.get((width, alpha))
        if system is None:
            share = len(train) / len(self.inputs)
            system = RidgeSystem.of(trial.moments, trial.gram, share * alpha)
            if 8.0 * len(self.centers) ** 2 * (len(self._judged) + 1) <= KEPT_FACTORS_BYTES:
                self._judged[width, alpha] = system
        cross = CrossMoments(targets[train].sum(axis=0), trial.seen.T @ targets[train])
        weights, bias = system.solve(cross)
        return float(row_norms_sq(targets[test] - trial.unseen @ weights - bias).mean())

    @cached_property
    def widths(self) -> list[float]:
        """Widths worth trying."""
        return width_grid(self.centers, ratio=RATIO)

    def fit(self, targets: Array, width: float, alpha: float) -> RBFNetwork:
        """Return the network for targets, learned from all rows."""
        known = self._moments is not None and self._moments[0] == width
        moments, cross = moments_of(
            self._features(width), len(self.centers), targets, only_cross=known
        )
        if moments is not None:
            self._moments, self._system = (width, moments), None
        if self._system is None or self._system[0] != alpha:
            assert self._moments is not None
            system = RidgeSystem.of(self._moments[1], self._gram(width), alpha)
            self._system = (alpha, system)
        return network_of(self.centers, width, alpha, self._system[1].solve(cross))

    def predict(self, network: RBFNetwork) -> Array:
        """Return the network's values at the inputs."""
        features = self._features(network.bandwidth_)
        images = np.empty((len(self.inputs), network.weights_.shape[1]))

        def work(rows: slice) -> None:
            images[rows] = features(rows) @ network.weights_ + network.intercept_

        map_blocks(work, row_blocks(len(images), 8 * 2 * len(self.centers)))
        return images

    def keep_features(self, width: float) -> None:
        """Keep the features of one width, where there is room for them."""
        n, m = len(self.inputs), len(self.centers)
        if 8.0 * n * m > KEPT_BYTES or (self._kept is not None and self._kept[0] == width):
            return
        network = network_of(self.centers, width)
        kept = np.empty((n, m))

        def work(rows: slice) -> None:
            kept[rows] = network._features(self.inputs[rows])

        map_blocks(work, row_blocks(n, 8 * 3 * m))
        self._kept = (width, kept)

    def _features(self, width: float) -> Features:
        if self._kept is not None and self._kept[0] == width:
            kept = self._kept[1]
            return lambda rows: kept[rows]
        network = network_of(self.centers, width)
        return lambda rows: network._features(self.inputs[rows])

    def _gram(self, width: float) -> Array:
        return network_of(self.centers, width)._features(self.centers)

    @cached_property
    def _split(self) -> tuple[IntArray, IntArray]:
        rows = some_rows(len(self.inputs), N_JUDGED)
        held_out = np.zeros(len(rows), dtype=bool)
        held_out[some_rows(len(rows), max(1, len(rows) // 4))] = True
        return rows[~held_out], rows[held_out]


@dataclass(frozen=True)
class _Trial:
    """What judging a width needs, whatever the ridge."""

    width: float
    seen: Array
    unseen: Array
    regression: RadialRegression

    @classmethod
    def of(cls, regression: RadialRegression, width: float) -> _Trial:
        network = network_of(regression.centers, width)
        seen, unseen = (network._features(regression.inputs[rows]) for rows in regression._split)
        return cls(width, seen, unseen, regression)

    @cached_property
    def moments(self) -> FeatureMoments:
        return FeatureMoments(len(self.seen), self.seen.sum(axis=0), self.seen.T @ self.seen)

    @cached_property
    def gram(self) -> Array:
        return self.regression._gram(self.width)


def network_of(
    centers: Array,
    width: float,
    alpha: float = np.nan,
    solution: tuple[Array, Array] | None = None,
) -> RBFNetwork:
    """Return a network made of its parts: centres, width, ridge, weights and bias."""
    network = RBFNetwork(len(centers), bandwidth=width)
    network.centers_, network.bandwidth_, network.error_ = centers, width, np.nan
    network.alpha_ = alpha
    if solution is not None:
        network.weights_, network.intercept_ = solution
    return network

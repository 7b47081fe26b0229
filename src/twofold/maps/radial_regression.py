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

from functools import cached_property

import numpy as np

from twofold._blocks import map_blocks, row_blocks, some_rows
from twofold._linalg import row_norms_sq
from twofold.maps._moments import CrossMoments, FeatureMoments, Features, RidgeSystem
from twofold.maps.rbf_network import RBFNetwork
from twofold.protocols import AnyArray, Array, IntArray
from twofold.widths import width_grid

__all__ = ["ALPHAS", "RadialRegression"]

ALPHAS = (1e-7, 1e-5, 1e-3, 1e-1)
N_JUDGED = 3_000
RATIO = 2.0**0.5
KEPT_BYTES = 1e9
"""Features kept between fits, in single precision; beyond this they are computed again."""


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
        self._systems: dict[tuple[float, float], RidgeSystem] = {}
        self._judged: dict[tuple[float, float], RidgeSystem] = {}
        self._moments: tuple[float, FeatureMoments] | None = None
        self._kept: tuple[float, AnyArray] | None = None

    def choose(self, targets: Array, alphas: tuple[float, ...]) -> tuple[float, float]:
        """Return the width and the ridge of the lowest held-out error.

        Widths go from the spacing of the centres to their spread.

        Parameters
        ----------
        targets : ndarray of shape (n, D)
            Targets.
        alphas : tuple of float
            Ridges to compare. Among equals the largest is taken.
        """
        train, test = self._split
        share = len(train) / len(self.inputs)
        found = []
        for width in self.widths:
            network = _network(self.centers, width)
            seen, unseen = (network._features(self.inputs[rows]) for rows in (train, test))
            cross = CrossMoments(targets[train].sum(axis=0), seen.T @ targets[train])
            if any((width, alpha) not in self._judged for alpha in alphas):
                moments = FeatureMoments(len(train), seen.sum(axis=0), seen.T @ seen)
            for alpha in alphas:
                key = (width, alpha)
                if key not in self._judged:
                    self._judged[key] = RidgeSystem.of(moments, self._gram(width), share * alpha)
                weights, bias = self._judged[key].solve(cross)
                error = float(row_norms_sq(targets[test] - unseen @ weights - bias).mean())
                found.append((error, width, alpha))
        lowest = min(found)[0]
        _, width, alpha = max(
            (one for one in found if one[0] <= 1.01 * lowest), key=lambda one: (one[2], -one[0])
        )
        return width, alpha

    @cached_property
    def widths(self) -> list[float]:
        """Widths worth trying."""
        return width_grid(self.centers, ratio=RATIO)

    def fit(self, targets: Array, width: float, alpha: float) -> RBFNetwork:
        """Return the network for targets, learned from all rows."""
        key = (width, alpha)
        features = self._features(width)
        if key not in self._systems:
            if self._moments is None or self._moments[0] != width:
                n, m = len(self.inputs), len(self.centers)
                self._moments = (width, FeatureMoments.of(features, n, m))
            self._systems = {key: RidgeSystem.of(self._moments[1], self._gram(width), alpha)}
        cross = CrossMoments.of(features, targets, len(self.centers))
        network = _network(self.centers, width)
        network.alpha_ = alpha
        network.weights_, network.intercept_ = self._systems[key].solve(cross)
        return network

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
        if 4.0 * n * m > KEPT_BYTES or (self._kept is not None and self._kept[0] == width):
            return
        network = _network(self.centers, width)
        kept = np.empty((n, m), dtype=np.float32)

        def work(rows: slice) -> None:
            kept[rows] = network._features(self.inputs[rows])

        map_blocks(work, row_blocks(n, 8 * 3 * m))
        self._kept = (width, kept)

    def _features(self, width: float) -> Features:
        if self._kept is not None and self._kept[0] == width:
            kept = self._kept[1]
            return lambda rows: kept[rows].astype(np.float64)
        network = _network(self.centers, width)
        return lambda rows: network._features(self.inputs[rows])

    def _gram(self, width: float) -> Array:
        return _network(self.centers, width)._features(self.centers)

    @cached_property
    def _split(self) -> tuple[IntArray, IntArray]:
        rows = some_rows(len(self.inputs), N_JUDGED)
        held_out = np.zeros(len(rows), dtype=bool)
        held_out[some_rows(len(rows), max(1, len(rows) // 4))] = True
        return rows[~held_out], rows[held_out]


def _network(centers: Array, width: float) -> RBFNetwork:
    network = RBFNetwork(len(centers), bandwidth=width)
    network.centers_, network.bandwidth_, network.loo_error_ = centers, width, np.nan
    return network

r"""Radial networks of old and new rows, which the update of an unsupervised regression needs.

Each kind of rows is a *lesson*: inputs, targets, and how many rows each of them stands for. Sums
over rows determine a network, so lessons add their weighted sums (`twofold.drur.radial_regression`)

.. math:: \sum_l \omega_l \sum_{n \in l} |y_n - W^T \phi(x_n) - b|^2
          + \alpha \operatorname{tr}(W^T G W) .

The *basis* of a network has its centers, bandwidth and ridge. More centers are tried as long as
they lower the held-out error of a regression by 2 %: rows of a map that grows want more of them,
and narrower kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from twofold.drur.adaptation import CLUSTERED_PER_CENTER, FEWEST_CLUSTERED, KMEANS_ITERATIONS
from twofold.drur.centers import WORTH_MORE
from twofold.drur.radial_regression import (
    NetworkSums,
    RadialRegression,
    RidgeSystem,
    network_of,
    network_sums,
)
from twofold.maps import RBFNetwork
from twofold.maps.rbf_network import kmeans_centers
from twofold.numerics.threads import some_rows
from twofold.protocols import Array


@dataclass(frozen=True)
class Lesson:
    """Inputs (n, p) and targets (n, D) of rows that stand for ``weight`` rows each."""

    inputs: Array
    targets: Array
    weight: float = 1.0

    def sums(self, network: RBFNetwork) -> NetworkSums:
        """Return the weighted sums that determine the weights of a network."""
        found = network_sums(
            NetworkSums,
            lambda rows: network.features(self.inputs[rows]),
            len(network.centers_),
            self.targets,
        )
        parts: dict[str, Any] = {
            one.name: self.weight * getattr(found, one.name) for one in fields(found)
        }
        return NetworkSums(**parts)


@dataclass(frozen=True)
class Basis:
    """Centers (M, p), bandwidth and ridge of a network; ``seed`` is that of k-means."""

    centers: Array
    width: float
    alpha: float
    seed: int

    @classmethod
    def of(
        cls,
        inputs: Array,
        targets: Array,
        sizes: list[int],
        alphas: tuple[float, ...],
        seed: int,
    ) -> Basis:
        """Return the basis of a regression of rows, with the first of ascending sizes that does.

        A further one must lower the held-out error by 2 %.
        """
        best, lowest, near = None, np.inf, None
        for size in sizes:
            regression = RadialRegression(inputs, _centers(inputs, size, seed))
            near = regression.choose(targets, alphas, near)
            error = regression.held_out_error(targets, *near)
            if best is not None and error > WORTH_MORE * lowest:
                break
            best, lowest = cls(regression.centers, *near, seed), error
        assert best is not None
        return best

    def moved(self, inputs: Array, targets: Array, alphas: tuple[float, ...]) -> Basis:
        """Return as many centers for inputs that have moved, with a width and a ridge near these.

        The ridge is one of ``alphas``.
        """
        regression = RadialRegression(inputs, _centers(inputs, len(self.centers), self.seed))
        width, alpha = regression.choose(targets, alphas, (self.width, self.alpha))
        return Basis(regression.centers, width, alpha, self.seed)

    def network(self, lessons: list[Lesson], share: float) -> RBFNetwork:
        """Return the network of all lessons.

        The ridge belongs to a ``share`` of the rows that they stand for.
        """
        features = network_of(self.centers, self.width)
        total = reduce(add, [one.sums(features) for one in lessons if len(one.inputs)])
        alpha = self.alpha / share
        system = RidgeSystem.of(total, features.features(self.centers), alpha)
        return network_of(self.centers, self.width, alpha, system.solve(total))


def _centers(inputs: Array, size: int, seed: int) -> Array:
    some = inputs[some_rows(len(inputs), max(FEWEST_CLUSTERED, CLUSTERED_PER_CENTER * size))]
    return kmeans_centers(some, size, random_state=seed, max_iter=KMEANS_ITERATIONS)

r"""Radial basis networks by ridge regression from sums over rows, refitted many times.

A network ``f(z) = sum_m w_m k(z - mu_m) + b`` with features ``Phi`` (n, M) minimizes
(Carreira-Perpinan & Lu 2010, Eqs. 13-16)

.. math:: |Y - \Phi W - 1 b^T|_F^2 + \alpha \operatorname{tr}(W^T G W) .

Its weights ``W`` (M, D) and bias solve an (M, M) system of sums over the rows,

.. math:: (\Phi^T \Phi - n \bar\phi \bar\phi^T + \alpha G) W
          = \Phi^T Y - n \bar\phi \bar y^T, \qquad
          b = \bar y - W^T \bar\phi .

`network_sums` adds blocks of rows in a fixed number of chunks, each in order, for any number of
threads. The sums have double precision for data of any precision: single precision made alternating
fits diverge. `twofold.maps.ridge` solves the same problem more exactly (it does not square the
condition of ``Phi``), with leave-one-out errors, for rows whose features fit into memory.

`RadialRegression` chooses bandwidth and ridge on some of the rows: it fits three quarters of them
and compares errors on the rest, as in the paper's section 2.2. Where the inputs stay the same
between fits and only the targets move, as for the map from data to latents, it keeps the features
and the factor of each system: another fit then costs one thin product.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise, product
from operator import add
from typing import TypeVar

import numpy as np
from scipy import linalg

from twofold.maps.rbf_network import RBFNetwork
from twofold.numerics.bandwidths import chosen_width_and_alpha, width_grid
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import BLOCK_BYTES, map_blocks, row_blocks, some_rows
from twofold.numerics.tree_sums import RowSums
from twofold.protocols import Array, IntArray

ALPHAS = (1e-7, 1e-5, 1e-3, 1e-1)
N_JUDGED = 3_000
RATIO = 2.0**0.5
KEPT_BYTES = 1e9
"""Features kept between fits; larger ones are computed again."""

KEPT_FACTORS_BYTES = 5e8
N_CHUNKS = 8
FEWEST_ROWS = 2_048
SINGULAR = 1e-12
"""Share of a mean diagonal added to it, so that directions without data get a weight of zero."""

Features = Callable[[slice], Array]
"""Computes the features (rows, M) of a slice of rows."""


@dataclass(frozen=True)
class CrossSums(RowSums):
    """Sums over rows of targets ``y`` (D,), and of their products with features (M, D)."""

    y: Array
    phi_y: Array

    @classmethod
    def of(cls, phi: Array, targets: Array) -> CrossSums:
        """Sum over the rows of features (n, M) and targets (n, D)."""
        return cls(targets.sum(axis=0), phi.T @ targets)


@dataclass(frozen=True)
class NetworkSums(CrossSums):
    """All sums that determine a network: also the rows, ``phi`` (M,) and ``phi_phi`` (M, M)."""

    n: int
    phi: Array
    phi_phi: Array

    @classmethod
    def of(cls, phi: Array, targets: Array) -> NetworkSums:
        """Sum over the rows of features (n, M) and targets (n, D)."""
        y, phi_y = targets.sum(axis=0), phi.T @ targets
        return cls(y, phi_y, len(phi), phi.sum(axis=0), phi.T @ phi)


SomeSums = TypeVar("SomeSums", CrossSums, NetworkSums)


def network_sums(
    kind: type[SomeSums], features: Features, n_features: int, targets: Array
) -> SomeSums:
    """Return one kind of sums over all rows; ``features`` is called once for each row."""

    def block_sums(rows: slice) -> SomeSums:
        return kind.of(features(rows), np.asarray(targets[rows], dtype=np.float64))

    def work(rows: slice) -> SomeSums:
        blocks = _blocks_of(rows, n_features + targets.shape[1])
        return reduce(add, map(block_sums, blocks))

    return reduce(add, map_blocks(work, _chunks(len(targets))))


@dataclass(frozen=True)
class RidgeSystem:
    """The factorized system of one set of features and one ridge."""

    sums: NetworkSums
    factor: Array

    @classmethod
    def of(cls, sums: NetworkSums, gram: Array, alpha: float) -> RidgeSystem:
        """Factorize the system of some sums; ``gram`` (M, M) is ``G`` above."""
        mean = sums.phi / sums.n
        system = sums.phi_phi - sums.n * np.outer(mean, mean) + alpha * gram
        diagonal = np.diag_indices_from(system)
        unit = max(float(system[diagonal].mean()), 1e-300)
        jitter = SINGULAR * unit
        while True:
            system[diagonal] += jitter
            try:
                return cls(sums, linalg.cholesky(system, lower=True, check_finite=False))
            except linalg.LinAlgError:
                jitter *= 10.0  # rounding made it indefinite

    def solve(self, cross: CrossSums) -> tuple[Array, Array]:
        """Return weights (M, D) and bias (D,) for the sums of some targets."""
        n, mean = self.sums.n, self.sums.phi / self.sums.n
        target_mean = cross.y / n
        right = cross.phi_y - n * np.outer(mean, target_mean)
        weights: Array = linalg.cho_solve((self.factor, True), right, check_finite=False)
        return weights, target_mean - mean @ weights


class RadialRegression:
    """Networks on inputs (n, q) and centers (M, q).

    An ``exact`` choice of the bandwidth compares all pairs with the ridges, on all rows.
    """

    def __init__(self, inputs: Array, centers: Array, *, exact: bool = False) -> None:
        self.inputs = inputs
        self.centers = centers
        self.exact = exact
        self._system: tuple[float, RidgeSystem] | None = None
        self._judged: dict[tuple[float, float], RidgeSystem] = {}
        self._trial: _Trial | None = None
        self._sums: tuple[float, NetworkSums] | None = None
        self._kept: tuple[float, Array] | None = None

    def choose(
        self,
        targets: Array,
        alphas: tuple[float, ...],
        near: tuple[float, float] | None = None,
    ) -> tuple[float, float]:
        """Return a bandwidth, from the spacing of the centers to their spread, and a ridge.

        Both have a low held-out error. ``near`` is the pair to start from; None scans the whole
        range of bandwidths first. ``alphas`` are ascending.
        """
        if self.exact:
            pairs = product(self.widths, alphas)
            return min(pairs, key=lambda pair: self.held_out_error(targets, *pair))
        return chosen_width_and_alpha(
            self.widths, alphas, lambda *pair: self.held_out_error(targets, *pair), near
        )

    def held_out_error(self, targets: Array, width: float, alpha: float) -> float:
        """Return the mean squared error of rows that take no part."""
        train, test = self._split
        if self._trial is None or self._trial.width != width:
            self._trial = _Trial.of(self, width)
        trial = self._trial
        cross = CrossSums.of(trial.seen, targets[train])
        system = self._judged.get((width, alpha))
        if system is None:
            share = len(train) / len(self.inputs)
            system = RidgeSystem.of(trial.sums, trial.gram, share * alpha)
            if 8.0 * len(self.centers) ** 2 * (len(self._judged) + 1) <= KEPT_FACTORS_BYTES:
                self._judged[width, alpha] = system
        weights, bias = system.solve(cross)
        return float(row_norms_sq(targets[test] - trial.unseen @ weights - bias).mean())

    @cached_property
    def widths(self) -> list[float]:
        """Bandwidths to compare."""
        return width_grid(self.centers, ratio=RATIO)

    def fit(self, targets: Array, width: float, alpha: float) -> RBFNetwork:
        """Return the network for targets, learned from all rows."""
        of_rows = (self._features(width), len(self.centers), targets)
        if self._sums is not None and self._sums[0] == width:
            cross = network_sums(CrossSums, *of_rows)
        else:
            cross = sums = network_sums(NetworkSums, *of_rows)
            self._sums, self._system = (width, sums), None
        if self._system is None or self._system[0] != alpha:
            system = RidgeSystem.of(self._sums[1], self._gram(width), alpha)
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
        """Keep the features of one bandwidth, if they are small enough."""
        n, m = len(self.inputs), len(self.centers)
        if 8.0 * n * m > KEPT_BYTES or (self._kept is not None and self._kept[0] == width):
            return
        network = network_of(self.centers, width)
        kept = np.empty((n, m))

        def work(rows: slice) -> None:
            kept[rows] = network.features(self.inputs[rows])

        map_blocks(work, row_blocks(n, 8 * 3 * m))
        self._kept = (width, kept)

    def _features(self, width: float) -> Features:
        if self._kept is not None and self._kept[0] == width:
            kept = self._kept[1]
            return lambda rows: kept[rows]
        network = network_of(self.centers, width)
        return lambda rows: network.features(self.inputs[rows])

    def _gram(self, width: float) -> Array:
        return network_of(self.centers, width).features(self.centers)

    @cached_property
    def _split(self) -> tuple[IntArray, IntArray]:
        n_rows = len(self.inputs)
        rows = some_rows(n_rows, n_rows if self.exact else N_JUDGED)
        held_out = np.zeros(len(rows), dtype=bool)
        held_out[some_rows(len(rows), max(1, len(rows) // 4))] = True
        return rows[~held_out], rows[held_out]


@dataclass(frozen=True)
class _Trial:
    """What held-out errors of one bandwidth need, for any ridge."""

    width: float
    seen: Array
    unseen: Array
    regression: RadialRegression

    @classmethod
    def of(cls, regression: RadialRegression, width: float) -> _Trial:
        network = network_of(regression.centers, width)
        seen, unseen = (network.features(regression.inputs[rows]) for rows in regression._split)
        return cls(width, seen, unseen, regression)

    @cached_property
    def sums(self) -> NetworkSums:
        return NetworkSums.of(self.seen, self.seen[:, :0])

    @cached_property
    def gram(self) -> Array:
        return self.regression._gram(self.width)


def network_of(
    centers: Array, width: float, alpha: float = np.nan, solution: tuple[Array, Array] | None = None
) -> RBFNetwork:
    """Return a network of given centers, bandwidth, ridge, and (weights, bias)."""
    network = RBFNetwork(len(centers), bandwidth=width)
    network.centers_, network.bandwidth_, network.error_ = centers, width, np.nan
    network.alpha_ = alpha
    if solution is not None:
        network.weights_, network.intercept_ = solution
    return network


def _chunks(n_rows: int) -> list[slice]:
    bounds = np.linspace(0, n_rows, min(N_CHUNKS, max(1, n_rows)) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(bounds)]


def _blocks_of(rows: slice, n_columns: int) -> Iterator[slice]:
    # Enough rows for efficient products of (M, rows) and (rows, M).
    per_row = min(8 * 2 * n_columns, BLOCK_BYTES // FEWEST_ROWS)
    for block in row_blocks(rows.stop - rows.start, per_row):
        yield slice(rows.start + block.start, rows.start + block.stop)

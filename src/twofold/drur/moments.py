r"""Ridge regression from sums over rows: as many rows as there are, in blocks.

Weights ``W`` (M, D) and bias that minimise (Carreira-Perpinan & Lu 2010, Eqs. 14-16)

.. math:: |Y - \Phi W - 1 b^T|_F^2 + \alpha \operatorname{tr}(W^T G W)

solve an (M, M) system of sums over the rows,

.. math:: (\Phi^T \Phi - n \bar\phi \bar\phi^T + \alpha G) W = \Phi^T Y - n \bar\phi \bar y^T, \qquad
          b = \bar y - W^T \bar\phi .

Blocks of rows are summed in a fixed number of chunks, each in order, whatever the number of threads; in double
precision, whatever the data's: single precision made alternating fits diverge. Where the data of the features do
not change, the factor of the system is computed once and serves every right-hand side.

`twofold.maps.ridge` solves the same problem more exactly (without squaring the condition of ``Phi``), with leave-
one-out errors, for as many rows as fit into memory with all their features.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
from scipy import linalg

from twofold.numerics.threads import BLOCK_BYTES, map_blocks, row_blocks
from twofold.protocols import Array

__all__ = ["CrossMoments", "FeatureMoments", "Features", "RidgeSystem", "moments_of"]

Features = Callable[[slice], Array]
"""Gives the features (rows, M) of a slice of rows."""

N_CHUNKS = 8
FEWEST_ROWS = 2_048
SINGULAR = 1e-12
"""Of the mean of a diagonal: added to it, so that directions that no data reach have a weight of zero."""


@dataclass(frozen=True)
class FeatureMoments:
    """``n``, ``sum_i phi_i`` (M,) and ``sum_i phi_i phi_i^T`` (M, M)."""

    n: int
    total: Array
    products: Array

    def __add__(self, other: FeatureMoments) -> FeatureMoments:
        """Return the moments of both sets of rows."""
        return FeatureMoments(
            self.n + other.n, self.total + other.total, self.products + other.products
        )


@dataclass(frozen=True)
class CrossMoments:
    """``sum_i y_i`` (D,) and ``sum_i phi_i y_i^T`` (M, D)."""

    total: Array
    products: Array

    def __add__(self, other: CrossMoments) -> CrossMoments:
        """Return the moments of both sets of rows."""
        return CrossMoments(self.total + other.total, self.products + other.products)


def moments_of(
    features: Features, n_features: int, targets: Array, *, only_cross: bool = False
) -> tuple[FeatureMoments | None, CrossMoments]:
    """Sum over the rows, each of whose features is asked for once.

    Parameters
    ----------
    features : callable
        Gives the features of a slice of rows.
    n_features : int
        M.
    targets : ndarray of shape (n, D)
        y.
    only_cross : bool, default=False
        Whether the moments of the features alone are known already.
    """
    n_rows, n_targets = targets.shape

    def work(rows: slice) -> list[Array]:
        total, cross = np.zeros(n_targets), np.zeros((n_features, n_targets))
        feature_total = np.zeros(n_features)
        products = np.zeros((0 if only_cross else n_features, n_features))
        for block in _blocks_of(rows, n_features + n_targets):
            phi, some = features(block), np.asarray(targets[block], dtype=np.float64)
            total += some.sum(axis=0)
            cross += phi.T @ some
            if not only_cross:
                feature_total += phi.sum(axis=0)
                products += phi.T @ phi
        return [total, cross, feature_total, products]

    parts = map_blocks(work, _chunks(n_rows))
    sums = [reduce(np.add, one) for one in zip(*parts, strict=True)]
    cross_moments = CrossMoments(sums[0], sums[1])
    if only_cross:
        return None, cross_moments
    return FeatureMoments(n_rows, sums[2], sums[3]), cross_moments


@dataclass(frozen=True)
class RidgeSystem:
    """The factorised system of one set of features and one ridge."""

    moments: FeatureMoments
    factor: Array

    @classmethod
    def of(cls, moments: FeatureMoments, gram: Array, alpha: float) -> RidgeSystem:
        """Factorise.

        Parameters
        ----------
        moments : FeatureMoments
            Sums over the rows.
        gram : ndarray of shape (M, M)
            ``G`` above.
        alpha : float
            The ridge.
        """
        mean = moments.total / moments.n
        system = moments.products - moments.n * np.outer(mean, mean) + alpha * gram
        diagonal = np.diag_indices_from(system)
        unit = max(float(system[diagonal].mean()), 1e-300)
        jitter = SINGULAR * unit
        while True:
            system[diagonal] += jitter
            try:
                return cls(moments, linalg.cholesky(system, lower=True, check_finite=False))
            except linalg.LinAlgError:
                jitter *= 10.0  # rounding made it indefinite

    def solve(self, cross: CrossMoments) -> tuple[Array, Array]:
        """Return weights (M, D) and bias (D,) for targets."""
        n, mean = self.moments.n, self.moments.total / self.moments.n
        target_mean = cross.total / n
        right = cross.products - n * np.outer(mean, target_mean)
        weights: Array = linalg.cho_solve((self.factor, True), right, check_finite=False)
        return weights, target_mean - mean @ weights


def _chunks(n_rows: int) -> list[slice]:
    bounds = np.linspace(0, n_rows, min(N_CHUNKS, max(1, n_rows)) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(bounds)]


def _blocks_of(rows: slice, n_columns: int) -> Iterator[slice]:
    # Not fewer rows than make a product of (M, rows) and (rows, M) worth its result.
    per_row = min(8 * 2 * n_columns, BLOCK_BYTES // FEWEST_ROWS)
    for block in row_blocks(rows.stop - rows.start, per_row):
        yield slice(rows.start + block.start, rows.start + block.stop)

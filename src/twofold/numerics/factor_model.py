r"""A factor model of rows with gaps: which cells vary together.

.. math:: x = \mu + W t + e, \qquad t \sim N(0, I_r), \quad e \sim N(0, \operatorname{diag}\psi)

The observed cells of a row determine the conditional mean and variance of the others. With ``W_o``
and ``psi_o`` the rows of the observed cells and :math:`A = I + W_o^T \psi_o^{-1} W_o`, the factors
have the mean :math:`A^{-1} W_o^T \psi_o^{-1} (x_o - \mu_o)` and the covariance :math:`A^{-1}`.
These r x r systems are built for all rows by one matrix product and solved together, so the cost
does not depend on the number of different patterns of gaps.

The parameters are found by expectation maximization over the observed cells (Rubin & Thayer 1982).

References
----------
D. B. Rubin, D. T. Thayer. EM algorithms for ML factor analysis. Psychometrika 47(1), 1982.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.numerics.row_products import row_product
from twofold.numerics.threads import map_blocks, row_blocks, some_rows
from twofold.protocols import Array

BoolArray = NDArray[np.bool_]

MOST_FACTORS = 60
"""Filled cells of digit images have 5 % larger errors with 40 factors. They have 2 % smaller errors
with 80, after 2.5 times the time."""

MOST_ROWS = 2_000
"""Rows that determine the parameters."""

MOST_PRODUCTS = 4 * 10**6
"""Products ``w_da w_db`` of the loadings of all columns: a bound on memory for wide tables."""

ROWS_PER_FACTOR = 10
LEAST_NOISE = 0.02
"""The smallest ``psi``, as a share of the variance of its column and of the mean variance. Without
the second, single odd values of nearly constant columns (edge pixels) decide about whole rows."""

PRIOR_ROWS = 5.0
"""Rows without any effect of the factors that are added to each column. They keep the loadings of
columns with few different values small; without them some edge pixels of images have huge ones."""


@dataclass(frozen=True)
class FactorModel:
    """Means (D,), loadings ``W`` (D, r) and variances ``psi`` (D,) of the noise."""

    mean: Array
    loadings: Array
    noise: Array

    @classmethod
    def fit(cls, data: Array, observed: BoolArray, *, n_iter: int) -> FactorModel:
        """Fit data (n, D) of which ``observed`` (n, D) marks the cells that count."""
        chosen = some_rows(len(data), MOST_ROWS)
        data, observed = data[chosen], observed[chosen]
        counts = np.maximum(observed.sum(axis=0), 1)
        mean = np.where(observed, data, 0.0).sum(axis=0) / counts
        centered = np.where(observed, data - mean, 0.0)
        variance = np.square(centered).sum(axis=0) / counts
        least = LEAST_NOISE * (variance + variance.mean()) + np.finfo(np.float64).tiny
        model = cls._principal(centered, observed, mean, variance, least)
        for _ in range(n_iter):
            model = model._improved(data, observed, counts, least)
        return model

    @classmethod
    def _principal(
        cls, centered: Array, observed: BoolArray, mean: Array, variance: Array, least: Array
    ) -> FactorModel:
        """Start from the principal axes of the data with gaps at the mean."""
        n, n_columns = centered.shape
        rank = n_factors(n, n_columns)
        # The smaller Gram matrix has all of the leading axes.
        if n_columns <= n:
            values, axes = np.linalg.eigh(centered.T @ centered / n)
            values, axes = values[::-1][:rank], axes[:, ::-1][:, :rank]
        else:
            values, weights = np.linalg.eigh(centered @ centered.T / n)
            values, weights = values[::-1][:rank], weights[:, ::-1][:, :rank]
            lengths = np.sqrt(n * np.maximum(values, np.finfo(np.float64).tiny))
            axes = centered.T @ (weights / lengths)
        share = max(float(observed.mean()), 0.1)  # gaps at the mean lower the variance
        loadings = axes * np.sqrt(np.maximum(values, 0.0) / share)
        noise = np.maximum(variance - np.square(loadings).sum(axis=1), 0.05 * variance)
        return cls(mean, loadings, np.maximum(noise, least))

    def _improved(
        self, data: Array, observed: BoolArray, counts: Array, least: Array
    ) -> FactorModel:
        """Return the model after one step of expectation maximization."""
        n_columns, rank = self.loadings.shape
        upper, products = np.triu_indices(rank), self._products()
        blocks = row_blocks(len(data), 8 * (rank * rank * 4 + n_columns * 3))

        def work(rows: slice) -> tuple[Array, Array, Array, Array]:
            seen = observed[rows]
            cells = np.where(seen, data[rows] - self.mean, 0.0)
            factors, covariances = self._factors(cells, seen, products)
            moments = covariances[:, *upper] + factors[:, upper[0]] * factors[:, upper[1]]
            flags = seen.astype(np.float64)
            rest = (cells - flags * (factors @ self.loadings.T)).sum(axis=0)
            squares = np.square(cells).sum(axis=0)
            return flags.T @ moments, cells.T @ factors, squares, rest

        parts = map_blocks(work, blocks)
        second, cross, squares, rest = (sum(some) for some in zip(*parts, strict=True))
        systems = _symmetric(np.asarray(second), rank) + PRIOR_ROWS * np.eye(rank)
        loadings = np.linalg.solve(systems, np.asarray(cross)[:, :, None])[:, :, 0]
        noise = (squares - (loadings * cross).sum(axis=1)) / counts
        return FactorModel(self.mean + rest / counts, loadings, np.maximum(noise, least))

    def _products(self) -> Array:
        """Return ``w_da w_db / psi_d`` for all columns and pairs of factors, (D, r (r + 1) / 2)."""
        first, second = np.triu_indices(self.loadings.shape[1])
        products: Array = self.loadings[:, first] * self.loadings[:, second] / self.noise[:, None]
        return products

    def _factors(self, cells: Array, observed: BoolArray, products: Array) -> tuple[Array, Array]:
        """Return the means (n, r) and covariances (n, r, r) of the factors given the cells.

        ``cells`` (n, D) are centered and 0 where they are not observed.
        """
        rank = self.loadings.shape[1]
        systems = _symmetric(row_product(observed.astype(np.float64), products), rank)
        covariances = np.asarray(np.linalg.inv(systems + np.eye(rank)), dtype=np.float64)
        effects = row_product(cells, self.loadings / self.noise[:, None])
        factors = (covariances @ effects[:, :, None])[:, :, 0]
        return factors, covariances

    def conditional(self, data: Array, observed: BoolArray) -> tuple[Array, Array]:
        """Return the means and variances (n, D) of all cells given the observed ones.

        The variances include the noise of the cell itself.
        """
        means, variances = np.empty_like(data), np.empty_like(data)
        n_columns, rank = self.loadings.shape
        products = self._products()

        def work(rows: slice) -> None:
            seen = observed[rows]
            cells = np.where(seen, data[rows] - self.mean, 0.0)
            factors, covariances = self._factors(cells, seen, products)
            means[rows] = self.mean + row_product(factors, self.loadings.T)
            spread = np.matmul(self.loadings, covariances) * self.loadings
            variances[rows] = spread.sum(axis=2) + self.noise

        map_blocks(work, row_blocks(len(data), 8 * (rank * rank * 2 + n_columns * (rank + 3))))
        return means, variances


def _symmetric(halves: Array, rank: int) -> Array:
    """Return symmetric matrices (n, r, r) of their upper triangles (n, r (r + 1) / 2)."""
    full = np.empty((len(halves), rank, rank))
    first, second = np.triu_indices(rank)
    full[:, first, second] = halves
    full[:, second, first] = halves
    return full


def n_factors(n_rows: int, n_columns: int) -> int:
    """Return the number of factors that rows and columns determine; at least one.

    At most Ledermann's bound: more factors than that are not determined by the covariances.
    """
    bound = int((2 * n_columns + 1 - np.sqrt(8.0 * n_columns + 1.0)) / 2.0)
    memory = int(np.sqrt(MOST_PRODUCTS / n_columns))
    return max(1, min(MOST_FACTORS, bound, memory, n_rows // ROWS_PER_FACTOR))

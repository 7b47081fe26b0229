r"""Standard deviations of decoded values, over the map.

With residuals ``r_j`` of training rows at latents ``z_j`` (`twofold.calibration.cross_fit`), the
variance of a column at z is their weighted mean square,

.. math:: v(z) = \frac{\sum_j k(|z - z_j| / h)\, r_j^2 + \lambda \bar v}
                      {\sum_j k(|z - z_j| / h) + \lambda}

with a Gaussian k, the mean square :math:`\bar v` of all rows, and :math:`\lambda` rows that count
for it. The width h has the highest likelihood of left-out residuals, under Laplace distributions,
since residuals have heavy tails. Then all standard deviations are multiplied by one factor, so that
1.645 of them cover 90 % of the left-out residuals.

Far from the training latents nothing is known but the distribution of the column itself, with mean
:math:`m` and variance :math:`V`, and the expected squared error of a decoded value f is
:math:`V + (f - m)^2`. So

.. math:: \sigma^2(z) = t\, v(z) + (1 - t)\, \max(v(z), V + (f(z) - m)^2),
          \qquad t = \min(1, p(z) / p_0),

with the latent density p, and :math:`p_0` what all but one percent of the rows reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twofold.calibration.cross_fit import CrossFit
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.completion import COVERAGE, DEVIATIONS
from twofold.numerics.linalg import sqdist
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import Array, IntArray

PRIOR_ROWS = 3.0
"""Rows that count for the mean square of all rows."""

LEAST_OWN, LEAST_MEAN = 1e-3, 1e-4
"""What is added to a variance, as shares of its column's mean square and of that of all columns."""

NEGLIGIBLE = 1e-20
"""The smallest variance, as a share of the total variance of the data: rounding."""

MOST_COLUMNS = 50
"""Columns of the largest residuals, which decide on the width."""

RARE = 0.01
"""Share of the rows whose latents lie at a density below that at which deviations grow."""

TINY = 1e-290


@dataclass(frozen=True)
class Spread:
    """Standard deviations of decoded columns at any latents.

    Attributes
    ----------
    found : CrossFit
        Residuals of training rows.
    mean, variance : ndarray of shape (D,)
        Of the columns of the data, in centered units.
    log_densities : ndarray of shape (m,)
        Log densities of the latents of ``found``.
    """

    found: CrossFit
    mean: Array
    variance: Array
    log_densities: Array

    @cached_property
    def squares(self) -> Array:
        """Squared residuals (m, D)."""
        return np.square(self.found.residuals)

    @cached_property
    def pooled(self) -> Array:
        """The mean square of each column (D,)."""
        counts = np.maximum(self.found.observed.sum(axis=0), 1)
        pooled: Array = self.squares.sum(axis=0) / counts
        return pooled

    @cached_property
    def least(self) -> Array:
        """What is added to each variance (D,)."""
        rounding = NEGLIGIBLE * float(self.variance.sum()) + TINY
        least: Array = LEAST_OWN * self.pooled + LEAST_MEAN * self.pooled.mean() + rounding
        return least

    @cached_property
    def log_support(self) -> float:
        """The log density below which deviations grow."""
        return float(np.quantile(self.log_densities, RARE))

    @cached_property
    def width(self) -> float:
        """The width of the weights; infinite for residuals that are alike all over the map."""
        columns = np.argsort(-self.pooled, kind="stable")[:MOST_COLUMNS]
        some = self._restricted(columns)
        observed = self.found.observed[:, columns]

        def loss(width: float) -> float:
            variances = some.variances(self.found.latents, width, leave_out=True)
            losses = 0.5 * np.log(variances) + np.sqrt(2.0 * some.squares / variances)
            return float(losses[observed].mean())

        return min([np.inf, *width_grid(self.found.latents)[::-1]], key=loss)

    def _restricted(self, columns: IntArray) -> Spread:
        found = self.found
        parts = found.residuals[:, columns], found.observed[:, columns]
        some = CrossFit(found.latents, *parts, found.folds)
        return Spread(some, self.mean[columns], self.variance[columns], self.log_densities)

    def variances(self, latents: Array, width: float, *, leave_out: bool = False) -> Array:
        """Return the variances ``v`` (n, D) at latents (n, q), for a width.

        With ``leave_out`` the latents are those of the rows, which do not count themselves.
        """
        known, complete = self.found.latents, bool(self.found.observed.all())
        flags = None if complete else self.found.observed.astype(np.float64)
        variances = np.empty((len(latents), len(self.pooled)))

        def work(rows: slice) -> None:
            with np.errstate(over="ignore"):
                weights = np.exp(-0.5 * sqdist(latents[rows] / width, known / width))
            if leave_out:
                weights[np.arange(len(weights)), np.arange(rows.start, rows.stop)] = 0.0
            sums = row_product(weights, self.squares)
            mass = weights.sum(axis=1)[:, None] if flags is None else row_product(weights, flags)
            shares = (sums + PRIOR_ROWS * self.pooled) / (mass + PRIOR_ROWS)
            variances[rows] = shares + self.least

        map_blocks(work, row_blocks(len(latents), 8 * (3 * len(known) + 3 * len(self.pooled))))
        return variances

    @cached_property
    def own(self) -> Array:
        """The deviations (m, D) at the rows, without the rows themselves and without the factor."""
        return np.sqrt(self.variances(self.found.latents, self.width, leave_out=True))

    @cached_property
    def factor(self) -> float:
        """What makes 1.645 deviations cover 90 % of the residuals."""
        ratios = (np.abs(self.found.residuals) / self.own)[self.found.observed]
        m = len(self.found.latents)
        level = min(1.0, COVERAGE * (m + 1.0) / m)  # as for one more row
        factor = float(np.quantile(ratios, level)) / DEVIATIONS if len(ratios) else 1.0
        return factor if factor > 0.0 else 1.0

    def usual(self, latents: Array) -> Array:
        """Return the deviations (n, D) at latents (n, q) where there are data, without factor."""
        return np.sqrt(self.variances(latents, self.width))

    def deviations(self, latents: Array, images: Array, log_densities: Array) -> Array:
        """Return standard deviations (n, D) of decoded latents, in centered units."""
        inside = self.factor**2 * self.variances(latents, self.width)
        trust = np.exp(np.clip(log_densities - self.log_support, -700.0, 0.0))[:, None]
        with np.errstate(over="ignore"):
            outside = np.maximum(inside, self.variance + np.square(images - self.mean))
            mixed = trust * inside + (1.0 - trust) * outside
        deviations: Array = np.sqrt(np.minimum(mixed, np.finfo(np.float64).max))
        return deviations

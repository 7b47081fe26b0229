"""What a fitted model knows about its own errors, computed from the training rows that it keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twofold.calibration.cross_fit import CrossFit, drawn_folds
from twofold.calibration.left_out import KnownRows
from twofold.calibration.spread import Spread
from twofold.calibration.unusual import Rows, Unusual
from twofold.maps.affine import Predictor
from twofold.numerics.completion import Donors
from twofold.protocols import Array

N_PAIRS = 10
"""Pairs of opposite disturbances by which the uncertainty of positions is measured."""

LARGEST_DRAW = 4.0
"""Residuals of training rows are clipped at this many deviations before they disturb others."""

DIFFERENCE = 1e-3
"""Half the step of differences, in standard deviations of the latents."""

NEGLIGIBLE = 1e-12
"""Share of the largest squared length below which a direction of the manifold does not exist."""


@dataclass(frozen=True)
class Trust:
    """Errors of decoded values, uncertainty of positions and scores of outliers.

    All in centered units; see the modules of this package.

    Attributes
    ----------
    encoder, decoder : Predictor
        The maps of the model.
    log_density : callable
        The log density of latents (n, q) in the units of the maps.
    donors : Donors
        Training rows that the model keeps.
    latents : ndarray of shape (m, q)
        Their latents.
    n_rows : int
        The number of training rows.
    left_out_error : float, default=0.0
        The mean squared reconstruction error of left-out rows, if it is known and the maps cannot
        forget rows. Residuals are scaled to it if theirs is smaller.
    """

    encoder: Predictor
    decoder: Predictor
    log_density: Callable[[Array], Array]
    donors: Donors
    latents: Array
    n_rows: int
    left_out_error: float = 0.0

    @cached_property
    def found(self) -> CrossFit:
        """Residuals of the kept rows under maps that do not know them."""
        data = self.donors.rows.astype(np.float64)
        folds = drawn_folds(self.n_rows)
        known = KnownRows(data, self.latents, folds, self.donors.numbers)
        found = CrossFit.of(self.encoder, self.decoder, known, self.donors.observed)
        return found.scaled_up_to(self.left_out_error)

    @cached_property
    def spread(self) -> Spread:
        """Deviations of decoded values over the map."""
        data = self.donors.rows.astype(np.float64)
        densities = self.log_density(self.found.latents)
        return Spread(self.found, data.mean(axis=0), data.var(axis=0), densities)

    @cached_property
    def unusual(self) -> Unusual:
        """Scores of rows."""
        data, found = self.donors.rows.astype(np.float64), self.found
        densities = self.spread.log_densities
        known = Rows(data, found.observed, found.latents, found.residuals, densities)
        return Unusual(known, self.spread)

    def decoded_deviations(self, latents: Array) -> Array:
        """Return standard deviations (n, D) of decoded latents (n, q)."""
        images = self.decoder.predict(latents)
        return self.spread.deviations(latents, images, self.log_density(latents))

    def disturbances(self, latents: Array) -> list[Array]:
        """Return errors (n, D) that are usual at latents (n, q), the same draws for all rows.

        Across the manifold they are residuals of training rows, in deviations at each place. Along
        it residuals say nothing, since the encoder has moved the latents until they vanish there.
        So errors along the tangents are drawn with the variance of one direction across.
        """
        size = len(self.found.latents)
        chosen = np.random.default_rng(0).permutation(size)[: min(N_PAIRS, size)]
        draws = self.found.residuals[chosen] / self.spread.own[chosen]
        usual = self.spread.usual(latents)
        tangents = self._tangents(latents)
        along = np.sqrt(np.square(usual).sum(axis=1) / self._directions_across)[:, None]
        normal = np.random.default_rng(1).standard_normal((len(chosen), latents.shape[1]))
        return [
            np.clip(one, -LARGEST_DRAW, LARGEST_DRAW) * usual + along * (tangents @ other)
            for one, other in zip(draws, normal, strict=True)
        ]

    @cached_property
    def _directions_across(self) -> float:
        """The number of directions among which residuals spread out.

        It is ``(tr C)^2 / tr C^2`` for their covariance C, at most the number of columns that
        latents leave.
        """
        residuals = self.found.residuals
        largest = float(np.abs(residuals).max()) or 1.0
        R = residuals / largest
        gram = R @ R.T if len(R) < R.shape[1] else R.T @ R
        total = float(np.trace(gram))
        spread_out = total * total / max(float(np.square(gram).sum()), 1e-300)
        across = max(1, residuals.shape[1] - self.found.latents.shape[1])
        return float(np.clip(spread_out, 1.0, across))

    def _tangents(self, latents: Array) -> Array:
        """Return orthonormal directions (n, D, q) along the manifold, by differences.

        A direction in which nothing moves is zero.
        """
        steps = DIFFERENCE * self.found.latents.std(axis=0)
        columns = []
        for column, step in enumerate(steps):
            offset = np.zeros(latents.shape[1])
            offset[column] = step
            ahead, behind = (self.decoder.predict(latents + sign * offset) for sign in (1.0, -1.0))
            columns.append(ahead - behind)
        jacobian = np.stack(columns, axis=2)
        values, vectors = np.linalg.eigh(np.einsum("ndp,ndq->npq", jacobian, jacobian))
        kept = values > NEGLIGIBLE * values[:, -1:] + 1e-290
        roots = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
        tangents: Array = np.einsum("ndp,npq->ndq", jacobian, vectors * roots[:, None])
        return tangents

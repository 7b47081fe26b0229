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
    """

    encoder: Predictor
    decoder: Predictor
    log_density: Callable[[Array], Array]
    donors: Donors
    latents: Array
    n_rows: int

    @cached_property
    def found(self) -> CrossFit:
        """Residuals of the kept rows under maps that do not know them."""
        data = self.donors.rows.astype(np.float64)
        folds = drawn_folds(self.n_rows)
        known = KnownRows(data, self.latents, folds, self.donors.numbers)
        return CrossFit.of(self.encoder, self.decoder, known, self.donors.observed)

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
        """Return usual residuals (n, D) at latents (n, q), drawn from those of training rows.

        All rows get residuals of the same training rows, in deviations at their own places.
        """
        size = len(self.found.latents)
        chosen = np.random.default_rng(0).permutation(size)[: min(N_PAIRS, size)]
        draws = self.found.residuals[chosen] / self.spread.own[chosen]
        usual = self.spread.usual(latents)
        return [np.clip(one, -LARGEST_DRAW, LARGEST_DRAW) * usual for one in draws]

"""The learning scheme of section 2.3 as printed, without anything that the paper does not have.

Candidates are normalized, scaled by likelihood cross-validation and then by a direct search over
one factor a dimension (section 4). The lowest leave-one-out error selects one of them. RPROP
minimizes the plain error, without pseudo-count and without rescue of strays. New data are projected
from the nearest reconstruction, within the lowest density at a training latent, Eq. (19).

Three choices are ours, because the paper does not give them: the direct search is that of Nelder
and Mead; RPROP is iRPROP- with first steps of 0.1 kernel widths, growth by 1.2 and shrinkage by
0.5; and the projection uses Gauss-Newton steps instead of RPROP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from twofold.kernels import resolve_kernel
from twofold.maps import NadarayaWatson
from twofold.maps.projection import Projection
from twofold.numerics.density import LatentDensity, likelihood_cv_bandwidth
from twofold.optimize import RProp
from twofold.protocols import Array, Minimizer
from twofold.starts.candidates import whitened
from twofold.starts.named import resolve_init
from twofold.ukr.regression import KernelRegression

FIRST_STEP = 0.1
"""First step of RPROP, in kernel widths."""


@dataclass(frozen=True)
class Start:
    """Latents (n, q) at their best scale, and their leave-one-out error."""

    latents: Array
    error: float


@dataclass(frozen=True)
class Scheme:
    """The data (n, D), centered, and the latent kernel of a fit."""

    data: Array
    kernel: str = "gaussian"

    @classmethod
    def of(cls, X: Array, kernel: str = "gaussian") -> Scheme:
        """Center the data; errors keep their units."""
        return cls(X - X.mean(axis=0), kernel)

    @property
    def regression(self) -> KernelRegression:
        """The plain error, Eq. (10)."""
        kernel = resolve_kernel(self.kernel)
        return KernelRegression.of(self.data, kernel, many=False, pseudo_count=0.0, n_jobs=1)

    def error(self, Z: Array) -> float:
        """Return the leave-one-out error, Eq. (10)."""
        return self.regression.cv_error(Z)

    def start(self, init: Any, n_components: int) -> Start:
        """Embed the data by a named method and find the best scale (steps 1 and 2)."""
        return self.scaled(resolve_init(init, self.data, n_components, np.random.default_rng(0)))

    def scaled(self, latents: Array) -> Start:
        """Scale normalized latents by likelihood cross-validation, then by a direct search."""
        unit, regression = whitened(latents), self.regression
        kernel: Any = resolve_kernel(self.kernel)
        first = 1.0 / likelihood_cv_bandwidth(unit, kernel)

        def error(log_factors: Array) -> float:
            return regression.cv_error(unit * np.exp(log_factors))

        q = unit.shape[1]
        begin = np.full(q, np.log(first))
        corners = np.vstack([begin, begin + 0.5 * np.eye(q)])
        options = {"initial_simplex": corners, "xatol": 0.01, "fatol": 0.0, "maxfev": 60 * q}
        found = optimize.minimize(error, begin, method="Nelder-Mead", options=options)
        return Start(unit * np.exp(found.x), float(found.fun))

    def minimized(self, Z: Array, n_steps: int) -> Array:
        """Minimize the error by RPROP (step 5)."""
        return self.minimized_by(rprop(n_steps), Z)

    def minimized_by(self, minimizer: Minimizer, Z: Array) -> Array:
        """Minimize the error by any minimizer."""
        found: Array = minimizer.minimize(self.regression.objective(), Z).Z
        return found

    def decoder(self, Z: Array) -> NadarayaWatson:
        """Return the map of Eq. (2)."""
        return self.regression.decoder(Z, self.data)

    def projection(self, Z: Array) -> Projection:
        """Return the projection of Eq. (19), from the nearest reconstruction (step 6)."""
        density = LatentDensity(kernel=self.kernel, bandwidth=1.0, n_jobs=1).fit(Z)
        decoder = self.decoder(Z)
        found = Projection(
            decoder, n_starts=1, density=density, log_threshold=density.log_threshold(0.0)
        )
        return found.fit(self.data, Z)


def rprop(n_steps: int) -> RProp:
    """Return RPROP that takes all its steps."""
    return RProp(max_iter=n_steps, tol=0.0, window=n_steps, initial_step=FIRST_STEP, max_step=1.0)

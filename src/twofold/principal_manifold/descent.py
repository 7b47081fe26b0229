"""Descents of the functional of a principal manifold, from a map and for given settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from twofold.losses import Huber, Loss, Norm
from twofold.numerics.threads import some_rows
from twofold.numerics.turns import State, TurnOptions, never_stop
from twofold.principal_manifold.functional import DescentState, Quantization
from twofold.principal_manifold.node_layout import Layout
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import MOST_STEPS
from twofold.principal_manifold.soft import SoftQuantization, SoftState
from twofold.protocols import Array, Callback

SHORT_TURNS, SHORT_TOL = 12, 2e-3
STEPS_OF_AN_ERROR = 4
"""Gauss-Newton steps from the nearest image of the grid, which more would hardly bring closer."""

SMALLEST_ALPHA = 1e-9
HUBER_SCALES = 1.0
"""The scale of Huber's loss, in medians of the residuals' lengths under the unsquared norm."""

MOST_SOFT_PLACES = 1_000
PLACES_OF_LENGTH = 1_000
REPARAMETERIZATIONS = 5


@dataclass(frozen=True)
class Fitted:
    """A map, the rows' latents, the history of the functional, the turns and the temperature."""

    up: NodeExpansion
    latents: Array
    history: Array
    n_iter: int
    temperature: float = 0.0


@dataclass(frozen=True)
class DescentSettings:
    """The settings of a descent, except its data and the weight of the penalty.

    If the penalty has a ``limit``, that weight has no meaning.
    """

    layout: Layout
    loss: Loss
    penalty: str
    assignment: str
    latent_noise: float
    max_iter: int
    tol: float
    limit: float | None = None

    def functional(self, data: Array, alpha: float) -> Quantization:
        """Return the functional of some data."""
        layout = self.layout
        return Quantization(
            data,
            layout.domain,
            layout.grid,
            self.loss,
            self.penalty,
            alpha,
            self.latent_noise,
            limit=self.limit,
        )

    def run(
        self,
        data: Array,
        alpha: float,
        up: NodeExpansion,
        latents: Array | None = None,
        callback: Callback = never_stop,
        *,
        state: State | None = None,
        note: Callable[[State], None] | None = None,
        first_steps: int = MOST_STEPS,
    ) -> Fitted:
        """Descend from a map, and latents if there are some, or resume from a state.

        If latents are close to their places, ``first_steps`` of Gauss-Newton suffice at first.
        """
        hard = self.functional(data, alpha)
        options = TurnOptions(self.max_iter, self.tol, callback, note)
        if self.assignment == "soft":
            places = self.layout.grid[some_rows(len(self.layout.grid), MOST_SOFT_PLACES)]
            soft = SoftQuantization(data, places, self.loss, self.penalty, alpha, self.latent_noise)
            assert state is None or isinstance(state, SoftState)
            cold = soft.run(up, options, state)
            projected = hard.project(cold.up, latents)
            return Fitted(cold.up, projected, np.array(cold.history), cold.turn, cold.temperature)
        assert state is None or isinstance(state, DescentState)
        ended = hard.run(up, latents, options, state, first_steps)
        return Fitted(ended.up, ended.latents, np.array(ended.history), ended.turn)

    def short(self) -> DescentSettings:
        """Return the settings of a short descent, which others continue."""
        return replace(self, max_iter=min(self.max_iter, SHORT_TURNS), tol=max(self.tol, SHORT_TOL))

    def grown(self, data: Array, alpha: float, up: NodeExpansion) -> NodeExpansion:
        """Fit with few of the kernel's smoothest functions first, and then with more and more.

        A plane bends before it ripples, so it is less likely to fold. Functions stay in use, so the
        functional never rises.
        """
        functional = self.functional(data, alpha)
        if self.penalty != "rkhs":
            functional = replace(functional, penalty="rkhs", limit=None)
        n_functions, most = self.layout.domain.n_components + 1, up.whitening().shape[1]
        latents = None
        while True:
            narrow = replace(functional, n_functions=min(n_functions, most))
            found = narrow.run(up, latents, TurnOptions(SHORT_TURNS, SHORT_TOL))
            up, latents = found.up, found.latents
            if n_functions >= most:
                return up
            n_functions = max(n_functions + 1, int(1.5 * n_functions))

    def with_scale(self, first: Fitted, data: Array) -> DescentSettings:
        """Return the settings with Huber's loss, its scale taken from a fit with the norm."""
        lengths = Norm().values(data - first.up.predict(first.latents))
        return replace(self, loss=Huber(max(HUBER_SCALES * float(np.median(lengths)), 1e-9)))

    def at_latents(self, data: Array, alpha: float, latents: Array) -> NodeExpansion:
        """Return the map of least squares at given latents, with the "rkhs" penalty."""
        return self.layout.expansion(max(alpha, SMALLEST_ALPHA)).fit(latents, data)

    def error(self, data: Array, up: NodeExpansion) -> float:
        """Return the mean loss of rows at their nearest images."""
        near, rows = self.functional(data, 0.0).projection(up).in_few_columns(data)
        return float(near.lower(rows, None, STEPS_OF_AN_ERROR)[1].mean())


def at_constant_speed(descent: DescentSettings, fitted: Fitted, data: Array) -> Fitted:
    """Descend again from the same curve at constant speed, as long as that lowers the loss.

    Reparameterizing a curve does not change its image and lowers the squared speed (Smola et al.
    2001, Example 7). The turns hardly do it: rows stay at the corners of a polygon.
    """
    end = float(descent.layout.domain.ends[0])
    places = np.linspace(-end, end, PLACES_OF_LENGTH)
    for _ in range(REPARAMETERIZATIONS):
        steps = np.linalg.norm(np.diff(fitted.up.predict(places[:, None]), axis=0), axis=1)
        lengths = np.append(0.0, np.cumsum(steps))
        if not lengths[-1] > 0.0:
            break
        along = end * (2.0 * lengths / lengths[-1] - 1.0)
        latents = np.interp(fitted.latents[:, 0], places, along)[:, None]
        up = descent.at_latents(data, fitted.up.alpha, latents)
        found = descent.run(data, 0.0, up, latents)
        if found.history[-1] >= fitted.history[-1]:
            break
        fitted = replace(found, n_iter=fitted.n_iter + found.n_iter)
    return fitted


def without_idle_nodes(
    descent: DescentSettings, fitted: Fitted, data: Array, alpha: float, refit_alpha: float | None
) -> tuple[DescentSettings, Fitted, float]:
    """Drop nodes without weight, and refit the others with "rkhs" if ``refit_alpha`` is given.

    Returns the settings, the fit, and the weight of its penalty.
    """
    if descent.penalty != "l1":
        return descent, fitted, alpha
    active = np.flatnonzero(np.abs(fitted.up.weights_).max(axis=1) > 0.0)
    layout = descent.layout.only(active)
    up = layout.expansion(alpha)
    up.weights_, up.intercept_ = fitted.up.weights_[active], fitted.up.intercept_
    descent, fitted = replace(descent, layout=layout), replace(fitted, up=up)
    if refit_alpha is None or not len(active):
        return descent, fitted, alpha
    descent = replace(descent, penalty="rkhs", limit=None)
    return descent, descent.run(data, refit_alpha, up, fitted.latents), refit_alpha

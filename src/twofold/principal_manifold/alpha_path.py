r"""Fitting a principal manifold for given settings, and choosing the weight of its penalty.

The weight is chosen by cross-validation along a path: from a middle weight to smaller and to larger ones, each fit
starting where the last one ended. (From the largest weight downwards manifolds would begin as a point, and fold.)

Held-out error alone takes weights that are too small on noisy curves, where a fit may dip into the noise without being
worse on new rows. The rule of one standard error takes the largest weight whose error is within one
standard error of the lowest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twofold.losses import Huber, Loss, Norm
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import warn_user
from twofold.principal_manifold.functional import Quantization
from twofold.principal_manifold.node_layout import Layout
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.soft import SoftQuantization
from twofold.protocols import Array

__all__ = [
    "ALPHAS",
    "MIDDLE_ALPHA",
    "SMALLEST_ALPHA",
    "AlphaChoice",
    "Fitted",
    "Fitting",
    "choose_alpha",
    "without_idle_nodes",
]

ALPHAS = tuple(float(a) for a in np.logspace(-0.5, -5.0, 10))
MIDDLE_ALPHA = 1e-3
SHORT_TURNS, SHORT_TOL = 12, 2e-3
SMALLEST_ALPHA = 1e-9
HUBER_SCALES = 1.0
"""The scale of Huber's loss, in medians of the residuals' lengths under the unsquared norm."""

MOST_CV_ROWS = 2_000
MOST_SOFT_PLACES = 1_000


@dataclass(frozen=True)
class Fitted:
    """A map, the rows' latents, the functional's history, the turns made and the last temperature."""

    up: NodeExpansion
    latents: Array
    history: Array
    n_iter: int
    temperature: float = 0.0


@dataclass(frozen=True)
class Fitting:
    """The settings of a descent, but for its data and the weight of the penalty."""

    layout: Layout
    loss: Loss
    penalty: str
    assignment: str
    latent_noise: float
    max_iter: int
    tol: float

    def functional(self, data: Array, alpha: float) -> Quantization:
        """Return the functional of some data."""
        layout = self.layout
        return Quantization(
            data, layout.domain, layout.grid, self.loss, self.penalty, alpha, self.latent_noise
        )

    def run(
        self,
        data: Array,
        alpha: float,
        up: NodeExpansion,
        latents: Array | None = None,
        callback: Callable[[int, float, Array], bool] = lambda *_: False,
        *,
        state: Any = None,
        note: Callable[[Any], None] | None = None,
    ) -> Fitted:
        """Descend from a map, and latents where there are some, or go on from the state of such a descent."""
        hard = self.functional(data, alpha)
        turns: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        turns |= {"callback": callback, "state": state, "note": note}
        if self.assignment == "soft":
            places = self.layout.grid[some_rows(len(self.layout.grid), MOST_SOFT_PLACES)]
            soft = SoftQuantization(data, places, self.loss, self.penalty, alpha, self.latent_noise)
            found = soft.run(up, **turns)
            projected = hard.project(found.up, latents)
            return Fitted(found.up, projected, found.history, found.n_iter, found.temperature)
        ended = hard.run(up, latents, **turns)
        return Fitted(ended.up, ended.latents, ended.history, ended.n_iter)

    def shortly(self) -> Fitting:
        """Return the settings of a fit that others follow."""
        return replace(self, max_iter=min(self.max_iter, SHORT_TURNS), tol=max(self.tol, SHORT_TOL))

    def grown(self, data: Array, alpha: float, up: NodeExpansion) -> Fitted:
        """Fit with few of the kernel's smoothest functions first, and then with ever more.

        A plane bends before it ripples, so it is less likely to fold. What was allowed before stays so: the
        functional never rises.
        """
        functional = replace(self.functional(data, alpha), penalty="rkhs")
        n_functions, most = self.layout.domain.n_components + 1, up.whitening().shape[1]
        latents = None
        while True:
            narrow = replace(functional, n_functions=min(n_functions, most))
            found = narrow.run(up, latents, max_iter=SHORT_TURNS, tol=SHORT_TOL)
            up, latents = found.up, found.latents
            if n_functions >= most:
                return Fitted(up, latents, found.history, found.n_iter)
            n_functions = max(n_functions + 1, int(1.5 * n_functions))

    def with_scale(self, first: Fitted, data: Array) -> Fitting:
        """Return the settings with Huber's loss, its scale taken from a fit with the unsquared norm."""
        lengths = Norm().values(data - first.up.predict(first.latents))
        return replace(self, loss=Huber(max(HUBER_SCALES * float(np.median(lengths)), 1e-9)))

    def at_latents(self, data: Array, alpha: float, latents: Array) -> NodeExpansion:
        """Return the map of least squares at given latents, with the smoothness of the kernel."""
        up = self.layout.expansion(max(alpha, SMALLEST_ALPHA))
        fitted: NodeExpansion = up.fit(latents, data)
        return fitted

    def around(self, data: Array, latents: Array) -> dict[float, Fitted]:
        """Fit for every weight: from the middle one to the smaller and to the larger ones, each from the last."""
        short = self.shortly()
        middle = short.run(
            data, MIDDLE_ALPHA, self.at_latents(data, MIDDLE_ALPHA, latents), latents
        )
        smaller = [alpha for alpha in ALPHAS if alpha <= MIDDLE_ALPHA]
        larger = [alpha for alpha in reversed(ALPHAS) if alpha > MIDDLE_ALPHA]
        found = {}
        for way in (smaller, larger):
            last = middle
            for alpha in way:
                found[alpha] = last = short.run(data, alpha, last.up, last.latents)
        return found

    def errors(self, data: Array, up: NodeExpansion) -> float:
        """Return the mean loss of rows at their nearest images."""
        nearest = up.predict(self.functional(data, 0.0).projection(up).predict(data))
        return float(self.loss.values(data - nearest).mean())


def without_idle_nodes(
    fitting: Fitting, fitted: Fitted, data: Array, alpha: float, refit_alpha: float | None
) -> tuple[Fitting, Fitted, float]:
    """Leave out nodes without weight, and fit the others again where that is asked for.

    Parameters
    ----------
    fitting, fitted : Fitting and Fitted
        Settings, and what they led to.
    data : ndarray of shape (n, D)
        Rows.
    alpha : float
        Weight of the penalty.
    refit_alpha : float or None
        Weight of the smoothness of the kernel in a new fit; None means that there is none.

    Returns
    -------
    Fitting, Fitted, float
        The same, with the weight of the last fit.
    """
    if fitting.penalty != "l1":
        return fitting, fitted, alpha
    active = np.flatnonzero(np.abs(fitted.up.weights_).max(axis=1) > 0.0)
    layout = fitting.layout.only(active)
    up = layout.expansion(alpha)
    up.weights_, up.intercept_ = fitted.up.weights_[active], fitted.up.intercept_
    fitting, fitted = replace(fitting, layout=layout), replace(fitted, up=up)
    if not len(active):
        warn_user(
            f"penalty='l1' with alpha={alpha:g} has left no node: the map is constant. Lower alpha.",
            UserWarning,
        )
    if refit_alpha is None or not len(active):
        return fitting, fitted, alpha
    fitting = replace(fitting, penalty="rkhs")
    again = fitting.run(data, float(refit_alpha), up, fitted.latents)
    return fitting, again, float(refit_alpha)


@dataclass(frozen=True)
class AlphaChoice:
    """A chosen weight, and the errors it was chosen by.

    Attributes
    ----------
    alpha : float
        The weight.
    alphas : ndarray of shape (k,)
        Those compared, largest first.
    errors : ndarray of shape (k, n_folds)
        Mean held-out losses.
    """

    alpha: float
    alphas: Array
    errors: Array


def choose_alpha(
    fitting: Fitting,
    data: Array,
    latents: Array,
    *,
    n_folds: int,
    rule: str,
    rng: np.random.Generator,
) -> AlphaChoice:
    """Choose the weight of the penalty by cross-validation.

    Parameters
    ----------
    fitting : Fitting
        All other settings.
    data : ndarray of shape (n, D)
        Rows; of more than 2,000 a part is used.
    latents : ndarray of shape (n, q)
        Theirs, from which the folds' fits start. They come from a fit to all rows, but no map of it is used.
    n_folds : int
        Parts that are held out in turn.
    rule : {"min", "one_se"}
        Takes the lowest mean error, or the largest weight within one standard error of it.
    rng : Generator
        Deals the rows out.
    """
    rows = some_rows(len(data), MOST_CV_ROWS)
    data, latents = data[rows], latents[rows]
    if n_folds > len(data):
        raise ValueError(f"cv={n_folds} has more folds than there are rows, {len(data)}.")
    fold = rng.permutation(np.arange(len(data)) % n_folds)

    def errors_of(number: int) -> Array:
        kept = fold != number
        fits = fitting.around(data[kept], latents[kept])
        return np.array([fitting.errors(data[~kept], fits[alpha].up) for alpha in ALPHAS])

    # One fold after the other: arrays are small, and threads would wait for each other's Python.
    errors = np.stack([errors_of(number) for number in range(n_folds)], axis=1)
    means = errors.mean(axis=1)
    best = int(means.argmin())
    if rule == "one_se":
        bound = means[best] + errors[best].std(ddof=1) / np.sqrt(n_folds)
        best = int(np.flatnonzero(means <= bound)[0])
    return AlphaChoice(ALPHAS[best], np.array(ALPHAS), errors)

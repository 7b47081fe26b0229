r"""Fitting a principal manifold for given settings, and choosing the weight of its penalty.

The weight is chosen by cross-validation along a path: from the largest weight to the smallest, each fit starts where the last
one ended. So a manifold unfolds from a stiff one, and the chosen fit goes the same way.

Held-out error alone takes weights that are too small on noisy curves, where a fit may dip into the noise without being
worse on new rows. The rule of one standard error takes the largest weight whose error is within one
standard error of the lowest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from twofold._blocks import map_blocks, some_rows
from twofold.estimators._manifold_layout import Layout
from twofold.losses import Loss
from twofold.maps.node_expansion import NodeExpansion
from twofold.protocols import Array
from twofold.quantization import Quantization
from twofold.soft_quantization import SoftQuantization

__all__ = ["ALPHAS", "AlphaChoice", "Fitted", "Fitting", "choose_alpha"]

ALPHAS = tuple(float(a) for a in np.logspace(-0.5, -5.0, 10))
PATH_TURNS, PATH_TOL = 12, 2e-3
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
    ) -> Fitted:
        """Descend from a map, and latents where there are some."""
        hard = self.functional(data, alpha)
        if self.assignment == "soft":
            places = self.layout.grid[some_rows(len(self.layout.grid), MOST_SOFT_PLACES)]
            soft = SoftQuantization(data, places, self.loss, self.penalty, alpha, self.latent_noise)
            found = soft.run(up, max_iter=self.max_iter, tol=self.tol, callback=callback)
            projected = hard.project(found.up, latents)
            return Fitted(found.up, projected, found.history, found.n_iter, found.temperature)
        ended = hard.run(up, latents, max_iter=self.max_iter, tol=self.tol, callback=callback)
        return Fitted(ended.up, ended.latents, ended.history, ended.n_iter)

    def along(
        self, data: Array, alphas: Sequence[float], up: NodeExpansion, latents: Array | None = None
    ) -> list[Fitted]:
        """Descend for one weight after the other, each from the last, in few turns."""
        short = replace(self, max_iter=min(self.max_iter, PATH_TURNS), tol=max(self.tol, PATH_TOL))
        path: list[Fitted] = []
        for alpha in alphas:
            path.append(short.run(data, alpha, up, latents))
            up, latents = path[-1].up, path[-1].latents
        return path

    def errors(self, data: Array, up: NodeExpansion) -> float:
        """Return the mean loss of rows at their nearest images."""
        nearest = up.predict(self.functional(data, 0.0).projection(up).predict(data))
        return float(self.loss.values(data - nearest).mean())


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
    start: Callable[[Array, float], NodeExpansion],
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
    start : callable
        Returns the first map for some rows and a weight.
    n_folds : int
        Parts that are held out in turn.
    rule : {"min", "one_se"}
        Takes the lowest mean error, or the largest weight within one standard error of it.
    rng : Generator
        Deals the rows out.
    """
    data = data[some_rows(len(data), MOST_CV_ROWS)]
    n_folds = min(n_folds, len(data))
    fold = rng.permutation(np.arange(len(data)) % n_folds)

    def errors_of(number: int) -> Array:
        kept, held_out = data[fold != number], data[fold == number]
        path = fitting.along(kept, ALPHAS, start(kept, ALPHAS[0]))
        return np.array([fitting.errors(held_out, fitted.up) for fitted in path])

    errors = np.stack(map_blocks(errors_of, range(n_folds)), axis=1)
    means = errors.mean(axis=1)
    best = int(means.argmin())
    if rule == "one_se":
        bound = means[best] + errors[best].std(ddof=1) / np.sqrt(n_folds)
        best = int(np.flatnonzero(means <= bound)[0])
    return AlphaChoice(ALPHAS[best], np.array(ALPHAS), errors)

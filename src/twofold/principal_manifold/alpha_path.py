r"""The choice of the penalty's weight by cross-validation along a path.

The path leads from a middle weight to smaller and to larger ones; each fit starts from the result
of the last. (A path from the largest weight downwards would begin with a point, and fold.)

Held-out error alone takes weights that are too small on noisy curves, where a fit may follow the
noise without being worse on new rows. The rule of one standard error takes the largest weight whose
error is within one standard error of the lowest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.numerics.threads import some_rows
from twofold.principal_manifold.descent import DescentSettings, Fitted
from twofold.principal_manifold.functional import STEPS_OF_A_TURN
from twofold.principal_manifold.settings import MOST_CV_ROWS, CrossValidation
from twofold.protocols import Array

ALPHAS = tuple(float(a) for a in np.logspace(-0.5, -5.0, 10))
MIDDLE_ALPHA = 1e-3


@dataclass(frozen=True)
class AlphaChoice:
    """A chosen weight, the weights compared (k,), largest first, and their errors (k, n_folds)."""

    alpha: float
    alphas: Array
    errors: Array


def choose_alpha(
    descent: DescentSettings,
    validation: CrossValidation,
    data: Array,
    latents: Array,
    rng: np.random.Generator,
) -> AlphaChoice:
    """Choose the weight of the penalty for rows ``data`` (n, D); of many rows a sample is used.

    The fits of the folds start from ``latents`` (n, q), which come from a fit to all rows; they do
    not use its map.
    """
    alphas = tuple(sorted(validation.alphas or ALPHAS, reverse=True))
    rows = some_rows(len(data), MOST_CV_ROWS)
    data, latents = data[rows], latents[rows]
    n_folds = validation.folds_of(len(data))
    fold = rng.permutation(np.arange(len(data)) % n_folds)

    def errors_of(number: int) -> Array:
        kept = fold != number
        fits = _fits_along(alphas, descent, data[kept], latents[kept])
        return np.array([descent.error(data[~kept], fits[alpha].up) for alpha in alphas])

    # Folds run one after the other: their arrays are too small for threads.
    errors = np.stack([errors_of(number) for number in range(n_folds)], axis=1)
    means = errors.mean(axis=1)
    best = int(means.argmin())
    if validation.rule == "one_se":
        bound = means[best] + errors[best].std(ddof=1) / np.sqrt(n_folds)
        best = int(np.flatnonzero(means <= bound)[0])
    return AlphaChoice(alphas[best], np.array(alphas), errors)


def _fits_along(
    alphas: tuple[float, ...], descent: DescentSettings, data: Array, latents: Array
) -> dict[float, Fitted]:
    """Fit for every weight, from the middle one to the smaller and to the larger ones."""
    short = descent.short()
    first = descent.at_latents(data, MIDDLE_ALPHA, latents)
    middle = short.run(data, MIDDLE_ALPHA, first, latents)
    smaller = [alpha for alpha in alphas if alpha <= MIDDLE_ALPHA]
    larger = [alpha for alpha in reversed(alphas) if alpha > MIDDLE_ALPHA]
    found = {}
    for path in (smaller, larger):
        last = middle
        for alpha in path:
            found[alpha] = last = short.run(
                data, alpha, last.up, last.latents, first_steps=STEPS_OF_A_TURN
            )
    return found

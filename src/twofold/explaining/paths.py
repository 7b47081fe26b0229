r"""Features that change along a path of latents.

With the decoded values :math:`f_j(z_t)` at the places of the path and the spread :math:`s_j`, the
*net* change is :math:`(f_j(z_T) - f_j(z_1)) / s_j`, the *variation*
:math:`\sum_t |f_j(z_{t+1}) - f_j(z_t)| / s_j`, and the *effect*

.. math:: \rho_j \max_{t, u} |f_j(z_t) - f_j(z_u)| / s_j .

The variation counts every wiggle of a rough decoder, and the net change is zero for a feature that
rises and falls, so the largest change sorts the features. The explained share :math:`\rho_j`
shrinks those that are noise to the map (`twofold.explaining.reference`). A category is a vector of
indicators, and changes are lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.spatial.distance import pdist

from twofold.explaining.reference import Reference
from twofold.explaining.results import PathExplanation
from twofold.numerics.threads import some_rows
from twofold.protocols import Array

MOST_PLACES = 500
"""Places of a path between which the largest change of a category is searched."""


def path_explanation(
    reference: Reference, images: Array, Z: Array, decoded: Any, names: tuple[str, ...]
) -> PathExplanation:
    """Explain a path of latents (n, q) with images (n, k) in centered units."""
    columns = reference.columns
    spreads = reference.divisors
    steps = np.sqrt(columns.sums(np.square(np.diff(images, axis=0)))) / spreads
    n_features = columns.n_features
    largest, net = np.zeros(n_features), np.zeros(n_features)
    values = np.zeros((len(Z), n_features))
    center = reference.images.mean(axis=0)
    for feature in range(n_features):
        own = np.flatnonzero(columns.features == feature)
        if not len(own):
            continue
        line = images[:, own] - center[own]
        if len(own) > 1:
            line, largest[feature] = _leading(line)
            net[feature] = np.sqrt(np.square(images[-1, own] - images[0, own]).sum())
        else:
            line = line[:, 0]
            largest[feature] = np.ptp(line)
            net[feature] = line[-1] - line[0]
        values[:, feature] = line / spreads[feature]
    last = max(len(Z) - 1, 1)
    steepest = (steps.argmax(axis=0) + 0.5) / last if len(steps) else np.zeros(n_features)
    return PathExplanation(
        feature_names=names,
        effects=reference.explained * largest / spreads,
        net=net / spreads,
        variation=steps.sum(axis=0),
        steepest=steepest,
        values=values,
        decoded=decoded,
        latents=Z,
    )


def _leading(block: Array) -> tuple[Array, float]:
    """Return the leading coordinate (n,) of a category (n, k), and the largest distance in it."""
    _, _, axes = linalg.svd(block - block.mean(axis=0), full_matrices=False)
    axis = axes[0] * np.sign(axes[0][np.abs(axes[0]).argmax()])
    some = block[some_rows(len(block), MOST_PLACES)]
    return block @ axis, float(pdist(some).max(initial=0.0))

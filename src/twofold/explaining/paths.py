r"""Features that change along a path of latents.

The decoded values along the path follow the noise of the map, so they are smoothed over the images
of the training latents around each place,

.. math:: v_j(z) = \frac{\sum_i k_i f_j(z_i)}{s_j \sum_i k_i}, \qquad
          k_i = \exp\left(-\tfrac12 |z_i - z|^2 / h^2\right), \quad
          h = \texttt{scale} \cdot \text{extent},

in spreads :math:`s_j`; with ``scale=0`` they are :math:`f_j(z) / s_j`. For the places :math:`z_1,
\ldots, z_T` the *net* change is :math:`v_j(z_T) - v_j(z_1)`, the *variation* :math:`\sum_t
|v_j(z_{t+1}) - v_j(z_t)|`, and the *effect*

.. math:: \rho_j \max_{t, u} |v_j(z_t) - v_j(z_u)| .

The variation counts every wiggle, and the net change is zero for a feature that rises and falls, so
the largest change sorts the features. The explained share :math:`\rho_j` shrinks those that are
noise to the map (`twofold.explaining.reference`). A category is a vector of indicators, and changes
are lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.spatial.distance import pdist

from twofold.explaining.reference import SMALLEST_SCALE, Reference
from twofold.explaining.results import PathExplanation
from twofold.numerics.linalg import shifted_exp
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import row_blocks, some_rows
from twofold.protocols import Array

MOST_PLACES = 500
"""Places of a path between which the largest change of a category is searched."""


def smoothed_images(reference: Reference, Z: Array, scale: float) -> Array:
    """Return means (n, k) of the images of the training latents around places (n, q)."""
    q = Z.shape[1]
    width = max(scale, SMALLEST_SCALE)
    means = np.empty((len(Z), reference.images.shape[1]))
    for rows in row_blocks(len(Z), 8 * (q + 2) * len(reference.latents)):
        offsets = [reference.offsets(Z[rows], column) / width for column in range(q)]
        distances = np.sum([np.square(one) for one in offsets], axis=0)
        weights, _ = shifted_exp(-0.5 * distances)
        means[rows] = row_product(weights / weights.sum(axis=1, keepdims=True), reference.images)
    return means


def path_explanation(
    reference: Reference, images: Array, Z: Array, decoded: Any, names: tuple[str, ...]
) -> PathExplanation:
    """Explain a path of latents (n, q) with smoothed images (n, k) in centered units."""
    columns = reference.columns
    spreads = reference.divisors
    steps = np.sqrt(columns.sums(np.square(np.diff(images, axis=0)))) / spreads
    n_features = columns.n_features
    largest, net = np.zeros(n_features), np.zeros(n_features)
    profiles = np.zeros((len(Z), n_features))
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
        profiles[:, feature] = line / spreads[feature]
    last = max(len(Z) - 1, 1)
    steepest = (steps.argmax(axis=0) + 0.5) / last if len(steps) else np.zeros(n_features)
    return PathExplanation(
        feature_names=names,
        effects=reference.explained * largest / spreads,
        net=net / spreads,
        variation=steps.sum(axis=0),
        steepest=steepest,
        profiles=profiles,
        decoded=decoded,
        latents=Z,
    )


def _leading(block: Array) -> tuple[Array, float]:
    """Return the leading coordinate (n,) of a category (n, k), and the largest distance in it."""
    _, _, axes = linalg.svd(block - block.mean(axis=0), full_matrices=False)
    axis = axes[0] * np.sign(axes[0][np.abs(axes[0]).argmax()])
    some = block[some_rows(len(block), MOST_PLACES)]
    return block @ axis, float(pdist(some).max(initial=0.0))

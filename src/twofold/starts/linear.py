"""Initial latents without neighbors: random, or along principal axes."""

from __future__ import annotations

import numpy as np

from twofold.numerics.linalg import principal_axes
from twofold.protocols import Array


def random(X: Array, n_components: int, rng: np.random.Generator) -> Array:
    """Return standard normal latents."""
    return rng.standard_normal((len(X), n_components))


def pca(X: Array, n_components: int, rng: np.random.Generator | None = None) -> Array:
    """Return the coordinates along the leading principal axes."""
    del rng
    centered = X - X.mean(axis=0)
    axes, _ = principal_axes(centered, n_components)
    latents: Array = centered @ axes.T
    return latents


def pad(Z: Array, n_components: int) -> Array:
    """Add columns of zeros if there are fewer directions than components."""
    return np.pad(Z, ((0, 0), (0, n_components - Z.shape[1])))

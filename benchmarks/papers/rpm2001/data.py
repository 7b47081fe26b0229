"""The curves and surfaces of the experiments, with noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from twofold.protocols import Array

NOISE = 0.1


def wave(n: int, seed: int, noise: float = 0.15) -> tuple[Array, Array]:
    """Return a curve in the plane with noise, and the curve."""
    rng = np.random.default_rng([1, seed])
    t = np.linspace(-1.0, 1.0, 400)
    truth = np.column_stack([t, np.sin(np.pi * t)])
    s = rng.uniform(-1.0, 1.0, n)
    X = np.column_stack([s, np.sin(np.pi * s)])
    return X + noise * rng.standard_normal(X.shape), truth


def hill(n: int, seed: int, noise: float = 0.05) -> Array:
    """Return a surface in space with noise."""
    rng = np.random.default_rng([2, seed])
    uv = rng.uniform(-1.0, 1.0, (n, 2))
    X = np.column_stack([uv, np.exp(-3.0 * np.square(uv).sum(axis=1))])
    return np.asarray(X + noise * rng.standard_normal(X.shape))


def sine(n: int, seed: int) -> tuple[Array, Array]:
    """Return a long sine with noise, and the curve."""
    rng = np.random.default_rng([4, seed])

    def at(s: Array) -> Array:
        return np.column_stack([3.0 * s, np.sin(np.pi * s)])

    X = at(rng.uniform(-1.0, 1.0, n))
    return X + NOISE * rng.standard_normal(X.shape), at(np.linspace(-1.0, 1.0, 400))


def _ring(angle: Array) -> Array:
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _eight(angle: Array) -> Array:
    return 2.0 * np.column_stack([np.sin(angle), np.sin(angle) * np.cos(angle)])


SHAPES: dict[str, Callable[[Array], Array]] = {"circle": _ring, "figure-eight": _eight}
"""Closed curves as functions of an angle."""


def noisy_loop(name: str, n: int, seed: int) -> tuple[Array, Array]:
    """Return a closed curve with noise, and the curve."""
    rng = np.random.default_rng([3, seed])
    X = SHAPES[name](rng.uniform(-np.pi, np.pi, n))
    truth = SHAPES[name](np.linspace(-np.pi, np.pi, 1_000))
    return X + NOISE * rng.standard_normal(X.shape), truth


def both_distances(curve: Array, truth: Array) -> tuple[float, float]:
    """Return the mean distance of the truth to the curve, and of the curve to the truth."""
    distances = cdist(truth, curve)
    return float(distances.min(axis=1).mean()), float(distances.min(axis=0).mean())

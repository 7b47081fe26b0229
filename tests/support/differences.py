"""Derivatives by differences, and other references that are too slow for anything but tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def central_gradient(function: Callable, point: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Fourth-order central differences of a function of an array.

    Returns the derivative of each output with respect to each entry: shape of the output, then
    shape of the point.
    """
    base = np.asarray(function(point))
    gradient = np.empty((*base.shape, *point.shape))
    for index in np.ndindex(*point.shape):

        def shifted(distance: float, index: tuple[int, ...] = index) -> np.ndarray:
            moved = point.copy()
            moved[index] += distance
            return np.asarray(function(moved))

        gradient[(..., *index)] = (
            8.0 * (shifted(step) - shifted(-step)) - (shifted(2 * step) - shifted(-2 * step))
        ) / (12.0 * step)
    return gradient


def naive_sqdist(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.array([[sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for b in B] for a in A])

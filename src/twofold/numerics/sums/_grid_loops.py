"""Compiled loops between points and the nodes of a grid; `GridWeights` has NumPy twins."""

from __future__ import annotations

import numpy as np

from twofold.numerics.compiled_loops import compiled

serial = compiled(fastmath={"reassoc", "contract"})


@serial
def _spline(t, slope):  # type: ignore[no-untyped-def]
    """Return the four weights of a cubic B-spline at a fraction t of a step, or their slopes."""
    s = 1.0 - t
    if slope:
        return -0.5 * s * s, -2.0 * t + 1.5 * t * t, 2.0 * s - 1.5 * s * s, 0.5 * t * t
    middle = 2.0 / 3.0 - t * t + 0.5 * t * t * t
    return s * s * s / 6.0, middle, 2.0 / 3.0 - s * s + 0.5 * s * s * s, t * t * t / 6.0


@serial
def _touched(position, shape, slope, nodes, weights):  # type: ignore[no-untyped-def]
    """Write the nodes (4^q,) that a point touches and their weights; ``slope`` may be a dimension.

    Without ``slope`` it is -1.
    """
    n_touched = 1
    nodes[0] = 0
    weights[0] = 1.0
    for d in range(len(position)):
        first = int(np.floor(position[d]))
        four = _spline(position[d] - first, slope == d)
        for old in range(n_touched - 1, -1, -1):
            node, weight = nodes[old] * shape[d] + first - 1, weights[old]
            for k in range(4):
                nodes[4 * old + k] = node + k
                weights[4 * old + k] = weight * four[k]
        n_touched *= 4


@serial
def spread(positions, shape, values, grid):  # type: ignore[no-untyped-def]
    """Add values (n, D), times their weights, to the nodes (n_nodes, D)."""
    n_touched = 4 ** len(shape)
    nodes, weights = np.empty(n_touched, np.int64), np.empty(n_touched)
    for row in range(len(positions)):
        _touched(positions[row], shape, -1, nodes, weights)
        for c in range(n_touched):
            for column in range(values.shape[1]):
                grid[nodes[c], column] += weights[c] * values[row, column]


@serial
def interpolate(begin, end, positions, shape, field, sums):  # type: ignore[no-untyped-def]
    """Write the values of a field (n_nodes, D) at some points."""
    n_touched = 4 ** len(shape)
    nodes, weights = np.empty(n_touched, np.int64), np.empty(n_touched)
    for row in range(begin, end):
        _touched(positions[row], shape, -1, nodes, weights)
        sums[row] = 0.0
        for c in range(n_touched):
            for column in range(field.shape[1]):
                sums[row, column] += weights[c] * field[nodes[c], column]


@serial
def add_slopes(begin, end, positions, shape, factors, field, slopes):  # type: ignore[no-untyped-def]
    """Add the derivatives of ``factors_i . field(z_i)`` by steps of the grid at some points."""
    n_touched = 4 ** len(shape)
    nodes, weights = np.empty(n_touched, np.int64), np.empty(n_touched)
    products = np.empty(n_touched)
    for row in range(begin, end):
        for d in range(len(shape)):
            _touched(positions[row], shape, d, nodes, weights)
            if d == 0:
                for c in range(n_touched):
                    product = 0.0
                    for column in range(field.shape[1]):
                        product += factors[row, column] * field[nodes[c], column]
                    products[c] = product
            for c in range(n_touched):
                slopes[row, d] += weights[c] * products[c]

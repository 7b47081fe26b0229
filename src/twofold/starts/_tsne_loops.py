"""Compiled loops over pairs of points in t-SNE; `twofold.starts.tsne` has NumPy twins.

Points are columns (q, n) in single precision. numba would check each division for zero, and then
no processor divides several numbers at once: hence the error model, which takes a ninth of the
time.
"""

from __future__ import annotations

import numpy as np

from twofold.numerics.compiled_loops import compiled

FAST = {"reassoc", "contract", "arcp", "nsz"}
serial = compiled(error_model="numpy", fastmath=FAST)


@serial
def attract(begin, end, pointers, neighbors, P, columns, pull):  # type: ignore[no-untyped-def]
    """Write ``sum_j P_ij (z_i - z_j) / (1 + |z_i - z_j|^2)`` over neighbors, for some points."""
    q = len(columns)
    one = np.float32(1.0)
    if q == 2:  # the usual case, as one loop
        x, y = columns[0], columns[1]
        for row in range(begin, end):
            right, up = np.float32(0.0), np.float32(0.0)
            for k in range(pointers[row], pointers[row + 1]):
                dx, dy = x[row] - x[neighbors[k]], y[row] - y[neighbors[k]]
                weight = P[k] / (one + dx * dx + dy * dy)
                right += weight * dx
                up += weight * dy
            pull[row, 0], pull[row, 1] = right, up
        return
    for row in range(begin, end):
        pull[row] = np.float32(0.0)
        for k in range(pointers[row], pointers[row + 1]):
            square = one
            for d in range(q):
                difference = columns[d, row] - columns[d, neighbors[k]]
                square += difference * difference
            for d in range(q):
                difference = columns[d, row] - columns[d, neighbors[k]]
                pull[row, d] += P[k] / square * difference


@serial
def repel(begin, end, columns, sums, push):  # type: ignore[no-untyped-def]
    """Write ``sum_j W_ij`` and ``sum_j W_ij^2 (z_i - z_j)`` over all points, for some of them."""
    q, n = columns.shape
    one = np.float32(1.0)
    if q == 2:  # the usual case, as one loop
        x, y = columns[0], columns[1]
        for row in range(begin, end):
            total, right, up = np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for other in range(n):
                dx, dy = x[row] - x[other], y[row] - y[other]
                weight = one / (one + dx * dx + dy * dy)
                total += weight
                right += weight * weight * dx
                up += weight * weight * dy
            sums[row], push[row, 0], push[row, 1] = total, right, up
        return
    squares = np.empty(n, np.float32)
    for row in range(begin, end):
        squares[:] = one
        for d in range(q):
            for other in range(n):
                difference = columns[d, row] - columns[d, other]
                squares[other] += difference * difference
        total = np.float32(0.0)
        for other in range(n):
            squares[other] = one / squares[other]
            total += squares[other]
        sums[row] = total
        for d in range(q):
            moved = np.float32(0.0)
            for other in range(n):
                difference = columns[d, row] - columns[d, other]
                moved += squares[other] * squares[other] * difference
            push[row, d] = moved

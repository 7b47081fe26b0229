"""Compiled loops over the sources within reach of targets; `NadarayaWatson` has NumPy twins."""

from __future__ import annotations

import numba
import numpy as np

serial = numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})


@serial
def _first_at_least(points, begin, end, bound):  # type: ignore[no-untyped-def]
    """Return the first of some sorted points whose last coordinate is at least a bound."""
    last = points.shape[1] - 1
    while begin < end:
        middle = (begin + end) // 2
        if points[middle, last] < bound:
            begin = middle + 1
        else:
            end = middle
    return begin


@serial
def _column_gap(target, lows, highs, column):  # type: ignore[no-untyped-def]
    """Return the squared distance of a target to a column's box across."""
    gap = 0.0
    for d in range(lows.shape[1]):
        outside = max(lows[column, d] - target[d], target[d] - highs[column, d], 0.0)
        gap += outside * outside
    return gap


@serial
def _weight(distance, power):  # type: ignore[no-untyped-def]
    """Return a kernel's weight and the derivative of its logarithm at a squared distance."""
    if power == 0.0:
        return np.exp(-0.5 * distance), -0.5
    rest = 1.0 - distance
    if rest <= 0.0:
        return 0.0, 0.0
    return rest**power, -power / rest


@serial
def local_means(  # type: ignore[no-untyped-def]
    rows, targets, sources, power, radius_sq, values, mass, nearest, means
):
    """Write the mean of values, the mass and the squared distance of the nearest source."""
    points, order, columns, lows, highs = sources
    radius = np.sqrt(radius_sq)
    n_dimensions = points.shape[1]
    n_columns = values.shape[1]
    for row in rows:
        target = targets[row]
        total = 0.0
        closest = np.inf
        mean = means[row]
        for c in range(n_columns):
            mean[c] = 0.0
        for column in range(len(columns) - 1):
            if _column_gap(target, lows, highs, column) > radius_sq:
                continue
            end = columns[column + 1]
            start = _first_at_least(points, columns[column], end, target[-1] - radius)
            for source in range(start, end):
                if points[source, n_dimensions - 1] > target[-1] + radius:
                    break
                distance = 0.0
                for d in range(n_dimensions):
                    distance += (target[d] - points[source, d]) ** 2
                if distance <= radius_sq:
                    weight = _weight(distance, power)[0]
                    total += weight
                    closest = min(closest, distance)
                    value = values[order[source]]
                    for c in range(n_columns):
                        mean[c] += weight * value[c]
        mass[row] = total
        nearest[row] = closest
        if total > 0.0:
            for c in range(n_columns):
                mean[c] /= total


@serial
def local_normal_terms(  # type: ignore[no-untyped-def]
    rows, targets, sources, power, radius_sq, values, data, mass, nearest, JTJ, JTr, loss
):
    """Write ``J^T J``, ``J^T r`` and ``|r|^2`` of the weighted means, ``r = data - mean``."""
    points, order, columns, lows, highs = sources
    radius = np.sqrt(radius_sq)
    q = points.shape[1]
    n_columns = values.shape[1]
    mean = np.empty(n_columns)
    slopes = np.empty((q, n_columns))
    totals = np.empty(q)
    for row in rows:
        target = targets[row]
        total = 0.0
        closest = np.inf
        mean[:] = 0.0
        slopes[:] = 0.0
        totals[:] = 0.0
        for column in range(len(columns) - 1):
            if _column_gap(target, lows, highs, column) > radius_sq:
                continue
            end = columns[column + 1]
            start = _first_at_least(points, columns[column], end, target[-1] - radius)
            for source in range(start, end):
                if points[source, q - 1] > target[-1] + radius:
                    break
                distance = 0.0
                for d in range(q):
                    distance += (target[d] - points[source, d]) ** 2
                if distance > radius_sq:
                    continue
                weight, slope = _weight(distance, power)
                total += weight
                closest = min(closest, distance)
                value = values[order[source]]
                for c in range(n_columns):
                    mean[c] += weight * value[c]
                for d in range(q):
                    change = 2.0 * weight * slope * (target[d] - points[source, d])
                    totals[d] += change
                    along = slopes[d]
                    for c in range(n_columns):
                        along[c] += change * value[c]
        mass[row] = total
        nearest[row] = closest
        if total <= 0.0:
            continue
        squared = 0.0
        for c in range(n_columns):
            mean[c] /= total
            squared += (data[row, c] - mean[c]) ** 2
        loss[row] = squared
        for d in range(q):
            pulled = 0.0
            for c in range(n_columns):
                slopes[d, c] = (slopes[d, c] - totals[d] * mean[c]) / total
                pulled += slopes[d, c] * (data[row, c] - mean[c])
            JTr[row, d] = pulled
        for d in range(q):
            for e in range(d + 1):
                product = 0.0
                for c in range(n_columns):
                    product += slopes[d, c] * slopes[e, c]
                JTJ[row, d, e] = product
                JTJ[row, e, d] = product

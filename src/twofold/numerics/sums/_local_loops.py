"""Compiled loops over the sources within reach of targets; `NadarayaWatson` has NumPy twins.

Arguments that come together: ``sources`` are the arrays of `LocalMeans`, ``kernel`` its power and
squared radius and margin, and ``lists`` three arrays (n,) that hold the sources within reach of one
target: their places, their weights and the derivatives of their log weights.

`twofold.maps.projection_loops` compiles these functions into its own. numba's cache does not see
that: delete it (``__pycache__``) after a change here.
"""

from __future__ import annotations

import numpy as np

from twofold.numerics.compiled_loops import compiled

serial = compiled(fastmath={"reassoc", "contract"})


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
def _distance(target, point):  # type: ignore[no-untyped-def]
    """Return a squared distance."""
    distance = 0.0
    for d in range(len(target)):
        distance += (target[d] - point[d]) ** 2
    return distance


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
def _within(target, sources, power, radius_sq, least, lists):  # type: ignore[no-untyped-def]
    """List the sources within a radius; return their number, mass and least squared distance.

    Weights are those of squared distances less ``least``.
    """
    points, _, columns, lows, highs = sources
    places, weights, slopes = lists
    radius = np.sqrt(radius_sq)
    last = points.shape[1] - 1
    count, mass, closest = 0, 0.0, np.inf
    for column in range(len(columns) - 1):
        if _column_gap(target, lows, highs, column) > radius_sq:
            continue
        end = columns[column + 1]
        start = _first_at_least(points, columns[column], end, target[last] - radius)
        for source in range(start, end):
            if points[source, last] > target[last] + radius:
                break
            distance = _distance(target, points[source])
            if distance <= radius_sq:
                weight, slope = _weight(distance - least, power)
                places[count], weights[count], slopes[count] = source, weight, slope
                count += 1
                mass += weight
                closest = min(closest, distance)
    return count, mass, closest


@serial
def _nearest(target, sources):  # type: ignore[no-untyped-def]
    """Return the place of the nearest source, -1 if distances overflow, and its distance."""
    points, _, columns, lows, highs = sources
    last = points.shape[1] - 1
    nearest, closest = -1, np.inf
    for column in range(len(columns) - 1):
        gap = _column_gap(target, lows, highs, column)
        if gap >= closest:
            continue
        end = columns[column + 1]
        start = _first_at_least(points, columns[column], end, target[last] - np.sqrt(closest))
        for source in range(start, end):
            along = points[source, last] - target[last]
            if along > 0.0 and along * along > closest:
                break
            distance = _distance(target, points[source])
            if distance < closest:
                nearest, closest = source, distance
    return nearest, closest


@serial
def new_lists(sources):  # type: ignore[no-untyped-def]
    """Return room for the sources within reach of a target."""
    n = len(sources[0])
    return np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)


@serial
def reach(target, sources, kernel, lists):  # type: ignore[no-untyped-def]
    """List the sources within reach of a target; return their number, mass and log shift.

    Weights are kernel values over ``exp(shift)``. Beyond the margin the shift of a Gaussian is the
    log weight of the nearest source. A compact kernel ends there: the shift is ``-inf``, and the
    nearest source has weight one and no slope. Without any source the distances overflow.
    """
    power, radius_sq, margin_sq = kernel
    count, mass, closest = _within(target, sources, power, radius_sq, 0.0, lists)
    if closest <= margin_sq and mass > 0.0:
        return count, mass, 0.0
    nearest, closest = _nearest(target, sources)
    if nearest < 0:
        return 0, 0.0, -np.inf
    if power > 0.0:
        places, weights, slopes = lists
        places[0], weights[0], slopes[0] = nearest, 1.0, 0.0
        return 1, 1.0, -np.inf
    within = closest + radius_sq - margin_sq
    count, mass, _ = _within(target, sources, power, within, closest, lists)
    return count, mass, -0.5 * closest


@serial
def mean_of_values(count, mass, order, lists, values, mean):  # type: ignore[no-untyped-def]
    """Write the weighted mean (D,) of the values of listed sources."""
    places, weights, _ = lists
    mean[:] = 0.0
    for number in range(count):
        value, weight = values[order[places[number]]], weights[number]
        for c in range(len(mean)):
            mean[c] += weight * value[c]
    for c in range(len(mean)):
        mean[c] /= mass


@serial
def squared_residual(data, mean):  # type: ignore[no-untyped-def]
    """Return ``|data - mean|^2``."""
    total = 0.0
    for c in range(len(mean)):
        total += (data[c] - mean[c]) ** 2
    return total


@serial
def normal_products(  # type: ignore[no-untyped-def]
    target, count, mass, sources, lists, values, data, mean, along, JTJ, JTr
):
    """Write ``J^T J`` (q, q) and ``J^T r`` (q,), ``r = data - mean``; ``along`` (q, D) gets J."""
    points, order = sources[0], sources[1]
    places, weights, slopes = lists
    q, n_columns = along.shape
    for d in range(q):
        total = 0.0
        column = along[d]
        column[:] = 0.0
        for number in range(count):
            place = places[number]
            change = 2.0 * weights[number] * slopes[number] * (target[d] - points[place, d])
            value = values[order[place]]
            total += change
            for c in range(n_columns):
                column[c] += change * value[c]
        pulled = 0.0
        for c in range(n_columns):
            column[c] = (column[c] - total * mean[c]) / mass
            pulled += column[c] * (data[c] - mean[c])
        JTr[d] = pulled
        for e in range(d + 1):
            product = 0.0
            for c in range(n_columns):
                product += column[c] * along[e, c]
            JTJ[d, e] = product
            JTJ[e, d] = product


@serial
def local_means(rows, targets, sources, kernel, values, mass, shift, means):  # type: ignore[no-untyped-def]
    """Write the means of values, the masses and the log shifts of some rows of targets."""
    lists = new_lists(sources)
    for row in rows:
        count, mass[row], shift[row] = reach(targets[row], sources, kernel, lists)
        if count > 0 and values.shape[1] > 0:
            mean_of_values(count, mass[row], sources[1], lists, values, means[row])


@serial
def local_normal_terms(  # type: ignore[no-untyped-def]
    rows, targets, sources, kernel, values, data, mass, JTJ, JTr, loss
):
    """Write ``J^T J``, ``J^T r`` and ``|r|^2`` of the weighted means, ``r = data - mean``."""
    lists = new_lists(sources)
    mean = np.empty(values.shape[1])
    along = np.empty((targets.shape[1], values.shape[1]))
    for row in rows:
        count, mass[row], _ = reach(targets[row], sources, kernel, lists)
        if count == 0:
            continue
        mean_of_values(count, mass[row], sources[1], lists, values, mean)
        loss[row] = squared_residual(data[row], mean)
        normal_products(
            targets[row],
            count,
            mass[row],
            sources,
            lists,
            values,
            data[row],
            mean,
            along,
            JTJ[row],
            JTr[row],
        )

"""Loops over neighbors, compiled by numba. Each has a NumPy twin where it is called.

Reductions may be reordered (``reassoc``), so that they use vector instructions. No result relies on
the order of rounding.
"""

from __future__ import annotations

import numpy as np

from twofold.numerics.compiled_loops import compiled

serial = compiled(fastmath={"reassoc", "contract"})


@serial
def pair_sums(k, first, second, values, summed):  # type: ignore[no-untyped-def]
    """Add ``k v_j`` to the sum of i and ``k v_i`` to that of j, for each pair."""
    for pair in range(len(first)):
        i, j = first[pair], second[pair]
        for d in range(values.shape[1]):
            summed[i, d] += k[pair] * values[j, d]
            summed[j, d] += k[pair] * values[i, d]


@serial
def pair_products(left, right, first, second, products):  # type: ignore[no-untyped-def]
    """Write ``left_i . right_j + left_j . right_i`` for each pair."""
    for pair in range(len(first)):
        i, j = first[pair], second[pair]
        total = 0.0
        for d in range(left.shape[1]):
            total += left[i, d] * right[j, d] + left[j, d] * right[i, d]
        products[pair] = total


@serial
def over_common_neighbors(pointers, columns, weights, gram, sums):  # type: ignore[no-untyped-def]
    """Write ``sum_l B_il G_lj`` for the entries (i, j) of a sparse symmetric pattern."""
    for row in range(len(pointers) - 1):
        start, stop = pointers[row], pointers[row + 1]
        for entry in range(start, stop):
            of = columns[entry]
            total = 0.0
            for partner in range(start, stop):
                total += weights[partner] * gram[of, columns[partner]]
            sums[entry] = total


@serial
def _count(leaf, pointers, begins, ends):  # type: ignore[no-untyped-def]
    """Return the number of sources of a leaf."""
    count = 0
    for stretch in range(pointers[leaf], pointers[leaf + 1]):
        count += ends[stretch] - begins[stretch]
    return count


@serial
def _longest(first_leaf, last_leaf, leaves, pointers, begins, ends):  # type: ignore[no-untyped-def]
    """Return the most points and the most sources of any leaf."""
    rows, sources = 0, 0
    for leaf in range(first_leaf, last_leaf):
        rows = max(rows, leaves[leaf + 1] - leaves[leaf])
        sources = max(sources, _count(leaf, pointers, begins, ends))
    return rows, sources


@serial
def _gather(leaf, pointers, begins, ends, values, gathered):  # type: ignore[no-untyped-def]
    """Copy the values of the sources of a leaf."""
    at = 0
    for stretch in range(pointers[leaf], pointers[leaf + 1]):
        for source in range(begins[stretch], ends[stretch]):
            for d in range(values.shape[1]):  # a slice would compile its error message for seconds
                gathered[at, d] = values[source, d]
            at += 1


@serial
def _weights(  # type: ignore[no-untyped-def]
    leaf, cells, power, radius_sq, near, here, k, slope
):
    """Write coordinates of sources (q, m) and leaf points (q, t), weights and slopes (t, m).

    Coordinates are relative to the leaf's first point. Slopes are derivatives with respect to the
    squared distance; those of a Gaussian are minus half its weights and are not written.
    """
    points, leaves, pointers, begins, ends = cells
    start, stop = leaves[leaf], leaves[leaf + 1]
    n_dimensions = points.shape[1]
    exact = k.itemsize == 8
    real = k.dtype.type
    zero, one, half, scale = real(0.0), real(1.0), real(-0.5), real(-0.5 / 32.0)
    c2, c3, c4, c5, c6 = real(1 / 2), real(1 / 3), real(1 / 4), real(1 / 5), real(1 / 6)
    count = 0
    for stretch in range(pointers[leaf], pointers[leaf + 1]):
        for source in range(begins[stretch], ends[stretch]):
            for d in range(n_dimensions):
                near[d, count] = points[source, d] - points[start, d]
            count += 1
    for row in range(start, stop):
        for d in range(n_dimensions):
            here[d, row - start] = points[row, d] - points[start, d]
    bound = real(radius_sq)
    for row in range(stop - start):
        weights = k[row]
        for m in range(count):
            weights[m] = zero
        for d in range(n_dimensions):
            at = here[d, row]
            along = near[d]
            for m in range(count):
                difference = along[m] - at
                weights[m] += difference * difference
        if power == 0.0:
            for m in range(count):
                distance = weights[m]
                if exact:
                    value = np.exp(half * distance)
                else:
                    # A polynomial of x / 32, squared five times: without branches the loop becomes
                    # vector instructions. Accurate to 2e-6.
                    t = distance * scale
                    value = one + t * (
                        one
                        + t * c2 * (one + t * c3 * (one + t * c4 * (one + t * c5 * (one + t * c6))))
                    )
                    value *= value
                    value *= value
                    value *= value
                    value *= value
                    value *= value
                weights[m] = value if distance <= bound else zero
        else:
            below = real(power - 1.0)
            factor = real(-power)
            slopes = slope[row]
            for m in range(count):
                rest = max(one - weights[m], zero)
                lower = rest if power == 2.0 else rest**below
                weights[m] = lower * rest
                slopes[m] = factor * lower
    # Each point leaves itself out: find the leaf among its own sources.
    count = 0
    for stretch in range(pointers[leaf], pointers[leaf + 1]):
        begin, end = begins[stretch], ends[stretch]
        for row in range(max(start, begin), min(stop, end)):
            k[row - start, count + row - begin] = zero
            slope[row - start, count + row - begin] = zero
        count += end - begin


@serial
def cell_forward(  # type: ignore[no-untyped-def]
    first_leaf, last_leaf, cells, power, radius_sq, values, mass, sums
):
    """Write the mass and the weighted sums of values at the points of some leaves."""
    points, leaves, pointers, begins, ends = cells
    t, m = _longest(first_leaf, last_leaf, leaves, pointers, begins, ends)
    n_columns = values.shape[1]
    dtype = values.dtype
    near = np.empty((points.shape[1], m), dtype)
    here = np.empty((points.shape[1], t), dtype)
    k_buffer = np.empty(t * m, dtype)
    slope_buffer = np.empty(t * m, dtype)
    value_buffer = np.empty(m * n_columns, dtype)
    for leaf in range(first_leaf, last_leaf):
        start, stop = leaves[leaf], leaves[leaf + 1]
        count = _count(leaf, pointers, begins, ends)
        size = stop - start
        k = k_buffer[: size * count].reshape(size, count)
        slope = slope_buffer[: size * count].reshape(size, count)
        _weights(leaf, cells, power, radius_sq, near, here, k, slope)
        for row in range(size):
            total = dtype.type(0.0)
            for source in range(count):
                total += k[row, source]
            mass[start + row] = total
        if n_columns == 0:
            continue
        gathered = value_buffer[: count * n_columns].reshape(count, n_columns)
        _gather(leaf, pointers, begins, ends, values, gathered)
        np.dot(k, gathered, sums[start:stop])


@serial
def cell_backward(  # type: ignore[no-untyped-def]
    first_leaf, last_leaf, cells, power, radius_sq, left, right, offset, gradient, first
):
    """Add the pulls between the points of some leaves and their sources to both of each pair."""
    points, leaves, pointers, begins, ends = cells
    t, m = _longest(first_leaf, last_leaf, leaves, pointers, begins, ends)
    n_columns = right.shape[1]
    n_dimensions = points.shape[1]
    dtype = right.dtype
    two = dtype.type(2.0)
    near = np.empty((n_dimensions, m), dtype)
    here = np.empty((n_dimensions, t), dtype)
    k_buffer = np.empty(t * m, dtype)
    slope_buffer = np.empty(t * m, dtype)
    pull_buffer = np.empty(t * m, dtype)
    value_buffer = np.empty(m * n_columns, dtype)
    source_along = np.empty((n_dimensions, m), dtype)
    for leaf in range(first_leaf, last_leaf):
        start, stop = leaves[leaf], leaves[leaf + 1]
        count = _count(leaf, pointers, begins, ends)
        size = stop - start
        k = k_buffer[: size * count].reshape(size, count)
        slope = slope_buffer[: size * count].reshape(size, count)
        pull = pull_buffer[: size * count].reshape(size, count)
        gathered = value_buffer[: count * n_columns].reshape(count, n_columns)
        _weights(leaf, cells, power, radius_sq, near, here, k, slope)
        _gather(leaf, pointers, begins, ends, right, gathered)
        np.dot(left[start:stop], gathered.T, pull)
        for source in range(count):
            for d in range(n_dimensions):
                source_along[d, source] = 0.0
        for row in range(size):
            shift = offset[start + row]
            pulls = pull[row]
            if power == 0.0:
                weights = k[row]
                for source in range(count):
                    pulls[source] = -(pulls[source] + shift) * weights[source]
            else:
                slopes = slope[row]
                for source in range(count):
                    pulls[source] = two * (pulls[source] + shift) * slopes[source]
            for d in range(n_dimensions):
                along = dtype.type(0.0)
                position = here[d, row]
                nearby = near[d]
                to_sources = source_along[d]
                for source in range(count):
                    force = pulls[source] * (position - nearby[source])
                    along += force
                    to_sources[source] -= force
                gradient[start + row - first, d] += along
        at = 0
        for stretch in range(pointers[leaf], pointers[leaf + 1]):
            for source in range(begins[stretch], ends[stretch]):
                for d in range(n_dimensions):
                    gradient[source - first, d] += source_along[d, at]
                at += 1

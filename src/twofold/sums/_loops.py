"""Loops over neighbours, compiled by numba. Each has a NumPy twin where it is called.

Reductions may be reordered (``reassoc``), which lets them use vector instructions; nothing here relies on the
order of rounding.
"""

from __future__ import annotations

import numba

__all__ = ["over_common_neighbours", "pair_products", "pair_sums"]

serial = numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})


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
def over_common_neighbours(pointers, columns, weights, gram, sums):  # type: ignore[no-untyped-def]
    """Write ``sum_l B_il G_lj`` for the entries (i, j) of a sparse symmetric pattern."""
    for row in range(len(pointers) - 1):
        start, stop = pointers[row], pointers[row + 1]
        for entry in range(start, stop):
            of = columns[entry]
            total = 0.0
            for partner in range(start, stop):
                total += weights[partner] * gram[of, columns[partner]]
            sums[entry] = total

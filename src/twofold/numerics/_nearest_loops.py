"""The compiled search for the smallest values of rows; `numerics.neighbors` has its NumPy twin."""

from __future__ import annotations

import numpy as np

from twofold.numerics.compiled_loops import compiled

serial = compiled()


@serial
def smallest(values, columns, found):  # type: ignore[no-untyped-def]
    """Write the columns (m, k) of each row's k smallest values (m, n), and the values, ascending.

    A value that is among the smallest so far is inserted in its place. Few are, after the first.
    """
    k = columns.shape[1]
    for row in range(len(values) if k else 0):
        best, order = found[row], columns[row]
        best[:] = np.inf
        order[:] = 0
        largest = best[k - 1]
        for column in range(values.shape[1]):
            value = values[row, column]
            if value < largest:
                place = k - 1
                while place > 0 and best[place - 1] > value:
                    best[place] = best[place - 1]
                    order[place] = order[place - 1]
                    place -= 1
                best[place] = value
                order[place] = column
                largest = best[k - 1]

"""Candidate kernel widths, and the search for a width and a ridge.

A width below the spacing of the centers sees no neighbor; a width beyond their spread sees all. The
search runs over a geometric grid between the two; a width and a ridge are searched together by
steps on the grid of both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from twofold.numerics.linalg import sqdist
from twofold.numerics.threads import BLOCK_BYTES, row_blocks, some_rows
from twofold.protocols import Array

MAX_ROWS = 500
MAX_PAIRS = 10**7
FEWEST_ROWS = 50
"""Rows whose nearest neighbors measure the spacing: 500, or fewer of many, at least 50."""

FEWEST_IN_BLOCK = 8
"""Rows of a block, which each read all centers."""

AS_GOOD = 1.01
"""A larger ridge is preferred up to this ratio to the lowest error."""


def width_grid(centers: Array, *, ratio: float = 2.0) -> list[float]:
    """Return ascending kernel widths from the spacing of distinct centers (M, q) to their spread.

    Neighboring widths differ by ``ratio``. Centers without extent give a single 1.0.
    """
    spread = float(np.sqrt(np.square(centers - centers.mean(axis=0)).sum(axis=1).mean()))
    rows = some_rows(len(centers), min(MAX_ROWS, max(FEWEST_ROWS, MAX_PAIRS // len(centers))))
    nearest = np.empty(len(rows))
    for block in row_blocks(len(rows), min(2 * 8 * len(centers), BLOCK_BYTES // FEWEST_IN_BLOCK)):
        distances = sqdist(centers[rows[block]], centers)
        distances[np.arange(len(distances)), rows[block]] = np.inf
        distances[distances <= 1e-12 * spread**2] = np.inf  # duplicates
        nearest[block] = distances.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    if not len(nearest):
        return [1.0]
    spacing = float(np.sqrt(np.median(nearest)))
    n_widths = max(3, int(np.ceil(np.log(2.0 * spread / spacing) / np.log(ratio))) + 1)
    return [float(width) for width in spacing * ratio ** np.arange(n_widths)]


def chosen_width_and_alpha(
    widths: list[float],
    alphas: tuple[float, ...],
    judge: Callable[[float, float], float],
    near: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Return a width and a ridge of low error, judging few pairs of ascending widths and ridges.

    ``judge`` returns the error of a width and a ridge. The search starts ``near`` a given pair, or
    at the best of every other width, and steps to neighbors on the grid as long as they are better.
    Among pairs as good as the best, the largest ridge wins.
    """
    errors: dict[tuple[int, int], float] = {}

    def error(place: tuple[int, int]) -> float:
        row, column = place
        if not (0 <= row < len(widths) and 0 <= column < len(alphas)):
            return np.inf
        if place not in errors:
            errors[place] = judge(widths[row], alphas[column])
        return errors[place]

    if near is None:
        middle = len(alphas) // 2
        place = min(((row, middle) for row in range(0, len(widths), 2)), key=error)
    else:
        closest = int(np.abs(np.log(np.array(widths) / near[0])).argmin())
        place = (closest, alphas.index(near[1]))
    while True:
        row, column = place
        around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        best = min(around, key=error)
        if not error(best) < error(place):
            break
        place = best
    good = [one for one, found in errors.items() if found <= AS_GOOD * errors[place]]
    row, column = max(good, key=lambda one: (one[1], -errors[one]), default=place)
    return widths[row], alphas[column]

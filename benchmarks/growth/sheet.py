"""The tables: a smooth sheet of two dimensions in any number of columns, with noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np

RANK = 50
"""Dimensions of the space in which the sheet bends, at most the number of columns."""
NOISE = 0.1
FREQUENCY = 2.0
BLOCK = 10_000
"""Rows that get their noise at once: noise for all rows would double the memory."""


@dataclass(frozen=True)
class Sheet:
    """Rows ``X`` (n, D), and for each the quarter of the sheet that it lies in, ``y`` (n,)."""

    X: Any
    y: Any


def make_sheet(rows, columns, seed=0):
    """Return a noisy sheet; another seed gives other rows of the same sheet.

    The first two features are the coordinates on the sheet, the others are waves over it. A random
    matrix mixes them into the columns.
    """
    shape, rng = np.random.default_rng(columns), np.random.default_rng((seed, columns))
    rank = min(RANK, columns)
    waves = FREQUENCY * shape.standard_normal((2, rank - 2))
    phases = shape.uniform(0.0, 2.0 * np.pi, rank - 2)
    mixing = shape.standard_normal((rank, columns)) / np.sqrt(rank)
    plane = rng.uniform(-1.0, 1.0, (rows, 2))
    X = np.hstack([plane, np.sin(plane @ waves + phases)]) @ mixing
    for start in range(0, rows, BLOCK):
        block = X[start : start + BLOCK]
        block += NOISE * rng.standard_normal(block.shape)
    return Sheet(X, (plane > 0.0) @ np.array([1, 2]))

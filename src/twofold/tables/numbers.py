r"""The unit of a column of numbers: a robust spread, after a logarithm where it fits better.

**Unit.** The center is the median. The unit is the interquartile range over 1.349, which is the
standard deviation of a normal distribution, or the standard deviation of the column winsorized at
2.5 % and 97.5 % if that is larger. So a few outliers do not shrink the column, and a long tail does
not give it more weight than others. If the interquartile range is 0, the unit is the standard
deviation.

**Logarithm.** For numbers :math:`x \ge 0` two densities are compared by their logarithm at held-out
rows: a normal density of :math:`x`, and a normal density of :math:`u = \log(x + c)`, whose density
of :math:`x` has the factor :math:`du / dx = 1 / (x + c)`. The offset :math:`c` is 0 for positive
numbers. A column with zeros needs one: candidates are the median of the positive numbers and a
tenth of it. Zeros are then left out of the comparison, since repeated values would favor whatever
density is narrow there.
"""

from __future__ import annotations

import numpy as np

from twofold.protocols import AnyArray, Array

NORMAL_RANGE = 1.349
"""Interquartile range of a normal distribution with unit variance."""

TAIL = 0.025
FEWEST_FOR_LOG = 20
FOLDS = 5
CLEAR_GAIN = 0.05
"""Log likelihood per row by which the logarithm has to be better, besides two standard errors."""

MOST_GAIN = 10.0
"""Limit of the difference of log likelihoods of one row."""

OFFSETS = (1.0, 0.1)
"""Offsets to try for columns with zeros, as shares of the median of the positive numbers."""


def center_and_unit(values: Array) -> tuple[float, float]:
    """Return the median of observed values and their robust unit; the unit of constants is 0."""
    center = float(np.median(values))
    size = float(np.abs(values).max())
    if size == 0.0 or values.min() == values.max():
        return float(values[0]), 0.0
    shares = values / size  # squares do not overflow
    low, high = np.quantile(shares, [0.25, 0.75])
    if high == low:  # most values are equal, and the others are what there is to see
        return center, float(shares.std()) * size
    first = np.quantile(shares, TAIL, method="higher")
    last = np.quantile(shares, 1.0 - TAIL, method="lower")
    winsorized = float(np.clip(shares, first, last).std()) if first < last else 0.0
    return center, max(float(high - low) / NORMAL_RANGE, winsorized) * size


def log_offset(values: Array) -> float | None:
    """Return the offset of the logarithm that fits observed values clearly better, or None."""
    positive = values > 0.0
    if positive.sum() < FEWEST_FOR_LOG or values.min() < 0.0 or values.min() == values.max():
        return None
    size = float(np.median(values[positive]))
    if positive.all():
        return 0.0 if _gain(values / size, 0.0, positive) > 0.0 else None
    gains = [_gain(values / size, offset, positive) for offset in OFFSETS]
    best = int(np.argmax(gains))
    return OFFSETS[best] * size if gains[best] > 0.0 else None


def forced_offset(values: Array) -> float:
    """Return the offset for a logarithm that the user has asked for."""
    positive = values > 0.0
    return 0.0 if positive.all() else OFFSETS[0] * float(np.median(values[positive]))


def _gain(values: Array, offset: float, judged: AnyArray) -> float:
    """Return how much more likely held-out values are on a log scale; negative if not clearly."""
    logs = np.log(values + offset)
    gains = (_held_out(logs) - logs - _held_out(values))[judged]
    gains = np.clip(gains, -MOST_GAIN, MOST_GAIN)  # no single row decides
    error = float(gains.std() / np.sqrt(len(gains)))
    return float(gains.mean()) - max(CLEAR_GAIN, 2.0 * error)


def _held_out(values: Array) -> Array:
    """Return the log density of each value under a normal density of the other folds."""
    fold = np.arange(len(values)) % FOLDS
    found = np.empty(len(values))
    size = float(np.abs(values).max()) or 1.0
    values = values / size  # squares do not overflow
    for one in range(FOLDS):
        rest, here = values[fold != one], fold == one
        mean, spread = float(rest.mean()), max(float(rest.std()), np.finfo(np.float64).tiny)
        found[here] = -0.5 * np.square((values[here] - mean) / spread) - np.log(spread)
    found -= np.log(size)
    return found

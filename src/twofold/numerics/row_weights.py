"""Sample weights as repeated rows.

A weight of 3 means what three copies of the row mean. Leave-one-out errors, neighborhood graphs and
k-means have no other definition of a weight that gives the same result as copies do, so rows are
repeated indeed.

Only ratios of weights matter. Whole numbers are divided by their greatest common divisor ``g``, and
row ``i`` is repeated ``w_i / g`` times. Other weights are rounded: with ``n`` positive weights and
cumulative sums ``c_i``, scaled such that the last is ``n``, row ``i`` is repeated ``[c_i] -
[c_{i-1}]`` times, where ``[.]`` is the nearest integer (systematic resampling). The fit then has
``n`` rows, each row is repeated its expected number of times up to less than one, and so is each
run of consecutive rows. Equal weights mean one copy of each row in both cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.memory import check_memory_for
from twofold.protocols import Array, IntArray

LARGEST_WHOLE = 2.0**53
"""Larger numbers cannot be told from their neighbors, so they count as real weights."""

COPIES_IN_MEMORY = 4
"""Arrays of the size of the data that a fit holds at least."""


def check_sample_weight(sample_weight: Any, n_samples: int) -> Array:
    """Return weights (n,) as a float64 array: finite, nonnegative, at least one positive."""
    sample_weight = as_numpy(sample_weight, "sample_weight")
    try:
        weights = np.array(sample_weight, dtype=np.float64)  # a copy
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight is {type(sample_weight).__name__}, not an array of numbers. Pass one "
            "number of at least 0 for each row of X, or None."
        ) from error
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; ({n_samples},) is needed, one weight for "
            "each row of X."
        )
    wrong = ~(np.isfinite(weights) & (weights >= 0.0))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"sample_weight contains {weights[row]:g}, first in row {row}. Weights must be finite "
            "and at least 0; use 0 to leave out a row."
        )
    if not weights.any():
        raise ValueError(
            "sample_weight is zero for all rows. Give a positive weight to at least one, or pass "
            "None for equal weights."
        )
    return weights


def repeated_rows(sample_weight: Any, n_samples: int, n_features: int) -> IntArray | None:
    """Return the row numbers (m,) whose rows have the given weights together, in order.

    None means that each row is taken once. The data that result, with ``n_features`` columns, must
    fit into memory.
    """
    counts = _counts(check_sample_weight(sample_weight, n_samples))
    if (counts == 1.0).all():
        return None
    n_different = int(np.count_nonzero(counts))
    if n_different < 2:
        raise ValueError(
            f"sample_weight leaves {n_different} of {n_samples} rows to fit; at least 2 are "
            "needed. Give more rows a positive weight of similar size."
        )
    total = float(counts.sum())
    check_memory_for(
        "sample_weight",
        8.0 * COPIES_IN_MEMORY * total * max(1, n_features),
        f"{total:.3g} repeated rows",
        "Whole numbers repeat rows exactly. Pass sample_weight / sample_weight.mean() instead: "
        "such weights are rounded to as many copies as there are rows.",
    )
    rows: IntArray = np.repeat(np.arange(n_samples), counts.astype(np.intp))
    return rows


def take_rows(table: Any, rows: IntArray) -> Any:
    """Return rows of an array, frame, sparse matrix or list, in its own type."""
    if table is None:
        return None
    if issparse(table):
        return table.tocsr()[rows]
    if not hasattr(table, "__getitem__"):
        table = np.asarray(table)
    return _safe_indexing(table, rows)


def _counts(weights: Array) -> Array:
    """Return how often each row is repeated (n,)."""
    positive = weights > 0.0
    some = weights[positive]
    if (some == some[0]).all():
        return positive.astype(np.float64)
    if some.max() < LARGEST_WHOLE and (some == np.rint(some)).all():
        return np.asarray(weights / np.gcd.reduce(some.astype(np.int64)), dtype=np.float64)
    sums = np.cumsum(weights / weights.max())
    ends = np.floor(sums * (len(some) / sums[-1]) + 0.5)
    return np.diff(ends, prepend=0.0)

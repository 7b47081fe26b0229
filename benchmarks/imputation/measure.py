"""What one process measures: one imputer on one table with gaps, or one fit with and without."""

import time

import numpy as np

from benchmarks.imputation.methods import METHODS, OURS, estimator
from benchmarks.imputation.tables import TABLES, removed_cells, split

COVERING = 1.645
"""Standard deviations on either side of the mean that hold 90 % of a normal distribution."""
WARM_ROWS = 100
"""Rows that ours impute before the clock starts, which compiles code or loads it."""
NEW_ROWS = 1_000
"""What is added to the seed to remove cells of held-out rows."""
FEW_CELLS = np.where(np.eye(12, 4, -3, dtype=bool), np.nan, np.arange(48.0).reshape(12, 4) % 7.0)
"""What others impute before the clock starts, which imports their code."""


def imputation(notes, name, pattern, seed, method, quick):
    """Note the error of the removed cells, the seconds and, of ours, how many intervals cover."""
    notes.step("data")
    table = TABLES[name]
    X = table.rows(quick)
    removed = removed_cells(X, pattern, table.image, seed)
    with_gaps = np.where(removed, np.nan, X)
    notes.step("warm-up")
    METHODS[method](with_gaps[:WARM_ROWS] if method in OURS else FEW_CELLS, seed)
    notes.step("impute")
    began = time.perf_counter()
    filled, deviations = METHODS[method](with_gaps, seed)
    notes.add(seconds=time.perf_counter() - began)
    notes.add(**judged(X, removed, np.asarray(filled), deviations))


def judged(X, removed, filled, deviations):
    """Return the figures of a filled table."""
    if not np.isfinite(filled).all():
        raise ValueError("the filled table has NaN or infinity")
    if not np.array_equal(filled[~removed], X[~removed]):
        raise ValueError("observed cells have changed")
    errors = (filled - X)[removed]
    figures = {"rmse": float(np.sqrt(np.square(errors).mean()))}
    if deviations is not None:
        within = np.abs(errors) <= COVERING * np.asarray(deviations)[removed]
        figures["covered"] = float(within.mean())
    return figures


def held_out(notes, name, share, seed, method, quick):
    """Note the errors of complete held-out rows after fits without and with gaps.

    After the fit with gaps, also those of cells that are removed from held-out rows.
    """
    notes.step("data")
    train, test = split(TABLES[name].rows(quick), seed)
    removed = removed_cells(train, f"{share:.0%}", None, seed)
    variance = float(np.square(test - train.mean(axis=0)).mean())
    for label, rows in (("without", train), ("with", np.where(removed, np.nan, train))):
        notes.step(label)
        model = estimator(method, seed).fit(rows)
        error = float(np.square(model.reconstruct(test) - test).mean()) / variance
        notes.add(**{f"error_{label}": error})
    notes.add(ratio=notes.figures["error_with"] / notes.figures["error_without"])
    removed = removed_cells(test, f"{share:.0%}", None, seed + NEW_ROWS)
    filled, deviations = model.impute(np.where(removed, np.nan, test), return_std=True)
    found = judged(test, removed, filled, deviations)
    notes.add(**{f"new_{key}": value for key, value in found.items()})

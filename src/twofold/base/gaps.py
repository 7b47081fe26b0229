"""Tables with gaps: missing cells (NaN) in the data of a fit, and in new rows.

A fit completes its table first and learns from the completed one. New rows are completed before
they are encoded, so every method and every encoder takes gaps; see `twofold.numerics.completion`.

The error of complete held-out rows rises after a fit with gaps. On the oil flow data with 30 % of
the cells removed it is 1.14 to 1.25 times that of the fit without gaps, on average 1.21 (UKR, four
seeds). A fit without gaps to 70 % of the rows is at 1.06 to 1.30, on average 1.15 (three of them).
What was tried, and is not used:

* Minimizing the error of UKR over the observed cells alone: the same within the spread of seeds, at
  twice the cost of an evaluation, and not possible in the leading subspace of wide tables.
* Filling the gaps again with the fitted manifold and descending from the known latents, one to
  three times, with three rules of mixing: 1.19 to 1.23 on average. On COIL-20 it is the same or
  worse (1.22 without it, 1.22 to 1.34 with it, two seeds).
* Leaving out the rows with the most uncertain gaps: 1.19 without 5 % of them, 1.24 without 10 %.
* Weights of the decoder's cells by their uncertainty, for given latents: 1 to 6 % less error, for
  the best of four weightings on three seeds. This needs kernel sums with weights for each cell.

Better filling has little room: cells of rows that are not donors have an error of 0.32 with gaps
among the donors, and of 0.29 with complete donors (one seed).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.column_factors import factors_of_rows
from twofold.numerics.completion import MOST_DONORS, Donors, FilledTable, GapFilling, fill_table
from twofold.numerics.factor_model import BoolArray
from twofold.numerics.units import CenteredUnits
from twofold.protocols import Array, IntArray

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

MANIFOLD_SHARE = 0.2
"""Weight of the reconstruction in a filled cell.

The best weight on held-out rows is between 0 (USPS digits) and 0.4 (COIL-20).
"""


def has_gaps(data: Array) -> bool:
    """Tell whether a table has missing cells."""
    return bool(np.isnan(data).any())


def completed(data: Array, scale: Any) -> tuple[Array, FilledTable]:
    """Fill the gaps of a training table (n, D); return it in its own units, and what filled it."""
    _check_columns(data)
    means = np.nanmean(data, axis=0)
    gaps = np.isnan(data)
    units = CenteredUnits.of(np.where(gaps, means, data), factors=factors_of_rows(scale, data))
    if (np.nanmin(data, axis=0) < np.nanmax(data, axis=0)).any():
        _check_varying(data, np.arange(len(data)), units)
    filled = fill_table(units.into(data))
    return np.where(gaps, units.back(filled.table), data), filled


def filling_of(
    centered: Array, units: CenteredUnits, gaps: BoolArray | None, filled: FilledTable | None
) -> GapFilling:
    """Return what a model keeps of its training table (n, D'), in centered units."""
    if filled is None or gaps is None:
        return GapFilling.of_complete(centered)
    kept = gaps[filled.numbers][:, units.varying]
    return GapFilling.of_completed(centered, replace(filled, table=centered, gaps=kept))


def extended_filling(
    filling: GapFilling,
    before: CenteredUnits,
    units: CenteredUnits,
    data: Array,
    gaps: BoolArray,
    n_before: int,
    rng: np.random.Generator,
) -> GapFilling:
    """Return what a model keeps of its table after new rows (m, D) of the caller's units.

    Donors stand for old and new rows by their numbers. The units of the old donors are ``before``.
    If the old table was complete, only complete new rows become donors.
    """
    old, complete = filling.donors, np.flatnonzero(~gaps.any(axis=1))
    has_gaps = filling.errors is not None
    candidates = np.arange(len(data)) if has_gaps else complete
    n_new = len(candidates)
    most = MOST_DONORS * n_new // max(1, n_before + n_new)
    if n_before + n_new <= MOST_DONORS:
        most = n_new
    taken = candidates[np.sort(rng.permutation(n_new)[:most])]
    kept = np.sort(rng.permutation(len(old.rows))[: max(1, MOST_DONORS - len(taken))])
    own = np.zeros((len(old.rows), data.shape[1]), dtype=np.bool_)
    if len(old.gaps):
        own[:, before.varying] = old.gaps
    rows = np.concatenate([before.back(old.rows[kept].astype(np.float64)), data[taken]])
    flags = np.concatenate([own[kept], gaps[taken]])[:, units.varying]
    numbers = np.concatenate([old.numbers[kept], n_before + taken])
    donors = Donors.of(units.into(rows), flags, numbers, old.width)
    if not has_gaps:
        return GapFilling(donors)
    return GapFilling(donors, filling.errors, donors.differences())


def without_gaps(model: TwoWayEstimator, data: Array) -> Array:
    """Return rows (n, D) with their gaps filled, in the data's own units."""
    return filled_with_deviations(model, data)[0]


def filled_with_deviations(model: TwoWayEstimator, data: Array) -> tuple[Array, Array]:
    """Return rows (n, D) with their gaps filled, and the standard deviations of filled cells.

    Both are in the data's own units; of complete tables the deviations are a zero of no size.
    """
    incomplete = np.flatnonzero(np.isnan(data).any(axis=1))
    if not len(incomplete):
        return data, np.zeros(())
    complete, deviations = data.copy(), np.zeros_like(data)
    complete[incomplete], deviations[incomplete] = _estimate(model, data, incomplete)
    return complete, deviations


def imputed(model: TwoWayEstimator, data: Array) -> tuple[Array, Array]:
    """Return rows (n, D) with their gaps filled, and the standard deviations of all cells.

    Observed cells stay as they are, and their deviations are 0.
    """
    filled, deviations = data.copy(), np.zeros_like(data)
    incomplete = np.flatnonzero(np.isnan(data).any(axis=1))
    if not len(incomplete):
        return filled, deviations
    rows = data[incomplete]
    complete, spread = _estimate(model, data, incomplete)
    images = model._decode(model._encode(complete))
    gaps = np.isnan(rows)
    mixed = complete + MANIFOLD_SHARE * (images - complete)
    filled[incomplete] = np.where(gaps, mixed, rows)
    deviations[incomplete] = np.where(gaps, spread, 0.0)
    return filled, deviations


def observed_distances(units: CenteredUnits, data: Array, images: Array) -> Array:
    """Return the distances (n,) of rows to their images over the observed cells.

    They are scaled up to all cells by their number, as in scikit-learn's nan_euclidean_distances.
    """
    gaps = np.isnan(data)
    distances = units.distances(np.where(gaps, images, data), images)
    n_cells = data.shape[1]
    scaled: Array = distances * np.sqrt(n_cells / (n_cells - gaps.sum(axis=1)))
    return scaled


def _estimate(model: TwoWayEstimator, data: Array, incomplete: IntArray) -> tuple[Array, Array]:
    """Return the incomplete rows (m, D) of data with their gaps filled, and standard deviations.

    Both are in the units of the data.
    """
    filling, units = getattr(model, "_gap_filling", None), model._data_units
    if filling is None or isinstance(units, AffineUnits):
        raise ValueError(
            "Input X contains NaN, and this model does not keep what fills gaps: it is of an older "
            "file, or was fitted to distances, sparse rows or principal components. Fit it again "
            "without these, or fill the gaps first."
        )
    rows = data[incomplete]
    if model._variance > 0.0:
        _check_varying(rows, incomplete, units)
    with model._threads():
        estimate, deviations = filling.completion.estimate(units.into(rows))
    values = units.back(estimate)
    spread = np.abs(units.back(estimate + deviations) - values)
    return np.where(np.isnan(rows), values, rows), spread


def _check_varying(rows: Array, numbers: IntArray, units: CenteredUnits) -> None:
    """Raise an error if a row, of these numbers, has values only in columns that do not vary."""
    empty = numbers[np.isnan(rows[:, units.varying]).all(axis=1)]
    if len(empty):
        raise ValueError(
            f"Row {empty[0]} of X has only missing values (NaN) in the columns that vary, "
            f"{len(empty)} such rows in all: nothing tells where they lie. Remove them."
        )


def _check_columns(data: Array) -> None:
    """Raise an error if a column has no value."""
    empty = np.flatnonzero(np.isnan(data).all(axis=0))
    if len(empty):
        raise ValueError(
            f"Column {empty[0]} of X has only missing values (NaN), {len(empty)} such columns in "
            "all: there is nothing to fill them from. Remove them."
        )

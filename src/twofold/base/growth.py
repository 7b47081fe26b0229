"""The update of a fitted model by new rows: what a method returns, and what follows from it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from twofold.base.dask_inputs import is_dask, row_blocks_of
from twofold.base.gaps import extended_filling, without_gaps
from twofold.base.progress import FitProgress
from twofold.base.update_report import UpdateReport
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import repeatable_threads, using_threads
from twofold.numerics.validation import check_int, check_rng
from twofold.protocols import Array, IntArray

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

FEW_VALUES = 10**6
"""Tables up to this size are taken in by one thread, unless ``n_jobs`` asks for more."""


@dataclass(frozen=True)
class Growth:
    """What a model becomes with new rows, and what is to report of them.

    ``state`` holds all attributes that change; its ``embedding_`` has the old rows first. Regions
    hold numbers of new rows; see `UpdateReport` for the other figures.
    """

    state: dict[str, Any]
    share_off: float
    density_change: float
    regions: list[IntArray]


def updated_state(model: TwoWayEstimator, X: Any) -> dict[str, Any]:
    """Return the attributes of a model after an update by X, block by block if it is of Dask."""
    check_can_grow(model)
    began = time.perf_counter()
    made, state, reports = copy(model), dict[str, Any](), list[UpdateReport]()
    rng = check_rng(model.random_state)
    for block in _blocks(X):
        rows, _ = model._rows(block)
        state |= _of_block(made, rows, rng)
        made._take_growth(state)
        reports.append(state.pop("update_report_"))
    if not reports:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    shifts = _shifts(model, made)
    names = dict.fromkeys((*getattr(model, "_learned_names", ()), *state, "update_report_"))
    return state | {
        "update_report_": replace(
            reduce(_joined, reports),
            median_shift=float(np.median(shifts)),
            largest_shift=float(shifts.max()),
            seconds=time.perf_counter() - began,
        ),
        "_learned_names": tuple(names),
    }


def check_can_grow(model: TwoWayEstimator) -> None:
    """Raise an error if a model cannot take new rows in."""
    if isinstance(model._data_units, AffineUnits):
        raise ValueError(  # noqa: TRY004 - the model is of other data, not of a wrong type
            "A model of a large sparse table, or of principal components, cannot take new rows in: "
            "its subspace is that of the fit. Fit again to all rows."
        )
    if hasattr(model, "compression_"):
        raise ValueError(
            "A compressed model cannot take new rows in: its prototypes stand for many rows each. "
            "Update the model that was compressed, and compress it again."
        )
    if not model._variance > 0.0:
        raise ValueError(
            "A model of rows that are all equal cannot take new rows in: it has no map that could "
            "grow. Fit again to all rows."
        )


def _blocks(X: Any) -> Iterable[Any]:
    return row_blocks_of(X) if is_dask(X) else (X,)


def _of_block(model: TwoWayEstimator, rows: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Return the attributes after an update by checked rows (m, D), with a report."""
    data: Array = rows.toarray() if issparse(rows) else rows
    progress = FitProgress(model, verbose=check_int("verbose", model.verbose, low=0), alone=True)
    few = model.n_jobs is None and data.size + model.embedding_.size <= FEW_VALUES
    with model._threads(), repeatable_threads(), using_threads(1) if few else nullcontext():
        complete = without_gaps(model, data)
        growth = model._grown(complete, rng, progress)
    state = growth.state
    n_before = n_rows_of(model)
    units = state.get("_data_units", model._data_units)
    filling = getattr(model, "_gap_filling", None)
    if filling is not None:
        state["_gap_filling"] = extended_filling(
            filling, model._data_units, units, complete, np.isnan(data), n_before, rng
        )
    state["_n_rows"] = n_before + len(data)
    state["update_report_"] = UpdateReport(
        n_new=len(data),
        n_rows=n_before + len(data),
        share_off=growth.share_off,
        density_change=growth.density_change,
        n_regions=len(growth.regions),
        n_in_regions=sum(map(len, growth.regions)),
        median_shift=0.0,
        largest_shift=0.0,
    )
    return state


def n_rows_of(model: TwoWayEstimator) -> int:
    """Return how many rows a model stands for, if it knows."""
    known = getattr(model, "_n_rows", None)
    if known is not None:
        return int(known)
    if len(model.embedding_):
        return len(model.embedding_)
    filling = getattr(model, "_gap_filling", None)
    return 0 if filling is None else int(filling.donors.numbers.max()) + 1


def _shifts(before: TwoWayEstimator, after: TwoWayEstimator) -> Array:
    """Return how far old rows moved, as shares of the diagonal of the box around them.

    Of models that keep no latents, rows that they keep to fill gaps are encoded.
    """
    old = before.embedding_
    if len(old):
        new = after.embedding_[: len(old)]
    else:
        rows = before._data_units.back(before._gap_filling.donors.rows.astype(np.float64))
        old, new = before._encode(rows), after._encode(rows)
    diagonal = float(np.linalg.norm(np.ptp(old, axis=0))) or 1.0
    shifts: Array = np.sqrt(row_norms_sq(new - old)) / diagonal
    return shifts


def _joined(first: UpdateReport, second: UpdateReport) -> UpdateReport:
    """Return the report of two blocks, one after the other."""
    n_new = first.n_new + second.n_new
    share = second.n_new / n_new

    def mean(name: str) -> float:
        return float((1.0 - share) * getattr(first, name) + share * getattr(second, name))

    return replace(
        second,
        n_new=n_new,
        share_off=mean("share_off"),
        density_change=mean("density_change"),
        n_regions=first.n_regions + second.n_regions,
        n_in_regions=first.n_in_regions + second.n_in_regions,
    )

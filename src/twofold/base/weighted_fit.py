"""Fits with sample weights: a fit to repeated rows, whose results have one row per row of X.

See `twofold.numerics.row_weights` for how weights become copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.base.dask_inputs import is_dask
from twofold.base.sparse_inputs import fitted_in_subspace
from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.row_weights import check_sample_weight, repeated_rows, take_rows
from twofold.numerics.sparse_rows import dense_if_few_cells, is_large_sparse
from twofold.numerics.validation import check_data
from twofold.protocols import Array, IntArray
from twofold.starts.named import is_list_of_inits, resolve_init

if TYPE_CHECKING:
    from twofold.base.aligning import OldMap
    from twofold.base.estimator import TwoWayEstimator

PARAMETERS_WITH_ROWS = ("init", "embedding")
"""Parameters whose value may be an array with one row per row of X."""


def fitted_state(
    model: TwoWayEstimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    frame: OldMap | None = None,
) -> dict[str, Any]:
    """Return the learned attributes of a fit to weighted rows, in a frame if there is one."""
    if frame is not None and sample_weight is not None:
        raise ValueError(
            "sample_weight is not supported together with align_to. Repeat rows of X instead."
        )
    X, y = as_numpy(X, "X"), as_numpy(y, "y")
    if is_large_sparse(X):
        return fitted_in_subspace(
            model,
            X,
            sample_weight,
            lambda one, data: fitted_state(one, data, y, sample_weight, frame),
        )
    if sample_weight is None:
        return model._fit(X, y, frame)
    refuse_dask(X, sample_weight)
    X = dense_if_few_cells(X)
    # Errors about the data are to give the row numbers of X, not those of the repeated rows.
    data, _ = check_data(model, X, reset=True, gaps=model._allows_gaps)
    model._labels(data, y)
    _refuse_pairs(model)
    rows = repeated_rows(sample_weight, *data.shape)
    if rows is None:
        return model._fit(X, y)
    with _repeated_parameters(model, data, rows):
        state = model._fit(take_rows(X, rows), take_rows(y, rows))
    return _per_row(model, state, data, rows)


def of_fitted_rows(
    model: TwoWayEstimator,
    data: Array,
    sample_weight: Any,
    latents_of: Callable[[IntArray | slice], Array],
) -> Array:
    """Return latents (n, q) of data from a function of the rows to which a model was fitted.

    The function gets the numbers of the rows, repeated ones included. Of repeated rows the first
    counts; rows that were left out get what the encoder returns.
    """
    rows = None if sample_weight is None else repeated_rows(sample_weight, *data.shape)
    if rows is None:
        return latents_of(slice(None))
    return _spread(model, latents_of(rows), data, rows)


def largest_and_mean_square(distances: Array, sample_weight: Any = None) -> tuple[float, float]:
    """Return the largest distance, and the mean square of all (n,) in units of it.

    Weights are those of the mean; distances of weight 0 do not count at all.
    """
    weights = None
    if sample_weight is not None:
        weights = check_sample_weight(sample_weight, len(distances))
        distances, weights = distances[weights > 0.0], weights[weights > 0.0] / weights.max()
    largest = float(distances.max())
    if largest == 0.0:
        return 0.0, 0.0
    return largest, float(np.average(np.square(distances / largest), weights=weights))


def refuse_dask(X: Any, sample_weight: Any) -> None:
    """Raise an error if weights come with a Dask collection."""
    if sample_weight is not None and (is_dask(X) or is_dask(sample_weight)):
        raise TypeError(
            "sample_weight is not supported for Dask collections. Pass sample_weight=None, or "
            "arrays in memory: X.compute() and sample_weight.compute()."
        )


def _refuse_pairs(model: TwoWayEstimator) -> None:
    if model.__sklearn_tags__().input_tags.pairwise:
        raise ValueError(
            "sample_weight is not supported where X holds pairs of rows ('precomputed'), since "
            "repeated rows have columns of their own. Repeat rows and columns of X instead: "
            "X[np.ix_(rows, rows)]."
        )


@contextmanager
def _repeated_parameters(model: TwoWayEstimator, data: Array, rows: IntArray) -> Iterator[None]:
    """Repeat the rows of arrays among the parameters, such as initial latents, for a while."""
    given = {
        name: value
        for name in PARAMETERS_WITH_ROWS
        if (value := getattr(model, name, None)) is not None
    }
    try:
        for name, value in given.items():
            setattr(model, name, _repeated(value, name, data, rows))
        yield
    finally:
        for name, value in given.items():
            setattr(model, name, value)


def _repeated(value: Any, name: str, data: Array, rows: IntArray) -> Any:
    """Return initial latents with repeated rows; names, functions and estimators as they are."""
    if isinstance(value, dict):
        return {key: _repeated(one, name, data, rows) for key, one in value.items()}
    if is_list_of_inits(value):
        return [_repeated(one, name, data, rows) for one in value]
    if isinstance(value, str | type) or callable(value) or hasattr(value, "fit_transform"):
        return value
    if np.ndim(value) not in (1, 2) or not np.size(value):
        return value  # the fit refuses it
    return resolve_init(value, data, 0, np.random.default_rng(), name=name)[rows]


def _per_row(
    model: TwoWayEstimator, state: dict[str, Any], data: Array, rows: IntArray
) -> dict[str, Any]:
    """Return the state with one latent for each row of X, and with row numbers of X."""
    fitted = copy(model)
    fitted._take(state)
    found: dict[str, Any] = {}
    part, landmarks = state.get("fitted_rows_"), getattr(fitted._unwrapped, "landmarks_", None)
    if landmarks is not None:
        found["landmarks_"] = rows[landmarks]
    if part is not None:
        known, first = np.unique(rows[part], return_index=True)
        found |= {"fitted_rows_": known, "embedding_": state["embedding_"][first]}
    elif len(state["embedding_"]):  # a model may keep none
        found["embedding_"] = _spread(fitted, state["embedding_"], data, rows)
    filling = getattr(fitted._unwrapped, "_gap_filling", None)
    if filling is not None and part is None:
        numbers = rows[filling.donors.numbers]
        found["_gap_filling"] = replace(filling, donors=replace(filling.donors, numbers=numbers))
    for attributes in (state, vars(fitted._unwrapped)):
        attributes.update({name: value for name, value in found.items() if name in attributes})
    return state


def _spread(model: TwoWayEstimator, latents: Array, data: Array, rows: IntArray) -> Array:
    """Return one latent for each row of data (n, q), given those of repeated rows (m, q).

    A repeated row gets the latent of its first copy, a row without copies what the encoder returns.
    """
    known, first = np.unique(rows, return_index=True)
    found = np.empty((len(data), latents.shape[1]))
    found[known] = latents[first]
    missing = np.setdiff1d(np.arange(len(data)), known)
    if len(missing):
        found[missing] = model._encode(data[missing])
    return found

"""The maps of a fitted model over Dask collections, lazily and block by block."""

from __future__ import annotations

from copy import copy
from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names

from twofold.base.estimator import TwoWayEstimator
from twofold.dask._blocks import check_whole_rows, is_frame, single_or_double
from twofold.dask._tasks import Shared, shared
from twofold.protocols import AnyArray

__all__ = ["mapped"]

OF_LATENTS = ("inverse_transform", "log_density")
OF_ROWS = ("reconstruction_error", "log_density", "_unit_distances")
"""Methods that return one number for each row."""


def mapped(model: TwoWayEstimator, method: str, X: Any, options: dict[str, Any]) -> Any:
    """Return the result of a method for all blocks of a collection.

    Parameters
    ----------
    model : TwoWayEstimator
        A fitted model.
    method : str
        "transform", "inverse_transform", "reconstruct", "reconstruction_error", "log_density" or
        "score"; the score is computed at once.
    X : Dask array or frame
        Data, or latents.
    options : dict
        Keyword arguments of the method.
    """
    if method == "transform" and _get_output_config("transform", model)["dense"] != "default":
        raise TypeError(
            "set_output would bring all rows of a Dask collection into memory. "
            "Use set_output(transform='default'): arrays give arrays, frames give frames."
        )
    if method == "score":
        return _score(model, X)
    n_wanted, n_given = _widths(model, method)
    if not hasattr(X, "columns") and getattr(X, "ndim", 2) != 2:
        raise ValueError(f"Expected 2D array, got an array of {X.ndim} dimensions.")
    n_columns = len(X.columns) if is_frame(X) else X.shape[1]
    if n_columns != n_given:
        what = "n_components" if method in OF_LATENTS else "n_features_in_"
        raise ValueError(
            f"X has {n_columns} features, but {type(model).__name__} is expecting {n_given} "
            f"features as input ({what})."
        )
    if is_frame(X):
        return _over_partitions(model, method, X, n_wanted, options)
    check_whole_rows(X)
    dtype = single_or_double([X.dtype])
    single = method in OF_ROWS
    return X.map_blocks(
        _apply,
        _shipped(model),
        method,
        n_wanted,
        dtype=dtype,
        chunks=(X.chunks[0],) if single else (X.chunks[0], (n_wanted,)),
        drop_axis=1 if single else None,
        meta=np.empty((0,) if single else (0, 0), dtype=dtype),
        name=f"{_label(model)}-{method.strip('_')}-{uuid4().hex}",
        options=options,
        result=dtype.name,
    )


def _shipped(model: TwoWayEstimator) -> Any:
    """Return a model, without its training latents, as one task on which all blocks depend."""
    light = copy(model)
    light.embedding_ = model.embedding_[:0]
    if hasattr(light, "n_jobs"):
        light.n_jobs = 1  # a worker runs as many tasks at a time as it has threads
    return shared(light, f"{_label(model)}-model-{uuid4().hex}")


def _label(model: TwoWayEstimator) -> str:
    return type(model).__name__.lower()


def _widths(model: TwoWayEstimator, method: str) -> tuple[int, int]:
    """Return the number of columns of the results and of the arguments."""
    q, n_features = model._n_features_out, model.n_features_in_
    n_wanted = {"transform": q, "inverse_transform": n_features, "reconstruct": n_features}
    return n_wanted.get(method, 1), q if method in OF_LATENTS else n_features


def _apply(
    block: Any, model: Shared, method: str, n_wanted: int, *, options: dict[str, Any], result: str
) -> AnyArray:
    if hasattr(block, "toarray"):
        raise TypeError("X has sparse blocks, which are not supported: pass dense arrays.")
    if not len(block):
        return np.empty((0,) if method in OF_ROWS else (0, n_wanted), result)
    if method == "_unit_distances":
        block = np.ascontiguousarray(block, dtype=np.float64)
    found = getattr(model.content, method)(block, **options)
    return np.asarray(found).astype(result, copy=False)


def _over_partitions(
    model: TwoWayEstimator, method: str, frame: Any, n_wanted: int, options: dict[str, Any]
) -> Any:
    import pandas as pd

    dtype = single_or_double(frame.dtypes)
    if method == "transform":
        names = [str(name) for name in model.get_feature_names_out()]
    elif hasattr(model, "feature_names_in_"):
        names = [str(name) for name in model.feature_names_in_]
    else:
        names = [f"x{number}" for number in range(n_wanted)]
    index = frame._meta.index[:0]
    meta: Any = pd.DataFrame({name: np.empty(0, dtype) for name in names}, index=index)
    if method in OF_ROWS:
        meta = pd.Series(np.empty(0, dtype), index=index, name=method)
    return frame.map_partitions(
        _apply_to_frame, _shipped(model), method, n_wanted, options, dtype.name, names, meta=meta
    )


def _apply_to_frame(
    part: Any,
    model: Shared,
    method: str,
    n_wanted: int,
    options: dict[str, Any],
    result: str,
    names: list[str],
) -> Any:
    import pandas as pd

    unnamed = method in OF_LATENTS or not hasattr(model.content, "feature_names_in_")
    rows = part.to_numpy() if unnamed else part  # the model compares the names with its own
    values = _apply(rows, model, method, n_wanted, options=options, result=result)
    if method in OF_ROWS:
        return pd.Series(values, index=part.index, name=method)
    return pd.DataFrame(values, index=part.index, columns=names)


def _score(model: TwoWayEstimator, X: Any) -> float:
    """Return the share of variance that reconstruction keeps, as the local model does."""
    if is_frame(X):
        _check_feature_names(model, X._meta, reset=False)
        X = X.to_dask_array()
    distances = mapped(model, "_unit_distances", X.astype(np.float64), {})
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        error = np.float64((distances**2).mean().compute())
        relative = error / model._variance if error else 0.0
    return float(max(1.0 - relative, -np.finfo(np.float64).max))

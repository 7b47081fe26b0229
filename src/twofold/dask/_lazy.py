"""The maps of a fitted model over Dask collections, lazily and block by block."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names

from twofold.base.estimator import TwoWayEstimator
from twofold.dask._blocks import check_whole_rows, is_frame, single_or_double
from twofold.dask._tasks import Shared, shared
from twofold.protocols import AnyArray

OF_LATENTS = ("inverse_transform", "log_density")
OF_ROWS = (
    "reconstruction_error",
    "log_density",
    "outlier_scores",
    "predict_outlier",
    "_unit_distances",
)
"""Methods that return one number for each row."""


def mapped(model: TwoWayEstimator, method: str, X: Any, options: dict[str, Any]) -> Any:
    """Return the result of a method for all blocks of a collection.

    Parameters
    ----------
    model : TwoWayEstimator
        A fitted model.
    method : str
        "transform", "inverse_transform", "reconstruct", "impute", "reconstruction_error",
        "log_density", "outlier_scores", "predict_outlier" or "score"; the score is computed at
        once.
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
    if method == "impute" and options.pop("return_std", False):
        raise TypeError(
            "return_std=True is not supported for Dask collections. Impute blocks in memory: "
            "model.impute(X.blocks[0].compute(), return_std=True)."
        )
    q, n_features = model._n_features_out, model.n_features_in_
    n_given = q if method in OF_LATENTS else n_features
    if not hasattr(X, "columns") and getattr(X, "ndim", 2) != 2:
        raise ValueError(f"Expected 2D array, got an array of {X.ndim} dimensions.")
    n_columns = len(X.columns) if is_frame(X) else X.shape[1]
    if n_columns != n_given:
        what = "n_components" if method in OF_LATENTS else "n_features_in_"
        raise ValueError(
            f"X has {n_columns} features, but {type(model).__name__} is expecting {n_given} "
            f"features as input ({what})."
        )
    dtype = single_or_double(X.dtypes if is_frame(X) else [X.dtype])
    chosen = options.get("features")
    n_returned = n_features if chosen is None else len(chosen)
    width = None if method in OF_ROWS else q if method == "transform" else n_returned
    if method == "predict_outlier":
        dtype = np.dtype(np.bool_)
    call = _Call(method, width, dtype.name, options)
    with_latents = method in NEED_LATENTS
    if is_frame(X):
        names = _names(model, method)
        names = names if chosen is None else [names[column] for column in chosen]
        return X.map_partitions(
            call.on_frame, _shipped(model, with_latents), names, meta=call.meta(X, names)
        )
    check_whole_rows(X)
    return X.map_blocks(
        call,
        _shipped(model, with_latents),
        dtype=dtype,
        chunks=(X.chunks[0],) if width is None else (X.chunks[0], (width,)),
        drop_axis=1 if width is None else None,
        meta=call.no_rows(),
        name=f"{type(model).__name__}-{method.strip('_')}-{uuid4().hex}".lower(),
    )


NEED_LATENTS = ("outlier_scores", "predict_outlier")
"""Methods that compare rows with training rows."""


def computed_blocks(X: Any) -> Iterator[Any]:
    """Yield the blocks of rows of a collection, computed one after the other, but empty ones."""
    if is_frame(X):
        parts = (X.get_partition(number) for number in range(X.npartitions))
    else:
        if getattr(X, "ndim", 2) != 2:
            raise ValueError(f"Expected 2D array, got an array of {X.ndim} dimensions.")
        check_whole_rows(X)
        parts = (X.blocks[number] for number in range(X.numblocks[0]))
    for part in parts:
        block = part.compute()
        if len(block):
            yield block


def _shipped(model: TwoWayEstimator, with_latents: bool) -> Any:
    """Return a model, usually without its training latents, as one task for all blocks."""
    light = copy(model)
    if not with_latents:
        light.embedding_ = model.embedding_[:0]
    if hasattr(light, "n_jobs"):
        light.n_jobs = 1  # a worker runs as many tasks at a time as it has threads
    return shared(light, f"{type(model).__name__}-model-{uuid4().hex}".lower())


def _names(model: TwoWayEstimator, method: str) -> list[str]:
    """Return the names of the columns of results."""
    if method == "transform":
        return [str(name) for name in model.get_feature_names_out()]
    unnamed = [f"x{number}" for number in range(model.n_features_in_)]
    return [str(name) for name in getattr(model, "feature_names_in_", unnamed)]


@dataclass(frozen=True)
class _Call:
    """A method of the model, the columns of its results (None for a vector) and their dtype."""

    method: str
    width: int | None
    dtype: str
    options: dict[str, Any]

    def __call__(self, block: Any, model: Shared) -> AnyArray:
        if hasattr(block, "toarray"):
            raise TypeError("X has sparse blocks, which are not supported: pass dense arrays.")
        if not len(block):
            return self.no_rows()
        if self.method == "_unit_distances":
            block = np.ascontiguousarray(block, dtype=np.float64)
        found = getattr(model.content, self.method)(block, **self.options)
        return np.asarray(found).astype(self.dtype, copy=False)

    def no_rows(self) -> AnyArray:
        return np.empty((0,) if self.width is None else (0, self.width), self.dtype)

    def on_frame(self, part: Any, model: Shared, names: list[str]) -> Any:
        unnamed = self.method in OF_LATENTS or not hasattr(model.content, "feature_names_in_")
        rows = part.to_numpy() if unnamed else part  # the model compares the names with its own
        return self._framed(self(rows, model), part.index, names)

    def meta(self, frame: Any, names: list[str]) -> Any:
        """Return the results of no rows."""
        return self._framed(self.no_rows(), frame._meta.index[:0], names)

    def _framed(self, values: AnyArray, index: Any, names: list[str]) -> Any:
        import pandas as pd

        if self.width is None:
            return pd.Series(values, index=index, name=self.method)
        return pd.DataFrame(values, index=index, columns=names)


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

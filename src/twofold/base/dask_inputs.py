"""Dask collections as arguments of a fitted model's maps."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array or frame, without importing Dask."""
    return hasattr(X, "__dask_graph__") and type(X).__module__.split(".", 1)[0] == "dask"


def row_blocks_of(X: Any) -> Any:
    """Return an iterator over the blocks of rows of a Dask collection, each computed in turn."""
    return import_module("twofold.dask._lazy").computed_blocks(X)


def lazily(model: TwoWayEstimator, name: str, X: Any, **options: Any) -> Any:
    """Return the result of a model's method for a Dask collection, as a lazy collection."""
    # A module above this layer, imported only if Dask is in use.
    return import_module("twofold.dask._lazy").mapped(model, name, X, options)

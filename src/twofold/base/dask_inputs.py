"""Dask collections as arguments of a fitted model's maps."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["is_dask", "lazily"]


def is_dask(X: Any) -> bool:
    """Tell a Dask array or frame, without importing Dask."""
    return hasattr(X, "__dask_graph__") and type(X).__module__.split(".", 1)[0] == "dask"


def lazily(model: Any, name: str, X: Any, **options: Any) -> Any:
    """Return what a method of a fitted model gives for a Dask collection: the same kind of collection, not computed yet."""
    # An edge above this layer, reached only where Dask is there already.
    return import_module("twofold.dask._lazy").mapped(model, name, X, options)

"""Dask collections as arguments of a fitted model's methods."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["is_dask", "lazily"]


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array or frame, without importing Dask."""
    return hasattr(X, "__dask_graph__") and type(X).__module__.split(".", 1)[0] == "dask"


def lazily(model: object, name: str, X: Any, **options: Any) -> Any:
    """Apply a method of a fitted model to a Dask collection and return a lazy collection."""
    # twofold.dask lies above this layer; a Dask collection means that Dask is installed.
    return import_module("twofold.dask._lazy").mapped(model, name, X, options)

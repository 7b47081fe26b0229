"""Time the three steps of a two-way model, judge its map, and record what the times depend on.

``twofold bench`` and the benchmarks of the repository measure with these functions. The module
does not need click or rich.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol, TypeVar

import numpy as np

from twofold._version import __version__
from twofold.metrics import codebook_error, relative_reconstruction_error
from twofold.numerics.codebooks import mean_log, sizes_of_codebooks
from twofold.protocols import AnyArray, Array

Result = TypeVar("Result")


class TwoWayModel(Protocol):
    """A model that encodes and decodes."""

    def fit(self, X: Array, y: AnyArray | None = None, /) -> object:
        """Fit ``X`` of shape (n, D)."""

    def transform(self, X: Array, /) -> Array:
        """Encode ``X`` of shape (m, D)."""

    def inverse_transform(self, Z: Array, /) -> Array:
        """Decode ``Z`` of shape (m, q)."""


@dataclass(frozen=True)
class Timed:
    """Seconds of the three steps, held-out latents (m, q) and their reconstruction (m, D)."""

    fit_seconds: float
    transform_seconds: float
    inverse_seconds: float
    latents: Array
    reconstruction: Array
    error: float
    """Relative reconstruction error of the held-out rows."""


def timed(function: Callable[[], Result]) -> tuple[float, Result]:
    """Call a function; return the seconds it took and its result."""
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result


def time_steps(
    model: TwoWayModel, X: Array, X_test: Array, labels: AnyArray | None = None
) -> Timed:
    """Fit ``X`` (n, D), with labels if given, then encode and decode held-out rows (m, D)."""
    arguments = (X,) if labels is None else (X, labels)
    fit_seconds, _ = timed(lambda: model.fit(*arguments))
    transform_seconds, Z = timed(lambda: model.transform(X_test))
    inverse_seconds, rebuilt = timed(lambda: model.inverse_transform(Z))
    error = float(relative_reconstruction_error(X_test, rebuilt))
    return Timed(fit_seconds, transform_seconds, inverse_seconds, Z, rebuilt, error)


@dataclass(frozen=True)
class MapQuality:
    """What `twofold.metrics.map_score` sees: codebook errors by number of codewords, the score."""

    codebook_errors: dict[int, float]
    map_score: float


@dataclass(frozen=True)
class _Encoded:
    """A model whose held-out rows are encoded already: to search their latents again is slow."""

    model: Any
    latents: Array

    def transform(self, X: Any) -> Array:  # noqa: ARG002 - the rows are known
        return self.latents

    def inverse_transform(self, Z: Array) -> Array:
        decoded: Array = self.model.inverse_transform(Z)
        return decoded


def training_latents(model: Any, X: Array | None = None) -> Array | None:
    """Return the training latents (n, q) that a model has kept, or encode its training rows.

    Without both, return None.
    """
    kept = getattr(model, "embedding_", None)
    if kept is not None and len(kept):
        return np.asarray(kept, dtype=np.float64)
    return None if X is None else np.asarray(model.transform(X), dtype=np.float64)


def judge_map(model: Any, latents: Array, X: Any, Z: Array, error: float) -> MapQuality:
    """Return the quality of a map.

    Parameters
    ----------
    model : object with ``inverse_transform``
        A fitted model.
    latents : ndarray of shape (n, q)
        Latents of its training rows.
    X, Z : array-like of shape (m, D) and (m, q)
        Held-out rows and their latents.
    error : float
        Their relative reconstruction error.
    """
    encoded = _Encoded(model, Z)
    errors = {
        size: codebook_error(encoded, X, size, latents=latents)
        for size in sizes_of_codebooks(len(latents))
    }
    return MapQuality(errors, -mean_log(np.array([*errors.values(), error])))


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the versions of Python and of distributions; None for those not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = __version__ if package == "twofold" else version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def as_json(value: Any) -> Any:
    """Convert a value to JSON types; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): as_json(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return as_json(value.tolist())
    if isinstance(value, list | tuple | range):
        return [as_json(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)

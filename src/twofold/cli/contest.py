"""A contest of two-way methods on one table: seconds, and what is lost of rows held out."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Final

from twofold.cli.errors import EXPECTED, one_line
from twofold.cli.methods import METHODS
from twofold.metrics import relative_reconstruction_error
from twofold.protocols import AnyArray, Array

__all__ = ["RIVALS", "Measured", "contestants", "measure", "surroundings"]

MOST_ROWS_OF_ALL_PAIRS: Final = 10_000
"""KernelPCA keeps a matrix of all pairs of rows."""

PACKAGES: Final = ("twofold", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Measured:
    """What one method did; ``failed`` says why it did not."""

    method: str
    fit_seconds: float | None = None
    transform_seconds: float | None = None
    inverse_seconds: float | None = None
    error: float | None = None
    failed: str | None = None


def _pca(n_components: int, seed: int, X: Array) -> Any:  # noqa: ARG001 - the rivals' signature
    from sklearn.decomposition import PCA

    return PCA(n_components, random_state=seed)


def _kernel_pca(n_components: int, seed: int, X: Array) -> Any:
    from sklearn.decomposition import KernelPCA

    if len(X) > MOST_ROWS_OF_ALL_PAIRS:
        raise ValueError(f"left out beyond {MOST_ROWS_OF_ALL_PAIRS} rows: it keeps all pairs")
    # The width by which scikit-learn's support vector machines scale: its own default knows nothing of the data's units.
    gamma = 1.0 / (X.shape[1] * float(X.var()) or 1.0)
    return KernelPCA(
        n_components,
        kernel="rbf",
        gamma=gamma,
        alpha=0.01,
        fit_inverse_transform=True,
        random_state=seed,
    )


def _umap(n_components: int, seed: int, X: Array) -> Any:  # noqa: ARG001 - the rivals' signature
    umap: Any = import_module("umap")
    return umap.UMAP(n_components=n_components, random_state=seed)


RIVALS: Final[dict[str, Callable[[int, int, Array], Any]]] = {
    "pca": _pca,
    "kernel-pca": _kernel_pca,
    "umap": _umap,
}
"""Methods of other libraries that map both ways."""


def contestants(
    n_components: int, seed: int, X: Array, *, with_labels: bool
) -> dict[str, Callable[[], Any]]:
    """Return what makes each estimator that can take part.

    Parameters
    ----------
    n_components : int
        Latent dimensions.
    seed : int
        Random seed.
    X : ndarray of shape (n, D)
        What they will be fitted to.
    with_labels : bool
        Whether there are labels, for methods that need some.
    """
    ours: dict[str, Callable[[], Any]] = {
        name: partial(method.make, n_components, seed, {})
        for name, method in METHODS.items()
        if with_labels or not method.needs_labels
    }
    rivals: dict[str, Callable[[], Any]] = {
        name: partial(make, n_components, seed, X)
        for name, make in RIVALS.items()
        if name != "umap" or find_spec("umap") is not None
    }
    return ours | rivals


def measure(
    method: str, make: Callable[[], Any], X: Array, labels: AnyArray | None, X_test: Array
) -> Measured:
    """Fit a method once and map rows that it has not seen down and up.

    Parameters
    ----------
    method : str
        Its name.
    make : callable
        Returns the estimator.
    X : ndarray of shape (n, D)
        Rows to fit.
    labels : ndarray of shape (n,) or None
        Their labels, for methods that use some.
    X_test : ndarray of shape (m, D)
        Rows held out.
    """
    uses_labels = method in METHODS and METHODS[method].needs_labels
    try:
        # Defaults are judged by their errors; what they warn of is for those who fit in earnest.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make()
            start = time.perf_counter()
            model.fit(X, labels if uses_labels else None)
            fitted = time.perf_counter()
            Z = model.transform(X_test)
            mapped = time.perf_counter()
            rebuilt = model.inverse_transform(Z)
            ended = time.perf_counter()
    except (*EXPECTED, ImportError) as error:
        return Measured(method, failed=one_line(error))
    lost = float(relative_reconstruction_error(X_test, rebuilt))
    return Measured(method, fitted - start, mapped - fitted, ended - mapped, lost)


def surroundings() -> dict[str, Any]:
    """Return the versions and the machine, without which seconds mean nothing."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = {"python": platform.python_version()} | {one: version(one) for one in PACKAGES}
    return {"versions": versions, "machine": platform.machine(), "cores": usable}

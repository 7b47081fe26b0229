"""Compare two-way methods on one table: seconds, and errors and map scores on held-out rows."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from twofold.cli.errors import EXPECTED, one_line
from twofold.cli.measurement import (
    TwoWayModel,
    judge_map,
    time_steps,
    training_latents,
    versions,
)
from twofold.cli.methods import METHODS
from twofold.numerics.threads import usable_cores
from twofold.protocols import AnyArray, Array

MOST_ROWS_OF_ALL_PAIRS: Final = 10_000
"""KernelPCA is left out above this: it stores a matrix of all pairs of rows."""

PACKAGES: Final = ("twofold", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Measured:
    """The figures of one method; ``failed`` holds the reason if it did not run."""

    method: str
    fit_seconds: float | None = None
    transform_seconds: float | None = None
    inverse_seconds: float | None = None
    error: float | None = None
    codebook_errors: dict[int, float] = field(default_factory=dict)
    map_score: float | None = None
    failed: str | None = None


def _pca(n_components: int, seed: int, X: Array) -> TwoWayModel:  # noqa: ARG001
    from sklearn.decomposition import PCA

    model: TwoWayModel = PCA(n_components, random_state=seed)
    return model


def _kernel_pca(n_components: int, seed: int, X: Array) -> TwoWayModel:
    from sklearn.decomposition import KernelPCA

    if len(X) > MOST_ROWS_OF_ALL_PAIRS:
        raise ValueError(f"left out beyond {MOST_ROWS_OF_ALL_PAIRS} rows: it keeps all pairs")
    # gamma="scale" of scikit-learn's SVMs; KernelPCA's own default ignores the data's units.
    gamma = 1.0 / (X.shape[1] * float(X.var()) or 1.0)
    model: TwoWayModel = KernelPCA(
        n_components,
        kernel="rbf",
        gamma=gamma,
        alpha=0.01,
        fit_inverse_transform=True,
        random_state=seed,
    )
    return model


def _umap(n_components: int, seed: int, X: Array) -> TwoWayModel:  # noqa: ARG001
    kind = import_module("umap").UMAP
    model: TwoWayModel = kind(n_components=n_components, random_state=seed)
    return model


RIVALS: Final[dict[str, Callable[[int, int, Array], TwoWayModel]]] = {
    "pca": _pca,
    "kernel-pca": _kernel_pca,
    "umap": _umap,
}
"""Methods of other libraries that encode and decode."""


def contestants(
    n_components: int, seed: int, X: Array, *, with_labels: bool
) -> dict[str, Callable[[], TwoWayModel]]:
    """Return a factory for each estimator that can take part.

    ``X`` (n, D) are the rows they will be fitted to; ``with_labels`` says whether there are labels
    for the methods that need them.
    """
    ours: dict[str, Callable[[], TwoWayModel]] = {
        name: partial(method.make, n_components, seed, {})
        for name, method in METHODS.items()
        if with_labels or not method.needs_labels
    }
    rivals: dict[str, Callable[[], TwoWayModel]] = {
        name: partial(make, n_components, seed, X)
        for name, make in RIVALS.items()
        if name != "umap" or find_spec("umap") is not None
    }
    return ours | rivals


def measure(
    method: str, make: Callable[[], TwoWayModel], X: Array, labels: AnyArray | None, X_test: Array
) -> Measured:
    """Fit a method once on ``X`` (n, D), then encode, decode and judge held-out rows ``X_test``.

    ``labels`` (n,) are passed only to methods that need them.
    """
    uses_labels = method in METHODS and METHODS[method].needs_labels
    try:
        # The held-out errors judge the defaults; warnings help only those who tune a fit.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make()
            found = time_steps(model, X, X_test, labels if uses_labels else None)
            latents = training_latents(model, X)
            assert latents is not None
            quality = judge_map(model, latents, X_test, found.latents, found.error)
    except (*EXPECTED, ImportError) as error:
        return Measured(method, failed=one_line(error))
    seconds = found.fit_seconds, found.transform_seconds, found.inverse_seconds
    return Measured(method, *seconds, found.error, **asdict(quality))


def surroundings() -> dict[str, Any]:
    """Return versions and machine, on which the seconds depend."""
    return {
        "versions": versions(PACKAGES),
        "machine": platform.machine(),
        "cores": usable_cores(),
    }

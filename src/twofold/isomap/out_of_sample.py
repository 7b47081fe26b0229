"""The maps of a geodesic embedding: kernel ridge regression on all rows or on some centres.

Factorising the kernel of n rows costs ``n^3``, so beyond 2,000 rows some of them are centres, and the kernel's scale is chosen on
a sample before all rows are fitted once, with the ridge chosen anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.kernels import Gaussian
from twofold.maps import GRNN, KernelRidgeMap
from twofold.numerics.density import LatentDensity, likelihood_cv_bandwidth
from twofold.numerics.threads import some_rows
from twofold.protocols import Array

__all__ = ["better_than", "centers_among", "fitted_density", "fitted_ridge"]

MOST_CENTERS = 2_000
"""Up to so many rows each is a centre."""

FEWER_CENTERS = 500
"""Centres beyond."""

CHOICE_ROWS = 1_000
"""Rows by which the kernel's scale is chosen where all are centres."""

CHOICE_CENTERS = 300
"""The same where some are."""

MOST_COMPARED = 2_000
"""Rows up to which a general regression network is compared: it weighs all pairs, once for each width that it tries."""

DENSITY_POINTS = 4_000
"""Latents that carry the density."""

DENSITY_ROWS = 1_000
"""Latents by which its width is chosen."""


def centers_among(n: int, n_centers: Any) -> int:
    """Return how many of n rows are centres, for a number of them or "auto"."""
    if n_centers == "auto":
        n_centers = n if n <= MOST_CENTERS else FEWER_CENTERS
    return min(n, int(n_centers))


def fitted_ridge(
    inputs: Array, targets: Array, n_centers: Any, rng: np.random.Generator
) -> KernelRidgeMap:
    """Fit a kernel ridge regression whose scale and ridge are chosen by leave-one-out.

    Parameters
    ----------
    inputs, targets : ndarray of shape (n, q) and (n, D)
        What to learn.
    n_centers : int or "auto"
        How many rows are centres.
    rng : Generator
        Draws them.
    """
    n = len(inputs)
    n_centers = centers_among(n, n_centers)
    if n_centers >= n and n <= CHOICE_ROWS:
        return KernelRidgeMap(kernel="rbf").fit(inputs, targets)
    centers = None
    sample = some_rows(n, CHOICE_ROWS)
    if n_centers < n:
        chosen = np.sort(rng.choice(n, size=n_centers, replace=False))
        centers = inputs[chosen]
        sample = chosen[some_rows(n_centers, CHOICE_CENTERS)]
    scale = KernelRidgeMap(kernel="rbf").fit(inputs[sample], targets[sample]).gamma_
    return KernelRidgeMap(kernel="rbf", gamma=scale, centers=centers).fit(inputs, targets)


def better_than(
    ridge: KernelRidgeMap, inputs: Array, targets: Array, n_jobs: int | None
) -> KernelRidgeMap | GRNN:
    """Return a general regression network where it predicts left-out rows better than a ridge regression, else this.

    Copies of a row would predict each other, in a network without any error, so the two are judged on distinct rows.

    Parameters
    ----------
    ridge : KernelRidgeMap
        Fitted to the rows.
    inputs, targets : ndarray of shape (n, q) and (n, D)
        What was to be learned.
    n_jobs : int or None
        Threads.
    """
    if len(inputs) > MOST_COMPARED:
        return ridge
    network = GRNN(n_jobs=n_jobs).fit(inputs, targets)
    first = np.sort(np.unique(inputs, axis=0, return_index=True)[1])
    error_of_ridge, error_of_network = ridge.error_, network.error_
    if len(first) < len(inputs):
        distinct, wanted = inputs[first], targets[first]
        error_of_ridge = KernelRidgeMap(kernel="rbf").fit(distinct, wanted).error_
        error_of_network = GRNN(n_jobs=n_jobs).fit(distinct, wanted).error_
    return network if error_of_network < error_of_ridge else ridge


def fitted_density(Z: Array) -> LatentDensity:
    """Fit the density of latents (n, q); of more than 4,000 a sample stands for all."""
    some = Z[some_rows(len(Z), DENSITY_POINTS)]
    width = likelihood_cv_bandwidth(some, Gaussian(), most=DENSITY_ROWS)
    return LatentDensity(bandwidth=width).fit(some)

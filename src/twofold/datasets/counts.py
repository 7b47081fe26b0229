"""Synthetic tables of counts, as from cells of a developing tissue.

Cells lie along branches that start at a common stem. Each gene is on around a place of its own.
Counts have a negative binomial distribution: Poisson counts of a rate that varies from cell to
cell, beside the library size, which has nothing to do with the place.
"""

from __future__ import annotations

import numpy as np

from twofold.numerics.validation import (
    RandomLike,
    check_int,
    check_not_negative,
    check_real,
    check_rng,
)
from twofold.protocols import AnyArray, Array

_STEM = 0.4
"""Length of the stem, where a whole path from its start to the end of a branch is 1."""

_WIDTH = 0.18
"""Length of the part of a path on which a gene is on."""

_SIZE_SPREAD = 0.35
"""Standard deviation of the logarithm of the library size."""


def make_branching_counts(
    n_samples: int = 500,
    n_features: int = 60,
    *,
    n_branches: int = 3,
    library_size: float = 2_000.0,
    dispersion: float = 0.1,
    random_state: RandomLike = None,
) -> tuple[AnyArray, Array]:
    """Return counts of genes in cells along a stem that splits into branches.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples (cells).
    n_features : int, default=60
        Number of features (genes).
    n_branches : int, default=3
        Number of branches after the stem.
    library_size : float, default=2000.0
        The median of the expected sums of rows.
    dispersion : float, default=0.1
        Variance beyond that of Poisson counts: ``mean + dispersion * mean**2``.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Counts, as integers.
    parameters : ndarray of shape (n_samples, 2)
        The branch, 0 for the stem, and the distance from the start of the stem, from 0 to 1.

    Examples
    --------
    >>> from twofold.datasets import make_branching_counts
    >>> X, parameters = make_branching_counts(200, random_state=0)
    >>> X.shape, X.dtype.kind, sorted(set(parameters[:, 0].tolist()))
    ((200, 60), 'i', [0.0, 1.0, 2.0, 3.0])
    """
    n_samples = check_int("n_samples", n_samples)
    n_features = check_int("n_features", n_features)
    n_branches = check_int("n_branches", n_branches)
    library_size = check_real("library_size", library_size)
    dispersion = check_not_negative("dispersion", dispersion)
    rng = check_rng(random_state)
    branch, along = _places(n_samples, n_branches, rng)
    on_branch, peak = _places(n_features, n_branches, rng)
    distance = _distances(branch, along, on_branch, peak)
    levels = rng.lognormal(0.0, 0.8, n_features)
    rates = levels * (0.05 + np.exp(-0.5 * (distance / _WIDTH) ** 2))
    rates /= rates.sum(axis=1, keepdims=True)
    sizes = library_size * rng.lognormal(0.0, _SIZE_SPREAD, (n_samples, 1))
    means = rates * sizes
    if dispersion > 0.0:
        means = means * rng.gamma(1.0 / dispersion, dispersion, means.shape)
    return rng.poisson(means), np.column_stack([branch, along])


def _places(n_places: int, n_branches: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return branches and distances from the start of random places, uniform on all edges."""
    edges = np.array([_STEM, *[1.0 - _STEM] * n_branches])
    branch = rng.choice(len(edges), n_places, p=edges / edges.sum())
    starts = np.where(branch == 0, 0.0, _STEM)
    return branch.astype(np.float64), starts + rng.uniform(size=n_places) * edges[branch]


def _distances(branch: Array, along: Array, other_branch: Array, other: Array) -> Array:
    """Return the lengths (n, m) of the paths between places on the stem and the branches."""
    straight = np.abs(along[:, None] - other)
    around = along[:, None] + other - 2.0 * _STEM
    one, two = branch[:, None], other_branch[None, :]
    apart = (one != two) & (one > 0) & (two > 0)
    return np.where(apart, around, straight)

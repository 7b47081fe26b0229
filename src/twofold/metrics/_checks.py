"""Checks of arguments, and units in which squares neither overflow nor lose their digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length

from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.sparse_rows import dense_if_few_cells
from twofold.numerics.validation import RandomLike, check_finite, check_rng
from twofold.protocols import Array


def check(name: str, values: ArrayLike) -> Array:
    """Return finite float64 values of shape (n_samples, n_columns)."""
    checked: Array = check_array(
        dense_if_few_cells(as_numpy(values, name)),
        dtype=np.float64,
        ensure_all_finite=False,
        input_name=name,
    )
    check_finite(checked, name)
    return checked


def check_pair(X: ArrayLike, Z: ArrayLike, n_neighbors: int) -> tuple[Array, Array]:
    """Return data and embedding, shifted and scaled, after checking them for rank metrics."""
    data, latents = check("X", X), check("Z", Z)
    check_consistent_length(data, latents)
    if not 1 <= n_neighbors < len(data) / 2:
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be at least 1 and less than n_samples / 2 = "
            f"{len(data) / 2:g}: change n_neighbors or give more samples."
        )
    return tame(data), tame(latents)


def check_rows_of_pair(X: ArrayLike, Z: ArrayLike, fewest: int) -> tuple[Array, Array]:
    """Return data and embedding, shifted and scaled, if they have as many rows as needed."""
    data, latents = check("X", X), check("Z", Z)
    check_consistent_length(data, latents)
    if len(data) < fewest:
        raise ValueError(f"X has {len(data)} samples: give at least {fewest}.")
    return tame(data), tame(latents)


def seed_of(random_state: RandomLike) -> int:
    """Return a seed for k-means."""
    return int(check_rng(random_state).integers(2**31))


def exponent_of(*arrays: Array) -> int:
    """Return the power of two that brings the largest entry into [0.5, 1)."""
    largest = max(float(np.abs(values).max()) for values in arrays)
    return int(np.frexp(largest)[1])


def centered(values: Array, exponent: int) -> Array:
    """Return ``2^-exponent values`` less their mean; exactly zero if all rows are equal."""
    scaled = np.ldexp(values, -exponent)
    # The rounded mean of equal numbers need not be that number; the mean of zeros is zero.
    scaled -= scaled[0].copy()
    centered: Array = scaled - scaled.mean(axis=0)
    return centered


def tame(values: Array) -> Array:
    """Return the values scaled by a power of two, less their median: distances keep their ratios.

    Both steps are exact for data on a grid, such as integers, so ties stay ties.
    """
    scaled = np.ldexp(values, -exponent_of(values))
    tame: Array = scaled - np.median(scaled, axis=0)
    return tame

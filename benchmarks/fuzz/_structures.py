"""Structures of arrays that are hard on estimators, each drawn for any number of rows and columns.

A structure is a function ``(rng, n, d) -> X`` that returns an array (n, d), or with other columns
where its name says so.
"""
# ruff: noqa: ARG001 - all structures have the same arguments

import numpy as np

STRUCTURES = {}
"""The structures by name."""


def structure(draw):
    STRUCTURES[draw.__name__] = draw
    return draw


def _normal(rng, n, d):
    return rng.standard_normal((n, d))


def _curve(d, t):
    """Return a smooth curve of parameters t (n,), whose columns are waves of rising frequency."""
    k = np.arange(1, d + 1)
    return np.sin(np.outer(t, k) / np.sqrt(k) + k)


@structure
def noise(rng, n, d):
    return _normal(rng, n, d)


@structure
def smooth_sheet(rng, n, d):
    a, b = rng.uniform(-2.0, 2.0, (2, n))
    return _curve(d, a) + _curve(d, 3.0 * b)


@structure
def duplicates(rng, n, d):
    return _normal(rng, n, d)[rng.integers(0, max(1, n // 3), n)]


@structure
def two_distinct_rows(rng, n, d):
    return _normal(rng, 2, d)[np.arange(n) % 2]


@structure
def constant(rng, n, d):
    return np.full((n, d), rng.standard_normal())


@structure
def zeros(rng, n, d):
    return np.zeros((n, d))


@structure
def negative_zeros(rng, n, d):
    return np.where(rng.random((n, d)) < 0.5, -0.0, rng.integers(-1, 2, (n, d)))


@structure
def all_but_one_column_constant(rng, n, d):
    X = np.full((n, d), 0.1)
    X[:, rng.integers(d)] = rng.standard_normal(n)
    return X


@structure
def all_but_one_row_equal(rng, n, d):
    X = np.zeros((n, d))
    X[rng.integers(n)] = rng.standard_normal(d)
    return X


@structure
def collinear(rng, n, d):
    return np.outer(rng.standard_normal(n), rng.standard_normal(d))


@structure
def nearly_collinear(rng, n, d):
    return collinear(rng, n, d) + 1e-13 * _normal(rng, n, d)


@structure
def rank_two(rng, n, d):
    return _normal(rng, n, 2) @ _normal(rng, 2, d)


@structure
def arithmetic_line(rng, n, d):
    return np.outer(np.arange(n), np.arange(1, d + 1)).astype(float)


@structure
def sorted_one_column(rng, n, d):
    return np.sort(rng.random(n))[:, None]


@structure
def lattice(rng, n, d):
    """Points of a square grid of integers: all nearest distances are tied."""
    side = max(2, int(np.ceil(np.sqrt(n))))
    X = np.zeros((n, d))
    places = np.arange(n)
    X[:, 0] = places // side
    X[:, -1] = places % side
    return X


@structure
def small_integers(rng, n, d):
    return rng.integers(0, 3, (n, d)).astype(float)


@structure
def integers(rng, n, d):
    return rng.integers(-1_000, 1_000, (n, d))


@structure
def booleans(rng, n, d):
    return rng.random((n, d)) < 0.3


@structure
def one_hot(rng, n, d):
    return np.eye(d)[rng.integers(0, d, n)]


@structure
def simplex(rng, n, d):
    """Rows that are all equally far from each other, one for each column."""
    return np.eye(n)


@structure
def counts(rng, n, d):
    return rng.poisson(rng.gamma(0.3, 10.0, d), (n, d)).astype(float)


@structure
def cauchy(rng, n, d):
    return rng.standard_cauchy((n, d))


@structure
def log_normal(rng, n, d):
    return np.exp(3.0 * _normal(rng, n, d))


@structure
def one_outlier(rng, n, d):
    X = _normal(rng, n, d)
    X[rng.integers(n)] *= 1e6
    return X


@structure
def one_huge_cell(rng, n, d):
    X = _normal(rng, n, d)
    X[rng.integers(n), rng.integers(d)] = 1e12
    return X


@structure
def mixed_scales(rng, n, d):
    return _normal(rng, n, d) * 10.0 ** rng.uniform(-9.0, 9.0, d)


@structure
def extremely_mixed_scales(rng, n, d):
    return _normal(rng, n, d) * 10.0 ** rng.uniform(-150.0, 150.0, d)


@structure
def big_offset(rng, n, d):
    return _normal(rng, n, d) + 1e8


@structure
def far_beyond_precision(rng, n, d):
    """An offset at which rounding leaves a few values of each column."""
    return _normal(rng, n, d) + 1e16


@structure
def tiny_units(rng, n, d):
    return _normal(rng, n, d) * 1e-150


@structure
def huge_units(rng, n, d):
    return _normal(rng, n, d) * 1e150


@structure
def at_the_upper_end(rng, n, d):
    return _normal(rng, n, d) * 1e300


@structure
def at_the_lower_end(rng, n, d):
    return _normal(rng, n, d) * 1e-300


@structure
def subnormal(rng, n, d):
    return _normal(rng, n, d) * 1e-310


@structure
def two_far_clusters(rng, n, d):
    return _normal(rng, n, d) + 1e5 * (np.arange(n) % 2)[:, None]


@structure
def clusters_of_one_point(rng, n, d):
    return _normal(rng, 3, d)[np.arange(n) % 3] * 10.0


@structure
def clusters_and_singles(rng, n, d):
    X = 0.01 * _normal(rng, n, d)
    X[: max(1, n // 4)] += 100.0 * _normal(rng, max(1, n // 4), d)
    return X


@structure
def near_duplicates(rng, n, d):
    return duplicates(rng, n, d) + 1e-12 * _normal(rng, n, d)


@structure
def circle(rng, n, d):
    angle = np.arange(n) * 2.0 * np.pi / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


@structure
def spiral(rng, n, d):
    angle = np.linspace(1.0, 15.0, n)
    return np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])


@structure
def sphere(rng, n, d):
    X = _normal(rng, n, d)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@structure
def random_walk(rng, n, d):
    return np.cumsum(_normal(rng, n, d), axis=0)


@structure
def ties(rng, n, d):
    return np.round(_normal(rng, n, d), 1)


@structure
def mirrored(rng, n, d):
    """Rows and their negatives."""
    half = _normal(rng, (n + 1) // 2, d)
    return np.vstack([half, -half])[:n]


@structure
def single_precision(rng, n, d):
    return _normal(rng, n, d).astype(np.float32)


@structure
def many_columns(rng, n, d):
    return _normal(rng, n, 40 * d)


@structure
def one_column(rng, n, d):
    return _normal(rng, n, 1)


@structure
def one_column_of_two_values(rng, n, d):
    return (np.arange(n) % 2).astype(float)[:, None]


@structure
def gaps(rng, n, d):
    X = smooth_sheet(rng, n, d)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@structure
def gaps_in_integers(rng, n, d):
    X = rng.integers(0, 3, (n, d)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@structure
def sparse_cells(rng, n, d):
    return np.where(rng.random((n, d)) < 0.1, _normal(rng, n, d), 0.0)

"""Linear algebra against loops and NumPy."""

import numpy as np
import pytest
from differences import naive_sqdist

from twofold.numerics.linalg import (
    fix_signs,
    k_smallest,
    n_leading_axes,
    principal_axes,
    rank_up_to,
    shifted_exp,
    solve_psd,
    spatial_median,
    sqdist,
)


@pytest.mark.parametrize("n_columns", [1, 3, 5, 20])
def test_sqdist_equals_a_loop(n_columns):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((6, n_columns)), rng.standard_normal((4, n_columns))
    np.testing.assert_allclose(sqdist(A, B), naive_sqdist(A, B), rtol=1e-12)


@pytest.mark.parametrize("n_columns", [2, 20])
def test_sqdist_survives_an_offset(n_columns):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((6, n_columns)), rng.standard_normal((4, n_columns))
    np.testing.assert_allclose(sqdist(A + 1e8, B + 1e8), naive_sqdist(A, B), atol=1e-5)


def test_k_smallest():
    values = np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(k_smallest(values, 2), [[1, 3], [0, 1]])
    np.testing.assert_array_equal(k_smallest(values, 9), [[0, 1, 2, 3]] * 2)


@pytest.mark.parametrize("shape", [(30, 5), (5, 30)])
def test_principal_axes_equal_svd(shape):
    X = np.random.default_rng(1).standard_normal(shape)
    X -= X.mean(axis=0)
    axes, variances = principal_axes(X, 3)
    _, singular, rows = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(variances, singular[:3] ** 2 / len(X), rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(axes * rows[:3], axis=1)), 1.0, rtol=1e-10)
    assert (axes[np.arange(3), np.abs(axes).argmax(axis=1)] > 0.0).all()


def test_principal_axes_of_a_line():
    X = np.outer(np.linspace(-1, 1, 5), np.ones(9))
    axes, variances = principal_axes(X, 2)
    assert variances[1] == 0.0
    assert not axes[1].any()


@pytest.mark.parametrize("shape", [(30, 2), (2, 30)])
def test_more_principal_axes_than_directions(shape):
    X = np.random.default_rng(1).standard_normal(shape)
    axes, variances = principal_axes(X, 4)
    few, few_variances = principal_axes(X, 2)
    np.testing.assert_array_equal(axes[:2], few)
    np.testing.assert_array_equal(variances[:2], few_variances)
    assert not axes[2:].any()
    assert not variances[2:].any()


def test_solve_psd():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((6, 6))
    B = rng.standard_normal((6, 2))
    np.testing.assert_allclose(A @ A.T @ solve_psd(A @ A.T, B), B, rtol=1e-8)
    singular = np.outer(B[:, 0], B[:, 0])
    np.testing.assert_allclose(singular @ solve_psd(singular, B[:, :1]), B[:, :1], rtol=1e-5)
    assert not solve_psd(np.zeros((3, 3)), np.ones((3, 1))).any()


def test_the_smallest_of_many_columns():
    values = np.random.default_rng(0).permutation(40 * 1000).reshape(40, 1000).astype(float)
    for k in (2, 100, 150):
        expected = np.sort(np.argsort(values, axis=1)[:, :k], axis=1)
        np.testing.assert_array_equal(k_smallest(values, k), expected)
    np.testing.assert_array_equal(k_smallest(values, 1)[:, 0], values.argmin(axis=1))


@pytest.mark.parametrize("shape", [(30, 5), (5, 30)])
def test_axes_beyond_the_rank_are_zero(shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
    axes, variances = principal_axes(X, 4)
    assert (variances[:2] > 0.01).all()
    assert (variances[2:] == 0.0).all()
    np.testing.assert_allclose(axes[:2] @ axes[:2].T, np.eye(2), atol=1e-12)


def test_exponentials_are_shifted_by_the_largest_of_a_row():
    log_weights = np.array([[-1e3, -1e3 - 2.0, -2e3], [700.0, 710.0, 669.9], [-np.inf] * 3])
    expected = [[1.0, np.exp(-2.0), 0.0], [np.exp(-10.0), 1.0, 0.0], [0.0] * 3]
    weights, shift = shifted_exp(log_weights)
    np.testing.assert_array_equal(shift, [-1e3, 710.0, -np.inf])
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    weights, _ = shifted_exp(np.array([[0.0, -39.0, -41.0]]))
    assert weights[0, 1] == pytest.approx(np.exp(-39.0))
    assert weights[0, 2] == 0.0


def test_signs_are_those_of_the_largest_entries():
    Z = np.array([[1.0, -1.0, 0.0], [-3.0, 0.5, 2.0]])
    np.testing.assert_array_equal(fix_signs(Z), Z * [-1.0, -1.0, 1.0])


def test_the_spatial_median_has_the_least_mean_distance():
    rng = np.random.default_rng(3)
    X = np.vstack([rng.standard_normal((30, 3)), [[1e6, 0.0, 0.0]]])
    center = spatial_median(X)
    directions = (X - center) / np.linalg.norm(X - center, axis=1, keepdims=True)
    assert np.abs(directions.mean(axis=0)).max() < 1e-3  # the gradient of the mean distance
    assert np.abs(center).max() < 1.0
    on_a_row = spatial_median(np.array([[0.0], [1.0], [2.0]]))
    assert on_a_row[0] == pytest.approx(1.0)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_ranks_are_counted_up_to_a_bound(rank):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, rank)) @ rng.standard_normal((rank, 8))
    assert rank_up_to(X, 5) == rank
    assert rank_up_to(X, 2) == min(rank, 2)
    assert rank_up_to(1e-200 * X, 5) == rank


def test_axes_that_hold_nearly_all_variance():
    variances = np.array([90.0, 8.0, 1.5, 0.4, 0.1])
    assert n_leading_axes(variances, 100.0, 1) == 3  # 98 % and 99.5 %
    assert n_leading_axes(variances[:2], 98.0, 1) == 2
    assert n_leading_axes(np.array([100.0, 0.0]), 100.0, 1) == 1
    assert n_leading_axes(variances, 100.0, 4) == 4


def test_solutions_of_nearly_singular_systems_are_hardly_damped():
    rng = np.random.default_rng(4)
    vectors = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    A = vectors * np.append(np.ones(7), 0.0) @ vectors.T
    A = 0.5 * (A + A.T) - 1e-15 * np.eye(8)
    B = A @ rng.standard_normal((8, 2))
    np.testing.assert_allclose(A @ solve_psd(A, B), B, atol=1e-11)
    np.testing.assert_allclose(1e250 * A @ solve_psd(1e250 * A, B), B, atol=1e-11)

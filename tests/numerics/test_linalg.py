"""Linear algebra against loops and NumPy."""

import numpy as np
import pytest
from differences import naive_sqdist

from twofold.numerics.linalg import k_smallest, principal_axes, solve_psd, sqdist


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

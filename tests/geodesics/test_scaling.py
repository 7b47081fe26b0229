"""Classical and landmark scaling of geodesic distances."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from twofold.datasets import make_s_curve
from twofold.geodesics.graph import knn_graph
from twofold.geodesics.scaling import (
    classical_scaling,
    elbow,
    landmark_scaling,
    residual_variances,
    squared_geodesics,
)


@pytest.fixture(scope="module")
def curve():
    return make_s_curve(250, noise=0.02, random_state=0)[0]


def difference_after_alignment(Z, reference):
    rotation, _ = orthogonal_procrustes(Z, reference)
    return np.abs(Z @ rotation - reference).max() / np.abs(reference).max()


def test_implicit_centering_is_that_of_the_matrix(curve, monkeypatch):
    squares = squared_geodesics(knn_graph(curve, 8), None, np.float64)
    explicit = classical_scaling(squares, 3)
    monkeypatch.setattr("twofold.geodesics.scaling.DENSE_EIGEN", 10)
    np.testing.assert_allclose(classical_scaling(squares, 3), explicit, atol=1e-9)
    single = classical_scaling(squares.astype(np.float32), 3)
    np.testing.assert_allclose(single, explicit, atol=1e-5)


def test_euclidean_distances_give_the_points_back():
    X = np.random.default_rng(0).standard_normal((40, 3))
    Z = classical_scaling(cdist(X, X, "sqeuclidean"), 5)
    assert difference_after_alignment(Z[:, :3], X - X.mean(axis=0)) < 1e-10
    assert np.abs(Z[:, 3:]).max() < 1e-6
    landmarks = np.arange(0, 40, 4)
    Z = landmark_scaling(cdist(X[landmarks], X, "sqeuclidean"), landmarks, 3)
    assert difference_after_alignment(Z, X - X.mean(axis=0)) < 1e-10


def test_residual_variance_is_one_minus_the_squared_correlation(curve):
    squares = squared_geodesics(knn_graph(curve, 8), None, np.float64)
    Z = classical_scaling(squares, 3)
    found = residual_variances(squares, None, Z)
    for d in (1, 2, 3):
        distances = cdist(Z[:, :d], Z[:, :d])
        expected = 1.0 - np.corrcoef(np.sqrt(squares).ravel(), distances.ravel())[0, 1] ** 2
        assert found[d - 1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("variances", "dimension"),
    [([0.3, 0.01, 0.01, 0.009], 2), ([1e-9, 0, 0, 0], 1), ([0.8, 0.6, 0.4, 0.05, 0.05], 4)],
)
def test_elbow(variances, dimension):
    assert elbow(np.array(variances)) == dimension


def test_no_convergence_is_said(monkeypatch):
    monkeypatch.setattr("twofold.geodesics.scaling.DENSE_EIGEN", 10)
    monkeypatch.setattr("twofold.geodesics.scaling.MOST_RESTARTS", 1)
    X = np.random.default_rng(0).standard_normal((300, 40))
    with pytest.warns(UserWarning, match="eigenvectors converged"):
        Z = classical_scaling(cdist(X, X, "sqeuclidean"), 5)
    assert np.isfinite(Z).all()


def test_zero_lengths_are_paths():
    """Duplicates are linked by stored zeros, over which paths lead."""
    X = np.repeat(np.arange(4.0), 3)[:, None]
    graph = csr_array(knn_graph(X, 3))
    squares = squared_geodesics(graph, None, np.float64)
    np.testing.assert_allclose(np.sqrt(squares), np.abs(X - X.T))

"""t-SNE as a start, against naive sums and scikit-learn."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE, trustworthiness

from twofold.numerics.linalg import sqdist
from twofold.numerics.neighbors import nearest
from twofold.numerics.sums.grid import StudentField
from twofold.starts import tsne
from twofold.starts.initializers import tsne as initializer

DIGITS = load_digits().data


def points(n, n_components=2, extent=20.0):
    return np.random.default_rng(0).uniform(-extent, extent, size=(n, n_components))


def naive_gradient(P, Z, exaggeration):
    W = 1.0 / (1.0 + sqdist(Z, Z))
    np.fill_diagonal(W, 0.0)
    A = (exaggeration * P - W / W.sum()) * W
    return 4.0 * (A.sum(axis=1)[:, None] * Z - A @ Z)


def divergence(P, Z):
    W = 1.0 / (1.0 + sqdist(Z, Z))
    np.fill_diagonal(W, 0.0)
    kept = P > 0.0
    return float((P[kept] * np.log(P[kept] * W.sum() / W[kept])).sum())


def neighbors_of(X):
    return tsne.affinities(X, nearest(X, None, 90)[0])


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_all_pairs_match_a_naive_gradient(n_components, loops, monkeypatch):
    if not loops:
        monkeypatch.setattr(tsne, "compiled", lambda *_: None)
    P, Z = neighbors_of(DIGITS[:400]), points(400, n_components)
    found = tsne._gradient(P, tsne._all_pairs)(Z, 12.0)
    expected = naive_gradient(P.toarray(), Z, 12.0)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("n_components", [1, 2])
def test_the_field_matches_a_naive_gradient(n_components):
    P, Z = neighbors_of(DIGITS), points(len(DIGITS), n_components)
    found = tsne._gradient(P, tsne._field)(Z, 1.0)
    expected = naive_gradient(P.toarray(), Z, 1.0)
    assert np.linalg.norm(found - expected) < 0.05 * np.linalg.norm(expected)


def test_sums_of_a_field_reach_across_the_map():
    Z = np.array([[0.0, 0.0], [300.0, 0.0], [0.0, 40.0]])
    sums, slopes = StudentField(Z).sums_and_slopes()
    naive = 1.0 / (1.0 + sqdist(Z, Z))
    np.testing.assert_allclose(sums, naive.sum(axis=1), atol=0.02)
    assert np.abs(slopes).max() < 0.1


def test_few_iterations_reach_the_divergence_of_scikit_learn():
    X = DIGITS[:600] / 16.0
    P = neighbors_of(X).toarray()
    ours = tsne.few_points(X, 2)
    theirs = TSNE(init="pca", random_state=0, max_iter=1_000).fit_transform(X).astype(float)
    assert divergence(P, ours) < 1.1 * divergence(P, theirs)


def test_many_points_grow_from_the_map_of_few(monkeypatch):
    monkeypatch.setattr("twofold.starts.initializers.N_COARSE", 500)
    monkeypatch.setattr("twofold.starts.coarse_map.N_COARSE", 500)
    many = initializer(DIGITS, 2, np.random.default_rng(0))
    few = tsne.few_points(DIGITS, 2)
    assert many.shape == (len(DIGITS), 2)
    assert trustworthiness(DIGITS, many) > trustworthiness(DIGITS, few) - 0.01


def test_degenerate_points():
    for X in (np.ones((5, 3)), np.arange(2.0)[:, None], np.repeat(DIGITS[:40], 3, axis=0)):
        Z = tsne.few_points(X, 2)
        assert Z.shape == (len(X), 2)
        assert np.isfinite(Z).all()

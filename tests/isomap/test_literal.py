"""Supervised Isomap to the letter, against loops; the linked graph; the map chosen by labels."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, floyd_warshall
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold import AgglomerativeIsomap, SupervisedIsomap
from twofold.geodesics.dissimilarities import Euclidean, Precomputed, Supervised
from twofold.isomap.out_of_sample import _right_votes, ridge_or_network_by_labels
from twofold.maps import GRNN, KernelRidgeMap

joined = pytest.mark.filterwarnings("ignore:.*joined at their closest points.*:UserWarning")
saturated = pytest.mark.filterwarnings("ignore:.*have exponents.*:UserWarning")

LITERAL = {"beta": "literal", "graph": "knn", "out_of_sample": "krr", "cross_fit": "embedding"}
"""The method of Orsenigo & Vercellis (2012)."""


def paper_embedding(X, y, d, h, alpha):
    """Section 3 and procedure A-Isomap of section 2.1 as printed, by loops."""
    m, e = len(X), cdist(X, X)
    beta = e.sum() / (m * (m - 1))
    same = y[:, None] == y
    q = np.sqrt(np.where(same, 1.0 - np.exp(-(e**2) / beta), np.exp(e**2 / beta) - alpha))
    np.fill_diagonal(q, 0.0)
    edge = np.zeros((m, m), dtype=bool)
    for i in range(m):
        nearest = [j for j in np.argsort(q[i], kind="stable") if j != i][:h]
        edge[i, nearest] = edge[nearest, i] = True
    while True:
        n_pieces, piece = connected_components(edge, directed=False)
        if n_pieces == 1:
            break
        apart = np.where(piece[:, None] != piece, q, np.inf)
        i, j = np.unravel_index(apart.argmin(), apart.shape)
        edge[i, j] = edge[j, i] = True
    g = floyd_warshall(np.where(edge, q, np.inf))
    B = np.eye(m) - 1.0 / m
    values, vectors = np.linalg.eigh(-0.5 * B @ g**2 @ B)
    return vectors[:, ::-1][:, :d] * np.sqrt(values[::-1][:d])


def untied():
    """Two of the iris classes, with noise that leaves no equal distances."""
    X, y = load_iris(return_X_y=True)
    return X[50:] + 0.1 * np.random.default_rng(0).standard_normal((100, 4)), y[50:]


def up_to_signs(Z, reference):
    signs = np.sign((Z * reference).sum(axis=0))
    return np.abs(Z * signs - reference).max() / np.abs(reference).max()


class TestLiteral:
    @joined
    @pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
    def test_embedding_is_that_of_the_printed_formulas(self, alpha):
        X, y = untied()
        expected = paper_embedding(X, y, 3, 5, alpha)
        model = SupervisedIsomap(3, n_neighbors=5, alpha=alpha, **LITERAL).fit(X, y)
        assert up_to_signs(model.embedding_, expected) < 1e-6
        D = cdist(X, X)
        assert model.beta_ == pytest.approx(D.sum() / (len(X) * (len(X) - 1)))
        given = clone(model).set_params(dissimilarity="precomputed").fit(D, y)
        assert up_to_signs(given.embedding_, expected) < 1e-6
        unscaled = clone(model).set_params(beta="auto", scale_distances=False).fit(X, y)
        np.testing.assert_array_equal(unscaled.embedding_, model.embedding_)
        scaled = clone(model).set_params(beta="auto").fit(X, y)
        assert up_to_signs(scaled.embedding_, expected) > 0.01

    @joined
    @saturated
    def test_it_depends_on_the_unit_and_the_default_does_not(self):
        X, y = untied()
        small, large = (
            SupervisedIsomap(2, n_neighbors=5, **LITERAL).fit(factor * X, y)
            for factor in (1.0, 3.0)
        )
        assert large.beta_ == pytest.approx(3.0 * small.beta_)
        assert up_to_signs(large.embedding_, small.embedding_) > 0.1
        small, large = (SupervisedIsomap().fit(factor * X, y) for factor in (1.0, 3.0))
        np.testing.assert_allclose(large.embedding_, small.embedding_, atol=1e-8)

    def test_tiny_units_are_reported(self):
        X, y = load_iris(return_X_y=True)
        with pytest.warns(UserWarning, match=r"close to 0 \(beta=2.54e-06\).*scale_distances=True"):
            SupervisedIsomap(beta="literal", random_state=0).fit(1e-6 * X, y)

    @joined
    def test_classifiers_are_trained_on_the_embedding(self):
        X, y = load_iris(return_X_y=True)
        model = SupervisedIsomap(2, **LITERAL)
        Z = model.fit_transform(X, y)
        np.testing.assert_array_equal(Z, model.embedding_)
        assert not np.shares_memory(Z, model.embedding_)
        assert np.abs(Z - model.transform(X)).max() > 0.01
        assert model.fit_transform(X.astype(np.float32), y).dtype == np.float32
        plain = AgglomerativeIsomap(cross_fit="embedding")
        np.testing.assert_array_equal(plain.fit_transform(X), plain.embedding_)


class TestLinked:
    @pytest.mark.parametrize("wrap", [Euclidean, lambda X: Precomputed(cdist(X, X))])
    def test_nearest_of_another_class(self, wrap):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((80, 3)), rng.integers(0, 4, 80)
        D = np.where(y[:, None] == y, np.inf, cdist(X, X))
        found = Supervised(wrap(X), y).nearest_of_others()
        np.testing.assert_array_equal(found[:, 0], D.argmin(axis=1))

    def test_classes_apart_are_one_component(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2], 30)
        X = 9.0 * np.eye(3)[y] + rng.standard_normal((90, 3))
        model = SupervisedIsomap(2, n_neighbors=5)
        assert model.fit(X, y).n_pieces_ == 1
        assert model.set_params(graph="knn").fit(X, y).n_pieces_ == 3

    @joined
    def test_small_classes_need_it(self):
        """Ten classes of 24 rows, 8 dimensions: 91.3 against 82.7 percent right were measured."""
        X, y = load_digits(return_X_y=True)
        gains = []
        for seed in range(2):
            rng = np.random.default_rng(seed)
            rows = np.concatenate([rng.choice(np.flatnonzero(y == k), 24) for k in range(10)])
            rows = np.unique(rows)
            folds = StratifiedKFold(3, shuffle=True, random_state=seed)
            linked, usual = (
                cross_val_score(
                    make_pipeline(
                        StandardScaler(),
                        SupervisedIsomap(8, graph=graph, out_of_sample="krr"),
                        KNeighborsClassifier(5),
                    ),
                    X[rows],
                    y[rows],
                    cv=folds,
                ).mean()
                for graph in ("linked", "knn")
            )
            gains.append(linked - usual)
        assert np.mean(gains) > 0.03

    @joined
    def test_held_out_rows_are_reconstructed(self):
        """Digits in 8 dimensions: 0.45 was measured, -110 with the paper's graph."""
        X, y = load_digits(return_X_y=True)
        X = StandardScaler().fit_transform(X[:900])
        model = SupervisedIsomap(8, random_state=0).fit(X[:600], y[:600])
        assert model.score(X[600:]) > 0.3


def blobs(n_classes, n_rows, spread, seed=0):
    rng = np.random.default_rng(seed)
    centers = 3.0 * rng.standard_normal((n_classes, 20))
    y = np.repeat(np.arange(n_classes), n_rows)
    return centers[y] + spread * rng.standard_normal((len(y), 20)), y


class TestMapByLabels:
    def test_votes(self):
        rng = np.random.default_rng(0)
        Z, labels = rng.standard_normal((50, 2)), rng.choice(list("abc"), 50)
        D = cdist(Z, Z)
        np.fill_diagonal(D, np.inf)
        expected = []
        for i in range(50):
            near = labels[np.argsort(D[i])[:5]]
            counts = [np.sum(near == label) for label in "abc"]
            expected.append("abc"[int(np.argmax(counts))] == labels[i])
        assert _right_votes(Z, labels, None).tolist() == expected

    def test_compact_classes_in_a_plane_take_the_network(self):
        X, y = blobs(15, 20, 1.0)
        model = SupervisedIsomap().fit(X, y)
        assert isinstance(model.encoder_, GRNN)

    @joined
    def test_overlapping_classes_take_the_ridge_map(self):
        X, y = load_wine(return_X_y=True)
        model = SupervisedIsomap(4).fit(StandardScaler().fit_transform(X), y)
        assert isinstance(model.encoder_, KernelRidgeMap)

    def test_linear_latents_copies_and_many_rows_take_the_ridge_map(self, monkeypatch):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((200, 10))
        Z = X[:, :2] + 0.3 * rng.standard_normal((200, 2))
        y = (Z[:, 0] > 0.0) + 2 * (Z[:, 1] > 0.0)
        twice = np.vstack([X, X]), np.vstack([Z, Z]), np.concatenate([y, y])
        for inputs, targets, labels in ((X, Z, y), twice, (X[:5], Z[:5], y[:5])):
            chosen = ridge_or_network_by_labels(inputs, targets, labels, "auto", rng)
            assert isinstance(chosen, KernelRidgeMap)
            assert len(chosen.centers_) == len(inputs)
        X, y = blobs(15, 20, 1.0)
        Z = SupervisedIsomap().fit(X, y).embedding_
        assert isinstance(ridge_or_network_by_labels(X, Z, y, "auto", rng), GRNN)
        monkeypatch.setattr("twofold.isomap.out_of_sample.MOST_COMPARED", 100)
        assert isinstance(ridge_or_network_by_labels(X, Z, y, "auto", rng), KernelRidgeMap)

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from twofold.geodesics.dissimilarities import Dissimilarities, Euclidean, Precomputed, Supervised
from twofold.geodesics.graph import connect_components, knn_graph


@pytest.fixture(params=[2, 20], ids=["few columns", "many columns"])
def labeled(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, request.param))
    return X, rng.integers(0, 3, 60)


def equation_1(D, y, alpha, beta):
    """Orsenigo & Vercellis (2012), Eq. (1), as printed."""
    t = np.square(D) / beta
    return np.sqrt(np.where(y[:, None] == y, 1.0 - np.exp(-t), np.exp(t) - alpha))


def mean_distance(D):
    return D.sum() / (len(D) * (len(D) - 1))


def everything(points, k=4):
    """All lengths and the distances to the nearest."""
    i, j = np.divmod(np.arange(points.n_samples**2), points.n_samples)
    lengths = points.lengths(i, j).reshape(points.n_samples, -1)
    return lengths, np.take_along_axis(lengths, points.neighbors(k), axis=1)


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("wrap", [Euclidean, lambda X: Precomputed(cdist(X, X))])
def test_equation_1(labeled, alpha, wrap):
    X, y = labeled
    points = Supervised(wrap(X), y, alpha=alpha)
    assert isinstance(points, Dissimilarities)
    D = cdist(X, X)
    expected = equation_1(D / mean_distance(D), y, alpha, 1.0)
    lengths, nearest = everything(points)
    np.testing.assert_allclose(lengths, expected, rtol=1e-6, atol=1e-7)
    assert points.saturation == 0.0
    np.fill_diagonal(expected, np.inf)
    np.testing.assert_allclose(
        np.sort(nearest, axis=1), np.sort(expected, axis=1)[:, :4], rtol=1e-6
    )
    order = points.farness(np.arange(60)).argsort(axis=1)
    assert (np.diff(np.take_along_axis(lengths, order, axis=1), axis=1) > -1e-9).all()


def test_the_paper_in_the_datas_own_units(labeled):
    X, y = labeled
    D = cdist(X, X)
    points = Supervised(Euclidean(X), y, alpha=0.3, unit=1.0)
    assert points.beta == pytest.approx(mean_distance(D))
    expected = equation_1(D, y, 0.3, mean_distance(D))
    np.testing.assert_allclose(everything(points)[0], expected, rtol=1e-6, atol=1e-7)


def test_saturated_dissimilarities_are_finite_and_ranked():
    X = np.array([0.0, 50.0, 51.0, 52.5, 1000.0, 2000.0])[:, None]
    points = Supervised(Euclidean(X), np.array([0, 0, 0, 0, 1, 1]), beta=10.0, unit=1.0)
    lengths, _ = everything(points, 1)
    assert np.isfinite(lengths).all()
    assert (lengths[0, 1:4] == 1.0).all()  # no longer told apart
    assert points.saturation > 0.5
    # yet the nearest of the class is the nearest in distance, and so in the other class
    assert points.neighbors(1).ravel().tolist() == [1, 2, 1, 2, 5, 4]
    alone = Supervised(Euclidean(X), np.arange(6), beta=10.0, unit=1.0)
    assert alone.neighbors(1).ravel().tolist() == [1, 2, 1, 2, 3, 4]


def test_bridges_where_exponents_are_huge():
    """With exponents from 900 to 1e6 the bridge is the closest pair, and all lengths are finite."""
    X = np.array([0.0, 1.0, 2.0, 103.0, 102.0, 101.0, 1100.0])[:, None]
    y = np.array([0, 0, 0, 1, 1, 1, 1])
    points = Supervised(Euclidean(X), y, beta=10.0, unit=1.0)
    graph, n_pieces = connect_components(knn_graph(points, 2), points)
    assert n_pieces == 2
    assert np.argwhere(graph[:3, 3:].toarray()).tolist() == [[2, 2]]
    farness = points.farness(np.arange(7))
    assert np.isfinite(farness).all()
    assert farness[0, 3:].argsort().tolist() == [2, 1, 0, 3]
    assert farness[6, 3:6].argsort().tolist() == [0, 1, 2]  # of its own class


def test_short_distances_keep_their_digits():
    X = np.array([0.0, 1e-9, 1.0])[:, None]
    points = Supervised(Euclidean(X), np.zeros(3), beta=1.0, unit=1.0)
    assert points.lengths(np.array([0]), np.array([1]))[0] == pytest.approx(1e-9, rel=1e-12)


def test_the_graph_joins_classes_at_their_closest_points(labeled):
    X, y = labeled
    points = Supervised(Euclidean(X + 20.0 * y[:, None]), y)
    graph, n_pieces = connect_components(knn_graph(points, 5), points)
    lengths = everything(points)[0]
    assert n_pieces >= 3
    for one, two in ((0, 1), (1, 2)):
        between = lengths[np.ix_(y == one, y == two)]
        added = graph[y == one][:, y == two]
        assert added.nnz == 1
        assert added.data[0] == pytest.approx(between.min())


def test_a_class_of_one():
    X = np.arange(6.0)[:, None]
    points = Supervised(Euclidean(X), np.array([0, 0, 0, 0, 0, 1]))
    neighbors = points.neighbors(5)
    assert np.array_equal(np.sort(neighbors, axis=1)[5], np.arange(5))


def test_many_samples_of_many_features_are_searched_by_cells(monkeypatch):
    X = np.random.default_rng(0).standard_normal((3_000, 20))
    exact = Euclidean(X).neighbors(5)
    monkeypatch.setattr("twofold.geodesics.dissimilarities.MOST_COMPARED", 10**6)
    monkeypatch.setattr("twofold.numerics.neighbors.MOST_COMPARED", 10**6)
    found = Euclidean(X).neighbors(5)
    assert found.shape == exact.shape
    assert np.mean([len(set(a) & set(b)) for a, b in zip(found, exact, strict=True)]) > 4.5

import numpy as np
import pytest

from twofold.numerics import neighbors
from twofold.numerics.neighbors import CellIndex, nearest


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [2, 9])
@pytest.mark.parametrize("k", [1, 4, 50])
def test_nearest_equals_a_sort_of_all_distances(dtype, n_features, k):
    rng = np.random.default_rng(0)
    points, queries = (rng.standard_normal((n, n_features)).astype(dtype) for n in (50, 30))
    distances = np.square(queries[:, None] - points).sum(axis=2)
    found, squares = nearest(points, queries, k)
    np.testing.assert_array_equal(found, np.argsort(distances, axis=1)[:, :k])
    np.testing.assert_allclose(squares, np.sort(distances, axis=1)[:, :k], atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [5, 79])
def test_points_leave_themselves_out_and_blocks_do_not_matter(dtype, k, monkeypatch):
    X = np.random.default_rng(0).standard_normal((80, 3)).astype(dtype)
    found, squares = nearest(X, None, k)
    assert (found != np.arange(80)[:, None]).all()
    expected = np.square(X[:, None] - X[found]).sum(axis=2)
    np.testing.assert_allclose(squares, expected, rtol=1e-5, atol=1e-5)
    monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 5_000)
    np.testing.assert_array_equal(nearest(X, None, k, n_jobs=2)[0], found)


def test_cells_serve_where_they_are_allowed(monkeypatch):
    monkeypatch.setattr("twofold.numerics.neighbors.MOST_COMPARED", 1_000)
    monkeypatch.setattr("twofold.numerics.neighbors.POINTS_PER_CELL", 50)
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((600, 3)), rng.standard_normal((40, 3))
    exact, _ = nearest(X, queries, 3)
    by_cells, squares = nearest(X, queries, 3, rng=rng)
    assert (np.sort(by_cells) == np.sort(exact)).mean() > 0.95
    expected = np.square(queries[:, None] - X[by_cells]).sum(axis=2)
    np.testing.assert_allclose(squares, expected, rtol=1e-4, atol=1e-5)
    own, squares = nearest(X, None, 3, rng=rng)
    expected = np.square(X[:, None] - X[own]).sum(axis=2)
    np.testing.assert_allclose(squares, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("k", [2, 10, 40])
def test_insertions_match_the_partition(k, monkeypatch):
    values = np.random.default_rng(0).standard_normal((300, 600)).astype(np.float32)
    values[5, 100:] = np.inf
    inserted = neighbors._smallest(values, k)
    monkeypatch.setattr(neighbors, "compiled", lambda *_: None)
    for one, other in zip(inserted, neighbors._smallest(values, k), strict=True):
        np.testing.assert_array_equal(one, other)


def test_searches_do_not_depend_on_the_other_queries():
    """Among nearly equal points the last digit decides."""
    rng = np.random.default_rng(0)
    for points in (
        (rng.integers(0, 3, (20_000, 8)) / 3.0).astype(np.float32),
        np.repeat(rng.standard_normal((500, 12)), 20, axis=0).astype(np.float32),
    ):
        queries = points[rng.permutation(len(points))[:400]] + np.float32(1e-3)
        index = CellIndex.of(points, np.random.default_rng(0))
        together = index.search(queries, 8)[0]
        few = nearest(points, queries[:50], 8, by_row=True)[0]
        for row in range(50):
            one = queries[row : row + 1]
            np.testing.assert_array_equal(index.search(one, 8)[0][0], together[row])
            np.testing.assert_array_equal(nearest(points, one, 8, by_row=True)[0][0], few[row])

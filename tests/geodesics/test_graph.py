"""Neighbor graphs against naive loops, and the invariances they promise."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial.distance import cdist

from twofold.geodesics.dissimilarities import Precomputed
from twofold.geodesics.graph import (
    connect_components,
    default_mutual_neighbors,
    geodesic_distances,
    graph_of_neighbors,
    heat_affinity,
    knn_graph,
    mutual_graph,
    nearest_along,
    normalized_affinity,
)
from twofold.numerics.neighbors import nearest


def points(n_samples=40, n_features=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n_samples, n_features))


def edges(graph):
    """Return {(lower, higher): length}, stored zeros included."""
    entries = graph.tocoo()
    return {
        (int(i), int(j)): float(d)
        for i, j, d in zip(entries.row, entries.col, entries.data, strict=True)
        if i < j
    }


def naive_knn_edges(distances, n_neighbors):
    found = {}
    for i, row in enumerate(distances):
        others = sorted((d, j) for j, d in enumerate(row) if j != i)
        for d, j in others[:n_neighbors]:
            found[min(i, j), max(i, j)] = d
    return found


def naive_agglomeration(graph, distances):
    """Add the closest pair of different components, one at a time."""
    graph, added = graph.copy(), {}
    while True:
        n_components, labels = connected_components(graph, directed=False)
        if n_components == 1:
            return added
        between = np.where(labels[:, None] != labels, distances, np.inf)
        i, j = sorted(map(int, np.unravel_index(between.argmin(), between.shape)))
        added[i, j] = float(distances[i, j])
        graph = graph.tolil()
        graph[i, j] = graph[j, i] = distances[i, j]
        graph = graph.tocsr()


def assert_same_edges(actual, expected):
    assert actual.keys() == expected.keys()
    np.testing.assert_allclose(
        [actual[pair] for pair in expected], list(expected.values()), rtol=1e-12, atol=1e-14
    )


def assert_symmetric_without_loops(graph):
    entries = graph.tocoo()
    assert not np.any(entries.row == entries.col)
    np.testing.assert_array_equal(graph.toarray(), graph.toarray().T)
    assert len(edges(graph)) * 2 == graph.nnz


def naive_mutual_edges(distances, n_neighbors):
    """Grow mutual neighborhoods one neighbor at a time, by a search of six steps for each edge."""
    ranked = [[j for j in np.argsort(row) if j != i] for i, row in enumerate(distances)]
    usual = naive_knn_edges(distances, n_neighbors)
    accepted, root = {}, list(range(len(distances)))
    for (i, j), d in sorted(usual.items(), key=lambda edge: edge[1]):  # Kruskal
        if root[i] != root[j]:
            accepted[i, j] = d
            old = root[j]
            root = [root[i] if r == old else r for r in root]
    for k in range(1, n_neighbors + 1):
        before = dict(accepted)
        for (i, j), d in usual.items():
            if j not in ranked[i][:k] or i not in ranked[j][:k]:
                continue
            reached = {i}
            for _ in range(6):
                reached |= {b for pair in before for a, b in (pair, pair[::-1]) if a in reached}
            if k <= 5 or j in reached:
                accepted[i, j] = d
    return accepted


class TestMutualGraph:
    @pytest.mark.parametrize("n_neighbors", [1, 4, 9])
    def test_equals_naive_loops(self, n_neighbors):
        X = np.random.default_rng(3).uniform(size=(60, 2)) * [30.0, 1.0]
        distances = cdist(X, X)
        graph, n_pieces = mutual_graph(X, nearest(X, None, n_neighbors)[0])
        expected = naive_mutual_edges(distances, n_neighbors)
        assert n_pieces == connected_components(knn_graph(X, n_neighbors))[0]
        joined = {pair: d for pair, d in edges(graph).items() if pair not in expected}
        assert len(joined) == n_pieces - 1
        assert_same_edges(edges(graph), expected | joined)
        assert_symmetric_without_loops(graph)
        assert connected_components(graph)[0] == 1

    def test_leaves_out_a_bridge_between_two_sheets(self):
        # Two strips, and one sample between them that is a mutual neighbor of samples of both
        along = np.arange(0.0, 60.0)
        low, high = (
            np.column_stack([np.tile(along, 3), np.repeat([y, y + 1, y + 2], 60)])
            for y in (0.0, 5.0)
        )
        rest = np.column_stack([np.full(8, 60.0), np.arange(8.0)])  # joins the strips at one end
        X = np.vstack([low, high, rest, [[5.1, 3.4]]])
        X += np.random.default_rng(0).uniform(-0.1, 0.1, X.shape)
        at, opposite = 60 * 2 + 5, 180 + 5
        path = geodesic_distances(mutual_graph(X, nearest(X, None, 12)[0])[0], indices=[at])
        short = geodesic_distances(knn_graph(X, 12), indices=[at])
        assert short[0, opposite] < 5.0
        assert path[0, opposite] > 90.0

    @pytest.mark.parametrize(
        ("n_samples", "expected"), [(2, 1), (8, 7), (50, 10), (120, 15), (160, 20), (9_999, 20)]
    )
    def test_few_samples_have_fewer_neighbors(self, n_samples, expected):
        assert default_mutual_neighbors(n_samples) == expected

    def test_compiled_growth_is_the_same(self, monkeypatch):
        path_loops = pytest.importorskip("twofold.geodesics.path_loops")
        X = points(400)
        neighbors = nearest(X, None, 12)[0]
        by_products, _ = mutual_graph(X, neighbors)
        monkeypatch.setattr("twofold.geodesics.graph.compiled", lambda *_: path_loops)
        by_searches, _ = mutual_graph(X, neighbors)
        assert by_products.nnz < graph_of_neighbors(X, neighbors).nnz  # some were refused
        assert (by_products != by_searches).nnz == 0

    def test_links_duplicates(self):
        X = np.repeat(points(10), 8, axis=0)
        graph, _ = mutual_graph(X, nearest(X, None, 9)[0])
        assert edges(graph)[0, 1] == 0.0
        assert np.isfinite(geodesic_distances(graph)).all()


@pytest.mark.parametrize("loops", [False, True])
def test_nearest_along_paths_are_the_first_of_all(loops, monkeypatch):
    if loops:
        path_loops = pytest.importorskip("twofold.geodesics.path_loops")
        monkeypatch.setattr("twofold.geodesics.graph.compiled", lambda *_: path_loops)
    X = np.vstack([points(60), points(5)])  # with duplicates
    graph, _ = mutual_graph(X, nearest(X, None, 6)[0])
    found, lengths = nearest_along(graph, 9)
    paths = dijkstra(graph)
    for row in range(65):
        assert row not in found[row]
        assert len(set(found[row])) == 9
        np.testing.assert_allclose(lengths[row], paths[row, found[row]], rtol=1e-12)
        np.testing.assert_allclose(lengths[row], np.sort(np.delete(paths[row], row))[:9])


class TestKnnGraph:
    @pytest.mark.parametrize("n_features", [1, 3, 30])
    @pytest.mark.parametrize("n_neighbors", [1, 4, 39])
    def test_equals_naive_loops(self, n_features, n_neighbors):
        X = points(n_features=n_features)
        graph = knn_graph(X, n_neighbors)
        assert isinstance(graph, csr_array)
        assert graph.indices.dtype == graph.indptr.dtype == np.int32
        assert_symmetric_without_loops(graph)
        assert_same_edges(edges(graph), naive_knn_edges(cdist(X, X), n_neighbors))

    def test_precomputed_equals_euclidean(self):
        X = points()
        graph = knn_graph(Precomputed(cdist(X, X)), 4)
        assert_same_edges(edges(graph), edges(knn_graph(X, 4)))

    @pytest.mark.parametrize("n_features", [2, 20])
    @pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
    def test_duplicates_keep_their_zero_edges(self, n_features, metric):
        X = np.repeat(points(10, n_features), 2, axis=0)
        graph = knn_graph(X if metric == "euclidean" else Precomputed(cdist(X, X)), 2)
        assert_symmetric_without_loops(graph)
        lengths = edges(graph)
        assert all(lengths[i, i + 1] == 0.0 for i in range(0, 20, 2))

    def test_all_samples_equal(self):
        graph = knn_graph(np.full((8, 2), 3.3), 3)
        assert_symmetric_without_loops(graph)
        assert graph.nnz >= 8 * 3
        assert not graph.data.any()

    @pytest.mark.parametrize("n_features", [3, 30])
    def test_far_from_the_origin(self, n_features):
        # Multiples of 2^-20 survive the offset exactly, so both must see the same distances.
        X = np.round(points(n_features=n_features) * 2**20) / 2**20
        assert edges(knn_graph(X + 2.0**27, 4)) == edges(knn_graph(X, 4))

    def test_scaling_by_a_power_of_two_is_exact(self):
        X = points(n_features=20)
        graph, scaled = knn_graph(X, 4), knn_graph(2.0**40 * X, 4)
        np.testing.assert_array_equal(graph.indices, scaled.indices)
        np.testing.assert_array_equal(2.0**40 * graph.data, scaled.data)

    def test_order_of_rows_does_not_matter(self):
        X = points()
        order = np.random.default_rng(1).permutation(len(X))
        permuted = knn_graph(X[order], 4).toarray()
        np.testing.assert_array_equal(permuted, knn_graph(X, 4).toarray()[np.ix_(order, order)])

    def test_blocks_and_threads_do_not_matter(self, monkeypatch):
        X = points()
        expected = knn_graph(X, 4).toarray()
        monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 8 * 5)
        np.testing.assert_array_equal(knn_graph(X, 4, n_jobs=2).toarray(), expected)

    @pytest.mark.parametrize("n_neighbors", [-1, 0, 5, 6])
    def test_n_neighbors_out_of_range(self, n_neighbors):
        with pytest.raises(ValueError, match=rf"n_neighbors={n_neighbors} .*n_samples=5"):
            knn_graph(points(5), n_neighbors)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="X contains NaN"):
            knn_graph([[np.nan], [0.0], [1.0]], 1)


class TestConnectComponents:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("n_features", [1, 2, 20])
    @pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
    def test_equals_naive_agglomeration(self, seed, n_features, metric):
        X = points(60, n_features, seed)
        distances = cdist(X, X)
        given = X if metric == "euclidean" else Precomputed(distances)
        graph = knn_graph(given, 1)
        before = graph.copy()
        joined, n_components = connect_components(graph, given)
        expected = naive_agglomeration(graph, distances)
        assert n_components == len(expected) + 1 > 5
        assert_symmetric_without_loops(joined)
        assert_same_edges(edges(joined), edges(graph) | expected)
        np.testing.assert_array_equal(graph.toarray(), before.toarray())

    @pytest.mark.parametrize("make", [csr_array, csr_matrix])
    def test_without_any_edge_it_is_the_minimum_spanning_tree(self, make):
        X = points(30, 2)
        joined, n_components = connect_components(make((30, 30)), X)
        assert n_components == 30
        assert_same_edges(edges(joined), naive_agglomeration(csr_array((30, 30)), cdist(X, X)))

    def test_far_clusters_are_joined_by_their_closest_points(self):
        X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [100.0], [101.0]])
        graph, n_components = connect_components(knn_graph(X, 1), X)
        assert n_components == 3
        assert edges(graph)[2, 3] == 8.0
        assert edges(graph)[5, 6] == 88.0

    @pytest.mark.parametrize("n_features", [2, 20])
    def test_ties_close_no_cycle(self, n_features):
        side = np.arange(6.0)
        X = np.zeros((36, n_features))
        X[:, :2] = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
        joined, n_components = connect_components(csr_array((36, 36)), X)
        assert n_components == 36
        assert joined.nnz == 2 * 35
        np.testing.assert_array_equal(joined.data, 1.0)
        assert connected_components(joined)[0] == 1

    def test_components_of_duplicates(self):
        X = np.repeat(points(5, 2), 6, axis=0)
        joined, n_components = connect_components(knn_graph(X, 1), X)
        assert n_components >= 5
        distances = geodesic_distances(joined)
        assert np.isfinite(distances).all()
        np.testing.assert_array_equal(distances == 0, cdist(X, X) == 0)

    def test_unit_gaps_are_told_apart_between_clusters_far_away(self):
        X = np.repeat([[-1e8, 0.0], [1e8, 0.0]], 3, axis=0)
        X[:, 1] = [0, 1.5, 2.5, 0, 1, 2.5]
        joined, _ = connect_components(csr_array((6, 6)), X)
        within = {(0, 1): 1.5, (1, 2): 1.0, (3, 4): 1.0, (4, 5): 1.5}
        assert within.items() <= edges(joined).items()

    def test_connected_graph_is_returned_as_it_is(self):
        graph = knn_graph(points(), 10)
        joined, n_components = connect_components(graph, points())
        assert joined is graph
        assert n_components == 1

    def test_blocks_do_not_matter(self, monkeypatch):
        X = points(60, 2)
        graph = knn_graph(X, 1)
        expected = connect_components(graph, X)[0].toarray()
        monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 8 * 100)
        np.testing.assert_array_equal(connect_components(graph, X)[0].toarray(), expected)

    def test_memory_is_bounded_with_many_components(self):
        X = points(5000, 2)
        graph = knn_graph(X, 1)
        tracemalloc.start()
        joined, n_components = connect_components(graph, X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert n_components > 1000
        assert connected_components(joined)[0] == 1
        assert joined.nnz == graph.nnz + 2 * (n_components - 1)
        assert peak < 80e6  # n x n distances would take 200 MB

    def test_bad_input(self):
        with pytest.raises(ValueError, match=r"graph has shape \(40, 40\), but X has 39 samples"):
            connect_components(knn_graph(points(), 3), points(39))


class TestGeodesicDistances:
    def test_equals_floyd_warshall(self):
        graph = connect_components(knn_graph(points(), 3), points())[0]
        expected = np.full(graph.shape, np.inf)
        np.fill_diagonal(expected, 0.0)
        for (i, j), d in edges(graph).items():
            expected[i, j] = expected[j, i] = d
        for k in range(len(expected)):
            expected = np.minimum(expected, expected[:, [k]] + expected[[k]])
        np.testing.assert_allclose(geodesic_distances(graph), expected, rtol=1e-12)
        np.testing.assert_allclose(
            geodesic_distances(graph, indices=[5, 2]), expected[[5, 2]], rtol=1e-12
        )
        assert geodesic_distances(graph, indices=3).shape == (1, 40)

    @pytest.mark.parametrize("n_neighbors", [1, 4])
    def test_compiled_paths_are_the_same(self, n_neighbors, monkeypatch):
        X = np.vstack([points(), points()[:10]])  # with duplicates, and in pieces
        graph = knn_graph(X, n_neighbors)
        expected = dijkstra(graph)
        asked = []
        monkeypatch.setattr(
            "twofold.geodesics.graph.compiled", lambda work, name: asked.append(work)
        )
        geodesic_distances(graph, indices=[0, 1])
        geodesic_distances(graph, indices=[0, 1], n_sources=10**6)
        assert asked == [2 * graph.nnz // 1_000, 1_000 * graph.nnz]
        monkeypatch.undo()
        monkeypatch.setattr("twofold.numerics.sums._compiled.WORTH_COMPILING", 0)
        np.testing.assert_array_equal(geodesic_distances(graph), expected)
        np.testing.assert_array_equal(geodesic_distances(graph, indices=[7, 3]), expected[[7, 3]])
        with pytest.raises(IndexError):
            geodesic_distances(graph, indices=[50])

    def test_stored_zeros_are_edges(self):
        # What this module rests on: csgraph takes a stored zero of a sparse array for an edge.
        ends = np.array([[0, 1, 1, 2], [1, 0, 2, 1]], dtype=np.int32)
        stored = csr_array(([0.0, 0.0, 2.0, 2.0], tuple(ends)), shape=(3, 3))
        assert stored.nnz == 4
        assert connected_components(stored, directed=False)[0] == 1
        np.testing.assert_array_equal(dijkstra(stored)[0], [0.0, 0.0, 2.0])
        np.testing.assert_array_equal(geodesic_distances(stored)[0], [0.0, 0.0, 2.0])

    def test_between_components_it_is_infinite(self):
        X = np.array([[0.0], [1.0], [10.0], [11.0]])
        expected = np.array([0.0, 1.0, np.inf, np.inf])
        np.testing.assert_array_equal(geodesic_distances(knn_graph(X, 1))[0], expected)


class TestAffinities:
    def test_heat_affinity_equals_its_formula(self):
        graph = knn_graph(points(), 4)
        affinity = heat_affinity(graph, 0.7).toarray()
        expected = np.eye(40)
        for (i, j), d in edges(graph).items():
            expected[i, j] = expected[j, i] = np.exp(-(d**2) / 0.7)
        np.testing.assert_allclose(affinity, expected, rtol=1e-13)
        np.testing.assert_array_equal(affinity, affinity.T)

    @pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
    def test_auto_bandwidth_does_not_depend_on_the_unit(self, unit):
        graph = knn_graph(points(), 4)
        scaled = csr_array((unit * graph.data, graph.indices, graph.indptr), shape=graph.shape)
        explicit = heat_affinity(graph, float(np.median(graph.data)) ** 2)
        np.testing.assert_allclose(heat_affinity(scaled).toarray(), explicit.toarray(), rtol=1e-12)

    def test_an_outlier_is_cut_off_without_overflow(self):
        X = np.vstack([points(9, 1), [[1e200]]])
        graph = knn_graph(Precomputed(np.abs(X - X.T)), 2)
        affinity = heat_affinity(graph)
        assert np.isfinite(affinity.data).all()
        assert affinity.toarray()[9, :9].max() == 0

    def test_duplicates_alone_have_affinity_one(self):
        affinity = heat_affinity(knn_graph(np.zeros((6, 2)), 2))
        np.testing.assert_array_equal(affinity.data, 1.0)
        np.testing.assert_array_equal(affinity.diagonal(), 1.0)

    def test_a_self_edge_does_not_add_to_the_diagonal(self):
        loop = csr_array(([3.0, 1.0, 1.0], ([0, 0, 1], [0, 1, 0])), shape=(2, 2))
        np.testing.assert_array_equal(heat_affinity(loop).diagonal(), 1.0)

    @pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.inf, np.nan, "scott"])
    def test_bad_bandwidth(self, bandwidth):
        with pytest.raises(ValueError, match=r'bandwidth must be a positive .* or "auto", got'):
            heat_affinity(knn_graph(points(), 3), bandwidth)

    def test_normalized_affinity_equals_naive_loops(self):
        W = heat_affinity(knn_graph(points(), 4))
        dense = W.toarray()
        degrees = dense.sum(axis=1)
        expected = np.array(
            [[dense[i, j] / np.sqrt(degrees[i] * degrees[j]) for j in range(40)] for i in range(40)]
        )
        from_sparse, from_dense = normalized_affinity(W), normalized_affinity(dense)
        assert isinstance(from_sparse, csr_array)
        np.testing.assert_allclose(from_dense, expected, rtol=1e-13)
        np.testing.assert_allclose(from_sparse.toarray(), expected, rtol=1e-13)
        np.testing.assert_array_equal(from_dense, from_dense.T)
        np.testing.assert_array_equal(from_sparse.toarray(), from_sparse.toarray().T)

    def test_spectrum_of_the_normalized_affinity(self):
        W = heat_affinity(connect_components(knn_graph(points(), 4), points())[0])
        normalized = normalized_affinity(csr_matrix(W))
        assert isinstance(normalized, csr_array)
        values = np.linalg.eigvalsh(normalized.toarray())
        assert -1 <= values[0] < values[-2] < 1 - 1e-12 < values[-1] < 1 + 1e-12
        root = np.sqrt(W.sum(axis=1))
        np.testing.assert_allclose(normalized @ root, root, rtol=1e-12)

    @pytest.mark.parametrize("make", [np.asarray, csr_array])
    def test_isolated_rows_give_no_nan(self, make):
        W = make(np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]))
        normalized = normalized_affinity(W)
        if make is csr_array:
            normalized = normalized.toarray()
        np.testing.assert_allclose(normalized, [[0, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])

    @pytest.mark.parametrize("unit", [1e-310, 1e-300, 1e300])
    def test_extreme_weights(self, unit):
        W = unit * np.array([[1.0, 0.5], [0.5, 1.0]])
        np.testing.assert_allclose(normalized_affinity(W), [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])

    def test_no_edges_at_all(self):
        assert normalized_affinity(csr_array((3, 3))).nnz == 0

    @pytest.mark.parametrize("make", [np.asarray, csr_array])
    def test_negative_weights(self, make):
        with pytest.raises(ValueError, match=r"W must be nonnegative.*-0\.5"):
            normalized_affinity(make(np.array([[1.0, -0.5], [-0.5, 1.0]])))

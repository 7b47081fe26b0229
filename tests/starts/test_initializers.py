import tracemalloc

import numpy as np
import pytest
from scipy import linalg
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import TSNE, Isomap, SpectralEmbedding
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.metrics import procrustes_r2
from twofold.starts.initializers import (
    INITIALIZERS,
    extend_from_landmarks,
    isomap,
    kernel_pca,
    laplacian_eigenmaps,
    pca,
    tsne,
)
from twofold.starts.named import resolve_init


@pytest.fixture
def roll():
    return make_swiss_roll(400, random_state=0)


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("name", INITIALIZERS)
def test_shape_repeatability_and_purity(name, roll):
    X = roll[0][:150]
    before = X.copy()
    one, two = (resolve_init(name, X, 2, rng()) for _ in range(2))
    assert one.shape == (150, 2)
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(X, before)


@pytest.fixture
def landmarks(monkeypatch):
    """Return a function that lets initializers embed so many landmarks."""

    def use(number):
        monkeypatch.setattr("twofold.starts.initializers.MAX_EXACT", 0)
        monkeypatch.setattr("twofold.starts.initializers.DEFAULT_LANDMARKS", number)
        monkeypatch.setattr("twofold.starts.initializers.GEODESIC_LANDMARKS", number)

    return use


@pytest.mark.parametrize("name", [n for n in INITIALIZERS if n not in ("random", "pca")])
def test_landmarks(name, landmarks):
    X, _ = make_s_curve(300, random_state=0)
    landmarks(100)
    Z = INITIALIZERS[name](X, 2, rng())
    assert Z.shape == (300, 2)
    assert np.isfinite(Z).all()


@pytest.mark.parametrize("name", INITIALIZERS)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_tiny_data(name, n):
    X = np.arange(n, dtype=float)[:, None] * [1.0, 2.0, 0.5]
    Z = resolve_init(name, X, 1, rng())
    assert Z.shape == (n, 1)
    assert np.isfinite(Z).all()


@pytest.mark.parametrize("name", INITIALIZERS)
@pytest.mark.parametrize("n_columns", [1, 2])
def test_fewer_columns_than_components(name, n_columns):
    X = np.random.default_rng(0).standard_normal((40, n_columns))
    Z = resolve_init(name, X, 4, rng())
    assert Z.shape == (40, 4)
    assert np.isfinite(Z).all()


def test_laplacian_eigenmaps_of_many_rows_with_outliers():
    # Edges to the outliers have no weight, so that the largest eigenvalues are equal.
    X = np.random.default_rng(0).standard_cauchy((1_200, 2))
    Z = laplacian_eigenmaps(X, 2, rng())
    assert np.isfinite(Z).all()
    assert (Z.std(axis=0) > 0.0).all()


def test_pca_equals_scikit_learns(roll):
    assert procrustes_r2(PCA(2).fit_transform(roll[0]), pca(roll[0], 2)) > 1 - 1e-12
    assert not pca(np.zeros((3, 1)), 2).any()


def test_kernel_pca_equals_scikit_learns_and_its_extension(roll, landmarks):
    X = roll[0] - roll[0].mean(axis=0)

    def theirs(some):
        width_sq = np.median(cdist(some, some, "sqeuclidean"))
        return KernelPCA(2, kernel="rbf", gamma=0.5 / width_sq).fit(some).transform(X)

    assert procrustes_r2(theirs(X), kernel_pca(X, 2, rng()), scaling=False) > 1 - 1e-10
    landmarks(100)
    part = X[np.sort(rng().choice(400, size=100, replace=False))]
    assert procrustes_r2(theirs(part), kernel_pca(X, 2, rng()), scaling=False) > 1 - 1e-10


def test_isomap_on_a_complete_graph_equals_scikit_learns(roll):
    # Every sample is a neighbor of all others, and all edges pass the test of six steps.
    X = roll[0][:60]
    theirs = Isomap(n_neighbors=59, n_components=2).fit_transform(X)
    assert procrustes_r2(theirs, isomap(X, 2, rng(), n_neighbors=59), scaling=False) > 1 - 1e-8


@pytest.mark.parametrize("seed", range(300, 304))
def test_isomap_unrolls_noisy_rolls(seed):
    # The usual graph with 20 neighbors reaches 0.1 to 0.5. Of 20 fresh seeds, 19 are above 0.99.
    X, truth = make_swiss_roll(1_000, 0.5, random_state=seed)
    assert procrustes_r2(truth, isomap(X, 2, rng())) > 0.99


def test_isomap_finds_the_roll_in_many_noise_features():
    X, truth = make_swiss_roll(6_000, n_features=100, random_state=0)
    assert procrustes_r2(truth, isomap(X, 2, rng())) > 0.99


def test_paths_from_some_points_agree_with_all(monkeypatch):
    X, _ = make_swiss_roll(1_500, 0.5, random_state=0)
    some = isomap(X, 2, rng())
    monkeypatch.setattr("twofold.starts.initializers.PATH_SOURCES", 1_500)
    assert procrustes_r2(isomap(X, 2, rng()), some, scaling=False) > 0.999


def test_isomap_unrolls_from_landmarks(landmarks):
    X, truth = make_swiss_roll(3_000, random_state=0)
    landmarks(1_200)
    assert procrustes_r2(truth, isomap(X, 2, rng())) > 0.99


def test_laplacian_eigenmaps_solve_the_generalized_problem(roll):
    X = roll[0]
    Z = laplacian_eigenmaps(X, 2, rng())
    from twofold.geodesics.graph import connect_components, heat_affinity, knn_graph

    W = heat_affinity(connect_components(knn_graph(X, 10), X)[0]).toarray()
    degrees = np.diag(W.sum(axis=1))
    values, vectors = linalg.eigh(degrees - W, degrees)
    for column in range(2):
        cosine = Z[:, column] @ vectors[:, column + 1]
        cosine /= np.linalg.norm(Z[:, column]) * np.linalg.norm(vectors[:, column + 1])
        assert abs(cosine) == pytest.approx(1.0, abs=1e-8)
    assert values[1] > 1e-8


@pytest.mark.parametrize("most_restarts", [1, 100])  # of few, the iterations do not converge
def test_sparse_eigensolver_agrees_with_dense(roll, monkeypatch, most_restarts):
    dense = laplacian_eigenmaps(roll[0], 2, rng())
    monkeypatch.setattr("twofold.starts.initializers.DENSE_EIGEN", 10)
    monkeypatch.setattr("twofold.starts.initializers.MOST_RESTARTS", most_restarts)
    assert procrustes_r2(dense, laplacian_eigenmaps(roll[0], 2, rng())) > 1 - 1e-8


@pytest.mark.parametrize("name", ["isomap", "laplacian_eigenmaps"])
def test_disconnected_data_are_joined_with_a_count(name):
    noise = np.random.default_rng(1).standard_normal((3, 30, 3))
    blobs = (noise + 100.0 * np.arange(3)[:, None, None]).reshape(-1, 3)
    with pytest.warns(UserWarning, match="3 connected components"):
        Z = resolve_init(name, blobs, 2, rng())
    assert np.isfinite(Z).all()
    pieces = Z.reshape(3, 30, 2)
    assert (pieces.std(axis=1).max(axis=1) > 1e-3 * Z.std()).all()  # none shrinks to a point


@pytest.mark.parametrize("name", ["isomap", "laplacian_eigenmaps", "lle"])
def test_more_neighbors_than_points(name):
    with pytest.raises(ValueError, match="n_neighbors"):
        INITIALIZERS[name](np.eye(5), 2, rng(), n_neighbors=5)


@pytest.mark.parametrize("name", ["kernel_pca", "isomap"])
def test_memory_of_the_extension_is_bounded(name, landmarks):
    X = np.random.default_rng(0).standard_normal((20_000, 50))
    landmarks(200)
    tracemalloc.start()
    INITIALIZERS[name](X, 2, rng())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # an (n, n_landmarks) matrix alone would be 32 MB, (n, k, D) 48 MB


def test_unset_seeds_of_estimators_are_set(roll):
    before = np.random.get_state()[1].copy()
    init = make_pipeline(StandardScaler(), TSNE(2, init="random", perplexity=5))
    one, two = (resolve_init(init, roll[0][:40], 2, rng()) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(np.random.get_state()[1], before)
    assert init[-1].random_state is None


def test_foreign_signatures(roll):
    class Plain:
        def fit_transform(self, X):
            return X[:, :2]

    class WithInit:
        def fit_transform(self, X, init=None, y=None):
            assert init is None
            return X[:, :2] if y is None else np.column_stack([X[:, 0], y])

    X = roll[0][:30]
    np.testing.assert_array_equal(resolve_init(Plain(), X, 2, rng()), X[:, :2])
    np.testing.assert_array_equal(resolve_init(WithInit(), X, 2, rng(), y=X[:, 2]), X[:, ::2])
    np.testing.assert_array_equal(resolve_init(Plain(), X, 2, rng(), y=X[:, 2]), X[:, :2])
    with pytest.raises(ValueError, match="gives dict, not an array"):
        resolve_init(lambda X, q, rng: {}, X, 2, rng())
    with pytest.raises(TypeError, match=r"is a class; give an instance, PCA\(...\)"):
        resolve_init(PCA, X, 2, rng())


def test_tsne_beyond_three_components(roll):
    assert tsne(roll[0][:40], 4, rng()).shape == (40, 4)
    assert np.isfinite(tsne(np.ones((5, 3)), 2, rng())).all()


def test_extension_is_exact_for_linear_maps():
    landmarks = rng().standard_normal((60, 2))
    A = np.array([[1.0, -2.0], [0.5, 3.0]])
    X = landmarks[:5] + 0.01
    placed = extend_from_landmarks(X, landmarks, landmarks @ A)
    np.testing.assert_allclose(placed, X @ A, atol=0.05)
    duplicate = extend_from_landmarks(np.zeros((1, 2)), np.zeros((9, 2)), np.ones((9, 2)))
    np.testing.assert_allclose(duplicate, 1.0)


def test_many_rows_get_landmarks(monkeypatch):
    monkeypatch.setattr("twofold.starts.initializers.GEODESIC_LANDMARKS", 150)
    X, truth = make_s_curve(500, random_state=0)
    assert procrustes_r2(truth, resolve_init("isomap", X, 2, rng())) > 0.98


class TestResolve:
    def test_accepts_names_arrays_functions_and_estimators(self, roll):
        X = roll[0][:60]
        array = X[:, :2]
        for init in (
            "pca",
            array,
            array.tolist(),
            lambda X, q, rng: X[:, :q],
            PCA(2),
            SpectralEmbedding(2, random_state=0),
            TSNE(2, perplexity=5, random_state=0),
            make_pipeline(StandardScaler(), PCA(2)),
        ):
            Z = resolve_init(init, X, 2, rng())
            assert Z.shape == (60, 2)
            assert Z.dtype == np.float64
        assert not np.shares_memory(resolve_init(array, X, 2, rng()), array)
        assert resolve_init(X[:, 0], X, 1, rng()).shape == (60, 1)

    def test_estimators_are_cloned(self, roll):
        model = PCA(2)
        resolve_init(model, roll[0], 2, rng())
        assert not hasattr(model, "components_")

    def test_errors(self, roll):
        X = roll[0]
        with pytest.raises(ValueError, match=r"init='umap' is unknown.*isomap"):
            resolve_init("umap", X, 2, rng())
        with pytest.raises(ValueError, match=r"shape \(3, 2\); \(400, n_components\)"):
            resolve_init(np.zeros((3, 2)), X, 2, rng())
        bad = np.zeros((400, 2))
        bad[7, 1] = np.nan
        with pytest.raises(ValueError, match="row 7"):
            resolve_init(bad, X, 2, rng())


def test_copies_of_rows_do_not_change_geodesic_latents():
    X, truth = make_s_curve(200, random_state=0)
    once = isomap(X, 2, np.random.default_rng(0))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(200), 3))
    copied = isomap(X[rows], 2, np.random.default_rng(0))
    assert procrustes_r2(truth[rows], copied) > 0.99
    assert procrustes_r2(once[rows], copied) > 1.0 - 1e-9

"""Metrics against scikit-learn, naive loops and cases with known answers."""

import tracemalloc

import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group
from sklearn import manifold
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from twofold.metrics import (
    continuity,
    nearest_neighbor_accuracy,
    neighborhood_preservation,
    procrustes_r2,
    relative_reconstruction_error,
    round_trip_error,
    trustworthiness,
)

RANK_METRICS = [trustworthiness, continuity, neighborhood_preservation]


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def data_and_embedding(n_samples=60, n_features=6):
    X = normal(n_samples, n_features)
    return X, X[:, :2] + 0.3 * normal(n_samples, 2, seed=1)


def naive_ranks(points):
    """Return ranks from 1, by (distance, index); 0 on the diagonal."""
    sqdist = cdist(points, points, "sqeuclidean")
    ranks = np.zeros(sqdist.shape, dtype=int)
    for i, row in enumerate(sqdist):
        others = sorted((d, j) for j, d in enumerate(row) if j != i)
        for rank, (_, j) in enumerate(others, start=1):
            ranks[i, j] = rank
    return ranks


def naive_rank_metrics(X, Z, k):
    n = len(X)
    in_data, in_latent = naive_ranks(X), naive_ranks(Z)
    intruders = extruders = common = 0
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            if in_latent[i, j] <= k:
                intruders += max(in_data[i, j] - k, 0)
                common += in_data[i, j] <= k
            if in_data[i, j] <= k:
                extruders += max(in_latent[i, j] - k, 0)
    scale = 2 / (n * k * (2 * n - 3 * k - 1))
    return 1 - scale * intruders, 1 - scale * extruders, common / (n * k)


class TestRankMetrics:
    @pytest.mark.parametrize("n_neighbors", [1, 5, 29])
    @pytest.mark.parametrize("n_features", [3, 30])
    def test_equal_to_scikit_learn(self, n_features, n_neighbors):
        X, Z = data_and_embedding(n_features=n_features)
        expected = manifold.trustworthiness(X, Z, n_neighbors=n_neighbors)
        assert trustworthiness(X, Z, n_neighbors) == pytest.approx(expected, abs=1e-14)
        expected = manifold.trustworthiness(Z, X, n_neighbors=n_neighbors)
        assert continuity(X, Z, n_neighbors) == pytest.approx(expected, abs=1e-14)

    @pytest.mark.parametrize("n_neighbors", [1, 5, 14])
    @pytest.mark.parametrize("block", [1, 100, 1 << 20])
    def test_equal_to_naive_loops_with_ties(self, block, n_neighbors, monkeypatch):
        monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 8 * block)
        rng = np.random.default_rng(0)
        for n_features in (2, 20):
            X = rng.integers(4, size=(30, n_features)).astype(float)
            Z = rng.integers(3, size=(30, 2)).astype(float)
            actual = [metric(X, Z, n_neighbors) for metric in RANK_METRICS]
            assert actual == pytest.approx(naive_rank_metrics(X, Z, n_neighbors), abs=1e-14)

    @pytest.mark.parametrize("metric", RANK_METRICS)
    def test_a_similarity_is_perfect(self, metric):
        X = normal(50, 3)
        Z = 7 * X @ ortho_group.rvs(3, random_state=0) + 100
        assert metric(X, Z) == 1

    @pytest.mark.parametrize("metric", RANK_METRICS)
    def test_all_samples_equal(self, metric):
        assert metric(np.ones((20, 2)), np.zeros((20, 1))) == 1

    @pytest.mark.parametrize("metric", RANK_METRICS)
    @pytest.mark.parametrize("scale", [2.0**-600, 2.0**600])
    def test_unit_and_origin_do_not_matter(self, metric, scale):
        X, Z = (np.round(values * 2**20) / 2**20 for values in data_and_embedding())
        expected = metric(X, Z)
        assert metric(scale * X, Z) == expected
        assert metric(X, scale * Z) == expected
        assert metric(X + 2.0**27, Z - 2.0**27) == expected

    @pytest.mark.parametrize("metric", RANK_METRICS)
    def test_order_of_rows_does_not_matter(self, metric):
        X, Z = data_and_embedding()
        order = np.random.default_rng(2).permutation(len(X))
        assert metric(X[order], Z[order]) == pytest.approx(metric(X, Z), abs=1e-14)

    def test_preservation_is_symmetric_and_low_at_random(self):
        X, Z = normal(400, 3), normal(400, 2, seed=1)
        assert neighborhood_preservation(X, Z) == neighborhood_preservation(Z, X) < 0.05

    @pytest.mark.parametrize("metric", RANK_METRICS)
    def test_memory_is_bounded(self, metric):
        X = normal(4000, 3)
        tracemalloc.start()
        metric(X, X[:, :2])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 40e6  # n x n distances would take 128 MB

    @pytest.mark.parametrize("metric", RANK_METRICS)
    def test_bad_input(self, metric):
        X, Z = data_and_embedding(10)
        for n_neighbors in (0, 5):
            with pytest.raises(ValueError, match=rf"n_neighbors={n_neighbors} .*/ 2 = 5"):
                metric(X, Z, n_neighbors)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            metric(X, Z[:-1], 2)


class TestRelativeReconstructionError:
    def test_equals_its_formula(self):
        X, other = normal(30, 4), 3 + 2 * normal(50, 4, seed=1)
        rebuilt = X + 0.1 * normal(30, 4, seed=2)
        mean_error = ((X - rebuilt) ** 2).sum() / 30
        assert relative_reconstruction_error(X, rebuilt) == pytest.approx(
            mean_error / X.var(axis=0).sum(), rel=1e-13
        )
        assert relative_reconstruction_error(X, rebuilt, reference=other) == pytest.approx(
            mean_error / other.var(axis=0).sum(), rel=1e-13
        )

    def test_the_mean_scores_one_and_the_data_zero(self):
        X = normal(30, 4)
        mean = np.broadcast_to(X.mean(axis=0), X.shape)
        assert relative_reconstruction_error(X, mean) == pytest.approx(1, rel=1e-13)
        assert relative_reconstruction_error(X, X) == 0

    def test_pca_leaves_the_unexplained_share(self):
        X = normal(30, 4)
        pca = PCA(2).fit(X)
        rebuilt = pca.inverse_transform(pca.transform(X))
        unexplained = 1 - pca.explained_variance_ratio_.sum()
        assert relative_reconstruction_error(X, rebuilt) == pytest.approx(unexplained, rel=1e-12)

    @pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
    def test_no_overflow_or_underflow(self, scale):
        X = normal(30, 4)
        rebuilt = X + 0.1 * normal(30, 4, seed=2)
        assert relative_reconstruction_error(scale * X, scale * rebuilt) == pytest.approx(
            relative_reconstruction_error(X, rebuilt), rel=1e-12
        )

    def test_constant_reference(self):
        X = np.full((7, 2), 0.1)  # the rounded mean of seven times 0.1 is not 0.1
        assert relative_reconstruction_error(X, X) == 0
        assert relative_reconstruction_error(X, X + 1e-9) == np.inf
        assert relative_reconstruction_error(normal(7, 2), normal(7, 2), reference=X) == 0

    def test_arguments_are_left_alone(self):
        X, rebuilt = normal(5, 2), normal(5, 2, seed=1)
        copies = X.copy(), rebuilt.copy()
        relative_reconstruction_error(X, rebuilt, reference=X)
        np.testing.assert_array_equal((X, rebuilt), copies)

    def test_bad_input(self):
        with pytest.raises(ValueError, match=r"X_reconstructed has shape \(4, 2\).*\(5, 2\)"):
            relative_reconstruction_error(normal(5, 2), normal(4, 2))
        with pytest.raises(ValueError, match="reference has 3 features, but X has 2"):
            relative_reconstruction_error(normal(5, 2), normal(5, 2), reference=normal(5, 3))
        with pytest.raises(ValueError, match="X_reconstructed contains NaN"):
            relative_reconstruction_error(normal(5, 2), np.full((5, 2), np.nan))


class TestRoundTripError:
    def test_a_lossless_pair_returns(self):
        pca = PCA(2).fit(normal(30, 4))
        assert round_trip_error(pca, normal(10, 2)) < 1e-28

    def test_a_shrinking_pair_does_not(self):
        class Halving:
            def transform(self, X):
                return 0.5 * X

            def inverse_transform(self, Z):
                return Z.tolist()

        Z = normal(10, 2)
        Z -= Z.mean(axis=0)
        assert round_trip_error(Halving(), Z) == pytest.approx(0.25, rel=1e-12)


class TestProcrustesR2:
    @pytest.mark.parametrize("n_components", [1, 2, 5])
    def test_equals_scipy(self, n_components):
        truth, embedding = normal(40, n_components), normal(40, n_components, seed=1)
        embedding += truth
        disparity = procrustes(truth, embedding)[2]
        assert procrustes_r2(truth, embedding) == pytest.approx(1 - disparity, rel=1e-12)

    def test_without_scaling_equals_naive_alignment(self):
        truth, embedding = normal(40, 2), 0.5 * normal(40, 2) + 0.2 * normal(40, 2, seed=1)
        T, E = truth - truth.mean(axis=0), embedding - embedding.mean(axis=0)
        best = -np.inf
        for angle in np.linspace(0, 2 * np.pi, 20001):
            c, s = np.cos(angle), np.sin(angle)
            for rotation in ([[c, -s], [s, c]], [[c, s], [s, -c]]):
                best = max(best, 1 - ((T - E @ rotation) ** 2).sum() / (T**2).sum())
        assert procrustes_r2(truth, embedding, scaling=False) == pytest.approx(best, abs=1e-6)
        assert best < procrustes_r2(truth, embedding)

    @pytest.mark.parametrize("unit", [1e-250, 1.0, 1e250])
    def test_a_similarity_is_perfect(self, unit):
        truth = normal(40, 3)
        moved = truth @ ortho_group.rvs(3, random_state=0) + 5
        assert procrustes_r2(truth, unit * moved) == pytest.approx(1, abs=1e-12)
        assert procrustes_r2(unit * truth, unit * moved, scaling=False) == pytest.approx(
            1, abs=1e-12
        )

    def test_a_wrong_scale_costs(self):
        truth = normal(40, 2)
        assert procrustes_r2(truth, 3 * truth, scaling=False) == pytest.approx(1 - 4, rel=1e-12)

    def test_widths_may_differ(self):
        truth = normal(40, 1)
        padded = np.column_stack([truth, np.zeros((40, 2))])
        assert procrustes_r2(truth, padded) == pytest.approx(1, abs=1e-12)
        assert procrustes_r2(padded, truth, scaling=False) == pytest.approx(1, abs=1e-12)
        assert procrustes_r2(truth, np.column_stack([truth, truth])) == pytest.approx(1, abs=1e-12)

    def test_never_above_one(self):
        truth = normal(7, 2)
        assert all(procrustes_r2(truth, truth * scale) <= 1 for scale in np.linspace(0.1, 9, 99))

    def test_constant_sides(self):
        constant, varying = np.full((7, 2), 0.1), normal(7, 2)
        assert procrustes_r2(varying, constant) == 0
        assert procrustes_r2(varying, constant, scaling=False) == 0
        assert procrustes_r2(constant, varying) == 1
        assert procrustes_r2(constant, constant + 1, scaling=False) == 1
        assert procrustes_r2(constant, varying, scaling=False) == -np.inf

    def test_bad_input(self):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            procrustes_r2(normal(5, 2), normal(4, 2))


class TestNearestNeighborAccuracy:
    @pytest.mark.parametrize("n_features", [2, 20])
    def test_equals_scikit_learn(self, n_features):
        train, test = normal(80, n_features), normal(50, n_features, seed=1)
        y_train, y_test = (values[:, 0] > 0 for values in (train, test))
        classifier = KNeighborsClassifier(1).fit(train, y_train)
        accuracy = nearest_neighbor_accuracy(train, y_train, test, y_test)
        assert accuracy == pytest.approx(classifier.score(test, y_test), abs=1e-14)
        assert 0.5 < accuracy < 1
        assert nearest_neighbor_accuracy(train, y_train, train, y_train) == 1

    @pytest.mark.parametrize("n_features", [2, 20])
    @pytest.mark.parametrize("scale", [2.0**-900, 2.0**900])
    def test_unit_and_origin_do_not_matter(self, n_features, scale):
        train = np.round(normal(80, n_features) * 2**20) / 2**20
        test = np.round(normal(50, n_features, seed=1) * 2**20) / 2**20
        y_train, y_test = (values[:, 0] > 0 for values in (train, test))
        expected = nearest_neighbor_accuracy(train, y_train, test, y_test)
        for a, b in [(scale * train, scale * test), (train + 2.0**27, test + 2.0**27)]:
            assert nearest_neighbor_accuracy(a, y_train, b, y_test) == expected

    def test_labels_may_be_text(self):
        labels = np.array(["a", "b"])
        assert nearest_neighbor_accuracy([[0.0], [1.0]], labels, [[0.1], [0.2]], labels) == 0.5

    def test_bad_input(self):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            nearest_neighbor_accuracy(normal(5, 2), np.zeros(4), normal(3, 2), np.zeros(3))
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            nearest_neighbor_accuracy(normal(5, 2), np.zeros(5), normal(3, 2), np.zeros(4))

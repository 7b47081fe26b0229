"""Measures of global structure against SciPy, naive loops and known cases."""

import tracemalloc
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import ortho_group, pearsonr, spearmanr

from twofold.metrics import (
    density_preservation,
    random_triplet_accuracy,
    spearman_distance_correlation,
)
from twofold.metrics.global_structure import _distinct

MEASURES = [spearman_distance_correlation, random_triplet_accuracy, density_preservation]


def data_and_embedding(n=40, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=(n, 1)))
    return X, X[:, :2] + 0.3 * rng.normal(size=(n, 2))


def distance(points, i, j):
    return np.linalg.norm(points[i] - points[j])


def test_spearman_equals_scipy_on_all_pairs():
    X, Z = data_and_embedding()
    Z = np.round(Z)  # ties
    pairs = list(combinations(range(len(X)), 2))
    expected = spearmanr(*([distance(space, *pair) for pair in pairs] for space in (X, Z)))[0]
    assert spearman_distance_correlation(X, Z) == pytest.approx(expected, abs=1e-12)
    assert 0.2 < expected < 0.9


def test_spearman_of_a_sample_of_pairs_is_near():
    X, Z = data_and_embedding(400)
    exact = spearman_distance_correlation(X, Z)
    sampled = spearman_distance_correlation(X, Z, n_pairs=20_000)
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=0.02)
    assert sampled == spearman_distance_correlation(X, Z, n_pairs=20_000, random_state=0)


def test_triplets_equal_a_naive_loop():
    X, Z = data_and_embedding(12)
    kept = [
        (distance(X, i, j) < distance(X, i, k)) == (distance(Z, i, j) < distance(Z, i, k))
        for i, j, k in permutations(range(12), 3)
    ]
    found = random_triplet_accuracy(X, Z, n_triplets=400_000)
    assert found == pytest.approx(np.mean(kept), abs=0.005)
    assert 0.5 < found < 0.95


def test_a_triplet_by_hand():
    X = np.array([[0.0], [1.0], [3.0]])
    assert random_triplet_accuracy(X, -2 * X) == 1.0
    # From 3, the nearest is 1 in the data and 0 in the embedding; from 0 and 1 nothing changes.
    found = random_triplet_accuracy(X, [[0.0], [-1.0], [3.0]], n_triplets=300_000)
    assert found == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.parametrize("size", [2, 3])
def test_tuples_are_distinct_and_uniform(size):
    columns = np.array(_distinct(4, size, 60_000, np.random.default_rng(0)))
    found, counts = np.unique(columns.T, axis=0, return_counts=True)
    assert len(found) == len(list(permutations(range(4), size)))
    assert all(len(set(row)) == size for row in found.tolist())
    assert counts.max() < 1.1 * counts.min()


@pytest.mark.parametrize("n_neighbors", [1, 5, 39])
def test_density_equals_a_naive_loop(n_neighbors):
    X, Z = data_and_embedding()
    logs = []
    for space in (X, Z):
        radii = []
        for i in range(len(space)):
            squares = sorted(distance(space, i, j) ** 2 for j in range(len(space)) if j != i)
            radii.append(np.mean(squares[:n_neighbors]))
        logs.append(np.log(radii))
    expected = pearsonr(*logs)[0]
    assert density_preservation(X, Z, n_neighbors) == pytest.approx(expected, abs=1e-10)


def test_density_of_equal_rows_is_the_highest():
    rng = np.random.default_rng(0)
    X = np.vstack([np.zeros((20, 3)), rng.normal(size=(80, 3))])
    assert density_preservation(X, X, 5) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="n_neighbors=100 must be between 1 and 99"):
        density_preservation(X, X, 100)


@pytest.mark.parametrize("measure", MEASURES)
class TestAll:
    def test_a_similarity_is_perfect(self, measure):
        X, _ = data_and_embedding(d=3)
        assert measure(X, 7 * X @ ortho_group.rvs(3, random_state=0)) == pytest.approx(1.0)

    @pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
    def test_unit_and_origin_do_not_matter(self, measure, unit):
        X, Z = (np.round(values * 2**20) / 2**20 for values in data_and_embedding())
        expected = measure(X, Z)
        assert measure(unit * X, Z) == pytest.approx(expected, abs=1e-12)
        assert measure(X, unit * Z) == pytest.approx(expected, abs=1e-12)
        assert measure(X + 2.0**27, Z - 2.0**27) == pytest.approx(expected, abs=1e-12)
        assert measure(X.astype(np.float32), Z) == pytest.approx(expected, abs=1e-3)

    def test_no_variation_is_no_agreement(self, measure):
        X, _ = data_and_embedding()
        assert measure(X, np.full((40, 2), 0.1)) == 0.0
        equal = measure(np.ones((40, 2)), np.ones((40, 2)))
        assert equal == (1.0 if measure is random_triplet_accuracy else 0.0)

    def test_random_embeddings_keep_nothing(self, measure):
        X, Z = data_and_embedding(300)[0], data_and_embedding(300, seed=1)[1]
        chance = 0.5 if measure is random_triplet_accuracy else 0.0
        assert measure(X, Z) == pytest.approx(chance, abs=0.15)

    def test_memory_is_bounded(self, measure):
        X = np.random.default_rng(0).normal(size=(4000, 50))
        tracemalloc.start()
        measure(X, X[:, :2])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6  # n x n distances would take 128 MB

    def test_bad_input(self, measure):
        X, Z = data_and_embedding()
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            measure(X, Z[:-1])
        with pytest.raises(ValueError, match="Z contains NaN, first in row 0, column 0"):
            measure(X, np.full((40, 2), np.nan))
        with pytest.raises(ValueError, match=r"X has 1 samples: give at least [23]"):
            measure(X[:1], Z[:1])

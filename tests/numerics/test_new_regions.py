"""Regions of new rows that old rows do not cover."""

import numpy as np
import pytest

from twofold.datasets import make_swiss_roll
from twofold.numerics.new_regions import new_regions


def blobs(rng, n, centers, d=5):
    return np.concatenate([c + rng.standard_normal((n, d)) for c in np.atleast_2d(centers)])


@pytest.mark.parametrize("seed", range(3))
def test_planted_clusters_are_found(seed):
    rng = np.random.default_rng(seed)
    places = 8.0 * np.eye(5)
    old, known = blobs(rng, 150, places[:3]), blobs(rng, 40, places[:3])
    late = blobs(rng, 40, places[3:])
    outliers = 40.0 * rng.standard_normal((5, 5))
    new = np.concatenate([known, late, outliers])
    found = new_regions(old, new, rng)
    assert sorted(tuple(rows // 40) for rows in found) == [(3,) * 40, (4,) * 40]


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_one_distribution_are_not_new(seed):
    rng = np.random.default_rng(seed)
    for X in (
        make_swiss_roll(900, 0.3, random_state=seed)[0],
        rng.standard_normal((900, 2)),
        rng.standard_normal((900, 20)),
    ):
        X = X - X.mean(axis=0)
        n_new = sum(map(len, new_regions(X[:600], X[600:], rng)))
        assert n_new <= 15
        assert new_regions(X[:600], X[:600][::3], rng) == []  # copies


def test_what_lies_beyond_the_edge_is_new():
    X, places = make_swiss_roll(900, 0.1, random_state=0)
    X -= X.mean(axis=0)
    late = places[:, 0] > np.quantile(places[:, 0], 0.7)
    (found,) = new_regions(X[~late], X[late], np.random.default_rng(0))
    assert len(found) == late.sum()


def test_equal_and_few_rows_are_no_region():
    rng = np.random.default_rng(0)
    assert new_regions(np.zeros((50, 2)), np.zeros((50, 2)), rng) == []
    assert new_regions(np.zeros((50, 2)), np.ones((3, 2)), rng) == []
    (found,) = new_regions(np.zeros((50, 2)), np.ones((50, 2)), rng)
    assert len(found) == 50

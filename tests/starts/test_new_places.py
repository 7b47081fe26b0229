"""Latents of new regions: islands at free places, and continuations of the map."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import cKDTree

from twofold.datasets import make_swiss_roll
from twofold.metrics import procrustes_r2
from twofold.starts.new_places import GAP, Similarity, latents_of_region


def test_a_similarity_is_found_and_so_is_its_mirror_image():
    rng = np.random.default_rng(0)
    E = rng.standard_normal((50, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    Z = 3.0 * E @ turn + [1.0, -2.0]
    best, mirrored = Similarity.both(E, Z)
    assert_allclose(best(E), Z)
    assert_allclose(best.fit, 1.0)
    assert_allclose(best.factor, 3.0)
    assert np.linalg.det(best.rotation) * np.linalg.det(mirrored.rotation) < 0.0
    assert mirrored.fit < 0.2
    line = E * [1.0, 1e-3]  # along a line, the mirror image fits as well
    assert min(one.fit for one in Similarity.both(line, line)) > 0.999


def test_points_in_one_place_have_no_similarity():
    (only,) = Similarity.both(np.zeros((5, 2)), np.ones((5, 2)))
    assert_allclose(only(np.zeros((5, 2))), 1.0)
    assert only.fit == 0.0


@pytest.mark.parametrize("q", [1, 2, 3, 4])
@pytest.mark.parametrize("init", ["pca", "tsne", "unknown"])
def test_islands_lie_at_free_places(q, init):
    if init == "tsne" and q > 2:
        pytest.skip("slow")
    rng = np.random.default_rng(q)
    old = rng.standard_normal((200, 6))
    Z = 8.0 * old[:, :q]
    region = rng.standard_normal((60, 6)) + 30.0 * np.eye(6)[5]
    placed = latents_of_region(region, old, Z, init, rng, taken=Z)
    assert placed.shape == (60, q)
    assert cKDTree(Z).query(placed)[0].min() >= GAP
    # As dense as the map, and not far away.
    own, theirs = (np.median(cKDTree(P).query(P, k=11)[0][:, -1]) for P in (placed, Z))
    assert 0.5 < own / theirs < 2.0
    extent = np.ptp(np.concatenate([Z, placed]), axis=0)
    assert (extent <= np.ptp(Z, axis=0) + 2.0 * np.ptp(placed, axis=0) + 10.0 * GAP).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_roll_goes_on_where_it_ended(seed):
    X, places = make_swiss_roll(1_200, 0.2, random_state=seed)
    late = places[:, 0] > np.quantile(places[:, 0], 0.7)
    Z = places[~late] @ np.array([[0.6, -0.8], [0.8, 0.6]])
    found = latents_of_region(X[late], X[~late], Z, "isomap", np.random.default_rng(0), taken=Z)
    truth, mine = np.empty_like(places), np.empty_like(places)
    truth[~late], truth[late], mine[~late], mine[late] = places[~late], places[late], Z, found
    assert procrustes_r2(truth, mine) > 0.97


def test_many_rows_are_placed_beside_some():
    rng = np.random.default_rng(0)
    old, region = (
        rng.standard_normal((300, 3)),
        rng.standard_normal((1_300, 3)) + 20.0 * np.eye(3)[0],
    )
    Z = 6.0 * old[:, :2]
    placed = latents_of_region(region, old, Z, "pca", rng, taken=Z)
    assert placed.shape == (1_300, 2)
    assert np.isfinite(placed).all()
    assert cKDTree(Z).query(placed)[0].min() > 0.5 * GAP


def test_points_that_do_not_fit_are_left_out():
    rng = np.random.default_rng(0)
    E = rng.standard_normal((40, 2))
    Z = 2.0 * E + [1.0, 0.0]
    wrong = Z.copy()
    wrong[::10] += 20.0
    assert_allclose(Similarity.of_most(E, wrong)[0](E), Z, atol=1e-9)
    assert Similarity.both(E, wrong)[0].fit < 0.5
    noise = rng.standard_normal((40, 2))  # nothing fits: the fit stays low
    assert Similarity.of_most(E, noise)[0].fit < 0.6


def test_repeated_rows_get_finite_places():
    rng = np.random.default_rng(0)
    old = rng.standard_normal((60, 4))
    Z = 6.0 * old[:, :2]
    few = 1e8 + 20.0 * rng.standard_normal((2, 4))
    placed = latents_of_region(few.repeat((29, 1), axis=0), old, Z, "isomap", rng, taken=Z)
    assert np.isfinite(placed).all()
    assert np.ptp(placed, axis=0).max() < 1e5

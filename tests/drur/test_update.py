"""Updates of `DRUR`: old and new rows are learned together, with as many centers as they need."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from twofold import DRUR
from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.drur.rehearsed import Basis, Lesson
from twofold.drur.update import Old
from twofold.metrics import procrustes_r2


@pytest.fixture(scope="module")
def curve():
    X, _ = make_s_curve(2_700, random_state=0)
    return X + 0.05 * np.random.default_rng(0).standard_normal(X.shape)


def test_a_lesson_with_a_weight_is_a_repeated_lesson():
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((40, 2)), rng.standard_normal((30, 2))
    targets, others = np.sin(first), np.cos(second[:, :1]) * [1.0, 2.0]
    basis = Basis(rng.standard_normal((7, 2)), 0.8, 1e-3, 0)
    found = basis.network([Lesson(first, targets, 3.0), Lesson(second, others)], share=0.5)
    # The naive solution: rows three times, features with a column of ones, twice the ridge.
    inputs, wanted = (
        np.concatenate([*3 * [first], second]),
        np.concatenate([*3 * [targets], others]),
    )

    def features(at):
        return np.exp(-0.5 * np.square(at[:, None] - basis.centers).sum(axis=2) / 0.8**2)

    penalty = np.zeros((8, 8))
    penalty[:7, :7] = 2e-3 * features(basis.centers)
    phi = np.column_stack([features(inputs), np.ones(len(inputs))])
    naive = np.linalg.solve(phi.T @ phi + penalty, phi.T @ wanted)
    assert_allclose(found.weights_, naive[:7], rtol=1e-5, atol=1e-7)
    assert_allclose(found.intercept_, naive[7], rtol=1e-5)
    assert found.alpha_ == 2e-3


def test_more_centers_are_taken_where_they_help():
    x = np.linspace(-1.0, 1.0, 600)[:, None]
    alphas = (1e-7, 1e-3)
    wavy = Basis.of(x, np.sin(20.0 * x), [8, 16, 32, 64], alphas, 0)
    plain = Basis.of(x, 2.0 * x, [8, 16, 32, 64], alphas, 0)
    assert len(wavy.centers) > 16 >= len(plain.centers)
    assert len(wavy.moved(x + 0.1, np.sin(20.0 * x), alphas).centers) == len(wavy.centers)


@pytest.mark.parametrize("seed", range(2))
def test_a_growing_roll_is_one_map_as_good_as_one_fit(seed):
    X, places = make_swiss_roll(1_400, 0.3, random_state=seed)
    test, X, along = X[900:], X[:900], places[:900, 0]
    part = np.searchsorted(np.quantile(along, [0.5, 0.75]), along)
    batches = [X[part == number] for number in range(3)]
    model = DRUR(init="isomap", random_state=seed).fit(batches[0])
    n_centers = model.n_centers_
    for batch in batches[1:]:
        report = model.update(batch).update_report_
        assert report.n_regions == 1
        assert report.n_in_regions > 0.9 * len(batch)
        assert report.median_shift < 0.01
        assert report.share_off > 0.5
    once = DRUR(init="isomap", random_state=seed).fit(np.concatenate(batches))
    assert 1.0 - model.score(test) < 1.25 * (1.0 - once.score(test))
    assert model.n_centers_ >= n_centers
    order = np.argsort(part, kind="stable")
    assert procrustes_r2(places[:900][order], model.embedding_) > 0.95


@pytest.mark.filterwarnings("ignore:isomap", "ignore:Most rows of X")
def test_clusters_that_come_late_get_centers_of_their_own():
    rng = np.random.default_rng(0)
    middles = 8.0 * np.eye(6)
    at = rng.uniform(-2.0, 2.0, (1_000, 2))
    labels = np.arange(1_000) % 5
    X = middles[labels] + 0.2 * rng.standard_normal((1_000, 6))
    X[:, :2] += at
    X[:, 5] += np.square(at).sum(axis=1)
    test, X, labels = X[700:], X[:700], labels[:700]
    model = DRUR(init="isomap", random_state=0).fit(X[labels < 3])
    n_centers = model.n_centers_
    for late in (3, 4):
        model.update(X[labels == late])
        assert model.update_report_.n_regions == 1
        assert model.update_report_.median_shift < 0.01
    once = DRUR(init="isomap", random_state=0).fit(X)
    assert 1.0 - model.score(test) < 1.15 * (1.0 - once.score(test))
    assert model.n_centers_ > n_centers


def test_kept_rows_and_images_stand_for_old_rows(curve):
    model = DRUR(n_centers=30, alpha=1e-3, init="isomap", random_state=0).fit(curve[:2_400])
    old = Old.of(model, 2_400)
    assert len(old.numbers) == len(old.known.rows) == 2_000
    assert len(old.replayed) == 400
    assert not np.intersect1d(old.replayed, old.numbers).size
    kept, replayed = old.weights
    assert_allclose(2_000 * kept + 400 * replayed, 2_400)
    before, first = model.score(curve[2_500:]), model.embedding_
    model.update(curve[2_400:2_500])
    assert model.score(curve[2_500:]) > before - 0.002
    assert model.n_centers_ == (30, 30)  # no region, and the number is explicit
    assert_allclose(model.alpha_, (1e-3, 1e-3))
    shifts = np.linalg.norm(model.embedding_[:2_400] - first, axis=1)
    assert np.median(shifts) < 0.01 * np.linalg.norm(np.ptp(first, axis=0))


@pytest.mark.parametrize("settings", [{"store_embedding": False}, {"down_weight": None}])
def test_other_settings(settings, curve):
    model = DRUR(n_centers=(20, 25), alpha=(1e-3, 1e-4), init="pca", random_state=0, **settings)
    model.fit(curve[:300])
    before = model.score(curve[600:])
    model.update(curve[300:500])
    assert model.score(curve[600:]) > before - 0.005
    assert len(model.embedding_) == (0 if "store_embedding" in settings else 500)
    assert model.n_centers_ == (20, 25)
    assert model.update_report_.median_shift < 0.02


def test_rows_seen_again_change_little(curve):
    model = DRUR(n_centers=20, alpha=1e-3, init="isomap", random_state=0).fit(curve[:300])
    images = model.reconstruct(curve[600:700])
    model.update(curve[:60])
    report = model.update_report_
    assert report.n_regions == 0
    assert report.share_off < 0.15
    assert report.median_shift < 0.01
    assert np.isfinite(model.embedding_).all()
    moved = np.linalg.norm(model.reconstruct(curve[600:700]) - images, axis=1)
    assert np.median(moved) < 0.05

"""The update of kernel regression: the bound, the dilation, units of the data, other metrics."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import cKDTree
from sklearn.datasets import load_digits

from tests.support.differences import central_gradient
from twofold import UKR
from twofold.datasets import make_noisy_spiral, make_s_curve, make_swiss_roll
from twofold.kernels import Gaussian
from twofold.metrics import procrustes_r2
from twofold.numerics.threads import some_rows
from twofold.ukr import growth
from twofold.ukr.growth import NearOldPlaces
from twofold.ukr.regression import KernelRegression


@pytest.fixture(scope="module")
def curve():
    X, _ = make_s_curve(500, random_state=1)
    return X + 0.03 * np.random.default_rng(1).standard_normal(X.shape)


class Slope:
    """A linear objective: its minimizer pulls as far as it can."""

    def __init__(self, gradient):
        self.gradient = gradient

    def value_and_grad(self, Z):
        return float((Z * self.gradient).sum() + np.sin(Z).sum()), self.gradient + np.cos(Z)


def test_the_gradient_with_a_bound_agrees_with_differences():
    rng = np.random.default_rng(0)
    held = NearOldPlaces(Slope(rng.standard_normal((6, 2))), rng.standard_normal((4, 2)), 0.3)
    V = rng.standard_normal((6, 2))
    value, gradient = held.value_and_grad(V)
    assert np.isfinite(value)
    expected = central_gradient(lambda one: held.value_and_grad(one)[0], V)
    assert_allclose(gradient, expected, rtol=1e-6, atol=1e-9)


def test_no_variables_move_an_old_latent_beyond_the_bound():
    rng = np.random.default_rng(0)
    anchors = rng.standard_normal((50, 2))
    held = NearOldPlaces(Slope(0.0), anchors, 0.3)
    for size in (1e-3, 1.0, 1e6):
        V = np.concatenate([anchors + size * rng.standard_normal(anchors.shape), anchors])
        Z = held.latents(V)
        distances = np.linalg.norm(Z[:50] - anchors, axis=1)
        assert (distances < 0.3 * (1.0 + 1e-9)).all()
        assert_array_equal(Z[50:], V[50:])
        if size == 1e-3:
            assert_allclose(Z[:50], V[:50], atol=1e-7)


def test_old_rows_stay_within_one_percent_of_the_map(curve):
    model = UKR(init="isomap", random_state=0).fit(curve[:200])
    diagonal = np.linalg.norm(np.ptp(model.embedding_, axis=0))
    for start in (200, 300, 400):
        before = model.embedding_
        model.update(curve[start : start + 100])
        shifts = np.linalg.norm(model.embedding_[: len(before)] - before, axis=1)
        assert shifts.max() <= growth.BOUND * np.linalg.norm(np.ptp(before, axis=0)) * (1 + 1e-9)
    assert model.embedding_.shape == (500, 2)
    # More rows, narrower kernels: the map keeps its size.
    assert model._latent_units.factors.max() < 0.95
    assert abs(np.linalg.norm(np.ptp(model.embedding_, axis=0)) / diagonal - 1.0) < 0.2


def test_an_updated_model_is_nearly_as_good_as_one_fit():
    X = load_digits().data[np.random.default_rng(0).permutation(1_797)]
    test, X = X[700:1_000], X[:700]
    model = UKR(init="tsne", random_state=0).fit(X[:400])
    first = model.score(test)
    for start in (400, 550):
        model.update(X[start : start + 150])
    once = UKR(init="tsne", random_state=0).fit(X)
    assert 1.0 - model.score(test) < 1.05 * (1.0 - once.score(test))
    assert 1.0 - model.score(test) < 0.97 * (1.0 - first)


def test_a_growing_roll_stays_one_map():
    X, places = make_swiss_roll(1_000, 0.2, random_state=0)
    late = places[:, 0] > np.quantile(places[:, 0], 0.7)
    model = UKR(init="isomap", random_state=0).fit(X[~late]).update(X[late])
    report = model.update_report_
    assert (report.n_regions, report.n_in_regions) == (1, late.sum())
    assert report.share_off > 0.8
    truth = np.concatenate([places[~late], places[late]])
    assert procrustes_r2(truth, model.embedding_) > 0.97
    assert model.score(X) > 0.99


def test_new_clusters_become_islands():
    rng = np.random.default_rng(0)
    places = 10.0 * np.eye(6)
    rows = [center + rng.standard_normal((80, 6)) for center in places]
    model = UKR(init="pca", random_state=0).fit(np.concatenate(rows[:4]))
    model.update(np.concatenate([rows[4], rows[5], rows[0][:20]]))
    report, Z = model.update_report_, model.embedding_
    assert report.n_in_regions == 160
    assert 0.75 < report.share_off < 0.95
    tree = cKDTree(Z[:320])
    for rows_of_cluster in (slice(320, 400), slice(400, 480)):
        assert np.median(tree.query(Z[rows_of_cluster])[0]) > 3.0
    assert tree.query(Z[480:])[0].max() < 3.0  # known rows lie among their own
    encoded = model.transform(rows[5] + 0.01)
    assert np.median(cKDTree(Z[320:480]).query(encoded)[0]) < 1.0


def test_a_row_seen_again_changes_little(curve):
    model = UKR(init="isomap", random_state=0).fit(curve[:300])
    score, Z = model.score(curve[300:]), model.transform(curve[300:])
    model.update(curve[:60])
    assert model.update_report_.n_regions == 0
    assert model.update_report_.share_off < 0.05
    diagonal = np.linalg.norm(np.ptp(model.embedding_, axis=0))
    assert np.median(np.linalg.norm(model.transform(curve[300:]) - Z, axis=1)) < 0.01 * diagonal
    assert abs(model.score(curve[300:]) - score) < 0.1 * (1.0 - score)
    again = np.linalg.norm(model.embedding_[300:] - model.embedding_[:60], axis=1)
    assert np.median(again) < 0.02 * diagonal


def test_densities_are_those_of_the_callers_units():
    X, _ = make_noisy_spiral(500, random_state=0)
    model = UKR(1, init="isomap", random_state=0).fit(X[:200]).update(X[200:])
    assert model._latent_units.factors[0] < 1.0
    low, high = model.embedding_.min() - 50.0, model.embedding_.max() + 50.0
    places = np.linspace(low, high, 40_001)
    total = np.exp(model.log_density(places[:, None])).sum() * (places[1] - places[0])
    assert_allclose(total, 1.0, rtol=1e-3)
    lowest = model.log_density(model.embedding_).min()
    assert_allclose(model.log_density_threshold_, lowest, rtol=1e-6)
    assert model.extent().volume > 6.0


def test_facts_are_those_of_all_rows(curve):
    model = UKR(init="isomap", random_state=0).fit(curve[:300]).update(curve[300:])
    decoder = model.decoder_
    assert len(decoder.inputs_) == len(decoder.targets_) == 500
    assert_allclose(model._data_units.back(decoder.targets_), curve, atol=1e-6)
    assert_allclose(decoder.targets_.mean(axis=0), 0.0, atol=1e-6)
    assert_allclose(model._variance, np.square(decoder.targets_).sum(axis=1).mean(), rtol=1e-6)
    assert_allclose(model._latent_units.back(decoder.inputs_), model.embedding_)
    left_out = decoder.leave_one_out(decoder.inputs_, decoder.targets_)
    error = np.square(left_out - decoder.targets_).sum(axis=1).mean() * model._data_units.unit(2)
    assert_allclose(model.cv_error_, error, rtol=1e-3)
    assert model._data_units.lowest.min() == curve.min()


def test_columns_that_were_constant_come_in(curve):
    X = np.column_stack([curve, 5.0 + np.maximum(curve[:, 0], 0.0)])
    X[:300, 3] = 5.0
    for scale in (None, "standard"):
        model = UKR(init="isomap", scale=scale, random_state=0).fit(X[:300]).update(X[300:])
        assert model._data_units.varying.all()
        decoded = model.inverse_transform(model.embedding_)
        assert_allclose(decoded[:300][curve[:300, 0] < -0.5][:, 3], 5.0, atol=0.2)
        assert np.abs(decoded[300:] - X[300:])[:, 3].mean() < 0.35
        if scale is not None:
            expected = X[:300, :3].std(axis=0)  # columns keep their units
            assert_allclose(model._data_units.factors[:3], expected, rtol=1e-9)
            assert_allclose(model._data_units.factors[3], X[:, 3].std(), rtol=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {"metric": "l1"},
        {"metric": "rbf", "metric_params": {"gamma": 0.3}},
        {"kernel": "quartic"},
        {"smoothing": 1.3},
        {"pseudo_count": 0.0, "leave_out": 2},
        {"n_components": 1},
    ],
    ids=str,
)
def test_other_settings(settings, curve):
    model = UKR(init="pca", homotopy=False, random_state=0, **settings).fit(curve[:150])
    before = model.embedding_
    model.update(curve[150:230])
    assert model.embedding_.shape == (230, before.shape[1])
    shifts = np.linalg.norm(model.embedding_[:150] - before, axis=1)
    assert shifts.max() <= 0.01 * np.linalg.norm(np.ptp(before, axis=0)) * (1 + 1e-9)
    assert np.isfinite(model.score(curve[230:]))
    assert np.isfinite(model.log_density(model.embedding_)).all()


def test_pairs_of_rows_cannot_be_extended(curve):
    from sklearn.metrics.pairwise import rbf_kernel

    model = UKR(metric="precomputed", init="pca", random_state=0).fit(rbf_kernel(curve[:60]))
    with pytest.raises(ValueError, match="precomputed"):
        model.update(rbf_kernel(curve[60:70], curve[:60]))


def test_the_error_of_some_rows_is_that_of_all():
    rng = np.random.default_rng(0)
    Z = rng.uniform(0.0, 60.0, (5_000, 2))
    data = np.column_stack([np.sin(0.2 * Z), 0.1 * Z]) + 0.1 * rng.standard_normal((5_000, 4))
    data -= data.mean(axis=0)
    scheme = KernelRegression.of(data, Gaussian(), many=True)
    columns = scheme.decoder(Z, scheme.data)._columns
    assert columns is not None
    assert_allclose(scheme.cv_error_of_some(Z, 5_000, columns), scheme.cv_error(Z))
    assert_allclose(scheme.cv_error_of_some(Z, 1_000, None), scheme.cv_error(Z))
    if not columns.is_available:
        pytest.skip("without compiled loops it is the error of all rows")
    mass, sums = scheme.weigh_plain(Z).mass_and_apply(scheme.data)
    images = sums / np.maximum(mass, 1e-12)[:, None]
    rows = some_rows(len(Z), 1_000)
    expected = np.square(images[rows] - scheme.data[rows]).sum(axis=1).mean()
    assert_allclose(scheme.cv_error_of_some(Z, 1_000, columns), expected, rtol=2e-3)

"""`update`: new rows are taken in, old ones stay, and a failed update changes nothing."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import twofold
from tests.support.registry import ESTIMATORS
from twofold import DRUR, UKR, AutoTwoWay, PrincipalManifold, TableMap, TwoWay
from twofold.base import UpdateReport, growth
from twofold.base.gaps import extended_filling
from twofold.datasets import make_s_curve
from twofold.numerics.completion import GapFilling
from twofold.numerics.units import CenteredUnits

CAN = {
    "ukr": UKR(init="isomap", random_state=0),
    "drur": DRUR(n_centers=20, alpha=1e-3, init="isomap", random_state=0),
    "manifold": PrincipalManifold(2, alpha=1e-3, init="pca", tol=1e-2, random_state=0),
    "auto": AutoTwoWay(methods={"ukr": UKR(init="pca", random_state=0)}, random_state=0),
}
CANNOT = ("two_way-isomap", "sne", "isomap", "supervised", "auto", "drur-all", "drur-mlp")


@pytest.fixture(scope="module")
def curve():
    X, _ = make_s_curve(420, random_state=0)
    return X + 0.02 * np.random.default_rng(0).standard_normal(X.shape)


@pytest.fixture(scope="module")
def saved(curve, tmp_path_factory):
    """Fitted models as files, which every test loads anew."""
    folder = tmp_path_factory.mktemp("update")
    for name, model in CAN.items():
        model.fit(curve[:300]).save(folder / name)
    return folder


@pytest.mark.parametrize("name", CAN)
def test_new_rows_are_taken_in_and_old_ones_stay(name, saved, curve):
    model = twofold.load(saved / name)
    before = model.embedding_
    assert model.update(curve[300:400]) is model
    report = model.update_report_
    assert model.embedding_.shape == (400, 2)
    assert (report.n_new, report.n_rows, report.n_regions) == (100, 400, 0)
    assert report.share_off < 0.25
    assert abs(report.density_change) < 0.5
    shifts = np.linalg.norm(model.embedding_[:300] - before, axis=1)
    diagonal = np.linalg.norm(np.ptp(before, axis=0))
    assert_allclose(report.median_shift, np.median(shifts) / diagonal)
    assert_allclose(report.largest_shift, shifts.max() / diagonal)
    assert report.median_shift < (0.02 if name == "manifold" else 0.01)
    assert model.score(curve[400:]) > twofold.load(saved / name).score(curve[400:]) - 0.005
    assert np.isfinite(model.log_density(model.embedding_)).all()
    # The rows' own latents are near those of the encoder.
    gaps = np.linalg.norm(model.transform(curve[:400]) - model.embedding_, axis=1)
    assert np.median(gaps) < 0.05 * diagonal


@pytest.mark.parametrize("name", CAN)
def test_files_keep_what_an_update_needs(name, saved, curve, tmp_path):
    first, second = twofold.load(saved / name), twofold.load(saved / name)
    first.update(curve[300:350])
    first.save(tmp_path / "model")
    third = twofold.load(tmp_path / "model")
    assert str(third.update_report_) == str(first.update_report_)
    second.update(curve[300:350])
    for one in (first, second, third):
        one.update(curve[350:400])
    for name in ("embedding_", "_variance"):
        assert_array_equal(getattr(second, name), getattr(first, name))
        assert_array_equal(getattr(third, name), getattr(first, name))
    assert_array_equal(third.transform(curve[400:]), first.transform(curve[400:]))
    assert_array_equal(
        third.inverse_transform(first.embedding_), first.inverse_transform(first.embedding_)
    )
    gaps = curve[400:].copy()
    gaps[::2, 0] = np.nan
    assert_array_equal(third.impute(gaps), first.impute(gaps))


@pytest.mark.parametrize("name", CAN)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_failed_update_changes_nothing(name, error, saved, curve, monkeypatch):
    model = twofold.load(saved / name)
    before = dict(vars(model))
    inside = dict(vars(model._unwrapped))

    def fails(*args):
        raise error

    monkeypatch.setattr(growth, "extended_filling", fails)
    with pytest.raises(error):
        model.update(curve[300:])
    assert vars(model) == before
    assert vars(model._unwrapped) == inside
    assert not hasattr(model, "update_report_")


@pytest.mark.parametrize("name", CANNOT)
def test_other_models_say_why_they_cannot(name, curve):
    model = ESTIMATORS[name].fit(curve[:120])
    with pytest.raises((TypeError, ValueError), match="new rows in"):
        model.update(curve[120:])
    assert model.embedding_.shape[0] == 120


def test_bad_rows_are_refused(saved, curve):
    model = twofold.load(saved / "ukr")
    before = dict(vars(model))
    for bad, match in (
        (curve[:4, :2], "features"),
        (np.full((3, 3), np.inf), "infinity"),
        (np.empty((0, 3)), "0 sample"),
        (np.full((3, 3), np.nan), "only missing"),
        (np.array([["a", "b", "c"]]), "could not convert"),
    ):
        with pytest.raises((ValueError, TypeError), match=match):
            model.update(bad)
    assert vars(model) == before
    with pytest.raises(ValueError, match="not fitted"):
        UKR().update(curve)
    with pytest.warns(UserWarning, match="0 directions"):
        equal = UKR().fit(np.ones((20, 3)))
    with pytest.raises(ValueError, match="all equal"):
        equal.update(curve)


@pytest.mark.parametrize("far", [1e8, 1e20, 1e150])
@pytest.mark.parametrize("name", ["ukr", "drur", "manifold"])
def test_rows_far_from_all_others(name, far, saved, curve):
    model = twofold.load(saved / name)
    with pytest.warns(UserWarning, match="other units"):
        model.update(curve[300:330] * 1e-9 * far + far)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.inverse_transform(model.transform(curve[:5]))).all()


def test_a_fit_after_an_update_forgets_it(saved, curve):
    model = twofold.load(saved / "ukr").update(curve[300:])
    model.fit(curve[:300])
    assert not hasattr(model, "update_report_")
    assert model.embedding_.shape == (300, 2)


@pytest.mark.parametrize("name", ["ukr", "drur", "manifold"])
def test_gaps_in_new_rows_are_filled(name, saved, curve):
    model, X = twofold.load(saved / name), curve[300:400].copy()
    X[::3, 1] = np.nan
    model.update(X)
    donors = model._gap_filling.donors
    assert donors.numbers.max() >= 300
    assert not np.isin(300 + np.arange(0, 100, 3), donors.numbers).any()  # incomplete ones
    assert np.isfinite(model.embedding_).all()
    holes = curve[400:].copy()
    holes[:, 2] = np.nan
    error = np.abs(model.impute(holes) - curve[400:]).mean()
    assert error < 1.2 * np.abs(twofold.load(saved / name).impute(holes) - curve[400:]).mean()


def test_a_table_with_gaps_can_grow(curve):
    X = curve.copy()
    X[::4, 0] = np.nan
    model = UKR(init="isomap", random_state=0).fit(X[:300]).update(X[300:400])
    donors = model._gap_filling.donors
    assert len(donors.gaps) == len(donors.rows) == 400
    assert_array_equal(donors.gaps[donors.numbers == 304], [[True, False, False]])
    assert np.isfinite(model.impute(X[400:])).all()


def test_donors_stand_for_all_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 3)) * [3.0, 1.0, 0.1]
    before, units = CenteredUnits.of(X[:4_000]), CenteredUnits.of(X)
    filling = GapFilling.of_complete(before.into(X[:4_000]))
    no_gaps = np.zeros((1_000, 3), dtype=bool)
    grown = extended_filling(filling, before, units, X[4_000:], no_gaps, 4_000, rng).donors
    assert len(grown.rows) == 2_000
    assert abs((grown.numbers >= 4_000).mean() - 0.2) < 0.001
    assert_allclose(grown.rows, units.into(X[grown.numbers]), atol=1e-5)


def test_the_variance_of_all_rows_is_known(saved, curve):
    model = twofold.load(saved / "manifold").update(curve[300:400] + np.array([0.5, 0.0, 0.0]))
    everyone = np.concatenate([curve[:300], curve[300:400] + np.array([0.5, 0.0, 0.0])])
    inside = model._data_units.into(everyone)
    expected = np.square(inside - inside.mean(axis=0)).sum(axis=1).mean()
    assert_allclose(model._variance, expected, rtol=1e-6)


def test_tables_grow(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    size = rng.uniform(1, 3, 200)
    frame = pd.DataFrame(
        {"length": size + 0.1 * rng.normal(size=200), "kind": np.where(size < 2, "bird", "cat")}
    )
    table = TableMap(UKR(1, random_state=0)).fit(frame[:150])
    kept = table.model_
    assert table.update(frame[150:]) is table
    assert table.embedding_.shape == (200, 1)
    assert len(kept.embedding_) == 150
    assert table.update_report_.n_new == 50
    table.save(tmp_path / "table")
    loaded = twofold.load(tmp_path / "table")
    assert_array_equal(loaded.transform(frame), table.transform(frame))
    assert (table.reconstruct(frame).kind == frame.kind).mean() > 0.95


def test_blocks_of_dask_are_taken_in_one_by_one(saved, curve):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    model, other = twofold.load(saved / "ukr"), twofold.load(saved / "ukr")
    model.update(da.from_array(curve[300:400], chunks=(50, 3)))
    other.update(dd.from_pandas(pd.DataFrame(curve[300:400]), npartitions=2))
    report = model.update_report_
    assert (report.n_new, report.n_rows) == (100, 400)
    assert model.embedding_.shape == (400, 2)
    assert_array_equal(other.embedding_, model.embedding_)
    # No block moves a row farther than the bound, nor do two of them more than twice that.
    assert report.largest_shift <= 0.021
    with pytest.raises(ValueError, match="features"):
        model.update(da.from_array(curve[:20, :2], chunks=(10, 2)))


def test_a_failure_in_the_second_block_changes_nothing(saved, curve):
    da = pytest.importorskip("dask.array")
    model, rows = twofold.load(saved / "drur"), curve[300:400].copy()
    before = dict(vars(model))
    rows[70] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.update(da.from_array(rows, chunks=(50, 3)))
    assert vars(model) == before


def test_sparse_rows(curve):
    sparse = pytest.importorskip("scipy.sparse")
    model = UKR(init="pca", random_state=0).fit(curve[:100])
    model.update(sparse.csr_array(curve[100:120]))
    assert model.embedding_.shape == (120, 2)


def test_the_report_is_a_table():
    report = UpdateReport(10, 110, 0.05, -0.2, 1, 4, 0.001, 0.01, 2.0)
    assert "share of new rows off the old manifold" in str(report)
    assert "0.1 %" in repr(report)
    assert "<table" in report._repr_html_()
    assert report.to_frame().n_new.item() == 10


def test_the_embedding_of_a_weighted_fit_moves_with_the_map(curve):
    weights = np.ones(200)
    weights[:20], weights[20:40] = 0.0, 2.0
    model = UKR(init="pca", random_state=0).fit(curve[:200], sample_weight=weights)
    before = model.embedding_
    model.update(curve[200:300])
    assert model.embedding_.shape == (300, 2)
    diagonal = np.linalg.norm(np.ptp(before, axis=0))
    assert np.linalg.norm(model.embedding_[:200] - before, axis=1).max() <= 0.011 * diagonal


def test_a_winner_that_cannot_grow_is_named(curve):
    model = AutoTwoWay(methods={"flat": TwoWay("pca", up="nw", down="nw")}, random_state=0)
    with pytest.raises(TypeError, match="TwoWay cannot"):
        model.fit(curve[:100]).update(curve[100:])


FILES = Path(__file__).parents[1] / "files"


@pytest.mark.parametrize("name", ["format-1/first", "format-1/ukr-subspace", "format-4/manifold"])
def test_models_of_former_files_grow(name):
    model = twofold.load(FILES / f"{name}.twofold")
    images = model.inverse_transform(model.embedding_[:30])
    rows = images + 0.01 * np.random.default_rng(0).standard_normal(images.shape)
    n = len(model.embedding_)
    assert model.update(rows).embedding_.shape[0] == n + 30


def test_files_without_rows_say_so():
    model = twofold.load(FILES / "format-1" / "manifold-circle.twofold")
    with pytest.raises(ValueError, match="older file"):
        model.update(model.inverse_transform(model.embedding_[:5]))

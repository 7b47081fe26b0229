"""Compressed models: every estimator, what they cost, what stays."""

import numpy as np
import pandas as pd
import pytest
from registry import ESTIMATORS
from sklearn.base import clone

import twofold
from twofold import UKR, AutoTwoWay, PrincipalManifold, TableMap, TwoWay
from twofold.base.compressing import n_bytes_of
from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.maps import NadarayaWatson, Projection

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def X():
    return make_s_curve(600, random_state=0)[0]


@pytest.fixture(scope="module")
def model(X):
    return UKR(init="isomap", random_state=0).fit(X[::2])


@pytest.fixture(scope="module")
def small(model):
    return model.compress(100)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator(name):
    """A model with a Nadaraya-Watson decoder gets smaller; others say why not."""
    X = make_swiss_roll(120, random_state=0)[0]
    model = clone(ESTIMATORS[name]).fit(X)
    inner = getattr(model, "best_estimator_", model)
    if not isinstance(inner.decoder_, NadarayaWatson):
        with pytest.raises(ValueError, match="keeps no training rows"):
            model.compress(30)
        return
    before = model.__dict__.copy()
    small = model.compress(30)
    assert {key: id(one) for key, one in model.__dict__.items()} == {
        key: id(one) for key, one in before.items()
    }
    assert type(small) is type(model)
    found = small.compression_
    assert 20 <= found.n_prototypes <= 30
    assert found.n_rows == 120
    assert found.n_bytes < found.n_bytes_before
    assert small.embedding_.shape == (found.n_prototypes, 2)
    Z = small.transform(X)
    assert np.isfinite(Z).all()
    images = small.inverse_transform(Z)
    assert images.shape == X.shape
    np.testing.assert_array_equal(small.transform(X[5:6]), Z[5:6])
    np.testing.assert_array_equal(small.reconstruct(X), images)
    assert np.isfinite(small.log_density(Z)).all()
    assert small.sample(3, random_state=0).shape == (3, 3)
    gappy = X[:5].copy()
    gappy[:, 1] = np.nan
    filled = small.impute(gappy)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[:, [0, 2]], X[:5, [0, 2]])


def test_the_error_is_that_of_new_rows(model, small, X):
    """The reported ratio is about that of rows that no model has seen."""
    found, fresh = small.compression_, X[1::2]
    ratio = (1.0 - small.score(fresh)) / (1.0 - model.score(fresh))
    assert 0.6 < ratio / found.ratio < 1.4
    assert found.ratio > 1.0
    assert "100 prototypes for 300 rows" in str(found)
    assert "compressed to 100 prototypes" in repr(small)


def test_as_many_prototypes_as_are_needed(model):
    numbers = [model.compress(max_error_ratio=one).compression_ for one in (3.0, 1.3)]
    assert numbers[0].n_prototypes < numbers[1].n_prototypes
    assert numbers[0].ratio <= 3.0
    assert numbers[1].ratio <= 1.3


def test_latents_mean_the_same(model, small, X):
    moved = np.abs(small.transform(X) - model.transform(X))
    assert np.median(moved) < 0.1 * model.embedding_.std()


def test_files(model, small, X, tmp_path):
    for one, name in ((model, "large"), (small, "small")):
        one.save(tmp_path / name)
    assert (tmp_path / "small").stat().st_size < 0.7 * (tmp_path / "large").stat().st_size
    again = twofold.load(tmp_path / "small")
    assert again.compression_ == small.compression_
    np.testing.assert_array_equal(again.transform(X), small.transform(X))
    np.testing.assert_array_equal(
        again.impute(X[:2] * [[1, np.nan, 1]]), small.impute(X[:2] * [[1, np.nan, 1]])
    )
    refitted = clone(again).fit(X[:50])
    assert not hasattr(refitted, "compression_")
    assert not hasattr(again.fit(X[:50]), "compression_")


def test_same_again(model, small):
    other = model.compress(100)
    np.testing.assert_array_equal(other.decoder_.targets_, small.decoder_.targets_)
    np.testing.assert_array_equal(other.density_.points_, small.density_.points_)


def test_encoders(X):
    """Encoders that keep rows become projections; others stay."""
    by_rows = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(X[::3])
    assert isinstance(by_rows.compress(50).encoder_, Projection)
    kept = TwoWay("isomap", up="nw", down="krr", random_state=0).fit(X[::3])
    assert kept.compress(50).encoder_ is kept.encoder_


def test_a_projection_in_a_subspace(X):
    wide = np.hstack([X[::2]] * 20) + 0.01 * np.random.default_rng(0).normal(size=(300, 60))
    model = UKR(init="isomap", random_state=0).fit(wide)
    small = model.compress(120)
    space, projection = small.encoder_.maps
    assert projection.decoder.targets_.shape == (
        small.compression_.n_prototypes,
        space.forth.shape[1],
    )
    assert small.score(wide) > 0.9


def test_tables_and_the_front_door(X):
    frame = pd.DataFrame(X[::3], columns=list("abc")).assign(side=np.where(X[::3, 0] > 0, "l", "r"))
    table = TableMap(UKR(init="pca", random_state=0)).fit(frame)
    small = table.compress(60)
    assert small.compression_.n_prototypes <= 60
    assert table.embedding_.shape == (200, 2)
    assert set(small.inverse_transform(small.embedding_).side) == {"l", "r"}
    assert small.score(frame) > 0.8
    auto = AutoTwoWay(methods={"ukr": UKR(init="isomap")}, random_state=0).fit(X[::3])
    fewer = auto.compress(60)
    assert fewer.best_estimator_.compression_ == fewer.compression_
    np.testing.assert_array_equal(fewer.transform(X[:9]), fewer.best_estimator_.transform(X[:9]))


def test_bad_requests(model, small, X, monkeypatch):
    with pytest.raises(ValueError, match="n_prototypes=0 must be"):
        model.compress(0)
    with pytest.raises(ValueError, match="n_prototypes=301 must be"):
        model.compress(301)
    with pytest.raises(ValueError, match=r"max_error_ratio=1\.0 must be"):
        model.compress(max_error_ratio=1.0)
    with pytest.raises((TypeError, ValueError), match="n_prototypes='many'"):
        model.compress("many")
    with pytest.raises(ValueError, match="compressed already"):
        small.compress(10)
    with pytest.raises(ValueError, match="nearest_rows needs the training rows"):
        small.nearest_rows(small.embedding_)
    with pytest.raises(ValueError, match="extent needs the training rows"):
        small.extent()
    with pytest.raises(ValueError, match="Update the model that was compressed"):
        small.update(X)
    monkeypatch.setattr("twofold.base.compressing.SHARES", (64, 32))
    with pytest.raises(ValueError, match="needs more than 9 prototypes"):
        model.compress(max_error_ratio=1.01)
    with pytest.raises(ValueError, match="not fitted"):
        UKR().compress()
    few = TwoWay("pca", up="nw", down="nw").fit(X[:15])
    with pytest.raises(ValueError, match="has 15 training rows"):
        few.compress()
    nodes = PrincipalManifold(alpha=1e-2, init="pca", random_state=0).fit(X[:60])
    with pytest.raises(ValueError, match="keeps no training rows"):
        nodes.compress()


def test_bytes_count_arrays_once():
    one = np.zeros(10)
    assert n_bytes_of({"a": [one, one], "b": (np.zeros(1),), "c": "text"}) == 88


def test_too_few_prototypes_are_said_to_be_too_few(model):
    with pytest.warns(UserWarning, match="n_prototypes=2 is too few: the held-out error is"):
        model.compress(2)

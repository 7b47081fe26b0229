"""Rows in other units than those of the fit are noticed."""

import re
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import twofold
from twofold import DRUR, UKR, TwoWay
from twofold.base.other_units import warn_of_other_units

METHODS = ["transform", "score", "reconstruct", "reconstruction_error"]


def fast():
    return TwoWay("pca", up="nw", down="nw", random_state=0)


def standardized(X):
    return StandardScaler().fit_transform(X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_rows_in_their_own_units_for_a_model_of_z_scores(method, load):
    data = load(as_frame=True).data
    scaler = StandardScaler().set_output(transform="pandas")
    model = fast().fit(scaler.fit_transform(data))
    with pytest.warns(UserWarning, match="far from the rows of the fit") as caught:
        getattr(model, method)(data)
    (warning,) = caught
    assert warning.filename == __file__
    text = str(warning.message)
    worst = re.search(r"fit: '([^']+)' from (\S+) to (\S+) instead of (\S+) to (\S+)", text)
    assert worst is not None
    assert float(worst[2]) == pytest.approx(data[worst[1]].min(), rel=1e-3)
    assert "scale='standard'" in text


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_z_scores_for_a_model_of_other_units(load):
    X = load().data + 1.0
    with pytest.warns(UserWarning, match="far from the rows of the fit: column"):
        fast().fit(X).transform(standardized(X)[:100])


def test_rows_collapsed_to_an_end_of_the_range():
    X = load_digits().data * 16.0
    with pytest.warns(UserWarning, match="far from the rows of the fit: column"):
        fast().fit(X).transform(X[:300] / 255.0)


def test_drur_and_pipelines():
    X = load_wine().data
    model = DRUR(n_centers=10, init="pca", random_state=0).fit(standardized(X))
    with pytest.warns(UserWarning, match="far from the rows of the fit: column"):
        model.transform(X, method="map")
    pipeline = make_pipeline(StandardScaler(), fast()).fit(X)
    with pytest.warns(UserWarning, match="far from the rows of the fit: column"):
        twofold.from_pipeline(pipeline).transform(1000.0 * X)
    pipeline = make_pipeline(StandardScaler(), PCA(5), fast()).fit(X)
    with pytest.warns(UserWarning, match="component 0"):
        twofold.from_pipeline(pipeline).transform(1000.0 * X)


def test_model_files(tmp_path):
    X = load_wine().data
    fast().fit(standardized(X)).save(tmp_path / "m.twofold")
    model = twofold.load(tmp_path / "m.twofold")
    with pytest.warns(UserWarning, match="far from"):
        model.transform(X)
    for units in (model._data_units, model._latent_units):  # as in files of older versions
        for name in ("factors", "lowest", "highest"):
            units.__dict__.pop(name)
    model.transform(X)


class TestSilence:
    """Warnings are errors here."""

    @pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
    def test_held_out_rows_and_classes(self, load):
        X, y = load(return_X_y=True)
        train, test = train_test_split(X, random_state=0)
        model = fast().fit(train)
        for method in METHODS:
            getattr(model, method)(test)
        for label in np.unique(y)[:3]:
            fast().fit(X[y != label]).transform(X[y == label])

    def test_few_rows_and_outliers(self):
        X = load_iris().data
        model = fast().fit(X)
        model.transform(1e6 * X[:9])
        model.transform(np.vstack([X, 1e6 * X[:40]]))
        model.transform(np.repeat(X[:1], 50, axis=0))

    def test_extrapolation(self):
        t = np.linspace(0.0, 1.0, 200)[:, None]
        X = np.hstack([t, 2.0 * t, 3.0 * t**2])
        fast().fit(X[:100]).transform(X[100:])
        fast().fit(X[:100]).transform(X[100:] + 0.1)

    def test_sparse_counts(self):
        rng = np.random.default_rng(0)
        X = rng.poisson(rng.gamma(0.05, 20.0, size=(300, 50))).astype(float)
        fast().fit(X[:250]).transform(X[250:])

    def test_precomputed_kernels_have_no_units(self):
        X = load_iris().data
        model = UKR(metric="precomputed", init="pca", homotopy=False, max_iter=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X @ X.T)
        model.transform(100.0 * X @ X.T)


def test_it_takes_little_time():
    X = np.random.default_rng(0).standard_normal((200_000, 20))
    model = fast().fit(X[:500])
    began = time.perf_counter()
    warn_of_other_units(model, X)
    assert time.perf_counter() - began < 0.2

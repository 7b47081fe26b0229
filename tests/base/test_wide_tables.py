"""Tables with many more columns than rows: cost of no matrix of all columns, and equal results."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, Ridge

from twofold import (
    DRUR,
    SNE,
    UKR,
    AutoTwoWay,
    PrincipalManifold,
    SupervisedIsomap,
    TwoWay,
)
from twofold.maps import KernelRidgeMap, LinearMap, NadarayaWatson, Projection, RBFNetwork
from twofold.maps import affine as affine_module
from twofold.maps.affine import Affine, Chain, are_wide
from twofold.principal_manifold import KPlanes

N_COLUMNS = 5_000
SQUARE = 8 * N_COLUMNS**2
"""Bytes of a matrix of all pairs of columns."""


def curve(n_rows, n_columns=N_COLUMNS, seed=0):
    """Return rows near a closed curve in many columns, and its parameter."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 6.0, n_rows)
    inside = np.column_stack([np.cos(angle), np.sin(angle), np.cos(2 * angle)])
    axes = np.random.default_rng(99).standard_normal((3, n_columns))
    return inside @ axes + 0.1 * rng.standard_normal((n_rows, n_columns)), angle


@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_linear_maps_of_few_rows(alpha):
    X, angle = curve(30, 200)
    targets = np.column_stack([angle, angle**2])
    found = LinearMap(alpha).fit(X, targets)
    expected = (Ridge(alpha) if alpha else LinearRegression()).fit(X, targets)
    assert_allclose(found.weights_.T, expected.coef_, rtol=1e-7, atol=1e-12)
    assert_allclose(found.predict(X), expected.predict(X), rtol=1e-9)


def test_linear_maps_of_equal_rows():
    found = LinearMap().fit(np.ones((3, 7)), np.arange(6.0).reshape(3, 2))
    assert_allclose(found.predict(np.zeros((1, 7))), [[2.0, 3.0]])


def test_axes_of_the_rows():
    X = curve(20)[0]
    span = Affine.span_of_rows(X)
    assert are_wide(X)
    assert not are_wide(X[:, :999])
    assert not are_wide(np.empty((3_000, N_COLUMNS)))
    assert_allclose(span.back(span.into(X)), X, atol=1e-9)
    assert_allclose(span.forth.T @ span.forth, np.eye(20), atol=1e-12)


@pytest.mark.parametrize("up", [NadarayaWatson(), KernelRidgeMap(), RBFNetwork(5, random_state=0)])
def test_projections_in_the_span_of_the_rows_are_the_same(up, monkeypatch):
    X, angle = curve(60, 1_200)
    other = curve(40, 1_200, seed=1)[0]
    inside = TwoWay(angle[:, None], up=up, down="projection", random_state=0).fit(X)
    monkeypatch.setattr(affine_module, "WIDE", 10**9)
    plain = TwoWay(angle[:, None], up=up, down="projection", random_state=0).fit(X)
    assert isinstance(inside.encoder_, Chain)
    assert isinstance(plain.encoder_, Projection)
    assert_allclose(inside.transform(other), plain.transform(other), atol=1e-6)
    assert_allclose(inside.reconstruct(other), plain.reconstruct(other), atol=1e-6)


def test_own_maps_keep_all_columns():
    class Own(NadarayaWatson):
        """Images that are no combinations of the rows."""

        def predict(self, inputs):
            return super().predict(inputs) ** 3

    X, angle = curve(30, 1_200)
    model = TwoWay(angle[:, None], up=Own(), down="projection", random_state=0).fit(X)
    assert isinstance(model.encoder_, Projection)


def test_ukr_in_the_span_of_the_rows_is_the_same(monkeypatch):
    X, other = curve(60, 1_200)[0], curve(40, 1_200, seed=1)[0]
    make = lambda: UKR(1, init="pca", homotopy=False, max_iter=15, random_state=0)
    with pytest.warns(UserWarning, match="max_iter=15"):
        inside = make().fit(X)
    monkeypatch.setattr(affine_module, "WIDE", 10**9)
    with pytest.warns(UserWarning, match="max_iter=15"):
        plain = make().fit(X)
    assert_allclose(inside.embedding_, plain.embedding_, atol=1e-6)
    assert_allclose(inside.cv_error_, plain.cv_error_, rtol=1e-6)
    assert_allclose(inside.transform(other), plain.transform(other), atol=1e-5)
    Z = plain.embedding_
    assert_allclose(inside.inverse_transform(Z), plain.inverse_transform(Z), atol=1e-5)


def test_rows_of_a_cluster_do_not_lie_in_the_span_of_the_sample():
    da = pytest.importorskip("dask.array")
    import twofold.dask

    rng = np.random.default_rng(0)
    t = rng.uniform(0.0, 6.0, 400)
    X = 0.5 * np.c_[np.cos(t), t] @ rng.standard_normal((2, 1_100))
    X += rng.standard_normal(X.shape)
    histories = []
    for columns in (1_100, 999):  # the second is not wide
        levels = twofold.dask.Levels(n_sample=150, n_sweeps=1)
        rows = da.from_array(X[:, :columns], chunks=(200, columns))
        model = twofold.dask.fit(UKR(init="pca", random_state=0), rows, levels=levels)
        histories.append(model.refinement_history_)
    assert_allclose(*histories, rtol=0.05)


@pytest.mark.parametrize(
    "model",
    [
        AutoTwoWay(methods=["pca", "isomap"], random_state=0),
        TwoWay(random_state=0),
        SNE(max_iter=50, random_state=0),
        UKR(random_state=0),
        DRUR(random_state=0),
        PrincipalManifold(alpha=1e-2, random_state=0),
        SupervisedIsomap(random_state=0),
        KPlanes(random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_matrix_of_all_columns(model):
    X = curve(40)[0]
    tracemalloc.start()
    try:
        model.fit(X, np.arange(40) % 2).transform(curve(40, seed=1)[0])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * SQUARE

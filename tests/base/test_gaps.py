"""Missing cells (NaN) in the data of a fit and in new rows, for every estimator."""

import copy
import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from registry import ESTIMATORS
from sklearn.base import clone
from sklearn.impute import KNNImputer

import twofold
import twofold.dask
from twofold.datasets import make_s_curve, make_swiss_roll

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*joined at their closest points.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:The error was still falling:UserWarning"),
]
everyone = pytest.mark.parametrize("name", ESTIMATORS)
SHARE = 0.15


def make(name, **params):
    return clone(ESTIMATORS[name]).set_params(**params)


def with_gaps(X, share=SHARE, seed=0):
    """Remove cells at random, at least one cell of each row stays."""
    rng = np.random.default_rng(seed)
    gaps = rng.random(X.shape) < share
    gaps[np.arange(len(X)), rng.integers(X.shape[1], size=len(X))] = False
    return np.where(gaps, np.nan, X)


@pytest.fixture(scope="module")
def X():
    """A bent sheet in six columns, so that three of them determine the others."""
    curve = make_s_curve(120, noise=0.05, random_state=0)[0]
    return curve @ np.random.default_rng(1).standard_normal((3, 6))


@pytest.fixture(scope="module")
def gappy(X):
    return with_gaps(X)


@pytest.fixture(scope="module")
def fitted():
    return {}


@pytest.fixture
def model(name, gappy, fitted):
    if name not in fitted:
        fitted[name] = make(name).fit(gappy)
    return fitted[name]


@everyone
def test_all_methods_take_gaps(model, gappy):
    Z = model.transform(gappy)
    assert Z.shape == model.embedding_.shape
    for output in (
        Z,
        model.embedding_,
        model.reconstruct(gappy),
        model.reconstruction_error(gappy),
        model.score(gappy),
        model.impute(gappy),
    ):
        assert np.isfinite(output).all()
    assert model.__sklearn_tags__().input_tags.allow_nan


@everyone
def test_impute_leaves_observed_cells(model, gappy):
    filled, std = model.impute(gappy, return_std=True)
    observed = ~np.isnan(gappy)
    np.testing.assert_array_equal(filled[observed], gappy[observed])
    assert (std[observed] == 0.0).all()
    assert (std[~observed] > 0.0).all()


@everyone
def test_rows_do_not_depend_on_each_other(model, gappy):
    Z, filled = model.transform(gappy), model.impute(gappy)
    some = [3, 50, 7]
    np.testing.assert_allclose(model.transform(gappy[some]), Z[some], atol=1e-7)
    np.testing.assert_allclose(model.impute(gappy[some]), filled[some], atol=1e-9)


@everyone
def test_calls_change_nothing(model, gappy):
    before, given = pickle.dumps(model), gappy.copy()
    model.impute(gappy)
    model.score(gappy)
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(gappy, given)


@everyone
def test_copies_fill_gaps_alike(name, model, gappy, tmp_path):
    if name == "supervised":
        pytest.skip("the registered instance is a class of the tests")
    twofold.save(model, tmp_path / "model.twofold")
    loaded = twofold.load(tmp_path / "model.twofold")
    filled = model.impute(gappy)
    for other in (loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.impute(gappy), filled)


@everyone
def test_complete_fit_fills_gaps_of_new_rows(name, X, gappy):
    model = make(name).fit(X)
    filled = model.impute(gappy)
    gaps = np.isnan(gappy)
    error = np.square(filled - X)[gaps].mean()
    assert error < 0.5 * np.square(X - X.mean(axis=0))[gaps].mean()


@everyone
@pytest.mark.parametrize("factor", [2.0**40, 1e-120, 1e120])
def test_scale_of_the_data(name, model, gappy, factor):
    if name == "drur-mlp":
        pytest.skip("few iterations of a perceptron follow the last digits of the data")
    scaled = make(name).fit(gappy * factor)
    np.testing.assert_allclose(
        scaled.impute(gappy * factor), model.impute(gappy) * factor, rtol=1e-4, atol=1e-4 * factor
    )


def test_without_gaps_as_before(X):
    """Gaps of one row move the others little; no gaps move nothing at all."""
    first = twofold.UKR(init="pca", random_state=0).fit(X)
    again = twofold.UKR(init="pca", random_state=0).fit(np.where(np.isnan(X), np.nan, X))
    np.testing.assert_array_equal(first.embedding_, again.embedding_)


def test_empty_columns_are_named(X):
    bad = X.copy()
    bad[:, 1] = np.nan
    with pytest.raises(ValueError, match="Column 1 of X has only missing values"):
        twofold.UKR().fit(bad)


def test_infinity_beside_gaps(gappy):
    bad = gappy.copy()
    bad[9, 2] = np.inf
    with pytest.raises(ValueError, match="contains infinity, first in row 9, column 2"):
        twofold.UKR().fit(bad)


def test_precomputed_kernels_take_no_gaps(X):
    gram = X @ X.T
    gram[3, 4] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        twofold.UKR(metric="precomputed").fit(gram)


@pytest.mark.parametrize("form", ["nullable", "masked", "float32", "list"])
def test_forms_of_missing_values(gappy, form):
    reference = twofold.UKR(init="pca", random_state=0).fit(gappy)
    given = {
        "nullable": lambda: pd.DataFrame(gappy, columns=list("abcdef")).astype("Float64"),
        "masked": lambda: np.ma.masked_invalid(gappy),
        "float32": lambda: gappy.astype(np.float32),
        "list": lambda: gappy.tolist(),
    }[form]()
    if form == "nullable":
        assert given.isna().to_numpy().any()
    model = twofold.UKR(init="pca", random_state=0).fit(given)
    filled = model.impute(given)
    np.testing.assert_allclose(filled, reference.impute(gappy), atol=1e-2)
    assert filled.dtype == (np.float32 if form == "float32" else np.float64)


def test_two_rows():
    X = np.array([[0.0, 1.0, 2.0], [1.0, np.nan, 4.0]])
    model = twofold.UKR(1, random_state=0).fit(X)
    assert model.impute(X)[1, 1] == pytest.approx(1.0, abs=0.5)


def test_gaps_in_a_constant_column():
    X = make_s_curve(60, random_state=0)[0]
    X = np.column_stack([X, np.full(60, 3.0)])
    X[4, 3] = X[9, 1] = np.nan
    filled, std = twofold.UKR(random_state=0).fit(X).impute(X, return_std=True)
    assert filled[4, 3] == 3.0
    assert std[4, 3] == 0.0
    assert std[9, 1] > 0.0


def test_rows_with_the_same_observed_cells_share_their_latents(X):
    bad = with_gaps(X)
    bad[11] = bad[10]
    model = twofold.UKR(random_state=0).fit(bad)
    Z = model.transform(bad)
    np.testing.assert_allclose(Z[11], Z[10], atol=1e-8)


def test_old_models_name_the_remedy(X, gappy):
    model = twofold.UKR(init="pca", random_state=0).fit(X)
    del model._gap_filling
    with pytest.raises(ValueError, match="Fit it again"):
        model.transform(gappy)


def test_better_than_nearest_neighbors():
    roll, _ = make_swiss_roll(600, noise=0.2, random_state=1)
    X = roll @ np.random.default_rng(0).standard_normal((3, 10))
    X += np.random.default_rng(1).standard_normal(X.shape)
    gappy = with_gaps(X, 0.2, seed=1)
    gaps = np.isnan(gappy)
    ours, std = twofold.UKR(random_state=0).fit(gappy).impute(gappy, return_std=True)
    theirs = KNNImputer().fit_transform(gappy)
    assert np.square(ours - X)[gaps].mean() < np.square(theirs - X)[gaps].mean()
    covered = (np.abs(ours - X) <= 1.645 * std)[gaps].mean()
    assert 0.84 < covered < 0.96


def test_errors_count_observed_cells_only(X):
    model = twofold.UKR(init="pca", random_state=0).fit(X)
    row = X[:1].copy()
    row[0, 0] = np.nan
    rebuilt = model.reconstruct(row)
    expected = np.sqrt(np.square(row - rebuilt)[0, 1:].sum() * 6.0 / 5.0)
    assert model.reconstruction_error(row)[0] == pytest.approx(expected)


def test_blocks_with_gaps(gappy):
    blocks = [gappy[:50], gappy[50:]]
    model = twofold.DRUR(n_centers=20, init="isomap", random_state=0).fit_blocks(blocks)
    assert np.isfinite(model.transform(gappy)).all()
    assert model.score(gappy) > 0.9


@pytest.mark.parametrize("name", ["DRUR", "PrincipalManifold"])
def test_gaps_on_a_cluster(gappy, name):
    """The blocks do not change the model, and it is close to that of all rows in memory."""
    settings = {"DRUR": {"n_centers": 20, "init": "pca"}, "PrincipalManifold": {"alpha": 1e-2}}
    make_one = lambda: getattr(twofold, name)(random_state=0, **settings[name])
    models = [
        twofold.dask.fit(make_one(), da.from_array(gappy, chunks=(rows, 6))) for rows in (40, 120)
    ]
    filled = [one.impute(gappy) for one in models]
    np.testing.assert_array_equal(filled[0], filled[1])
    lazily = models[0].impute(da.from_array(gappy, chunks=(40, 6))).compute()
    np.testing.assert_allclose(lazily, filled[0], atol=1e-9)
    local = make_one().fit(gappy)
    assert models[0].score(gappy) == pytest.approx(local.score(gappy), abs=0.02)
    with pytest.raises(TypeError, match="return_std"):
        models[0].impute(da.from_array(gappy, chunks=(40, 6)), return_std=True)


def test_rows_known_only_in_columns_that_do_not_vary_are_named():
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[:, 2] = 5.0
    model = twofold.TwoWay("pca", up="nw", down="nw").fit(X)
    rows = X[:8].copy()
    rows[2, 0] = rows[6, :2] = np.nan
    for method in (model.transform, model.impute):
        with pytest.raises(ValueError, match=r"^Row 6 of X has only missing values \(NaN\) in the"):
            method(rows)


@pytest.mark.parametrize("name", ["ukr", "drur", "two_way-nw", "isomap"])
@pytest.mark.filterwarnings("ignore:The data vary in only 0 directions:UserWarning")
def test_equal_rows_with_gaps(name):
    X = np.full((12, 3), 5.0)
    X[2, 0] = X[4, 1] = np.nan
    model = clone(ESTIMATORS[name]).fit(X)
    np.testing.assert_array_equal(model.impute(X), np.full((12, 3), 5.0))
    np.testing.assert_array_equal(model.reconstruct(X), np.full((12, 3), 5.0))

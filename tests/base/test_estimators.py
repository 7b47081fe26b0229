"""The promises of the maps, for every estimator, and scikit-learn's own checks."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from registry import CANNOT, DEFAULTS, ESTIMATORS, unless_listed
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from twofold.datasets import make_s_curve

pytestmark = [
    pytest.mark.filterwarnings("ignore:The error was still falling:UserWarning"),
    # A class of a supervised estimator may lie in several pieces.
    pytest.mark.filterwarnings("ignore:.*joined at their closest points.*:UserWarning"),
]

ONE_A_CLASS = {}
"""The first listed instance of each class."""
for _name, _estimator in ESTIMATORS.items():
    if type(_estimator) not in {type(one) for one in ONE_A_CLASS.values()}:
        ONE_A_CLASS[_name] = _estimator

OTHERS = {name: one for name, one in ESTIMATORS.items() if name not in ONE_A_CLASS}
OTHERS["two_way-defaults"] = DEFAULTS["two_way-defaults"]
"""Further instances. They skip the checks of input, which is validated before settings matter."""

UP_TO_SETTINGS = [
    "check_dict_unchanged",
    "check_dtype_object",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_pipeline_consistency",
    "check_readonly_memmap_input",
    "check_transformer_general",
    "check_transformer_n_iter",
    "check_transformer_preserve_dtypes",
]

# The generator leaves these to scikit-learn's own test suite. Names of columns and containers of
# outputs are up to the class, not to its settings.
LEFT_OUT_OF_CLASSES = [
    "check_dataframe_column_names_consistency",
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]


@pytest.fixture(scope="module")
def data():
    return make_s_curve(120, noise=0.05, random_state=0)[0]


@pytest.fixture(scope="module")
def fitted(data):
    return {name: clone(estimator).fit(data) for name, estimator in ESTIMATORS.items()}


def not_passed(estimator):
    """Return the checks that an estimator cannot pass, with the reasons."""
    (name,) = (name for name, listed in ESTIMATORS.items() if listed is estimator)
    return {row: reason for (whose, row), reason in CANNOT.items() if whose == name}


@parametrize_with_checks(list(ONE_A_CLASS.values()), expected_failed_checks=not_passed)
@pytest.mark.filterwarnings("ignore:.*(joined at their closest|vary in only).*:UserWarning")
def test_scikit_learn_checks(estimator, check):
    if estimator is ESTIMATORS["two_way-isomap"] and "equivalence" in str(check):
        # In the same order weights equal repeated rows exactly: tests/base/test_sample_weight.py.
        pytest.skip("the check shuffles rows; one of 30 has two minima that rounding chooses from")
    check(estimator)


@pytest.mark.parametrize("estimator", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("name", UP_TO_SETTINGS)
@pytest.mark.filterwarnings("ignore:.*(joined at their closest|vary in only).*:UserWarning")
def test_scikit_learn_checks_of_other_settings(name, estimator):
    getattr(estimator_checks, name)(type(estimator).__name__, clone(estimator))


@pytest.mark.parametrize("estimator", ONE_A_CLASS.values(), ids=ONE_A_CLASS)
@pytest.mark.parametrize("name", LEFT_OUT_OF_CLASSES)
@pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:.*(joined at their closest|vary in only).*:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks_left_out_for_third_parties(name, estimator):
    check = getattr(estimator_checks, name)
    # Nothing here depends on the maps or on where a fit ends, and every check fits twelve times.
    quick = {"max_iter": 1, "n_nodes": 3, "up": "rbf", "down": "rbf"}
    given = estimator.get_params()
    quick = {parameter: value for parameter, value in quick.items() if parameter in given}
    check(type(estimator).__name__, clone(estimator).set_params(**quick))


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
@pytest.mark.filterwarnings("ignore:.*(joined at their closest|vary in only).*:UserWarning")
def test_inputs_are_not_written_to(estimator):
    estimator_checks.check_inplace_ensure_writeable(type(estimator).__name__, clone(estimator))


@pytest.mark.parametrize("name", ESTIMATORS)
class TestPromises:
    def test_latents_and_both_maps(self, name, fitted, data):
        model = fitted[name]
        assert model.embedding_.shape == (120, 2)
        some = data[:30]
        Z = model.transform(some)
        assert Z.shape == (30, 2)
        assert model.inverse_transform(Z).shape == some.shape
        np.testing.assert_array_equal(model.reconstruct(some), model.inverse_transform(Z))

    def test_training_data_come_back(self, name, fitted, data):
        model = fitted[name]
        with unless_listed(name, "smooth"):
            assert model.score(data) > 0.6
            moved = np.abs(model.transform(data) - model.embedding_).mean()
            assert moved / model.embedding_.std() < 0.35

    def test_batch_invariant(self, name, fitted, data):
        model = fitted[name]
        query = data[:20] + 0.02
        whole = model.transform(query)
        rows = np.vstack([model.transform(query[i : i + 1]) for i in range(20)])
        np.testing.assert_allclose(whole, rows, atol=1e-7)
        np.testing.assert_allclose(model.transform(query[::-1])[::-1], whole, atol=1e-9)
        up = model.inverse_transform(whole)
        np.testing.assert_allclose(
            np.vstack([model.inverse_transform(row[None]) for row in whole]), up, atol=1e-8
        )

    def test_batch_invariant_in_many_columns(self, name):
        X = np.random.default_rng(0).standard_normal((90, 2)) @ np.random.default_rng(1).random(
            (2, 12)
        )
        X = X + 0.1 * np.random.default_rng(2).standard_normal((90, 12))
        model = clone(ESTIMATORS[name]).fit(X[:70])
        whole = model.transform(X[70:])
        rows = np.vstack([model.transform(x[None]) for x in X[70:]])
        np.testing.assert_allclose(whole, rows, atol=1e-7)

    def test_pure(self, name, fitted, data):
        model = fitted[name]
        before = pickle.dumps(model)
        X, Z = data[:30].copy(), model.embedding_.copy()
        model.transform(X)
        model.inverse_transform(Z)
        model.reconstruction_error(X)
        model.score(X)
        model.log_density(Z)
        model.sample(3, random_state=0)
        assert pickle.dumps(model) == before
        np.testing.assert_array_equal(X, data[:30])
        np.testing.assert_array_equal(Z, model.embedding_)

    def test_numbers_for_trust(self, name, fitted, data):
        model = fitted[name]
        errors = model.reconstruction_error(data)
        with unless_listed(name, "euclidean"):
            distances = np.linalg.norm(data - model.reconstruct(data), axis=1)
            np.testing.assert_allclose(errors, distances, rtol=1e-9, atol=1e-12)
            variance = np.square(data - data.mean(axis=0)).sum(axis=1).mean()
            expected = 1.0 - np.square(errors).mean() / variance
            assert model.score(data) == pytest.approx(expected, rel=1e-9)

    def test_numbers_that_warn(self, name, fitted, data):
        model = fitted[name]
        errors = model.reconstruction_error(data)
        off = data + np.array([0.0, 0.0, 5.0])
        assert np.median(model.reconstruction_error(off)) > 3 * np.median(errors)
        supported = model.log_density(model.embedding_)
        center, spread = model.embedding_.mean(axis=0), model.embedding_.std()
        assert model.log_density([center + 50 * spread])[0] < supported.min()

    def test_log_density_integrates_to_one(self, name, fitted):
        model = fitted[name]
        low, high = model.embedding_.min(axis=0), model.embedding_.max(axis=0)
        margin = 0.5 * (high - low)
        axes = [np.linspace(a, b, 150) for a, b in zip(low - margin, high + margin, strict=True)]
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        cell = np.prod([axis[1] - axis[0] for axis in axes])
        assert np.exp(model.log_density(grid)).sum() * cell == pytest.approx(1.0, abs=0.05)

    def test_samples_look_like_data(self, name, fitted, data):
        model = fitted[name]
        drawn = model.sample(200, random_state=0)
        assert drawn.shape == (200, 3)
        np.testing.assert_array_equal(drawn, model.sample(200, random_state=0))
        nearest = np.sqrt(np.square(drawn[:, None] - data).sum(axis=2).min(axis=1))
        assert np.median(nearest) < 0.5
        with pytest.raises(ValueError, match="n_samples=0"):
            model.sample(0)

    def test_copies_are_equal(self, name, fitted, data):
        model = fitted[name]
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            some = data[:30]
            np.testing.assert_array_equal(other.transform(some), model.transform(some))
            Z = model.embedding_
            np.testing.assert_array_equal(other.inverse_transform(Z), model.inverse_transform(Z))

    def test_frames(self, name, fitted, data):
        for frame in (pd.DataFrame(data, columns=list("abc")), pl.DataFrame(data, list("abc"))):
            model = clone(ESTIMATORS[name]).fit(frame)
            assert model.feature_names_in_.tolist() == ["a", "b", "c"]
            some = fitted[name].transform(data[:30])
            np.testing.assert_allclose(model.transform(frame[:30]), some)
            with pytest.raises(ValueError, match="feature names"):
                model.transform(frame[["c", "b", "a"]][:30])
        prefix = type(model).__name__.lower()
        assert model.get_feature_names_out().tolist() == [f"{prefix}0", f"{prefix}1"]
        wrapped = model.set_output(transform="pandas").transform(
            pd.DataFrame(data[:30], columns=list("abc"))
        )
        assert isinstance(wrapped, pd.DataFrame)

    def test_in_a_pipeline_and_a_grid_search(self, name, data):
        model = make_pipeline(StandardScaler(), clone(ESTIMATORS[name]))
        search = GridSearchCV(
            model, {f"{type(ESTIMATORS[name]).__name__.lower()}__n_components": [1, 2]}, cv=2
        )
        search.fit(data)
        assert search.best_params_.popitem()[1] == 2

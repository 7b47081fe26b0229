"""Sample weights: a fit with weights is the fit to repeated rows, for every estimator."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from registry import ESTIMATORS
from scipy.sparse import coo_array
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold import DRUR, UKR, AgglomerativeIsomap, AutoTwoWay, SupervisedIsomap, TwoWay
from twofold.datasets import make_s_curve
from twofold.numerics import row_weights
from twofold.numerics.row_weights import repeated_rows, take_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore:The error was still falling:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*joined at their closest points.*:UserWarning"),
]

LINEAR = TwoWay("pca", up="nw", down="nw")


@pytest.fixture(scope="module")
def data():
    return make_s_curve(60, noise=0.05, random_state=0)[0]


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(0).integers(0, 4, 60)


def counts_of(weights):
    rows = repeated_rows(weights, len(weights), 1)
    return np.bincount(np.arange(len(weights)) if rows is None else rows, minlength=len(weights))


class TestCopies:
    def test_whole_numbers_are_numbers_of_copies(self):
        assert repeated_rows([2, 0, 1, 3], 4, 1).tolist() == [0, 0, 2, 3, 3, 3]

    def test_a_common_divisor_does_not_matter(self):
        assert counts_of([4.0, 0.0, 2.0, 6.0]).tolist() == [2, 0, 1, 3]

    @pytest.mark.parametrize("weight", [1, 3.0, 0.1, 1e300, 1e-300, True])
    def test_equal_weights_take_each_row_once(self, weight):
        assert repeated_rows([weight] * 5, 5, 1) is None
        assert repeated_rows([0, *[weight] * 5], 6, 1).tolist() == [1, 2, 3, 4, 5]

    def test_other_weights_are_rounded_within_one_copy(self):
        weights = np.random.default_rng(0).lognormal(size=500)
        weights[::7] = 0.0
        expected = weights / weights.sum() * np.count_nonzero(weights)
        counts = counts_of(weights)
        assert counts.sum() == np.count_nonzero(weights)
        assert np.abs(counts - expected).max() < 1.0
        assert np.abs(np.cumsum(counts - expected)).max() <= 0.5 + 1e-9
        assert not counts[::7].any()
        assert (counts_of(1e300 * weights / weights.max()) == counts).all()

    def test_nearly_equal_weights_take_each_row_once(self):
        weights = np.full(1000, 0.3)
        weights[::2] = 0.1 * 3
        assert repeated_rows(weights, 1000, 1) is None

    @pytest.mark.parametrize(
        "make",
        [np.array, np.ndarray.tolist, pd.DataFrame, pl.DataFrame, coo_array],
        ids=["array", "list", "pandas", "polars", "sparse"],
    )
    def test_rows_of_any_table(self, make):
        X = np.arange(8.0).reshape(4, 2)
        taken = take_rows(make(X), np.array([0, 0, 3]))
        assert isinstance(taken, type(make(X))) or make is coo_array
        taken = taken.toarray() if make is coo_array else np.asarray(taken)
        np.testing.assert_array_equal(taken, X[[0, 0, 3]])


@pytest.mark.parametrize("name", ESTIMATORS)
class TestEveryEstimator:
    def test_weights_equal_repeated_rows(self, name, data, counts):
        weighted = clone(ESTIMATORS[name]).fit(data, sample_weight=counts)
        repeated = clone(ESTIMATORS[name]).fit(data.repeat(counts, axis=0))
        np.testing.assert_array_equal(weighted.transform(data), repeated.transform(data))
        Z = repeated.embedding_
        np.testing.assert_array_equal(weighted.inverse_transform(Z), repeated.inverse_transform(Z))
        np.testing.assert_array_equal(weighted.log_density(Z), repeated.log_density(Z))
        # One latent per row: of the first copy, or by the encoder.
        assert weighted.embedding_.shape == (60, 2)
        first = np.cumsum(counts) - counts
        for row in range(60):
            expected = Z[first[row]] if counts[row] else weighted.transform(data[[row]])[0]
            np.testing.assert_allclose(weighted.embedding_[row], expected, atol=1e-7)

    def test_equal_weights_change_nothing(self, name, data):
        weighted = clone(ESTIMATORS[name]).fit(data, sample_weight=np.full(60, 0.7))
        plain = clone(ESTIMATORS[name]).fit(data)
        np.testing.assert_array_equal(weighted.embedding_, plain.embedding_)
        np.testing.assert_array_equal(weighted.transform(data), plain.transform(data))

    def test_weighted_score(self, name, data, counts):
        model = clone(ESTIMATORS[name]).fit(data)
        repeated = model.score(data.repeat(counts, axis=0))
        assert model.score(data, sample_weight=counts) == pytest.approx(repeated, rel=1e-12)
        assert model.score(data, sample_weight=np.full(60, 1e-3)) == pytest.approx(
            model.score(data), rel=1e-12
        )


class TestResults:
    def test_fit_transform(self, data, counts):
        model = clone(LINEAR)
        latents = model.fit_transform(data, sample_weight=counts)
        np.testing.assert_array_equal(latents, model.transform(data))

    @pytest.mark.parametrize("cross_fit", [True, False, "embedding"])
    def test_cross_fitted_latents(self, cross_fit, data, counts):
        y = (data[:, 0] > 0).astype(int)
        model = SupervisedIsomap(cross_fit=cross_fit)
        weighted = clone(model).fit_transform(data, y, sample_weight=counts)
        repeated = clone(model).fit_transform(data.repeat(counts, axis=0), y.repeat(counts))
        first = (np.cumsum(counts) - counts)[counts > 0]
        np.testing.assert_allclose(weighted[counts > 0], repeated[first], atol=1e-8)
        assert weighted.shape == (60, 2)

    def test_names_of_features_and_labels_of_a_frame(self, data, counts):
        frame = pd.DataFrame(data, columns=list("abc"), index=np.arange(60) + 7)
        labels = pd.Series(data[:, 0] > 0, index=frame.index)
        model = SupervisedIsomap().fit(frame, labels, sample_weight=pd.Series(counts))
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        assert model.classes_.tolist() == [False, True]

    @pytest.mark.parametrize("kind", ["array", "list", "mapping"])
    def test_given_latents_are_repeated(self, kind, data, counts):
        def starts(Z):
            return {"array": Z, "list": [Z, "pca"], "mapping": {"mine": Z}}[kind]

        Z = data[:, :2].copy()
        given = starts(Z)
        model = UKR(init=given, max_iter=5, random_state=0)
        with pytest.warns(sklearn.exceptions.ConvergenceWarning):
            model.fit(data, sample_weight=counts)
        assert model.init is given
        with pytest.warns(sklearn.exceptions.ConvergenceWarning):
            repeated = UKR(init=starts(Z.repeat(counts, axis=0)), max_iter=5, random_state=0).fit(
                data.repeat(counts, axis=0)
            )
        np.testing.assert_array_equal(model.transform(data), repeated.transform(data))

    def test_a_given_embedding_is_repeated(self, data, counts):
        Z = data[:, :2].copy()
        model = TwoWay(Z, up="nw", down="nw").fit(data, sample_weight=counts)
        assert model.embedding is Z
        np.testing.assert_allclose(model.embedding_[counts > 0], Z[counts > 0])
        with pytest.raises(ValueError, match=r"embedding gives.*\(60, n_components\)"):
            TwoWay(Z[:-1]).fit(data, sample_weight=counts)

    def test_landmarks_are_row_numbers_of_the_data(self, data, counts):
        model = AgglomerativeIsomap(n_landmarks=20, random_state=0)
        model.fit(data, sample_weight=counts)
        repeated = clone(model).fit(data.repeat(counts, axis=0))
        rows = np.arange(60).repeat(counts)
        np.testing.assert_array_equal(model.landmarks_, rows[repeated.landmarks_])

    def test_the_winner_of_a_race_has_the_same_latents(self, data, counts):
        model = clone(ESTIMATORS["auto"]).fit(data, sample_weight=counts)
        assert model.best_estimator_.embedding_ is model.embedding_

    def test_no_latents_if_none_are_kept(self, data, counts):
        model = DRUR(n_centers=10, alpha=1e-3, init="pca", store_embedding=False, random_state=0)
        assert model.fit(data, sample_weight=counts).embedding_.shape == (0, 2)

    def test_rows_of_weight_zero_do_not_count_in_the_score(self, data):
        model = clone(LINEAR).fit(data)
        far = np.vstack([data, [[1e200, 0.0, 0.0]]])
        weights = np.append(np.ones(60), 0.0)
        assert model.score(far, sample_weight=weights) == model.score(data)

    def test_a_failed_fit_restores_parameters(self, data, counts):
        Z = np.full((60, 2), 1.0)
        Z[0] = np.nan
        model = UKR(init=Z)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(data, sample_weight=counts)
        assert model.init is Z
        assert not hasattr(model, "n_features_in_")

    def test_rows_with_gaps(self, data, counts):
        X = data.copy()
        X[::4, 0] = np.nan  # in rows that are repeated, and in rows that are left out
        assert not counts[::4].all()
        weighted = clone(LINEAR).fit(X, sample_weight=counts)
        repeated = clone(LINEAR).fit(X.repeat(counts, axis=0))
        np.testing.assert_array_equal(weighted.transform(X), repeated.transform(X))
        np.testing.assert_array_equal(weighted.impute(X), repeated.impute(X))
        out = counts == 0
        np.testing.assert_allclose(weighted.embedding_[out], weighted.transform(X[out]), atol=1e-9)
        expected = repeated.score(X.repeat(counts, axis=0))
        assert weighted.score(X, sample_weight=counts) == pytest.approx(expected, rel=1e-9)


class TestRouting:
    def test_requests_come_from_the_signature(self):
        with sklearn.config_context(enable_metadata_routing=True):
            for estimator in ESTIMATORS.values():
                model = clone(estimator).set_fit_request(sample_weight=True)
                model.set_score_request(sample_weight=True)
                requests = model.get_metadata_routing()
                assert requests.fit.requests["sample_weight"] is True
                assert requests.score.requests["sample_weight"] is True

    def test_cross_validation_in_a_pipeline(self, data, counts):
        weights = counts.astype(float)
        with sklearn.config_context(enable_metadata_routing=True):
            scaler = StandardScaler().set_fit_request(sample_weight=True)
            model = clone(LINEAR).set_fit_request(sample_weight=True)
            model.set_score_request(sample_weight=True)
            found = cross_validate(
                make_pipeline(scaler, model),
                data,
                cv=[(np.arange(30), np.arange(30, 60))],
                params={"sample_weight": weights},
                error_score="raise",
            )["test_score"]
        scaler = StandardScaler().fit(data[:30], sample_weight=weights[:30])
        one = clone(LINEAR).fit(scaler.transform(data[:30]), sample_weight=weights[:30])
        expected = one.score(scaler.transform(data[30:]), sample_weight=weights[30:])
        assert found[0] == pytest.approx(expected, rel=1e-12)


class TestErrors:
    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.ones(5), r"sample_weight has shape \(5,\); \(60,\) is needed"),
            (np.ones((60, 1)), r"sample_weight has shape \(60, 1\)"),
            (3.0, r"sample_weight has shape \(\)"),
            (np.r_[1.0, -1.0, np.ones(58)], "sample_weight contains -1, first in row 1"),
            (np.r_[np.nan, np.ones(59)], "sample_weight contains nan, first in row 0"),
            (np.r_[np.inf, np.ones(59)], "sample_weight contains inf, first in row 0"),
            (np.zeros(60), "sample_weight is zero for all rows"),
            (["heavy"] * 60, "sample_weight is list, not an array of numbers"),
        ],
        ids=["length", "shape", "scalar", "negative", "NaN", "infinity", "zero", "text"],
    )
    def test_bad_weights(self, weights, message, data):
        with pytest.raises(ValueError, match=message):
            clone(LINEAR).fit(data, sample_weight=weights)
        with pytest.raises(ValueError, match=message):
            clone(LINEAR).fit(data).score(data, sample_weight=weights)

    @pytest.mark.parametrize("weights", [np.eye(60)[0], np.r_[1e9 + 0.5, np.ones(59)]])
    def test_one_row_is_left(self, weights, data):
        with pytest.raises(ValueError, match="sample_weight leaves 1 of 60 rows"):
            clone(LINEAR).fit(data, sample_weight=weights)

    def test_too_many_copies(self, data, counts, monkeypatch):
        weights = np.r_[1e15, np.ones(59)]
        with pytest.raises(MemoryError, match=r"sample_weight needs.*sample_weight.mean\(\)"):
            clone(LINEAR).fit(data, sample_weight=weights)
        monkeypatch.setattr(row_weights, "COPIES_IN_MEMORY", 1e15)
        with pytest.raises(MemoryError, match="repeated rows"):
            clone(LINEAR).fit(data, sample_weight=counts)

    def test_errors_about_data_name_the_rows_of_the_data(self, data, counts):
        X = data.copy()
        X[50, 1] = np.inf
        with pytest.raises(ValueError, match="row 50, column 1"):
            clone(LINEAR).fit(X, sample_weight=counts)

    def test_labels_of_another_length(self, data, counts):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            SupervisedIsomap().fit(data, np.arange(59) % 2, sample_weight=counts)

    @pytest.mark.parametrize(
        "model", [AgglomerativeIsomap(dissimilarity="precomputed"), UKR(metric="precomputed")]
    )
    def test_given_distances_or_kernels(self, model, data, counts):
        with pytest.raises(ValueError, match=r"sample_weight is not.*'precomputed'"):
            model.fit(np.linalg.norm(data[:, None] - data, axis=2), sample_weight=counts)

    def test_dask(self, data, counts):
        array = pytest.importorskip("dask.array")
        X, model = array.from_array(data), clone(LINEAR).fit(data)
        for method in (clone(LINEAR).fit, model.score):
            with pytest.raises(TypeError, match="sample_weight is not supported for Dask"):
                method(X, sample_weight=counts)
            with pytest.raises(TypeError, match="sample_weight is not supported for Dask"):
                method(data, sample_weight=array.from_array(counts))


def test_a_race_of_given_seconds_names_the_rows_of_the_data(data):
    counts = np.random.default_rng(1).integers(0, 4, 60)
    state = {"fitted_rows_": np.array([0, 2, 5]), "embedding_": np.arange(6.0).reshape(3, 2)}

    class Part(AutoTwoWay):
        def _fit(self, X, y):
            full = super()._fit(X, y)
            assert len(X) == counts.sum()
            return full | state

    model = Part(methods={"flat": clone(LINEAR)}, random_state=0)
    model.fit(data, sample_weight=counts)
    rows = np.arange(60).repeat(counts)[[0, 2, 5]]
    known, first = np.unique(rows, return_index=True)
    np.testing.assert_array_equal(model.fitted_rows_, known)
    np.testing.assert_array_equal(model.embedding_, state["embedding_"][first])

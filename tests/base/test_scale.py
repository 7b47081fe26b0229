"""The parameter scale: units of the columns as part of every model."""

import numpy as np
import pytest
from registry import ESTIMATORS
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

import twofold
from twofold import UKR, AgglomerativeIsomap, AutoTwoWay, TwoWay
from twofold.base import TwoWayEstimator
from twofold.datasets import make_s_curve

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*joined at their closest points.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:The error was still falling:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
UNITS = np.array([1.0, 2000.0, 3e-4])
AMPLIFIED = {"drur": 1e-5, "drur-mlp": np.inf, "manifold-norm": 1e-6, "ukr-l1": 1e-6}
"""Tolerances of latents where iterations amplify rounding."""
SCORES = {"drur-mlp": 1e-2}
"""Tolerances of scores, where they are not 1e-3."""
IN_UNITS = {"two_way-function"}
"""Estimators whose latents are the data's own columns."""


@pytest.fixture(scope="module")
def X():
    return make_s_curve(80, noise=0.05, random_state=0)[0] * UNITS + [0.0, 7.0, 5.0]


@pytest.fixture(scope="module")
def fitted():
    return {}


@pytest.fixture
def model(name, X, fitted):
    if name not in fitted:
        fitted[name] = make(name).fit(X)
    return fitted[name]


def make(name, scale="standard"):
    return clone(ESTIMATORS[name]).set_params(scale=scale)


@pytest.mark.parametrize("name", ESTIMATORS)
class TestEveryEstimator:
    def test_columns_times_powers_of_two_change_no_bit(self, name, X, model):
        powers = np.ldexp(1.0, [40, -7, 3])
        other = make(name).fit(X * powers)
        np.testing.assert_array_equal(other.embedding_, model.embedding_)
        np.testing.assert_array_equal(other.transform(X[::5] * powers), model.transform(X[::5]))
        up = other.inverse_transform(model.embedding_)
        np.testing.assert_array_equal(up, model.inverse_transform(model.embedding_) * powers)
        assert other.score(X * powers) == model.score(X)

    def test_equals_a_pipeline_with_a_scaler(self, name, X, model):
        pipeline = make_pipeline(StandardScaler(), make(name, None)).fit(X)
        atol = AMPLIFIED.get(name, 1e-8)
        if np.isfinite(atol):
            extent = np.abs(model.embedding_).max()
            np.testing.assert_allclose(
                pipeline[-1].embedding_, model.embedding_, rtol=0, atol=atol * extent
            )
        up, own = pipeline.inverse_transform(model.embedding_), X.std(axis=0)
        if name not in AMPLIFIED:
            images = model.inverse_transform(model.embedding_)
            np.testing.assert_allclose(images / own, up / own, atol=1e-6)
        assert model.score(X) == pytest.approx(pipeline.score(X), abs=SCORES.get(name, 1e-3))

    @pytest.mark.parametrize("factor", [1e150, 1e-150, 1e300, 1e-300, 1e-310])
    def test_large_and_small_units(self, name, X, model, factor):
        try:
            other = make(name).fit(X * factor)
        except ValueError as error:
            assert "range" in str(error)
            return
        up = other.inverse_transform(other.embedding_)
        assert np.isfinite(up).all()
        assert np.isfinite(other.transform(X[::5] * factor)).all()
        assert np.isfinite(other.score(X * factor))
        tolerance = SCORES.get(name, 1e-3)
        assert other.score(X * factor) == pytest.approx(model.score(X), abs=tolerance)

    def test_a_large_offset(self, name, X):
        if name == "drur-mlp":
            pytest.skip("perceptrons are trained by many steps, which amplify rounding")
        offset = 1e8 * UNITS
        rounded = (X + offset) - offset
        far, near = make(name).fit(X + offset), make(name).fit(rounded)
        assert far.score(X[::4] + offset) == pytest.approx(near.score(rounded[::4]), abs=1e-4)

    def test_a_constant_column(self, name, X, model):
        if name in IN_UNITS:
            pytest.skip("the latents are the data's own columns")
        other = make(name).fit(np.insert(X, 1, 0.1, axis=1))
        np.testing.assert_array_equal(other.embedding_, model.embedding_)
        assert (other.inverse_transform(model.embedding_)[:, 1] == 0.1).all()

    def test_a_model_file(self, name, X, model, tmp_path):
        if name in ("supervised", *IN_UNITS):
            pytest.skip("a class of the tests, which no file names")
        model.save(tmp_path / "m.twofold")
        again = twofold.load(tmp_path / "m.twofold")
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        np.testing.assert_array_equal(again.reconstruct(X), model.reconstruct(X))
        assert again.scale == "standard"


def test_errors_are_in_units_of_the_columns(X):
    model = TwoWay("pca", up="nw", down="nw", scale="standard").fit(X)
    residuals = (X - model.reconstruct(X)) / X.std(axis=0)
    errors = np.linalg.norm(residuals, axis=1)
    np.testing.assert_allclose(model.reconstruction_error(X), errors, rtol=1e-9)
    assert model.score(X) == pytest.approx(1.0 - np.square(errors).mean() / 3.0, abs=1e-9)


def test_robust_units_and_given_units(X):
    X = np.vstack([X, X.max(axis=0) * 50.0])  # an outlier
    settings = {"up": "nw", "down": "nw", "random_state": 0}
    robust = TwoWay("pca", scale="robust", **settings).fit(X)
    pipeline = make_pipeline(RobustScaler(), TwoWay("pca", **settings)).fit(X)
    unit = np.linalg.norm(robust.embedding_) / np.linalg.norm(pipeline[-1].embedding_)
    extent = np.abs(robust.embedding_).max()
    np.testing.assert_allclose(
        robust.embedding_, unit * pipeline[-1].embedding_, rtol=0, atol=1e-6 * extent
    )
    factors = RobustScaler().fit(X).scale_ / 1.349
    given = TwoWay("pca", scale=list(factors), **settings).fit(X)
    np.testing.assert_allclose(given.embedding_, robust.embedding_, atol=1e-6)


def test_metrics_of_feature_spaces_see_scaled_columns(X):
    for metric in ("rbf", "polynomial", "cosine"):
        settings = {"metric": metric, "init": "pca", "homotopy": False, "max_iter": 5}
        model = UKR(**settings, scale="standard", random_state=0).fit(X)
        pipeline = make_pipeline(StandardScaler(), UKR(**settings, random_state=0)).fit(X)
        last, inside = pipeline[-1], pipeline[0].transform(X[:7])
        signs = np.sign((model.embedding_ * last.embedding_).sum(axis=0))
        np.testing.assert_allclose(model.embedding_ * signs, last.embedding_, atol=1e-5)
        products = last.kernel_inner(inside, last.embedding_[:4])
        found = model.kernel_inner(X[:7], model.embedding_[:4])
        np.testing.assert_allclose(found, products, atol=1e-6)
        assert model.score(X) == pytest.approx(pipeline.score(X), abs=1e-6)


def test_precomputed_distances_and_kernels_have_no_columns(X):
    gram = X @ X.T
    with pytest.raises(ValueError, match="scale='standard' is not for metric='precomputed'"):
        UKR(metric="precomputed", scale="standard").fit(gram)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    with pytest.raises(ValueError, match="is not for dissimilarity='precomputed'"):
        AgglomerativeIsomap(dissimilarity="precomputed", scale="robust").fit(distances)


def test_wrong_values_are_named(X):
    model = TwoWay("pca", up="nw", down="nw")
    for scale, error, message in [
        ("minmax", ValueError, "scale='minmax' must be None, 'standard', 'robust', or an array"),
        (True, ValueError, "scale=True must be"),
        ([1.0, 2.0], ValueError, r"scale has shape \(2,\): it must be .* of 3 positive numbers"),
        ([1.0, 0.0, 2.0], ValueError, r"scale\[1\]=0.0 must be positive"),
        ([1.0, np.nan, 2.0], ValueError, r"scale\[1\]=nan must be positive"),
        ({"a": 1}, TypeError, "must be None, 'standard'"),
    ]:
        with pytest.raises(error, match=message):
            clone(model).set_params(scale=scale).fit(X)


class TestAuto:
    def test_the_winner_has_the_same_units(self, X):
        model = AutoTwoWay(methods=["pca", "isomap"], scale="standard", random_state=0).fit(X)
        best = model.best_estimator_
        assert best.scale == "standard"
        np.testing.assert_array_equal(best.transform(X), model.transform(X))
        np.testing.assert_array_equal(best._data_units.factors, X.std(axis=0).astype(float))
        again = clone(best).fit(X)
        np.testing.assert_allclose(
            again.inverse_transform(model.embedding_).std(axis=0) / UNITS,
            model.inverse_transform(model.embedding_).std(axis=0) / UNITS,
            rtol=1e-6,
        )

    def test_no_warning_of_a_dominant_column(self, X):
        with pytest.warns(UserWarning, match="set scale='standard'"):
            AutoTwoWay(methods=["pca", "isomap"], random_state=0).fit(X)
        AutoTwoWay(methods=["pca", "isomap"], scale="standard", random_state=0).fit(X)

    def test_estimators_of_users(self, X):
        methods = {"flat": TwoWay("pca", up="nw", down="nw")}
        model = AutoTwoWay(methods=methods, scale="robust", random_state=0).fit(X)
        assert model.best_estimator_.scale == "robust"
        assert methods["flat"].scale is None
        assert model._data_units.factors is not None

    def test_estimators_without_the_parameter(self, X):
        class Plain(TwoWayEstimator):
            def __init__(self, n_components=2):
                self.n_components = n_components

            def _learn(self, problem):
                raise NotImplementedError

        with pytest.raises(TypeError, match=r"methods\['plain'\].* has no parameter 'scale'"):
            AutoTwoWay(methods={"plain": Plain()}, scale="standard").fit(X)

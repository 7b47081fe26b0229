"""Fitted pipelines as one model, in the data's own units."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import twofold
from twofold import DRUR, UKR, AutoTwoWay, PrincipalManifold, TwoWay, from_pipeline
from twofold.datasets import make_s_curve
from twofold.export import explorer
from twofold.export.onnx import export
from twofold.export.programs.translation import closed_form
from twofold.metrics import codebook_error, round_trip_error

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The error was still falling:UserWarning"),
]

STEPS = {
    "standard": [StandardScaler()],
    "without mean": [StandardScaler(with_mean=False)],
    "without deviation": [StandardScaler(with_std=False)],
    "robust": [RobustScaler()],
    "robust without center": [RobustScaler(with_centering=False)],
    "range": [MinMaxScaler((-1.0, 2.0))],
    "largest": [MaxAbsScaler()],
    "two scalers": [MinMaxScaler(), StandardScaler()],
    "nothing": ["passthrough", FunctionTransformer(), None],
    "components": [StandardScaler(), PCA(4, random_state=0)],
    "whitened": [StandardScaler(), PCA(4, whiten=True, random_state=0)],
    "in batches": [StandardScaler(), IncrementalPCA(4)],
    "vectors": [StandardScaler(), TruncatedSVD(4, random_state=0)],
    "scaled components": [StandardScaler(), PCA(4, random_state=0), MinMaxScaler()],
    "components of components": [StandardScaler(), PCA(5), MaxAbsScaler(), PCA(4)],
    "nested": [make_pipeline(StandardScaler(), PCA(5)), StandardScaler()],
}
PER_COLUMN = [
    name for name in STEPS if not any("PCA" in str(s) or "SVD" in str(s) for s in STEPS[name])
]

MODELS = {
    "two_way": TwoWay("isomap", up="rbf", down="rbf", random_state=0),
    "ukr": UKR(init="isomap", max_iter=30, random_state=0),
    "ukr-l1": UKR(metric="l1", init="pca", homotopy=False, max_iter=30, random_state=0),
    "drur": DRUR(n_centers=20, alpha=1e-3, init="isomap", random_state=0),
    "manifold": PrincipalManifold(2, alpha=1e-2, init="pca", tol=1e-2, random_state=0),
    "auto": AutoTwoWay(methods=["isomap"], random_state=0),
}


def table():
    """Return six columns of different units, and a constant one."""
    rng = np.random.default_rng(0)
    X = make_s_curve(150, noise=0.05, random_state=0)[0]
    X = np.hstack([X, X @ rng.normal(size=(3, 3)) + 0.1 * rng.normal(size=(150, 3))])
    X = X * [1.0, 1e3, 1e-3, 10.0, 20.0, 30.0] + [0.0, 5.0, 0.007, 0.0, 0.0, 90.0]
    return np.hstack([X, np.full((150, 1), 3.25)])


X = table()
SPREAD = np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)


def pipeline_of(steps, model="two_way"):
    given = [clone(step) if hasattr(step, "fit") else step for step in STEPS[steps]]
    return make_pipeline(*given, clone(MODELS[model])).fit(X)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", ["two_way", "ukr"])
def test_both_maps_are_those_of_the_pipeline(steps, name):
    pipeline = pipeline_of(steps, name)
    model = from_pipeline(pipeline)
    assert type(model) is type(pipeline[-1])
    Z = pipeline[-1].embedding_
    np.testing.assert_allclose(model.transform(X), pipeline.transform(X), atol=1e-6)
    up = pipeline.inverse_transform(Z)
    np.testing.assert_allclose(model.inverse_transform(Z) / SPREAD, up / SPREAD, atol=1e-9)
    np.testing.assert_allclose(closed_form(model)(Z) / SPREAD, up / SPREAD, atol=1e-7)
    assert model.n_features_in_ == 7
    assert model.sample(3, random_state=0).shape == (3, 7)
    assert model.log_density(Z).shape == (len(X),)
    np.testing.assert_array_equal(pipeline[-1].embedding_, Z)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("steps", ["standard", "scaled components"])
def test_every_model(name, steps, tmp_path):
    pipeline = pipeline_of(steps, name)
    model = from_pipeline(pipeline)
    np.testing.assert_allclose(model.transform(X), pipeline.transform(X), atol=1e-5)
    twofold.save(pipeline, tmp_path / "m.twofold")
    again = twofold.load(tmp_path / "m.twofold")
    for method in ("transform", "reconstruct", "reconstruction_error", "score"):
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    model.save(tmp_path / "n.twofold")
    assert (tmp_path / "m.twofold").read_bytes() == (tmp_path / "n.twofold").read_bytes()


@pytest.mark.parametrize("steps", PER_COLUMN)
def test_errors_of_scaled_columns(steps):
    pipeline = pipeline_of(steps)
    model, inside = from_pipeline(pipeline), pipeline[:-1].transform(X)
    expected = pipeline[-1].reconstruction_error(inside)
    np.testing.assert_allclose(model.reconstruction_error(X), expected, rtol=1e-5)
    assert model.score(X) == pytest.approx(pipeline.score(X), abs=1e-7)


@pytest.mark.parametrize("steps", [name for name in STEPS if name not in PER_COLUMN])
def test_errors_behind_components_include_what_these_leave_out(steps):
    pipeline = pipeline_of(steps)
    model = from_pipeline(pipeline)
    residuals = (X - pipeline.inverse_transform(pipeline.transform(X))) / SPREAD
    errors = np.linalg.norm(residuals, axis=1)
    np.testing.assert_allclose(model.reconstruction_error(X), errors, rtol=1e-4)
    score = 1.0 - np.square(errors).mean() / 6.0  # six columns of variance 1
    assert model.score(X) == pytest.approx(score, abs=1e-4)


def test_equals_the_parameter_scale():
    scaled = UKR(init="isomap", max_iter=30, scale="standard", random_state=0).fit(X)
    model = from_pipeline(pipeline_of("standard", "ukr"))
    np.testing.assert_allclose(model._data_units.factors, scaled._data_units.factors, rtol=1e-12)
    np.testing.assert_allclose(model.embedding_, scaled.embedding_, atol=1e-7)
    np.testing.assert_array_equal(model.scale, model._data_units.factors)


def test_a_model_of_a_pipeline_at_the_end_of_another():
    inner = from_pipeline(pipeline_of("scaled components"))
    outer = make_pipeline(StandardScaler(), inner)
    outer.steps[0][1].fit(X)
    inside = outer[0].transform(X)
    model = from_pipeline(outer)
    near = inner.transform(X[:9])
    np.testing.assert_allclose(
        model.transform(X[:9] * outer[0].scale_ + outer[0].mean_), near, atol=1e-6
    )
    assert inside.shape == X.shape


def test_feature_names_are_those_before_all_steps(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    scalers = make_pipeline(StandardScaler(), PCA(4)).set_output(transform="pandas")
    pipeline = make_pipeline(scalers, AutoTwoWay(methods=["isomap"], random_state=0)).fit(frame)
    model = from_pipeline(pipeline)
    assert model.feature_names_in_.tolist() == list("abcdefg")
    assert model.best_estimator_.feature_names_in_.tolist() == list("abcdefg")
    assert pipeline[-1].feature_names_in_.tolist() != list("abcdefg")
    model.transform(frame)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[list("bacdefg")])
    page = explorer.write(pipeline, frame, path=tmp_path / "page.html")
    text = page.read_text(encoding="utf-8").replace(", ", ",").replace(": ", ":")
    assert '"features":["a","b","c","d","e","f","g"]' in text


@pytest.mark.parametrize("steps", ["standard", "scaled components"])
@pytest.mark.parametrize("map_", ["up", "down"])
def test_onnx_graphs_take_and_return_the_data_units(steps, map_, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pipeline = pipeline_of(steps)
    report = export(pipeline, tmp_path / "m.onnx", map=map_)
    assert report.deviation < 1e-5
    running = onnxruntime.InferenceSession(report.path.read_bytes())
    if map_ == "up":
        Z = pipeline[-1].embedding_.astype(np.float32)
        found = running.run(None, {"Z": Z})[0]
        off = np.abs(found - pipeline.inverse_transform(Z)) / SPREAD
        assert off.max() < 1e-4  # of every column, whatever its unit
    else:
        found = running.run(None, {"X": X.astype(np.float32)})[0]
        np.testing.assert_allclose(found, pipeline.transform(X.astype(np.float32)), atol=1e-3)


def test_a_distilled_projection(tmp_path):
    report = export(pipeline_of("components", "ukr"), tmp_path / "m.onnx", distill="rbf")
    assert report.distillation is not None


def test_functions_of_metrics_take_pipelines():
    pipeline = pipeline_of("standard", "ukr")
    model = from_pipeline(pipeline)
    Z = model.embedding_[:20]
    assert round_trip_error(pipeline, Z) == pytest.approx(round_trip_error(model, Z), abs=1e-6)
    found = codebook_error(pipeline, X, 8, random_state=0)
    assert found == pytest.approx(codebook_error(model, X, 8, random_state=0), abs=1e-6)


class TestErrors:
    @pytest.mark.parametrize(
        ("step", "message"),
        [
            (Normalizer(), "step 'normalizer' of the pipeline, .* has no inverse_transform"),
            (QuantileTransformer(n_quantiles=50), "not one of shifts, factors and axes"),
            (FunctionTransformer(np.sqrt, np.square), "applies a function"),
            (MinMaxScaler(clip=True), "clips values, use clip=False"),
        ],
    )
    def test_steps_that_are_not_supported(self, step, message, tmp_path):
        pipeline = make_pipeline(step, MODELS["two_way"]).fit(np.abs(X))
        for function in (
            from_pipeline,
            lambda one: twofold.save(one, tmp_path / "m.twofold"),
            lambda one: explorer.write(one, np.abs(X), path=tmp_path / "m.html"),
            lambda one: export(one, tmp_path / "m.onnx"),
        ):
            with pytest.raises(TypeError, match=message) as caught:
                function(pipeline)
            assert "Supported steps are StandardScaler" in str(caught.value)
        assert not list(tmp_path.iterdir())

    def test_other_last_steps(self):
        y = X[:, 0] > 0.0
        pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
        with pytest.raises(TypeError, match="last step 'logisticregression' of the pipeline"):
            from_pipeline(pipeline)

    def test_unfitted_pipelines(self, tmp_path):
        with pytest.raises(NotFittedError):
            from_pipeline(make_pipeline(StandardScaler(), UKR()))
        with pytest.raises(NotFittedError):
            twofold.save(make_pipeline(StandardScaler(), UKR()), tmp_path / "m.twofold")

    def test_other_things(self):
        with pytest.raises(TypeError, match="needs no conversion"):
            from_pipeline(UKR())

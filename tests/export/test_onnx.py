"""ONNX files: onnxruntime computes what the model computes, and the files say what they are."""

import copy
import functools
import json
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from registry import ESTIMATORS, KERNELS, MAPS
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import twofold
from twofold import DRUR, UKR, PrincipalManifold, TwoWay
from twofold.datasets import make_swiss_roll
from twofold.export.programs.steps import (
    IntoDomain,
    Linear,
    NodeProducts,
    PairKernel,
    Put,
    RadialFeatures,
    RadialMeans,
    RadialMedians,
    Sigmoid,
    Take,
)
from twofold.export.programs.translation import ClosedForm, NoClosedForm
from twofold.maps import KernelRidgeMap, NadarayaWatson
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.node_kernels import NODE_KERNELS

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

from twofold.export.onnx import export, exporting, graph
from twofold.export.onnx.angles import Angles, on_circles
from twofold.export.onnx.precision import DOUBLE, MIXED, SINGLE

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FLOATS = ("float32", "float64")
TOLERANCE = {"float32": 1e-5, "float64": 1e-7}


def session(model):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    content = str(model) if isinstance(model, Path) else model.SerializeToString()
    return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def run(model, inputs):
    running = session(model)
    return running.run(None, {running.get_inputs()[0].name: inputs})[0]


def assert_agrees(found, wanted, n_near, tolerance):
    """Assert agreement to a share of the outputs' spread, or of an output's own distance."""
    offsets = np.abs(wanted - wanted[:n_near].mean(axis=0)).max(axis=1, keepdims=True)
    unit = np.maximum(offsets, offsets[:n_near].max())
    spacing = np.spacing(np.abs(wanted).astype(found.dtype)).astype(float)
    excess = (np.abs(found - wanted) - spacing) / np.where(unit > 0.0, unit, 1.0)
    assert np.isfinite(found).all()
    assert excess.max() < tolerance


def roll():
    X = make_swiss_roll(120, random_state=0)[0]
    return np.hstack([1e3 + X / 10.0, np.full((len(X), 1), 7.25)])


def far_from(places, n, seed=1):
    reach = 3.0 * np.ptp(places, axis=0)
    rng = np.random.default_rng(seed)
    return places.mean(axis=0) + reach * rng.uniform(-1.0, 1.0, size=(n, places.shape[1]))


@functools.cache
def fitted(name):
    return clone(ESTIMATORS[name]).fit(roll())


@functools.cache
def fitted_map(name):
    X = 1e3 + np.random.default_rng(1).normal(size=(60, 4))
    map_ = MAPS[name]
    return TwoWay("pca", up=clone(map_), down=clone(map_), random_state=0).fit(X), X


def check_export(model, X, map, dtype, path):
    near = model.embedding_ if map == "up" else X
    inputs = np.vstack([near, far_from(near, 1000 - len(near))]).astype(dtype)
    call = model.inverse_transform if map == "up" else model.transform
    report = export(model, path, map=map, dtype=dtype, distill=False)
    wanted = call(inputs.astype(float))
    found = run(path, inputs)
    assert found.dtype == dtype
    assert_agrees(found, wanted, len(near), TOLERANCE[dtype])
    one = run(path, inputs[:1])
    assert one.shape == (1, wanted.shape[1])
    assert_agrees(np.vstack([one, found[1:]]), wanted, len(near), TOLERANCE[dtype])
    assert report.deviation <= TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("map", ["up", "down"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator(name, map, dtype, tmp_path):
    model, path = fitted(name), tmp_path / "model.onnx"
    try:
        check_export(model, roll(), map, dtype, path)
    except NoClosedForm as error:
        assert map == "down"
        assert "projection" in str(error)
        assert "distill=True" in str(error)
        assert not path.exists()
    else:
        kinds = {type(model.encoder_).__name__, type(getattr(model.encoder_, "way", 0)).__name__}
        assert map == "up" or not kinds & {"Projection", "ManifoldEncoder", "FeatureEncoder"}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore:The best regression found:UserWarning")
def test_every_estimator_exports_both_maps_by_default(name, tmp_path):
    """A search is distilled from the rows that the model keeps, and its error is in the file."""
    model, path = fitted(name), tmp_path / "model.onnx"
    export(model, path, map="up")
    assert run(path, model.embedding_.astype(np.float32)).shape == roll().shape
    report = export(model, path)
    found = run(path, roll().astype(np.float32))
    assert found.shape == model.embedding_.shape
    assert np.isfinite(found).all()
    properties = {one.key: one.value for one in onnx.load(path).metadata_props}
    if report.distillation is None:
        assert "distillation" not in properties
        return
    assert report.distillation.rows == "kept"
    stated = json.loads(properties["distillation"])
    assert stated["distilled_error"] == pytest.approx(report.distillation.distilled_error)
    assert stated["n_held_out"] >= 10


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("map", ["up", "down"])
@pytest.mark.parametrize("name", MAPS)
def test_every_map(name, map, dtype, tmp_path):
    check_export(*fitted_map(name), map, dtype, tmp_path / "model.onnx")


RNG = np.random.default_rng(0)
CENTERS = {2: RNG.normal(size=(30, 2)), 9: RNG.normal(size=(30, 9))}
TARGETS = RNG.normal(size=(30, 3)) + 5.0
WEIGHTS = RNG.normal(size=(30, 3))

STEPS = {
    "take": (Take(np.array([3, 0]), 0.25, np.array([7.0, -2.0])), 4, 2),
    "put": (Put(np.array([3, 1]), 4.0, np.array([7.0, -2.0]), np.array([1.5, 0, 2.5, 0])), 2, 4),
    "linear": (Linear(WEIGHTS, np.arange(3.0)), 30, 3),
    "sigmoid": (Sigmoid(), 4, 4),
    "angles": (Angles((True, False, True)), 5, 3),
    "box": (IntoDomain(Domain((False, False))), 2, 2),
    "cylinder": (IntoDomain(Domain((True, False))), 2, 2),
    "rectangle": (IntoDomain(Domain((False, False), (1.0, 0.3))), 2, 2),
    "low cylinder": (IntoDomain(Domain((True, False), (1.0, 0.3))), 2, 2),
    "points": (IntoDomain(Points(3)), 1, 1),
}
for width, centers in CENTERS.items():
    for kernel_name, kernel in KERNELS.items():
        parts = (centers, 1.5 * np.sqrt(width), kernel)
        STEPS[f"features-{kernel_name}-{width}"] = (RadialFeatures(*parts), width, 30)
        STEPS[f"means-{kernel_name}-{width}"] = (RadialMeans(*parts, TARGETS), width, 3)
        STEPS[f"medians-{kernel_name}-{width}"] = (RadialMedians(*parts, TARGETS), width, 3)
    for kernel_name in PairKernel.NAMES:
        pair = PairKernel(centers, kernel_name, 0.3, 3, 1.0)
        STEPS[f"{kernel_name}-{width}"] = (pair, width, 30)
NODES = RNG.uniform(-1.0, 1.0, size=(11, 2)).astype(np.float32).astype(float)
for kernel_name, kernel in NODE_KERNELS.items():
    for width in (0.4, 1.9, 2.7):  # a periodic kernel wider than its circle is another formula
        product = NodeProducts(
            NODES, (kernel, kernel), np.array([width, 0.5]), kernel_name == "linear"
        )
        STEPS[f"nodes-{kernel_name}-{width}"] = (product, 2, 11)


STEP_TOLERANCES = {SINGLE: 5e-6, MIXED: 1e-6, DOUBLE: 1e-12}


@pytest.mark.parametrize("precision", STEP_TOLERANCES, ids=["single", "mixed", "double"])
@pytest.mark.parametrize("name", STEPS)
def test_every_step(name, precision):
    step, n_inputs, n_outputs = STEPS[name]
    form = ClosedForm((step,), n_inputs, n_outputs)
    dtype = precision.product
    model = exporting._model(form, "up", dtype, precision)
    exporting._round_output(model, "up", dtype)
    onnx.checker.check_model(model, full_check=True)
    rng = np.random.default_rng(2)
    rows = np.vstack([rng.normal(size=(40, n_inputs)), 8.0 * rng.normal(size=(20, n_inputs))])
    if "delta" in name:
        rows[:22] = NODES[np.arange(22) % 11]
    rows = rows.astype(dtype)
    wanted = form(rows.astype(float))
    assert np.ptp(wanted) > 0.0
    tolerance = STEP_TOLERANCES[precision] * np.abs(wanted).max()
    np.testing.assert_allclose(run(model, rows), wanted, rtol=0, atol=tolerance)


def test_angles_go_round_circles():
    latents = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    wrapped = (True, False, True)
    np.testing.assert_allclose(Angles(wrapped)(on_circles(latents, wrapped)), latents, atol=1e-14)
    corners = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [0.0, 0.0]])
    form = ClosedForm((Angles((True,)),), 2, 1)
    model = exporting._model(form, "up", np.dtype(float), DOUBLE)
    np.testing.assert_allclose(run(model, corners), form(corners), atol=1e-15)
    np.testing.assert_allclose(form(corners).ravel(), [0.0, 0.5, 1.0, -0.5, 0.0])


def test_what_lies_out_of_reach_gets_the_nearest_target():
    centers, targets = CENTERS[2], TARGETS
    form = ClosedForm((RadialMeans(centers, 0.1, KERNELS["quartic"], targets),), 2, 3)
    rows = far_from(centers, 300).astype(np.float32)
    nearest = np.square(rows[:, None] - centers).sum(axis=2).argmin(axis=1)
    for precision in STEP_TOLERANCES:
        model = exporting._model(form, "up", np.dtype(np.float32), precision)
        np.testing.assert_allclose(run(model, rows), targets[nearest], rtol=1e-6)


def cancelling():
    """A kernel ridge regression whose weights are 1e5 times its values."""
    X = 1e3 + np.random.default_rng(0).normal(size=(80, 3))
    up = KernelRidgeMap(bandwidth=2.0, alpha=1e-9)
    return TwoWay("pca", up=up, down=clone(up), random_state=0).fit(X)


def test_precision_is_measured(tmp_path):
    model = cancelling()
    assert np.abs(model.decoder_.weights_).max() > 1e4
    path = tmp_path / "model.onnx"
    inputs = model.embedding_.astype(np.float32)
    wanted = model.inverse_transform(inputs.astype(float))
    report = export(model, path, map="up")
    assert report.precision == "float64"
    assert_agrees(run(path, inputs), wanted, len(inputs), 1e-5)
    # With a tolerance that single precision meets, it is taken; it would not have met the first.
    loose = export(model, path, map="up", tol=10.0)
    assert loose.precision == "float32"
    assert loose.n_bytes < report.n_bytes
    assert np.abs(run(path, inputs) - wanted).max() > 1e-4 * np.ptp(wanted, axis=0).max()
    assert loose.deviation > 1e-4


@pytest.mark.parametrize("map", ["up", "down"])
@pytest.mark.parametrize("name", ["mlp", "nw-quartic", "ridge-linear"])
def test_an_offset_costs_no_precision(name, map, tmp_path):
    model, X = fitted_map(name)
    assert np.abs(X.mean() / X.std()) > 900.0
    assert export(model, tmp_path / "model.onnx", map=map).precision == "float32"


def test_precision_that_no_graph_has_is_told(tmp_path):
    model = cancelling()
    with pytest.warns(UserWarning, match=r"deviates .* more than tol=1e-17"):
        export(model, tmp_path / "model.onnx", map="up", tol=1e-17)


def test_a_wide_batch_needs_no_array_of_all_differences(tmp_path):
    step = RadialFeatures(
        np.random.default_rng(0).normal(size=(2000, 64)), 9.0, KERNELS["gaussian"]
    )
    form = ClosedForm((step, Linear(np.ones((2000, 2)), np.zeros(2))), 64, 2)
    model = exporting._model(form, "down", np.dtype(np.float32), DOUBLE)
    (tmp_path / "wide.onnx").write_bytes(model.SerializeToString())
    script = """if True:
        import resource, sys
        import numpy as np, onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        cpu = ["CPUExecutionProvider"]
        running = onnxruntime.InferenceSession(sys.argv[1], options, providers=cpu)
        rows = np.ones((2000, 64), dtype=np.float32)
        running.run(None, {"X": rows[:1]})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        running.run(None, {"X": rows})
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    pytest.importorskip("resource", reason="needs getrusage")
    command = [sys.executable, "-c", script, tmp_path / "wide.onnx"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    # All differences would be 2 GB; five matrices of rows and centers are 160 MB.
    assert int(done.stdout) * unit < 5 * 8 * 2000 * 2000


def test_files_say_what_they_are(tmp_path):
    pandas = pytest.importorskip("pandas", reason="needs pandas for column names")
    X = pandas.DataFrame(roll(), columns=["länge", "b", "c", "d"])
    model = DRUR(n_centers=10, random_state=0).fit(X)
    path = tmp_path / "model.onnx"
    report = export(model, str(path), map="up")
    assert report.path == path
    assert report.n_bytes == path.stat().st_size
    written = onnx.load(path)
    onnx.checker.check_model(written, full_check=True)
    assert written.ir_version == 10
    assert [(one.domain, one.version) for one in written.opset_import] == [("", 21)]
    assert written.producer_name == "twofold"
    assert "DRUR" in written.doc_string
    assert "inverse_transform" in written.doc_string
    (source,), (target,) = written.graph.input, written.graph.output
    assert (source.name, target.name) == ("Z", "X")
    sizes = [one.dim_param or one.dim_value for one in source.type.tensor_type.shape.dim]
    assert sizes == ["rows", 2]
    properties = {one.key: one.value for one in written.metadata_props}
    assert properties["estimator"] == "DRUR"
    assert properties["map"] == "up"
    assert properties["twofold_version"] == twofold.__version__
    assert json.loads(properties["feature_names"]) == list(X.columns)
    assert properties["precision"] == report.precision
    assert float(properties["deviation"]) == pytest.approx(report.deviation, rel=1e-2)
    again = tmp_path / "again.onnx"
    export(model, again, map="up")
    assert again.read_bytes() == path.read_bytes()


def test_writing_needs_no_runtime(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    export(fitted("ukr"), tmp_path / "model.onnx", map="up")
    assert (tmp_path / "model.onnx").exists()


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    export(fitted("ukr"), path, map="up")
    before = path.read_bytes()

    def full(self, content):
        self.open("wb").close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        export(fitted("drur"), path, map="up")
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["model.onnx"]


def test_large_files(tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "LARGE_FILE", 1000)
    with pytest.warns(UserWarning, match="keeps every training row"):
        export(fitted("ukr"), tmp_path / "model.onnx", map="up")
    monkeypatch.setattr(graph, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="the most that an ONNX file can hold"):
        export(fitted("ukr"), tmp_path / "other.onnx", map="up")
    assert not (tmp_path / "other.onnx").exists()


@pytest.mark.parametrize("bandwidth", [1e-120, 1e12])
@pytest.mark.parametrize("kernel", ["gaussian", "quartic", "student"])
def test_limits_of_the_bandwidth(kernel, bandwidth, tmp_path):
    X = roll()
    up = NadarayaWatson(kernel=kernel, bandwidth=bandwidth)
    model = TwoWay("pca", up=up, down=clone(up), random_state=0).fit(X)
    inputs = model.embedding_.astype(np.float32)
    export(model, tmp_path / "model.onnx", map="up")
    found = run(tmp_path / "model.onnx", inputs)
    wanted = X if bandwidth < 1.0 else np.broadcast_to(X.mean(axis=0), X.shape)
    assert np.abs(found - wanted).max() < 1e-5 * np.ptp(X[:, :3]) + np.spacing(np.float32(1e3))


def test_equal_rows(tmp_path):
    with pytest.warns(UserWarning, match="vary in only 0 directions"):
        model = UKR(random_state=0).fit(np.full((30, 3), 4.5))
    for map, given in (("up", np.zeros((5, 2))), ("down", np.full((5, 3), 4.5))):
        export(model, tmp_path / "model.onnx", map=map)
        call = model.inverse_transform if map == "up" else model.transform
        found = run(tmp_path / "model.onnx", given.astype(np.float32))
        np.testing.assert_allclose(found, call(given), atol=1e-6)


def test_a_model_without_its_embedding(tmp_path):
    model = DRUR(n_centers=10, store_embedding=False, random_state=0).fit(roll())
    export(model, tmp_path / "model.onnx", map="up")
    latents = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    wanted = model.inverse_transform(latents.astype(float))
    assert_agrees(run(tmp_path / "model.onnx", latents), wanted, 50, 1e-5)


def test_the_map_of_drur_itself(tmp_path):
    model, path = fitted("drur"), tmp_path / "model.onnx"
    assert model.method_ == "project"
    with pytest.raises(NoClosedForm, match="method='map'"):
        export(model, path, distill=False)
    report = export(model, path, method="map")
    assert report.distillation is None
    X = roll().astype(np.float32)
    wanted = model.transform(X.astype(float), method="map")
    assert_agrees(run(path, X), wanted, len(X), 1e-5)


def spread(rows):
    return np.sqrt(np.square(rows - rows.mean(axis=0)).sum(axis=1).mean())


def lost(model, X, Z):
    return np.square(X - model.inverse_transform(Z)).sum() / np.square(X - X.mean(axis=0)).sum()


@functools.cache
def projecting(name):
    """Return a model that encodes by projection, new rows to distill from, and fresh rows."""
    if name == "digits":
        X = load_digits().data
        X = X[np.random.default_rng(0).permutation(len(X))]
        model = TwoWay("pca", up="nw", down="projection", random_state=0).fit(X[:400])
        return model, X[400:900], X[900:1200]
    X = make_swiss_roll(1200, random_state=0)[0]
    model = TwoWay("isomap", up="krr", down="projection", random_state=0).fit(X[:300])
    return model, X[300:700], X[700:]


@pytest.mark.parametrize("name", ["digits", "roll"])
def test_distilled_deviations_are_true_of_fresh_rows(name, tmp_path, caplog):
    model, X, fresh = projecting(name)
    with caplog.at_level(logging.INFO, "twofold"):
        report = export(model, tmp_path / "model.onnx", distill=True, X=X)
    found = report.distillation
    assert found.rows == "given"
    assert found.n_rows + found.n_held_out == len(X)
    assert f"distilled by {found.kind}" in caplog.text
    Z, projected = run(tmp_path / "model.onnx", fresh.astype(np.float32)), model.transform(fresh)
    distances = np.sqrt(np.square(Z - projected).sum(axis=1))
    # Measured ratios of medians are between 0.8 and 1.3; a few distant rows dominate the root mean
    # square.
    assert np.median(distances) / spread(projected) == pytest.approx(
        found.median_deviation, rel=0.4
    )
    assert 0.4 < np.sqrt(np.square(distances).mean()) / found.deviation < 2.5
    assert found.deviation == pytest.approx(found.relative_deviation * spread(projected), rel=0.2)
    assert lost(model, fresh, projected) == pytest.approx(found.error, rel=0.3)
    assert lost(model, fresh, Z) == pytest.approx(found.distilled_error, rel=0.3)
    assert min(found.candidates, key=found.candidates.get) == found.kind
    assert set(found.candidates) == {"rbf", "krr", "mlp", "images"}
    written = onnx.load(tmp_path / "model.onnx")
    (entry,) = (one.value for one in written.metadata_props if one.key == "distillation")
    assert json.loads(entry)["deviation"] == found.deviation


def test_images_come_close_to_projections(tmp_path):
    model, X, fresh = projecting("digits")
    errors = {}
    for kind in ("krr", "images"):
        export(model, tmp_path / "model.onnx", distill=kind, X=X, n_images=2000)
        errors[kind] = lost(model, fresh, run(tmp_path / "model.onnx", fresh.astype(np.float32)))
    least = lost(model, fresh, model.transform(fresh))
    assert errors["images"] - least < 0.1 * (errors["krr"] - least)


def test_more_images_come_closer(tmp_path):
    model, X, _ = projecting("roll")
    few, many = (
        export(model, tmp_path / "model.onnx", distill="images", X=X, n_images=n) for n in (1, 3000)
    )
    assert many.distillation.median_deviation < 0.6 * few.distillation.median_deviation
    assert many.n_bytes > 5 * few.n_bytes


def test_poor_substitutes_are_told(tmp_path):
    with pytest.warns(UserWarning, match=r"\(krr\) is a poor substitute"):
        export(fitted("manifold"), tmp_path / "model.onnx", distill="krr", X=roll())


def test_rows_that_a_model_keeps(tmp_path):
    X = roll()[:, :3]
    model = UKR(init="pca", homotopy=False, max_iter=20, random_state=0).fit(X)
    kept = export(model, tmp_path / "model.onnx", distill="images", n_images=300).distillation
    given = export(model, tmp_path / "model.onnx", distill="images", n_images=300, X=X).distillation
    assert (kept.rows, given.rows) == ("kept", "given")
    assert kept.deviation == pytest.approx(given.deviation, rel=1e-6)


@pytest.mark.filterwarnings("ignore:The best regression found:UserWarning")
@pytest.mark.parametrize("kind", ["rbf", "krr", "mlp", "images"])
@pytest.mark.parametrize("name", ["ukr-l1", "manifold", "drur"])
def test_kinds_of_distilled_maps(name, kind, tmp_path):
    model, path = fitted(name), tmp_path / "model.onnx"
    report = export(model, path, distill=kind, X=roll(), n_images=200)
    assert report.distillation.kind == kind
    Z = run(path, roll().astype(np.float32))
    distances = np.sqrt(np.square(Z - model.transform(roll())).sum(axis=1))
    assert np.median(distances) < spread(model.embedding_)
    if name == "manifold":
        assert np.abs(run(path, far_from(roll(), 50).astype(np.float32))).max() <= 1.0


def test_distilling_looks_at_drurs_own_map(tmp_path):
    report = export(fitted("drur"), tmp_path / "model.onnx", distill=True, X=roll(), n_images=200)
    assert "own" in report.distillation.candidates


def circle(n, seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    clean = np.stack([np.cos(angle), np.sin(angle), 0.3 * np.sin(2.0 * angle)], axis=1)
    return clean + 0.03 * rng.standard_normal(clean.shape)


@pytest.mark.parametrize("kind", ["krr", "images"])
def test_distilled_around_a_circle(kind, tmp_path):
    model = PrincipalManifold(1, domain="circle", alpha=1e-3, random_state=0).fit(circle(200, 0))
    report = export(model, tmp_path / "model.onnx", distill=kind, X=circle(300, 1))
    fresh = circle(300, 2)
    found, wanted = run(tmp_path / "model.onnx", fresh.astype(np.float32)), model.transform(fresh)
    apart = np.abs(found - wanted)
    assert np.minimum(apart, 2.0 - apart).max() < 0.02  # 1 and -1 are one place
    assert report.distillation.relative_deviation < 0.02


@pytest.mark.filterwarnings("ignore:The best regression found:UserWarning")
def test_distilling_without_a_way_up(tmp_path):
    X = roll()[:60, :3] - 1e3

    def metric(A, B):  # of a function only the values are known: there are no pre-images
        return np.square(A @ B.T + 1.0)

    model = UKR(metric=metric, init="pca", homotopy=False, max_iter=3, random_state=0).fit(X)
    found = export(model, tmp_path / "model.onnx", distill=True).distillation
    assert found.error is None
    assert found.distilled_error is None
    with pytest.raises(ValueError, match="distill='images' needs the images"):
        export(model, tmp_path / "model.onnx", distill="images")


def test_wrong_requests(tmp_path, monkeypatch):
    model, path = fitted("two_way-isomap"), tmp_path / "model.onnx"
    wrong = [
        ({"map": "sideways"}, "map='sideways' must be one of"),
        ({"dtype": "float16"}, "dtype='float16' must be one of"),
        ({"method": "project"}, "method='project' must be one of"),
        ({"method": "map"}, "method='map' is for DRUR"),
        ({"distill": "svm"}, "distill='svm' must be one of"),
        ({"distill": True, "X": roll()[:10]}, "X has 10 rows; distilling needs at least 20"),
        ({"map": "up", "distill": True}, "apply to map=.down. only"),
        ({"tol": 0.0}, "tol=0.0 must be finite and greater than 0"),
        ({"n_images": 0}, "n_images=0 must be at least 1"),
        ({"distill": True, "X": roll()[:, :2]}, "2 features"),
    ]
    for arguments, message in wrong:
        with pytest.raises(ValueError, match=message):
            export(model, path, **arguments)
    old = copy.copy(model)
    old._gap_filling = None  # as in files of older versions
    with pytest.raises(ValueError, match="X=None: this TwoWay keeps no training rows"):
        export(old, path)
    with pytest.raises(NotFittedError):
        export(UKR(), path)
    with pytest.raises(NotFittedError):
        export(make_pipeline(StandardScaler(), UKR()), path)
    with pytest.raises(TypeError, match="StandardScaler is not a two-way estimator"):
        export(StandardScaler(), path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "twofold\[onnx\]"'):
        export(model, path)
    assert not path.exists()


def test_points_are_not_distilled(tmp_path):
    model = PrincipalManifold(1, domain=Points(4), alpha=1e-2, random_state=0).fit(roll())
    with pytest.raises(NoClosedForm, match="numbers of points"):
        export(model, tmp_path / "model.onnx", distill=True, X=roll())


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_data_beyond_single_precision(scale, tmp_path):
    X = scale * make_swiss_roll(100, random_state=0)[0]
    model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
    with pytest.raises(ValueError, match="out of the range of float32"):
        export(model, tmp_path / "model.onnx")
    export(model, tmp_path / "model.onnx", dtype="float64")
    assert_agrees(run(tmp_path / "model.onnx", X), model.transform(X), len(X), 1e-8)


def test_data_too_far_for_single_precision(tmp_path):
    X = 1e6 + make_swiss_roll(100, random_state=0)[0]
    model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
    with pytest.warns(UserWarning, match="times its spread from the origin"):
        export(model, tmp_path / "model.onnx")
    inputs = X.astype(np.float32)
    wanted = model.transform(inputs.astype(float))
    assert_agrees(run(tmp_path / "model.onnx", inputs), wanted, len(X), 1e-5)

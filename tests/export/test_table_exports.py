"""Tables outside Python: closed forms, ONNX files and pages of TableMap."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from mixed_tables import NASTY, mixed_frame, with_gaps

from twofold import DRUR, UKR, TableMap, TwoWay, load
from twofold.export import explorer
from twofold.export.programs.exported import exported
from twofold.export.programs.steps import Encoded, Flat
from twofold.export.programs.translation import NoClosedForm, closed_form

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = {
    "two-way": TwoWay("pca", up="rbf", down="rbf", n_centers=15, random_state=0),
    "ukr": UKR(init="pca", homotopy=False, max_iter=20, random_state=0),
    "drur": DRUR(n_centers=15, alpha=1e-3, init="pca", random_state=0),
}


@pytest.fixture(scope="module")
def frame():
    return mixed_frame()


@pytest.fixture(scope="module", params=MODELS)
def model(request, frame):
    return TableMap(MODELS[request.param]).fit(frame)


@pytest.fixture(scope="module")
def table(frame):
    return TableMap(MODELS["two-way"]).fit(frame)


def places(model):
    Z = model.embedding_
    far = Z.mean(axis=0) + 2.0 * np.ptp(Z, axis=0) * np.random.default_rng(0).uniform(
        -1, 1, size=(20, Z.shape[1])
    )
    return np.vstack([Z[:30], far])


def flat_of(model, Z):
    return model.layout_.numbers(model.model_.inverse_transform(Z))


def content_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="content">(.*?)</script>', text, re.DOTALL).group(1))


def columns_of(kind, **changes):
    arrays = {
        "scale": np.array([2.0, 0.5, 0.7, 0.7, 0.7]),
        "center": np.array([100.0, 3.0, 0.5, 0.25, 0.25]),
        "offset": np.array([0.0, 1.5, 0.0, 0.0, 0.0]),
        "floor": np.array([1.0, 0.1, 1.0, 1.0, 1.0]),
        "log": np.array([False, True, False, False, False]),
        "group": np.array([-1, -1, 0, 0, 0]),
    }
    return kind(**(arrays | changes))


def test_flat_values_are_in_own_units_and_probabilities():
    flat, encoded = columns_of(Flat), columns_of(Encoded)
    rows = np.array([[1.0, -1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5, -5.0], [0, 0, -9, -9, -9]])
    values = flat(rows)
    np.testing.assert_allclose(values[0], [102.0, np.exp(2.5) - 1.5, 0.5, 0.25, 0.25])
    np.testing.assert_allclose(values[1, 2:], [2 / 3, 1 / 3, 0.0])
    np.testing.assert_allclose(values[2, 2:], [0.5, 0.25, 0.25])  # all clipped: the shares
    np.testing.assert_allclose(encoded(flat(rows[:1])), rows[:1], atol=1e-12)
    assert np.isfinite(encoded(np.full((1, 5), -1e3))).all()


def test_the_decoder_gives_flat_values(model):
    Z = places(model)
    form = closed_form(model, "up")
    assert form.n_outputs == len(model.layout_.flat_names)
    want = flat_of(model, Z)
    scale = np.abs(want).max(axis=0)
    np.testing.assert_allclose(form(Z) / scale, want / scale, rtol=0, atol=1e-7)


def test_the_encoder_takes_flat_values(model, frame):
    if isinstance(model.model_, UKR):
        with pytest.raises(NoClosedForm, match="projection"):
            closed_form(model, "down")
        return
    if getattr(model.model_, "method_", None) == "project":
        return
    rows = model.layout_.numbers(model.layout_.into(frame))
    np.testing.assert_allclose(closed_form(model, "down")(rows), model.transform(frame), atol=1e-6)


def test_onnx_up(model, frame, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    from twofold.export.onnx import export

    report = export(model, tmp_path / "up.onnx", map="up")
    assert report.deviation < 1e-5
    session = runtime.InferenceSession(report.path.read_bytes())
    Z = places(model).astype(np.float32)
    (found,) = session.run(None, {"Z": Z})
    want = flat_of(model, Z.astype(np.float64))
    rows = model.layout_.numbers(model.layout_.into(frame))
    unit = np.maximum(np.ptp(rows, axis=0), np.abs(want - rows.mean(axis=0)))
    # The next float32 may be further away than a share of the spread.
    allowed = 1e-5 * unit + 1.2e-7 * np.abs(want)
    assert (np.abs(found - want) <= allowed).all()
    described = {one.key: one.value for one in onnx.load(report.path).metadata_props}
    assert described["estimator"] == "TableMap"
    assert json.loads(described["feature_names"]) == list(model.layout_.flat_names)


def test_onnx_down(model, frame, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from twofold.export.onnx import export

    name = type(model.model_).__name__
    options = {"method": "map"} if name == "DRUR" else {}
    if name == "UKR":
        options = {"distill": "images", "n_images": 500, "X": frame}
    report = export(model, tmp_path / "down.onnx", map="down", dtype="float64", **options)
    session = runtime.InferenceSession(report.path.read_bytes())
    rows = model.layout_.numbers(model.layout_.into(frame))
    (found,) = session.run(None, {"X": rows})
    spread = np.ptp(model.embedding_)
    if name == "UKR":
        assert report.distillation.rows == "given"
        assert np.median(np.abs(found - model.transform(frame))) < 0.1 * spread
        return
    want = model.model_._encode(model.layout_.into(frame), **options)
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-5 * spread)


def test_the_page_has_the_columns_of_the_frame(table, frame, tmp_path):
    content = content_of(explorer.write(table, frame, path=tmp_path / "p.html"))
    assert content["features"] == [str(name) for name in frame.columns]
    assert content["model"]["name"] == "TableMap"
    assert content["model"]["n_features"] == content["data"]["shape"][1] == frame.shape[1]
    assert content["appearance"] == {"kind": "table"}
    assert "gaps" not in content
    fields = dict(zip(frame.columns, content["fields"], strict=True))
    assert fields["length mm"]["kind"] == "number"
    assert fields["count"]["kind"] == "integer"
    assert fields["day"]["kind"] == "date"
    assert sorted(fields[NASTY[0]]["levels"]) == sorted(NASTY)
    assert fields["grade"]["levels"] == ["low", "mid", "high"]
    assert fields["ringed"]["levels"] == ["false", "true"]
    assert fields["always"]["fixed"] == "yes"
    assert content["start"] == f"feature {list(frame.columns).index(NASTY[0])}"


def test_labels_set_the_first_colors(table, frame, tmp_path):
    page = explorer.write(table, frame, frame["nest"], path=tmp_path / "p.html")
    content = content_of(page)
    assert content["start"] == "0"
    assert content["columns"][0]["names"][0] == "nest 0"
    assert NASTY[0] not in page.read_text(encoding="utf-8")


def test_tables_are_tables(table, frame, tmp_path):
    with pytest.raises(ValueError, match="kind='curve'"):
        explorer.write(table, frame, path=tmp_path / "p.html", kind="curve")
    with pytest.raises(ValueError, match="feature_names has 2 names; the model has 9 features"):
        explorer.write(table, frame, path=tmp_path / "p.html", feature_names=["a", "b"])


def test_gaps_go_into_the_page(table, frame, tmp_path):
    gapped = with_gaps(frame)
    content = content_of(explorer.write(table, gapped, path=tmp_path / "p.html"))
    assert content["gaps"]["shape"] == list(frame.shape)
    assert "gaps" not in content["columns"][0]  # every row has an error


def test_gaps_in_rows_of_numbers(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = DRUR(n_centers=10, alpha=1e-3, init="pca", random_state=0).fit(X)
    gapped = X.copy()
    gapped[::7, 1] = np.nan
    content = content_of(explorer.write(model, gapped, path=tmp_path / "p.html"))
    assert content["gaps"]["shape"] == [60, 3]
    assert content["fields"] is None


def test_filled_rows_keep_what_was_observed(table, frame):
    found = exported(table)
    rows = found.read(with_gaps(frame))
    complete = found.complete(rows)
    observed = ~np.isnan(rows)
    assert not observed.all()
    np.testing.assert_array_equal(complete[observed], rows[observed])
    assert np.isfinite(complete).all()


def test_saved_tables_make_the_same_page(table, frame, tmp_path):
    table.save(tmp_path / "model.twofold")
    again = load(tmp_path / "model.twofold")
    pages = [
        explorer.write(one, frame, path=tmp_path / f"{k}.html").read_text(encoding="utf-8")
        for k, one in enumerate([table, again])
    ]
    assert pages[0] == pages[1]


def test_frames_of_polars(table, frame, tmp_path):
    polars = pytest.importorskip("polars")
    other = polars.DataFrame(
        {name: values.astype(object).to_list() for name, values in frame.items()}
    )
    pages = [
        content_of(explorer.write(table, one, path=tmp_path / "p.html")) for one in (frame, other)
    ]
    for name in ("fields", "features", "data", "rows"):
        assert pages[0][name] == pages[1][name]


def test_one_hot_columns_are_one_category(frame, tmp_path):
    hot = pd.get_dummies(frame[["length mm", "nest", "day"]], columns=["nest"], dtype=float)
    model = TableMap(MODELS["two-way"]).fit(hot)
    content = content_of(explorer.write(model, hot, path=tmp_path / "p.html"))
    assert content["features"][:2] == ["length mm", "day"]
    assert len(content["features"]) == 3
    assert len(content["fields"][2]["levels"]) == frame["nest"].nunique()


def test_words_of_many_levels_stay_small(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=2_000)})
    frame["word"] = [f"word {number}" for number in rng.integers(0, 200, size=2_000)]
    model = TableMap(MODELS["drur"]).fit(frame)
    path = explorer.write(model, frame, path=tmp_path / "p.html")
    assert path.stat().st_size < 450_000

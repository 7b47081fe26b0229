"""Files and pages of an `AutoTwoWay` are those of the estimator that won."""

import numpy as np
import pytest
from auto_winners import POSITION, WINNERS, X, auto_of

import twofold
from twofold.export import explorer
from twofold.export.programs.translation import NoClosedForm

ONLY_SEARCHES = {"ukr", "tsne", "isomap", "principal_manifold"}
"""Winners whose encoder is a search for the nearest point."""


@pytest.mark.parametrize("winner", WINNERS)
def test_pages(winner, tmp_path):
    model = auto_of(winner)
    pages = [
        explorer.write(one, X, POSITION, path=tmp_path / f"{number}.html")
        for number, one in enumerate([model, model.best_estimator_])
    ]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("winner", WINNERS)
def test_model_files(winner, tmp_path):
    model = auto_of(winner)
    model.save(tmp_path / "auto.twofold")
    again = twofold.load(tmp_path / "auto.twofold")
    assert type(again) is twofold.AutoTwoWay
    assert again.method_ == winner
    assert type(again.best_estimator_) is type(model.best_estimator_)
    assert str(again.report_) == str(model.report_)
    Z = model.transform(X)
    for one in (again, again.best_estimator_, model.best_estimator_):
        np.testing.assert_array_equal(one.transform(X), Z)
        np.testing.assert_array_equal(one.inverse_transform(Z), model.inverse_transform(Z))
        np.testing.assert_array_equal(one.log_density(Z), model.log_density(Z))


def graph_and_bytes(model, path, **options):
    from twofold.export.onnx import export

    report = export(model, path, **options)
    return report, path.read_bytes()


@pytest.mark.parametrize("winner", WINNERS)
def test_onnx_decoders(winner, tmp_path):
    pytest.importorskip("onnx", reason="needs the extra onnx")
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    model = auto_of(winner)
    report, graph = graph_and_bytes(model, tmp_path / "up.onnx", map="up")
    assert graph == graph_and_bytes(model.best_estimator_, tmp_path / "up.onnx", map="up")[1]
    assert report.deviation <= 1e-5
    Z = model.embedding_.astype(np.float32)
    found = runtime.InferenceSession(graph).run(None, {"Z": Z})[0]
    np.testing.assert_allclose(found, model.inverse_transform(Z), atol=1e-4)


@pytest.mark.parametrize("winner", WINNERS)
@pytest.mark.filterwarnings("ignore:The distilled map")
def test_onnx_encoders(winner, tmp_path):
    pytest.importorskip("onnx", reason="needs the extra onnx")
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    model = auto_of(winner)
    options = {"map": "down"}
    if winner in ONLY_SEARCHES:
        with pytest.raises(NoClosedForm, match="distill=True"):
            graph_and_bytes(model, tmp_path / "down.onnx", distill=False, **options)
        options |= {"distill": "rbf", "X": X}
    if winner == "drur":
        options["method"] = "map"
    graph = graph_and_bytes(model, tmp_path / "down.onnx", **options)[1]
    same = graph_and_bytes(model.best_estimator_, tmp_path / "down.onnx", **options)[1]
    assert graph == same
    found = runtime.InferenceSession(graph).run(None, {"X": X.astype(np.float32)})[0]
    assert found.shape == (len(X), 2)
    if winner == "pca":
        np.testing.assert_allclose(found, model.transform(X), atol=1e-4)

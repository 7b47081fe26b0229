"""All commands except `twofold fit`, on a small model."""

import json
import sys
import types

import numpy as np
import pytest
from cli_runs import FEATURES, QUICK, ROLES, fails, files_in, flowers, read_csv, run, write_flowers
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import twofold
from twofold import plotting
from twofold.cli.commands.demo import PICTURES
from twofold.cli.commands.show import KINDS
from twofold.metrics import codebook_error, map_score


def stand_in(monkeypatch, name, **functions):
    """Replace a module of `twofold.export`."""
    module = types.ModuleType(f"twofold.export.{name}")
    vars(module).update(functions)
    monkeypatch.setitem(sys.modules, f"twofold.export.{name}", module)


def png(path):
    return path.read_bytes().startswith(b"\x89PNG")


# Maps.


def test_reconstruct(model, data):
    found = read_csv(run("reconstruct", model, data, *ROLES).stdout)
    assert list(found.columns) == ["plant", *FEATURES, "kind"]
    expected = twofold.load(model).reconstruct(flowers()[FEATURES])
    np.testing.assert_array_equal(found[FEATURES], expected)


def test_up_from_latents(model, data, tmp_path):
    latents = tmp_path / "z.csv"
    run("transform", model, data, *ROLES, "-o", latents)
    up = run("reconstruct", model, latents, "--from-latents", *ROLES).stdout
    assert up == run("reconstruct", model, data, *ROLES).stdout
    assert "lacks 2 of the 2 columns that the model's latent space needs" in fails(
        "reconstruct", model, data, "--from-latents"
    )


def test_sample(model):
    found = read_csv(run("sample", model, "-n", 5, "--seed", 1).stdout)
    np.testing.assert_array_equal(found, twofold.load(model).sample(5, random_state=1))
    told = json.loads(run("sample", model, "-n", 2, "--json").stdout)
    assert [len(column) for column in told["table"].values()] == [2, 2, 2]
    assert "x>=1" in fails("sample", model, "-n", 0, code=2)


def test_score(model, data, tmp_path):
    estimator = twofold.load(model)
    X = flowers()[FEATURES]
    judged = tmp_path / "judged.csv"
    result = run("score", model, data, *ROLES, "-o", judged)
    assert f"{estimator.score(X):.4f} of the variance kept (40 rows)" in result.stdout
    found = read_csv(judged)
    assert list(found.columns) == ["plant", "reconstruction_error", "log_density", "kind"]
    np.testing.assert_array_equal(found["reconstruction_error"], estimator.reconstruction_error(X))
    expected = estimator.log_density(estimator.transform(X))
    np.testing.assert_array_equal(found["log_density"], expected)
    told = json.loads(run("score", model, data, *ROLES, "--json").stdout)
    assert told["score"] == pytest.approx(estimator.score(X))
    assert told["map_score"] == pytest.approx(map_score(estimator, X))
    assert told["codebook_errors"] == {}  # 40 rows support no codebook
    assert f"map score  {told['map_score']:.4f}, higher is better" in result.stdout
    assert "both use standard output" in fails("score", model, data, "-o", "-", "--json", code=2)
    rows = run("score", model, data, *ROLES, "-o", "-")
    assert rows.stdout.count("\n") == 41
    assert "of the variance kept" in rows.stderr


def test_score_has_codebook_errors(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 3)) * [3.0, 1.0, 0.1]
    np.save(tmp_path / "x.npy", X)
    run("fit", tmp_path / "x.npy", *QUICK, "-o", tmp_path / "m.twofold")
    estimator = twofold.load(tmp_path / "m.twofold")
    told = json.loads(run("score", tmp_path / "m.twofold", tmp_path / "x.npy", "--json").stdout)
    assert list(told["codebook_errors"]) == ["16", "64"]
    for size, error in told["codebook_errors"].items():
        assert error == pytest.approx(codebook_error(estimator, X, int(size)))
    assert told["map_score"] == pytest.approx(map_score(estimator, X))
    shown = run("score", tmp_path / "m.twofold", tmp_path / "x.npy").stdout
    one, two = told["codebook_errors"].values()
    assert f"{one:.4f} at 16, {two:.4f} at 64 codewords, of the variance lost" in shown
    np.save(tmp_path / "one.npy", X[:1])
    one_row = run("score", tmp_path / "m.twofold", tmp_path / "one.npy")
    assert "map score" not in one_row.stdout  # one row has no variance
    told = json.loads(run("score", tmp_path / "m.twofold", tmp_path / "one.npy", "--json").stdout)
    assert told["map_score"] is None


def test_score_of_a_model_without_training_latents(tmp_path):
    X = np.random.default_rng(0).normal(size=(100, 3)) * [3.0, 1.0, 0.1]
    np.save(tmp_path / "x.npy", X)
    model = twofold.DRUR(n_centers=9, init="pca", store_embedding=False).fit(X)
    model.save(tmp_path / "m.twofold")
    told = json.loads(run("score", tmp_path / "m.twofold", tmp_path / "x.npy", "--json").stdout)
    assert told["map_score"] is None
    assert told["codebook_errors"] is None
    assert told["score"] == pytest.approx(model.score(X))


def test_info(model):
    lines = run("info", model).stdout
    assert "TwoWay (-m two-way)" in lines
    assert "40 rows of 3 columns" in lines
    assert "width, height, leaf length" in lines
    assert "embedding='pca'" in lines
    assert "n_centers" not in lines
    told = json.loads(run("info", model, "--json").stdout)
    assert told["feature_names"] == FEATURES
    assert told["versions"]["twofold"] == twofold.__version__


# Pictures, pages, ONNX.


@pytest.mark.parametrize("kind", KINDS)
def test_plot(kind, model, ukr, data, tmp_path):
    model = ukr if kind in ("candidates", "learning-curve") else model
    shape = ["--image-shape", "3x1"] if kind == "decoded" else []
    run("plot", model, data, *ROLES, "--kind", kind, *shape, "-o", tmp_path / "p.png")
    assert png(tmp_path / "p.png")


def test_displays_are_given_what_they_take(model, data, tmp_path, monkeypatch):
    given = {}
    axes = Figure().add_subplot()

    def display(name):
        def from_estimator(estimator, *positional, **named):
            given[name] = (len(positional), sorted(named))
            return axes

        return types.SimpleNamespace(from_estimator=from_estimator)

    for kind in KINDS.values():
        monkeypatch.setattr(plotting, kind.display, display(kind.display), raising=False)
    for kind in KINDS:
        options = ("--kind", kind, "--image-shape", "3x1", "-o", tmp_path / "p.png")
        run("plot", model, data, *ROLES, *options)
    assert given == {
        "LatentMapDisplay": (1, ["labels"]),
        "DecodedGridDisplay": (0, ["image_shape"]),
        "ReconstructionErrorDisplay": (1, []),
        "ManifoldDisplay": (1, []),
        "CandidatesDisplay": (0, []),
        "LearningCurveDisplay": (0, []),
    }


def test_pictures_without_data(model, tmp_path):
    run("plot", model, "-o", tmp_path / "map.svg")
    assert "<svg" in (tmp_path / "map.svg").read_text()
    out = ("-o", tmp_path / "p.png")
    error = fails("plot", model, "--label", "kind", *out, code=2)
    assert "--label names a column of DATA, which is missing" in error
    assert "--kind error shows DATA" in fails("plot", model, "--kind", "error", *out, code=2)
    assert "must end in .png or .pdf" in fails("plot", model, "-o", tmp_path / "map.bmp", code=2)
    for wrong in ("3", "3x", "0x3", "axb"):
        shape = ("--kind", "decoded", "--image-shape", wrong)
        assert "height x width" in fails("plot", model, *shape, *out, code=2)
    assert files_in(tmp_path) == ["map.svg"]


def test_maps_of_other_rows(model, tmp_path):
    data = write_flowers(tmp_path, n_rows=12)
    run("plot", model, data, *ROLES, "-o", tmp_path / "map.png")
    assert png(tmp_path / "map.png")


def test_a_page_to_explore(model, data, tmp_path):
    run("explore", model, data, *ROLES, "--color", "width", "-o", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    for word in ("aster", "p17", "leaf length"):
        assert word in text


def test_rows_without_ids_are_counted_from_0(model, tmp_path, monkeypatch):
    given = {}

    def write(*_, path, **options):
        path.write_text("<!doctype html>")
        given.update(options)

    stand_in(monkeypatch, "explorer", write=write)
    frame = flowers()
    np.savez(tmp_path / "d.npz", X=frame[FEATURES].to_numpy(), y=frame["kind"].to_numpy(dtype=str))
    frame[FEATURES].to_csv(tmp_path / "d.csv", index=False)
    for name in ("d.npz", "d.csv"):
        run("explore", model, tmp_path / name, "-o", tmp_path / "page.html")
        assert given["row_names"][:2] == ["row 0", "row 1"]


def test_a_page_of_some_rows_says_so(model, data, tmp_path):
    out = tmp_path / "page.html"
    told = run("explore", model, data, "--max-points", 10, "-o", out).stdout
    assert "with 10 of 40 rows" in told
    told = json.loads(run("explore", model, data, "-o", out, "--json").stdout)
    assert (told["rows"], told["shown"]) == (40, 40)


def test_what_the_explorer_is_given(model, data, tmp_path, monkeypatch):
    given = {}

    def write(estimator, X, y=None, *, path, **options):
        path.write_text("<!doctype html>")
        given.update(options, X=X)

    stand_in(monkeypatch, "explorer", write=write)
    page = tmp_path / "page.html"
    options = ("--color", "width", "--image-shape", "3x1", "-o", page)
    result = run("explore", model, data, *ROLES, *options)
    assert str(page) in result.stdout
    assert page.read_text() == "<!doctype html>"
    np.testing.assert_array_equal(given["X"], flowers()[FEATURES])
    assert list(given["row_names"]) == list(flowers()["plant"])
    assert given["title"] == "m"
    assert given["feature_names"] == FEATURES
    assert given["image_shape"] == (3, 1)
    assert list(given["columns"]) == ["kind", "width"]
    assert list(given["columns"]["kind"]) == list(flowers()["kind"])
    assert "has no such column" in fails("explore", model, data, "--color", "depth", "-o", page)

    def fail(*_, path, **__):
        path.write_text("half a page")
        raise ValueError("no map of three dimensions")

    stand_in(monkeypatch, "explorer", write=fail)
    assert fails("explore", model, data, "-o", page) == "no map of three dimensions"
    assert page.read_text() == "<!doctype html>"
    assert files_in(tmp_path) == ["page.html"]


def test_export(model, ukr, data, tmp_path, monkeypatch):
    runtime = pytest.importorskip("onnxruntime")
    out = tmp_path / "up.onnx"
    told = json.loads(run("export", model, "--map", "up", "-o", out, "--json").stdout)
    assert told == {"onnx": str(out), "map": "up", "bytes": out.stat().st_size}
    fitted = twofold.load(model)
    Z = fitted.embedding_[:5]
    (images,) = runtime.InferenceSession(out).run(None, {"Z": Z.astype(np.float32)})
    np.testing.assert_allclose(images, fitted.inverse_transform(Z), rtol=1e-4, atol=1e-4)
    assert "the decoder is a formula" in fails(
        "export", model, "--map", "up", "--distill", "-o", out, code=2
    )
    down = tmp_path / "down.onnx"
    assert "without --no-distill" in fails("export", ukr, "--no-distill", "-o", down)
    assert "the error is" in run("export", ukr, "-o", down).stdout
    distill = ("export", ukr, data, *ROLES, "--distill", "-o", down)
    assert 0.0 <= json.loads(run(*distill, "--json").stdout)["deviation"] < 1.0
    assert "held-out latents deviate by" in run(*distill).stdout
    down.unlink()

    def fail(*_, **__):
        raise ModuleNotFoundError("No module named 'onnx'", name="onnx")

    stand_in(monkeypatch, "onnx", export=fail)
    assert 'pip install "twofold[onnx]"' in fails("export", model, "-o", tmp_path / "down.onnx")
    assert "must end in .onnx" in fails("export", model, "-o", tmp_path / "down.pb", code=2)
    assert files_in(tmp_path) == ["up.onnx"]


# The comparison, the demo.


def test_bench(data):
    methods = ("-m", "pca", "-m", "kernel-pca", "-m", "isomap")
    result = run("bench", data, *ROLES, *methods)
    assert "36 rows of 3 columns, 4 held out, 2 latents" in result.stdout
    told = json.loads(run("bench", data, *ROLES, *methods, "--json").stdout)
    assert {one["method"] for one in told["results"]} == {"pca", "kernel-pca", "isomap"}
    scores = [one["map_score"] for one in told["results"]]
    assert scores == sorted(scores, reverse=True)
    for one in told["results"]:
        assert one["failed"] is None
        assert 0.0 < one["error"] < 1.0
        assert one["fit_seconds"] > 0.0
        assert one["map_score"] == pytest.approx(-np.log(one["error"]))  # too few rows for more
        assert one["method"] in result.stdout
    assert told["versions"]["twofold"] == twofold.__version__


def test_bench_goes_on_after_a_failure(data):
    methods = ("-m", "isomap", "-m", "pca", "-q", "3")
    told = json.loads(run("bench", data, *ROLES, *methods, "--drop", "width", "--json").stdout)
    assert all("n_components" in one["failed"] for one in told["results"])
    assert "failed:" in run("bench", data, *ROLES, *methods, "--drop", "width").stdout


def test_bench_of_the_digits():
    told = json.loads(
        run("bench", "--rows", 60, "-m", "pca", "-m", "supervised-isomap", "--json").stdout
    )
    assert (told["data"], told["rows"], told["held_out_rows"], told["columns"]) == (
        "digits",
        54,
        6,
        64,
    )
    assert all(one["error"] > 0.3 for one in told["results"])


def test_bench_is_sorted_by_the_map_score():
    methods = ("--rows", 400, "-m", "pca", "-m", "two-way", "-m", "isomap")
    told = json.loads(run("bench", *methods, "--json").stdout)["results"]
    for one in told:
        errors = one["codebook_errors"]
        assert list(errors) == ["16", "64"]
        assert one["map_score"] == pytest.approx(-np.mean(np.log([*errors.values(), one["error"]])))
    shown = run("bench", *methods).stdout.splitlines()
    assert shown[1].split()[:7] == ["method", "map", "score", "error", "at", "64", "codes"]
    assert shown[-1] == "sorted by map score, the best first"
    rows = [line.split() for line in shown[2:-1]]
    best_first = sorted(told, key=lambda one: -one["map_score"])
    assert [row[0] for row in rows] == [one["method"] for one in best_first]
    for row, one in zip(rows, best_first, strict=True):
        figures = one["map_score"], one["error"], one["codebook_errors"]["64"]
        assert row[1:4] == [f"{figures[0]:.3f}", *(f"{figure:.4f}" for figure in figures[1:])]


def test_bench_says_what_cannot_take_part(data):
    assert "-m supervised-isomap needs --label" in fails(
        "bench", data, "--id", "plant", "--drop", "kind", "-m", "supervised-isomap", code=2
    )


@pytest.fixture
def quick_demo(monkeypatch):
    """Let the demo run on few digits and for few iterations; CI runs the whole one."""
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr("sklearn.datasets.load_digits", lambda **_: (X[:150], y[:150]))
    drur = twofold.DRUR(n_centers=10, init="pca", max_iter=2)
    quick = twofold.AutoTwoWay(methods={"drur": drur}, random_state=0)
    monkeypatch.setattr(twofold, "AutoTwoWay", lambda **_: quick)


@pytest.mark.usefixtures("quick_demo")
def test_demo(tmp_path):
    result = run("demo", "-o", tmp_path / "out", "--quiet")
    assert "reconstruction error" in result.stdout
    assert "1-NN accuracy" in result.stdout
    for name in PICTURES.values():
        picture = tmp_path / "out" / name
        assert png(picture)
        assert 10_000 < picture.stat().st_size < 400_000
        assert str(picture) in result.stdout
    page = tmp_path / "out" / "explorer.html"
    assert str(page) in result.stdout
    assert "<title>Handwritten digits</title>" in page.read_text("utf-8")


@pytest.mark.usefixtures("quick_demo")
def test_demo_as_json(tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.cli.commands.demo._show", lambda *_: [tmp_path / "explorer.html"])
    told = json.loads(run("demo", "-o", tmp_path, "--json", "--quiet").stdout)
    assert told["files"] == [str(tmp_path / "explorer.html")]
    assert told["winner"] == "drur"
    assert 0.0 < told["error"] < 1.5


@pytest.mark.usefixtures("quick_demo")
def test_demo_says_where_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert "file" in fails("demo", "-o", tmp_path / "file" / "out")
    (tmp_path / "latent-map.png").mkdir()
    result = run("demo", "-o", tmp_path, "--quiet", code=1)
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert "latent-map.png" in result.stderr


def test_compress(ukr, data, tmp_path):
    small = tmp_path / "small.twofold"
    told = json.loads(run("compress", ukr, "--prototypes", "10", "-o", small, "--json").stdout)
    assert told["bytes"] == small.stat().st_size < told["bytes_before"] == ukr.stat().st_size
    assert told["prototypes"] <= 10 < told["rows"]
    assert told["error"] > 0.0
    assert "held-out rows" in run("compress", ukr, "--max-error", "9", "-o", small).stdout
    assert "compressed" in run("info", small).stdout
    assert json.loads(run("info", ukr, "--json").stdout)["prototypes"] is None
    assert len(run("transform", small, data, *ROLES).stdout.splitlines()) == len(flowers()) + 1
    assert "compressed already" in fails("compress", small, "-o", tmp_path / "again.twofold")
    assert "greater than 1" in fails("compress", ukr, "--max-error", "1", "-o", small, code=2)
    assert "must end in .twofold" in fails("compress", ukr, "-o", tmp_path / "m.txt", code=2)
    assert files_in(tmp_path) == ["small.twofold"]

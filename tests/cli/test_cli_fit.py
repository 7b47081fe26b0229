"""`twofold fit`: methods, parameters, labels, held-out rows, progress, warnings."""

import io
import json
import logging

import numpy as np
import pytest
from cli_runs import FEATURES, QUICK, ROLES, flowers, read_csv, run, write_flowers
from rich.console import Console

import twofold
from twofold.cli.measurement import as_json
from twofold.cli.messages import Messages
from twofold.cli.methods import METHODS, parse_settings
from twofold.cli.progress import in_blocks, shown_progress

SETTINGS = {
    "auto": ['methods=["pca", "isomap"]'],
    "ukr": ["init=pca", "homotopy=false", "max_iter=3"],
    "drur": ["max_iter=2", "n_centers=[5, 6]"],
    "principal-manifold": ["alpha=0.01", "max_iter=2", "n_nodes=[3, 4]"],
    "sne": ["max_iter=3", "perplexity=5"],
    "isomap": ["n_neighbors=8"],
    "supervised-isomap": ["n_neighbors=12"],
    "two-way": ["embedding=pca", "up=nw", "down=nw"],
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method, tmp_path):
    data = write_flowers(tmp_path)
    settings = [word for setting in SETTINGS[method] for word in ("--set", setting)]
    out = ("-o", tmp_path / "m.twofold", "--embedding", tmp_path / "z.csv")
    result = run("fit", data, "-m", method, *settings, *ROLES, *out, "--json")
    told = json.loads(result.stdout)
    model = twofold.load(tmp_path / "m.twofold")
    assert type(model) is METHODS[method].estimator
    assert (told["rows"], told["columns"], told["latents"]) == (40, 3, 2)
    assert told["score"] == pytest.approx(model.score(flowers()[FEATURES]))
    assert told["score_of"] == "training rows"
    latents = read_csv(tmp_path / "z.csv")
    assert list(latents.columns) == ["plant", *model.get_feature_names_out(), "kind"]
    np.testing.assert_array_equal(latents.iloc[:, 1:3], model.embedding_)
    assert list(model.feature_names_in_) == FEATURES


def test_the_model_is_that_of_python(tmp_path):
    run("fit", write_flowers(tmp_path), *QUICK, *ROLES, "--seed", 3, "-o", tmp_path / "m.twofold")
    expected = twofold.TwoWay("pca", up="nw", down="nw", n_components=2, random_state=3)
    expected.fit(flowers()[FEATURES])
    found = twofold.load(tmp_path / "m.twofold")
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)
    assert found.get_params() == expected.get_params()


def test_labels_reach_the_methods_that_use_them(tmp_path):
    data = write_flowers(tmp_path)
    run("fit", data, "-m", "supervised-isomap", *ROLES, "-o", tmp_path / "m.twofold")
    frame = flowers()
    expected = twofold.SupervisedIsomap(random_state=0).fit(frame[FEATURES], frame["kind"])
    found = twofold.load(tmp_path / "m.twofold")
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)
    assert list(found.classes_) == ["aster", "rose"]


def test_values_of_settings():
    texts = [
        "max_iter=5",
        "tol=1e-3",
        "init=tsne",
        'metric_params={"p": 3}',
        "homotopy=True",
        "guidance=None",
    ]
    assert parse_settings("ukr", texts) == {
        "max_iter": 5,
        "tol": 1e-3,
        "init": "tsne",
        "metric_params": {"p": 3},
        "homotopy": True,
        "guidance": None,
    }
    assert parse_settings("ukr", ['init=["pca", "tsne"]', "kernel = gaussian"]) == {
        "init": ["pca", "tsne"],
        "kernel": "gaussian",
    }
    assert parse_settings("ukr", ["init=a=b"]) == {"init": "a=b"}


def test_rows_held_out(tmp_path):
    data = write_flowers(tmp_path)
    out = ("-o", tmp_path / "m.twofold", "--embedding", tmp_path / "z.csv")
    told = json.loads(run("fit", data, *QUICK, *ROLES, "--hold-out", 0.25, *out, "--json").stdout)
    model = twofold.load(tmp_path / "m.twofold")
    assert len(model.embedding_) == 30
    assert told["score_of"] == "held-out rows"
    assert 0.0 <= told["nearest_neighbor_accuracy"] <= 1.0
    latents = read_csv(tmp_path / "z.csv").iloc[:, 1:3].to_numpy()
    assert latents.shape == (40, 2)
    trained = [bool((row == model.embedding_).all(axis=1).any()) for row in latents]
    assert sum(trained) == 30
    held_out = ~np.array(trained)
    rest = flowers()[FEATURES][held_out]
    np.testing.assert_array_equal(latents[held_out], model.transform(rest))
    assert told["score"] == pytest.approx(model.score(rest))
    lines = run("fit", data, *QUICK, *ROLES, "--hold-out", 0.25, *out).stdout
    assert "of the variance kept (10 held-out rows)" in lines
    assert "1-NN" in lines


def test_labels_that_are_measured_are_no_classes(tmp_path):
    data = write_flowers(tmp_path)
    fit = ("fit", data, *QUICK, "--drop", "kind", "--id", "plant", "--hold-out", 0.25, "--json")
    told = json.loads(run(*fit, "--label", "leaf length", "-o", tmp_path / "m.twofold").stdout)
    assert told["columns"] == 2
    assert told["nearest_neighbor_accuracy"] is None


def test_latents_of_a_model_that_keeps_none(tmp_path):
    data = write_flowers(tmp_path)
    settings = (
        "-m",
        "drur",
        "--set",
        "store_embedding=false",
        "--set",
        "max_iter=2",
        "--set",
        "n_centers=5",
    )
    out = ("-o", tmp_path / "m.twofold", "--embedding", tmp_path / "z.npy")
    run("fit", data, *settings, *ROLES, *out)
    expected = twofold.load(tmp_path / "m.twofold").transform(flowers()[FEATURES])
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected)


def test_latents_on_standard_output(tmp_path):
    result = run("fit", write_flowers(tmp_path), *QUICK, *ROLES, "--embedding", "-")
    assert list(read_csv(result.stdout).columns) == [
        "plant",
        "twoway0",
        "twoway1",
        "kind",
    ]
    assert "of the variance kept" in result.stderr
    quiet = run("fit", tmp_path / "flowers.csv", *QUICK, *ROLES, "--embedding", "-", "--quiet")
    assert quiet.stderr == ""
    assert quiet.stdout == result.stdout


def test_units_that_decide_the_map_are_told(tmp_path):
    frame = flowers()
    frame["weight in grams"] = 1000 * frame["width"]
    data = tmp_path / "units.csv"
    frame.to_csv(data, index=False)
    result = run("fit", data, *QUICK, *ROLES, "-o", tmp_path / "m.twofold")
    assert "weight in grams has 100.0 % of the variance, so columns are scaled" in result.stderr
    for scale, found in (("none", None), ("robust", "robust"), ("standard", "standard")):
        out = ("--scale", scale, "-o", tmp_path / "m.twofold")
        assert "columns are scaled" not in run("fit", data, *QUICK, *ROLES, *out).stderr
        assert twofold.load(tmp_path / "m.twofold").scale == found


def test_warnings_are_lines(tmp_path):
    data = write_flowers(tmp_path)
    cut_short = ("-m", "ukr", "--set", "init=pca", "--set", "homotopy=false", "--set", "max_iter=1")
    out = ("-o", tmp_path / "m.twofold")
    result = run("fit", data, *cut_short, *ROLES, *out, "--quiet")
    assert result.stderr.startswith("warning: ")
    assert result.stderr.count("\n") == 1
    assert "max_iter=1" in result.stderr
    told = json.loads(run("fit", data, *cut_short, *ROLES, *out, "--quiet", "--json").stdout)
    assert "max_iter=1" in told["warnings"][0]


def test_progress_as_lines(tmp_path):
    data = write_flowers(tmp_path)
    method = ("-m", "sne", "--set", "max_iter=3", "--set", "perplexity=5")
    result = run("fit", data, *method, *ROLES, "-o", tmp_path / "m.twofold")
    lines = result.stderr.splitlines()
    start = lines.index("SNE: neighbors")
    assert lines[start : start + 3] == ["SNE: neighbors", "SNE: start", "SNE: minimization"]
    assert any(
        line.startswith("minimization: iteration 3 of at most 3, objective ") for line in lines
    )
    quiet = run("fit", data, *method, *ROLES, "-o", tmp_path / "m.twofold", "--quiet")
    assert "SNE" not in quiet.stderr
    logger = logging.getLogger("twofold")
    assert not any(type(handler).__module__.startswith("twofold") for handler in logger.handlers)


def test_long_phases_tell_how_far_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.cli.progress.SECONDS_BETWEEN_LINES", -1.0)
    method = ("-m", "sne", "--set", "max_iter=4", "--set", "perplexity=5")
    result = run("fit", write_flowers(tmp_path), *method, *ROLES, "-o", tmp_path / "m.twofold")
    assert result.stderr.count(" of at most 4, objective ") == 4


def test_verbose_lines_are_shown(tmp_path):
    data = write_flowers(tmp_path)
    method = ("-m", "sne", "--set", "max_iter=3", "--set", "perplexity=5", "--set", "verbose=2")
    result = run("fit", data, *method, *ROLES, "-o", tmp_path / "m.twofold")
    assert result.stderr.count("minimization, iteration ") == 3


def terminal():
    return Messages(
        console=Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)
    )


def test_progress_as_a_bar():
    messages = terminal()
    X = flowers(60)[FEATURES]
    with shown_progress(messages), messages.warnings_as_lines():
        twofold.SNE(max_iter=5, perplexity=5, random_state=0, verbose=1).fit(X)
        twofold.UKR(init="pca", homotopy=False, max_iter=3000, tol=0.0, random_state=0).fit(X)
    shown = messages.console.file.getvalue()
    assert "SNE: minimization" in shown
    assert "UKR: minimization" in shown
    assert "/3000" in shown
    assert "it/s" in shown
    assert "objective 0." in shown
    assert " left" in shown


def test_rows_in_blocks(monkeypatch):
    monkeypatch.setattr("twofold.cli.progress.ROWS_PER_BLOCK", 7)
    monkeypatch.setattr("twofold.cli.progress.SECONDS_BETWEEN_LINES", 0.0)
    rows = np.arange(60.0).reshape(20, 3)
    calls = []

    def double(block):
        calls.append(len(block))
        return 2 * block

    messages = terminal()
    np.testing.assert_array_equal(in_blocks(double, rows, "doubling", messages), 2 * rows)
    assert calls == [7, 7, 6]
    assert "doubling" in messages.console.file.getvalue()
    lines = Messages(console=Console(file=io.StringIO()))
    np.testing.assert_array_equal(in_blocks(double, rows, "doubling", lines), 2 * rows)
    assert lines.console.file.getvalue().splitlines()[0] == "doubling: 7 of 20 rows"
    calls.clear()
    in_blocks(double, rows, "doubling", Messages(quiet=True))
    assert calls == [20]


def test_json_has_no_words_that_json_has_not():
    values = {
        1: np.float64(2.0),
        "a": [np.nan, np.inf, np.int64(3)],
        "b": np.arange(2),
        "c": {None: True},
    }
    assert as_json(values) == {"1": 2.0, "a": [None, None, 3], "b": [0, 1], "c": {"None": True}}
    assert as_json(complex(1)) == "(1+0j)"

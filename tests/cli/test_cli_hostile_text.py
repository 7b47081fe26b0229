"""Names, labels and messages from files that would steer a terminal, or that are not text."""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from cli_runs import FEATURES, QUICK, fails, files_in, flowers, run, write_flowers
from click.testing import _NamedTextIOWrapper

import twofold
import twofold.cli
from twofold import ModelFileError, TableMap, TwoWay
from twofold.cli.messages import LONGEST_LINE, shown
from twofold.export import explorer, onnx
from twofold.numerics.plain_text import printable
from twofold.plotting import LatentMapDisplay, ManifoldDisplay, save_figure

HOSTILE = {
    "colors": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;title\x07",
    "C1": "\x9b2J\x85x",
    "overrides": "\u202egnp.exe\u2066",
    "lines": "a\u2028Error: b",
    "markup": "[red]bold[/] [link=file:///]:smile:",
    "closing": "[/]",
    "long": "n" * 10_000,
}


def is_harmless(text):
    lines = text.split("\n")
    return all(printable(line) == line and len(line) <= LONGEST_LINE for line in lines)


def hostile_table(folder, name):
    """Write a table in which a feature, the label's name and a label are hostile."""
    frame = flowers(20).rename(columns={"height": name, "kind": f"kind {name}"})
    frame[f"kind {name}"] = frame[f"kind {name}"].replace("rose", name)
    path = folder / "hostile.csv"
    frame.to_csv(path, index=False)
    return path, f"kind {name}"


@pytest.mark.parametrize("kind", HOSTILE)
def test_names_and_labels_do_not_reach_the_terminal(kind, tmp_path):
    name = HOSTILE[kind]
    data, label = hostile_table(tmp_path, name)
    own = tmp_path / "m.twofold"
    fit = run("fit", data, *QUICK, "--label", label, "-o", own)
    info = run("info", own)
    other = run("transform", own, write_flowers(tmp_path), code=1)
    for result in (fit, info, other):
        assert is_harmless(result.stdout)
        assert is_harmless(result.stderr)
    shown_name = printable(name)[:500]
    assert shown_name in fit.stderr
    assert shown_name in info.stdout
    assert "lacks 1 of the 3 columns" in other.stderr
    # Data stay data.
    assert json.loads(run("info", own, "--json").stdout)["label"] == label
    back = pd.read_csv(io.BytesIO(run("transform", own, data).stdout_bytes))
    assert label in back.columns
    assert name in set(back[label])


def test_cells_in_errors_and_warnings(tmp_path, model):
    table = flowers(20).astype(object)
    table.loc[3, "width"] = "\x1b[31m"
    table.to_csv(tmp_path / "t.csv", index=False)
    assert r"column width has '\x1b[31m' in line 5" in fails("transform", model, tmp_path / "t.csv")
    frame = flowers(20).assign(color=["\x9b2J", "b"] * 10)
    frame.to_csv(tmp_path / "t.csv", index=False)
    own = tmp_path / "m.twofold"
    run("fit", tmp_path / "t.csv", *QUICK, "-o", own)
    frame.assign(color=["\x1b]0;x\x07", "b"] * 10).to_csv(tmp_path / "t.csv", index=False)
    for command in ("transform", "score", "impute", "plot"):
        out = ("-o", tmp_path / "p.png") if command == "plot" else ()
        told = run(command, own, tmp_path / "t.csv", *out, "--quiet").stderr
        assert told.startswith("warning: Column 'color' has levels that the fit has not seen")
        assert is_harmless(told)
        assert told.count("\n") == 1


def test_file_names(tmp_path):
    data = write_flowers(tmp_path, "\x1b[31m\u202e[bold]\udcff\n.csv")
    result = run("fit", data, *QUICK, "-o", tmp_path / "\udcfe.twofold")
    assert is_harmless(result.stdout + result.stderr)
    assert r"\x1b[31m\u202e[bold]\udcff\n.csv" in result.stderr
    assert r"\udcfe.twofold" in result.stdout
    page = run("explore", tmp_path / "\udcfe.twofold", data, "-o", tmp_path / "p.html")
    assert is_harmless(page.stdout + page.stderr)
    assert "<title>\\udcfe</title>" in (tmp_path / "p.html").read_text(encoding="utf-8")
    missing = fails("fit", tmp_path / "no\x1b.csv", *QUICK, "--embedding", "-")
    assert r"no\x1b.csv: no such file" in missing


def test_tables_on_a_terminal_are_harmless(tmp_path, model, monkeypatch):
    frame = flowers(3).assign(plant=["\x1b[31m", "a\u202eb", "tab\t, ü"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    transform = ("transform", model, tmp_path / "t.csv", "--id", "plant")
    piped = run(*transform).stdout
    assert "\x1b[31m" in piped
    monkeypatch.setattr(_NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
    drawn = run(*transform).stdout
    assert drawn == piped.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert "tab\t, ü" in drawn


def test_letters_that_the_output_lacks(monkeypatch, tmp_path):
    data, own = tmp_path / "t.csv", tmp_path / "m.twofold"
    flowers(20).rename(columns={"width": "größe Ω"}).to_csv(data, index=False)
    run("fit", data, *QUICK, "-o", own)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "argv", ["twofold", "info", str(own)])
    with pytest.raises(SystemExit) as exit_:
        twofold.cli.main()
    stream.flush()
    assert exit_.value.code == 0
    assert r"größe \u03a9, height" in stream.buffer.getvalue().decode("latin-1")


def test_long_lines_keep_their_ends():
    line = shown("start " + "x" * 10_000 + " end")
    assert line.startswith("start xxx")
    assert line.endswith("xxx end")
    assert " ... " in line


SURROGATES = pd.Index(["a\ud800</script>", "b", "c\udfff"], dtype=object)


@pytest.fixture(scope="module")
def surrogate():
    """Return a table and labels with halves of surrogate pairs, and a model of the table."""
    frame = pd.DataFrame(flowers(40)[FEATURES].to_numpy(), columns=SURROGATES)
    labels = np.array(["x\ud800", "</script>\x1b[31m"] * 20, dtype=object)
    return frame, labels, TwoWay("pca", up="nw", down="nw").fit(frame)


def test_surrogates_in_model_files(surrogate, tmp_path):
    frame, labels, model = surrogate
    frame = frame.assign(kind=pd.Series(labels, dtype=object))
    table = TableMap(TwoWay("pca", up="nw", down="nw")).fit(frame)
    for one in (model, table):
        with pytest.raises(ModelFileError, match="cannot be written to a model file"):
            one.save(tmp_path / "m.twofold")
    assert files_in(tmp_path) == []


def test_surrogates_in_pages_pictures_and_programs(surrogate, tmp_path):
    import onnx as reader

    frame, labels, model = surrogate
    page = explorer.write(model, frame, labels, path=tmp_path / "p.html", title="t\ud800")
    assert "<title>t\\ud800</title>" in page.read_text(encoding="utf-8")
    onnx.export(model, tmp_path / "m.onnx", map="up")
    found = {one.key: one.value for one in reader.load(tmp_path / "m.onnx").metadata_props}
    assert json.loads(found["feature_names"]) == list(SURROGATES)
    for suffix in ("png", "svg", "pdf"):
        save_figure(
            LatentMapDisplay.from_estimator(model, frame, labels=labels),
            tmp_path / f"map.{suffix}",
        )
    drawn = ManifoldDisplay.from_estimator(model, frame)
    save_figure(drawn, tmp_path / "manifold.png")
    assert drawn.ax_.get_xlabel() == r"a\ud800</script>"

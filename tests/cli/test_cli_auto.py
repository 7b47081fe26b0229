"""The default method: several methods race, tables are shown without a model file."""

import json

import numpy as np
import pytest
from cli_runs import FEATURES, ROLES, fails, files_in, flowers, read_csv, run, write_flowers

import twofold
from twofold.auto.worth import DOMINANT

HEADER = ["method", "score", "error", "codebook", "error", "seconds", "verdict"]
FEW = ("--set", 'methods=["pca", "isomap"]')


@pytest.fixture
def bent(tmp_path):
    """Return a table on which a bent method wins."""
    return write_flowers(tmp_path, n_rows=60)


def test_methods_race_by_default(bent, tmp_path):
    result = run("fit", bent, *ROLES, "--effort", "fast", "-o", tmp_path / "m.twofold")
    model = twofold.load(tmp_path / "m.twofold")
    assert type(model) is twofold.AutoTwoWay
    assert model.effort == "fast"
    lines = result.stdout.splitlines()
    assert lines[0].startswith("AutoTwoWay  60 rows of 3 columns to 2 latents in ")
    assert lines[1].startswith(f"winner      {model.method_}, which kept ")
    head = lines.index("") + 1
    assert lines[head].split() == HEADER
    methods = [one["method"] for one in model.report_]
    assert [line.split()[0] for line in lines[head + 1 :]] == methods
    assert "won: " in lines[head + 1]
    expected = twofold.AutoTwoWay(effort="fast", random_state=0).fit(flowers(60)[FEATURES])
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)


def test_rounds_are_shown_but_not_the_phases_of_trials(bent, tmp_path):
    result = run("fit", bent, *ROLES, *FEW, "-o", tmp_path / "m.twofold")
    lines = result.stderr.splitlines()
    start = lines.index("AutoTwoWay: starts of the race")
    assert lines[start + 1] == "AutoTwoWay: round 1 of the race"
    assert lines[start + 2].startswith("race, round 1 (45 rows): isomap ")
    assert all(line.startswith(("AutoTwoWay: ", "race, ", "warning: ")) for line in lines[start:])
    quiet = run("fit", bent, *ROLES, *FEW, "-o", tmp_path / "m.twofold", "--quiet")
    assert "race" not in quiet.stderr


def test_the_race_as_json(bent, tmp_path):
    told = json.loads(run("fit", bent, *ROLES, *FEW, "-o", tmp_path / "m.twofold", "--json").stdout)
    assert told["method"] == "auto"
    assert told["winner"] == "isomap"
    assert [one["method"] for one in told["race"]] == ["isomap", "pca"]
    assert set(told["race"][0]) >= {"score", "error", "codebook_error", "seconds", "verdict"}
    about = json.loads(run("info", tmp_path / "m.twofold", "--json").stdout)
    assert (about["method"], about["winner"]) == ("auto", "isomap")
    assert "isomap (TwoWay)" in run("info", tmp_path / "m.twofold").stdout


def test_seconds_as_effort(bent, tmp_path):
    run("fit", bent, *ROLES, *FEW, "--effort", "60", "-o", tmp_path / "m.twofold")
    assert twofold.load(tmp_path / "m.twofold").effort == 60.0


def test_a_single_method_has_no_table(bent, tmp_path):
    one = ("--set", "methods=isomap")
    result = run("fit", bent, *ROLES, *one, "-o", tmp_path / "m.twofold")
    assert "isomap, without a race" in result.stdout
    assert "verdict" not in result.stdout


def test_the_table_goes_with_the_summary(bent):
    result = run("fit", bent, *ROLES, *FEW, "--embedding", "-")
    assert "verdict" in result.stderr
    assert "verdict" not in result.stdout


def test_units_are_told_once(tmp_path):
    frame = flowers(60)
    frame["grams"] = 1000 * frame["width"]
    frame.to_csv(tmp_path / "units.csv", index=False)
    assert np.square(1000 * frame["width"].std()) > DOMINANT
    result = run("fit", tmp_path / "units.csv", *ROLES, *FEW, "-o", tmp_path / "m.twofold")
    assert result.stderr.count("grams has 100.0 % of the variance, so columns are scaled") == 1
    assert "shows little else" not in result.stderr
    assert twofold.load(tmp_path / "m.twofold").scale == "standard"
    none = ("--scale", "none", "-o", tmp_path / "m.twofold")
    result = run("fit", tmp_path / "units.csv", *ROLES, *FEW, *none)
    assert result.stderr.count("of the variance, so the map shows little else") == 1
    assert "use --scale standard" in result.stderr
    assert twofold.load(tmp_path / "m.twofold").scale is None


# Tables without a model.


def test_a_page_of_a_table(bent, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("explore", "flowers.csv", *ROLES, "--effort", "1")
    assert "page        flowers.html" in result.stdout
    assert "winner" in result.stdout
    text = (tmp_path / "flowers.html").read_text(encoding="utf-8")
    for word in ("aster", "p17", "leaf length", "<title>flowers</title>"):
        assert word in text
    assert files_in(tmp_path) == ["flowers.csv", "flowers.html"]
    told = json.loads(run("explore", "flowers.csv", *ROLES, "--effort", "1", "--json").stdout)
    assert told["page"] == "flowers.html"
    assert told["rows"] == 60
    assert told["fit"]["winner"] == told["fit"]["race"][0]["method"]


def test_a_page_with_other_columns(bent, tmp_path):
    page = tmp_path / "page.html"
    options = ("--id", "plant", "--color", "kind", "--effort", "1", "-o", page)
    run("explore", bent, *options)
    assert "aster" in page.read_text(encoding="utf-8")


def test_a_page_without_options(bent, tmp_path):
    told = run("explore", bent, "--effort", "1", "-o", tmp_path / "page.html").stderr
    assert "plant names the rows" in told
    assert "no label: colored by kind, 2 levels" in told


@pytest.mark.parametrize(("command", "output"), [("explore", "page.html"), ("plot", "map.png")])
def test_columns_on_one_scale(bent, tmp_path, command, output):
    frame = read_csv(bent)
    frame["width"] *= 1000
    frame.to_csv(bent, index=False)
    told = run(command, bent, *ROLES, "--effort", "1", "-o", tmp_path / output).stderr
    assert "shows little else" not in told
    assert "columns are scaled to standard deviation 1" in told


def test_a_table_through_a_pipe(bent, tmp_path):
    fast = (*ROLES, "--effort", "1")
    run("explore", "-", *fast, "-o", tmp_path / "p.html", stdin=bent.read_text())
    assert (tmp_path / "p.html").exists()
    error = fails("explore", "-", *fast, stdin=bent.read_text(), code=2)
    assert "name the page with -o" in error


def test_files_of_others_are_not_replaced(bent, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flowers.html").write_text("<p>my garden</p>")
    assert "was not written by twofold" in fails("explore", "flowers.csv", *ROLES, code=2)
    assert (tmp_path / "flowers.html").read_text() == "<p>my garden</p>"


def test_a_picture_of_a_table(bent, tmp_path):
    out = ("--effort", "1", "-o", tmp_path / "map.png")
    result = run("plot", bent, *ROLES, *out)
    assert "picture" in result.stdout
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_wrong_usage_with_models(model, data, tmp_path):
    out = ("-o", tmp_path / "page.html")
    assert "DATA is missing" in fails("explore", model, *out, code=2)
    assert "is fitted already" in fails("explore", model, data, "--effort", "1", *out, code=2)
    assert "is fitted already" in fails("explore", model, data, "--scale", "robust", *out, code=2)
    assert "no such file" in fails("explore", tmp_path / "nothing.csv", *out)
    assert "no such file" in fails("explore", tmp_path / "nothing.twofold", data, *ROLES, *out)

"""Tables with text and gaps, and what a model file remembers of them."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from cli_runs import FEATURES, QUICK, ROLES, fails, flowers, read_csv, run, write_flowers
from penguins import CATEGORIES, NUMBERS, penguins, write_penguins

import twofold
from twofold.cli.messages import Messages
from twofold.cli.tables.guessing import warn_if_transposed
from twofold.cli.tables.reading import Table
from twofold.export.model_files import load_with_roles, save_with_roles
from twofold.export.roles import Roles


@pytest.fixture(scope="module")
def colony(tmp_path_factory):
    folder = tmp_path_factory.mktemp("colony")
    result = run("fit", write_penguins(folder), *QUICK, "-o", folder / "p.twofold")
    return folder, result


def test_a_fit_says_what_it_decided(colony):
    folder, result = colony
    lines = result.stderr.splitlines()
    assert lines[0] == f"{folder / 'penguins.csv'}: 60 rows of 6 features, 4 gaps"
    assert lines[1:3] == ["  category  species, island, sex", f"  number    {', '.join(NUMBERS)}"]
    assert "each column has the same weight" in lines[3]
    model = twofold.load(folder / "p.twofold")
    assert type(model) is twofold.TableMap
    assert {name for name, kind in model.kinds_.items() if kind == "category"} == set(CATEGORIES)
    about = run("info", folder / "p.twofold").stdout
    assert "TwoWay (-m two-way)" in about
    assert "category    species, island, sex" in about


def test_later_commands_need_no_option(colony, tmp_path):
    folder, _ = colony
    model, data = folder / "p.twofold", folder / "penguins.csv"
    page = tmp_path / "p.html"
    told = run("explore", model, data, "-o", page).stderr
    assert told == "no label: colored by species, 3 levels (--label names a column)\n"
    assert "Chinstrap" in page.read_text(encoding="utf-8")
    told = run("plot", model, data, "-o", tmp_path / "p.png")
    assert "colored by species" in told.stderr
    for kind in ("decoded", "error", "manifold"):
        run("plot", model, data, "--kind", kind, "-o", tmp_path / "p.png")
    latents = read_csv(run("transform", model, data).stdout)
    expected = twofold.load(model).transform(penguins())
    np.testing.assert_array_equal(latents, expected)
    score = json.loads(run("score", model, data, "--json").stdout)
    assert score["score"] == pytest.approx(twofold.load(model).score(penguins()))
    assert np.isfinite(score["map_score"])
    rebuilt = read_csv(run("reconstruct", model, data).stdout)
    assert list(rebuilt.columns) == list(penguins().columns)
    assert set(rebuilt["sex"]) == {"female", "male"}
    assert rebuilt["mass_g"].dtype == np.int64
    run("transform", model, data, "-o", tmp_path / "z.csv")
    again = read_csv(run("reconstruct", model, tmp_path / "z.csv", "--from-latents").stdout)
    pd.testing.assert_frame_equal(again, rebuilt)
    drawn = read_csv(run("sample", model, "-n", 3).stdout)
    assert set(drawn["species"]) <= {"Adelie", "Chinstrap", "Gentoo"}
    error = fails("reconstruct", model, data, "-o", tmp_path / "x.npy")
    assert "NPY holds numbers, and species, island, sex is not a number" in error


def test_impute(colony, tmp_path):
    folder, _ = colony
    model, data, out = folder / "p.twofold", folder / "penguins.csv", tmp_path / "filled.csv"
    assert "4 gaps filled" in run("impute", model, data, "-o", out).stderr
    filled, before = read_csv(out), penguins()
    assert list(filled.columns) == list(before.columns)
    assert not filled.isna().any().any()
    assert filled["flipper_mm"].dtype == np.int64
    known = before.notna().all(axis=1)
    assert (filled[known].astype(str) == before[known].astype(str)).all().all()
    expected = twofold.load(model).impute(before)
    assert list(filled["sex"]) == list(expected["sex"])
    found = read_csv(run("impute", model, data, "--std").stdout)
    assert list(found.columns)[6:] == ["bill_mm_std", "flipper_mm_std", "sex_std"]
    assert (found["bill_mm_std"] > 0).sum() == 1
    run("impute", model, data, "--std", "-o", tmp_path / "filled.parquet")


def test_impute_numbers(model, tmp_path):
    frame = flowers()
    frame.loc[4, "height"] = np.nan
    frame.to_csv(tmp_path / "gap.csv", index=False)
    filled = read_csv(run("impute", model, tmp_path / "gap.csv").stdout)
    assert list(filled.columns) == list(frame.columns)
    expected = twofold.load(model).impute(frame[FEATURES])
    assert filled["height"][4] == pytest.approx(np.asarray(expected)[4, 1])


def test_roles_are_remembered(tmp_path):
    frame = flowers().assign(kind=np.arange(40) % 3, note=[f"saw it, {n} times" for n in range(40)])
    frame.to_csv(tmp_path / "d.csv", index=False)
    model = tmp_path / "m.twofold"
    told = run("fit", tmp_path / "d.csv", *QUICK, *ROLES, "-o", model).stderr
    assert "  left out  note (it names rows)" in told
    assert load_with_roles(model)[1] == Roles("kind", "plant", ("note",))
    assert list(twofold.load(model).feature_names_in_) == FEATURES
    result = run("transform", model, tmp_path / "d.csv")
    assert result.stdout.startswith("plant,twoway0,twoway1,kind\n")
    assert result.stderr == f"{tmp_path / 'd.csv'}: left out, as in the fit: note\n"
    frame[FEATURES].to_csv(tmp_path / "new.csv", index=False)
    assert run("transform", model, tmp_path / "new.csv").stdout.startswith("twoway0,twoway1\n")
    about = run("info", model).stdout
    for line in ("label       kind", "id          plant", "left out    note"):
        assert line in about
    told = json.loads(run("info", model, "--json").stdout)
    assert (told["label"], told["id"], told["left_out"]) == ("kind", "plant", ["note"])


@pytest.mark.parametrize(
    "roles", [[], "kind", {"label": 3}, {"id": ["a"]}, {"left_out": "abc"}, {"left_out": [1]}]
)
def test_hostile_roles(model, tmp_path, monkeypatch, roles):
    monkeypatch.setattr(Roles, "facts", lambda self: roles)
    bad = tmp_path / "bad.twofold"
    save_with_roles(twofold.load(model), bad, Roles())
    with pytest.raises(twofold.ModelFileError, match=r"bad\.twofold"):
        twofold.load(bad)
    assert str(bad) in fails("info", bad)
    assert str(bad) in fails("transform", bad, write_flowers(tmp_path))


def test_models_without_roles(tmp_path):
    twofold.TwoWay("pca", up="nw", down="nw").fit(flowers()[FEATURES]).save(tmp_path / "m.twofold")
    assert load_with_roles(tmp_path / "m.twofold")[1] == Roles()
    told = run("transform", tmp_path / "m.twofold", write_flowers(tmp_path))
    assert "ignored, the model does not know them: plant, kind" in told.stderr


def test_kinds_by_options(tmp_path):
    frame = flowers().assign(size=np.resize(["low", "mid", "top"], 40), year=np.arange(40) % 3)
    frame.to_csv(tmp_path / "d.csv", index=False)
    kinds = ("--kind", "size=low,mid,top", "--kind", "year=category", "--kind", "width=drop")
    run("fit", tmp_path / "d.csv", *QUICK, *ROLES, *kinds, "-o", tmp_path / "m.twofold")
    model = twofold.load(tmp_path / "m.twofold")
    assert model.kinds_ == {
        "height": "number", "leaf length": "number", "size": "ordered", "year": "category",
    }  # fmt: skip
    told = run("transform", tmp_path / "m.twofold", tmp_path / "d.csv").stderr
    assert "left out, as in the fit: width" in told


def test_dates_truth_values_and_free_text(tmp_path):
    frame = flowers().assign(
        seen=pd.date_range("2020-01-01", periods=40).strftime("%Y-%m-%d"),
        wild=np.resize(["true", "false"], 40),
        remark=[f"row {number // 2} has a story" for number in range(40)],
        time=["12:30:00"] * 20 + ["08:00:00"] * 20,
    )
    frame.to_csv(tmp_path / "d.csv", index=False)
    told = run("fit", tmp_path / "d.csv", *QUICK, *ROLES, "-o", tmp_path / "m.twofold").stderr
    kinds = twofold.load(tmp_path / "m.twofold").kinds_
    assert (kinds["seen"], kinds["wild"], kinds["time"]) == ("date", "boolean", "category")
    assert "remark" in kinds  # half as many texts as rows
    frame["remark"] = [f"row {number // 1.5} has a story" for number in range(40)]
    frame.to_csv(tmp_path / "d.csv", index=False)
    told = run("fit", tmp_path / "d.csv", *QUICK, *ROLES, "-o", tmp_path / "m.twofold").stderr
    assert "remark (" in told
    assert "different texts in 40 rows)" in told


def test_new_levels_and_text_that_looks_like_numbers(colony, tmp_path):
    folder, _ = colony
    frame = penguins()
    frame.loc[5, "species"] = "Emperor"
    frame.to_csv(tmp_path / "new.csv", index=False)
    told = run("transform", folder / "p.twofold", tmp_path / "new.csv").stderr
    assert told.startswith("warning: Column 'species' has levels that the fit has not seen")
    assert told.count("\n") == 1
    frame["mass_g"] = "heavy"
    frame.to_csv(tmp_path / "new.csv", index=False)
    error = fails("transform", folder / "p.twofold", tmp_path / "new.csv")
    assert "column mass_g has 'heavy' in line 2; the model needs numbers there" in error
    frame.drop(columns=["mass_g", "sex"]).to_csv(tmp_path / "new.csv", index=False)
    error = fails("transform", folder / "p.twofold", tmp_path / "new.csv")
    assert "lacks 2 of the 6 columns that the model needs: mass_g, sex" in error


def test_other_units_are_one_line(tmp_path):
    frame = flowers()
    scaled = frame.copy()
    scaled[FEATURES] = (frame[FEATURES] - frame[FEATURES].mean()) / frame[FEATURES].std()
    scaled.to_csv(tmp_path / "scaled.csv", index=False)
    frame[FEATURES] = 1000 * frame[FEATURES] + 5000
    frame.to_csv(tmp_path / "raw.csv", index=False)
    run("fit", tmp_path / "scaled.csv", *QUICK, *ROLES, "-o", tmp_path / "m.twofold")
    out = ("-o", tmp_path / "p.html")
    told = run("explore", tmp_path / "m.twofold", tmp_path / "raw.csv", *out).stderr
    assert told.startswith("warning: Most rows of X lie far from the rows of the fit")
    assert "'twofold fit --scale standard' takes the original units" in told
    assert told.count("\n") == 1


def test_bench_of_mixed_columns(colony):
    folder, _ = colony
    result = run("bench", folder / "penguins.csv", "-m", "pca")
    assert "2 of 60 rows have gaps" in result.stderr
    assert "52 rows of" in result.stdout


# Formats.


def test_workbooks(colony, tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    book = tmp_path / "penguins.xlsx"
    with pd.ExcelWriter(book) as writer:
        penguins().to_excel(writer, sheet_name="colony", index=False)
        penguins().to_excel(writer, sheet_name="other", index=False)
    result = run("transform", colony[0] / "p.twofold", book)
    assert "sheet colony is read; other sheets: other" in result.stderr
    np.testing.assert_allclose(
        read_csv(result.stdout), twofold.load(colony[0] / "p.twofold").transform(penguins())
    )
    book.write_text("no workbook")
    assert "cannot be read as an .xlsx workbook" in fails(
        "transform", colony[0] / "p.twofold", book
    )
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    error = fails("transform", colony[0] / "p.twofold", book)
    assert 'pip install "twofold[xlsx]"' in error


def test_workbooks_without_the_extra(colony, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "a.xlsx").write_text("")
    error = fails("transform", colony[0] / "p.twofold", tmp_path / "a.xlsx")
    assert 'pip install "twofold[xlsx]"' in error


@pytest.mark.parametrize("suffix", [".feather", ".arrow"])
def test_feather(colony, tmp_path, suffix):
    data = tmp_path / f"penguins{suffix}"
    penguins().to_feather(data)
    found = read_csv(run("transform", colony[0] / "p.twofold", data).stdout)
    np.testing.assert_array_equal(
        found, twofold.load(colony[0] / "p.twofold").transform(penguins())
    )
    data.write_text("nothing")
    assert "cannot be read as Feather" in fails("transform", colony[0] / "p.twofold", data)


def test_anndata_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    (tmp_path / "cells.h5ad").write_text("")
    error = fails("fit", tmp_path / "cells.h5ad", *QUICK, "--embedding", "-")
    assert 'pip install "twofold[anndata]"' in error


@pytest.mark.filterwarnings("ignore")
def test_anndata(tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata")
    from scipy.sparse import csr_matrix

    frame = flowers()
    obs = pd.DataFrame({"kind": pd.Categorical(frame["kind"])}, index=frame["plant"].to_numpy())
    var = pd.DataFrame(index=FEATURES)
    data, model = tmp_path / "cells.h5ad", tmp_path / "m.twofold"
    anndata.AnnData(csr_matrix(frame[FEATURES].to_numpy()), obs, var).write_h5ad(data)
    run("fit", data, *QUICK, "--label", "kind", "-o", model)
    assert list(twofold.load(model).feature_names_in_) == FEATURES
    assert run("transform", model, data).stdout.startswith("obs_names,twoway0,twoway1,kind\np0,")
    monkeypatch.setattr("twofold.cli.tables.frames.MOST_BYTES", 10)
    assert "use twofold.anndata in Python" in fails("transform", model, data)
    data.write_text("nothing")
    assert "cannot be read as AnnData" in fails("transform", model, data)


# Transposed tables.


def told_of(frame):
    messages = Messages(quiet=True)
    warn_if_transposed(Table("t.csv", frame), messages)
    return messages.warned


def samples(first, names, columns):
    frame = pd.DataFrame(np.ones((len(names), len(columns))), columns=columns)
    frame.insert(0, first, names)
    return frame


GENES = ["TP53", "BRCA1", "EGFR", "MYC", "KRAS"]
ENSEMBL = [f"ENSG000001{number:05d}" for number in range(5)]


@pytest.mark.parametrize(
    "frame",
    [
        samples("gene", GENES, ["a", "b", "c", "d"]),
        samples("Gene_ID", GENES, ["liver", "heart", "lung"]),
        samples("name", ENSEMBL, ["a", "b", "c"]),
        samples("", GENES, ["sample1", "sample2", "sample3"]),
        samples("x", GENES, ["GSM12345", "GSM12346", "GSM12347"]),
        samples("x", GENES, ["AAACCTGAGAAACCAT-1", "AAACCTGAGAAACCGC-1", "AAACCTGAGAAACCTA-1"]),
    ],
)
def test_transposed_tables_are_pointed_out(frame):
    (told,) = told_of(frame)
    assert "looks transposed" in told
    assert "index_col=0).T.to_csv" in told


@pytest.mark.parametrize(
    "frame",
    [
        penguins(),
        flowers(),
        flowers().drop(columns="kind"),
        samples("name", ["a", "b", "c"], [f"pixel{number}" for number in range(64)]),
        samples("sample", ["s1", "s2", "s3"], [f"gene {number}" for number in range(900)]),
        samples("patient", ["p1", "p2"], ENSEMBL),
        samples("country", ["Chad", "Peru", "Fiji"], ["1990", "2000", "2010"]),
        pd.DataFrame(np.eye(64)).rename(columns=lambda number: f"x{number}"),
        pd.DataFrame({"gene": ["TP53"] * 4, "a": 1, "b": 2, "c": 3}),
    ],
)
def test_ordinary_tables_are_not(frame):
    assert told_of(frame) == []

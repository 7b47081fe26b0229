"""Columns of tables: names, roles, CSV dialects, text and missing cells."""

import json

import numpy as np
import pandas as pd
from cli_runs import FEATURES, QUICK, ROLES, fails, flowers, read_csv, run, write_flowers

from twofold import load


def test_columns_in_another_order(model, tmp_path):
    frame = flowers()
    data = tmp_path / "turned.csv"
    frame[frame.columns[::-1]].to_csv(data, index=False)
    turned = read_csv(run("transform", model, data, *ROLES).stdout)
    np.testing.assert_array_equal(turned.iloc[:, 1:3], load(model).transform(frame[FEATURES]))


def test_columns_that_the_model_lacks(model, tmp_path):
    frame = flowers()
    frame["height2"] = frame["height"] ** 2
    data = tmp_path / "more.csv"
    frame.to_csv(data, index=False)
    expected = run("transform", model, data, "--drop", "height2").stdout
    result = run("transform", model, data)
    assert result.stdout == expected
    assert result.stderr == f"{data}: ignored, the model does not know them: height2\n"


def test_columns_that_the_data_lack(model, tmp_path):
    data = tmp_path / "less.csv"
    flowers().drop(columns=["height", "leaf length"]).to_csv(data, index=False)
    error = fails("transform", model, data)
    assert "lacks 2 of the 3 columns that the model needs: height, leaf length" in error
    data = write_flowers(tmp_path)
    error = fails("transform", model, data, "--drop", "height")
    assert f"the model needs the column height of {data}, which --drop removes" in error


def test_a_feature_can_be_the_label_of_other_commands(model, tmp_path):
    data = write_flowers(tmp_path)
    found = read_csv(run("transform", model, data, "--label", "height").stdout)
    assert list(found.columns) == ["plant", "twoway0", "twoway1", "height"]
    np.testing.assert_array_equal(found["height"], flowers()["height"])
    again = run("reconstruct", model, data, "--label", "height").stdout
    assert again.startswith("plant,width,height,leaf length,height_\n")


def test_a_needed_column_of_text(model, tmp_path):
    frame = flowers().astype({"height": object})
    frame.loc[7, "height"] = "tall"
    data = tmp_path / "text.csv"
    frame.to_csv(data, index=False)
    assert "column height has 'tall' in line 9, which is not a number" in fails(
        "transform", model, data
    )


def test_tables_without_names(model, tmp_path):
    values = flowers()[FEATURES].to_numpy()
    np.save(tmp_path / "a.npy", values)
    result = run("transform", model, tmp_path / "a.npy")
    assert "has no column names: columns are matched by their order" in result.stderr
    np.save(tmp_path / "b.npy", values[:, :2])
    assert "has 2 columns of numbers, the model needs 3" in fails(
        "transform", model, tmp_path / "b.npy"
    )
    nameless = tmp_path / "nameless.twofold"
    run("fit", tmp_path / "a.npy", *QUICK, "-o", nameless)
    assert not hasattr(load(nameless), "feature_names_in_")
    result = run("transform", nameless, write_flowers(tmp_path))
    assert "the model has no column names" in result.stderr
    assert run("sample", nameless).stdout.startswith("x0,x1,x2\n")


def test_a_first_line_of_numbers_is_data(tmp_path):
    data = tmp_path / "numbers.csv"
    flowers()[FEATURES].to_csv(data, index=False, header=False)
    document = ("--json", "-o", tmp_path / "m.twofold")
    result = run("fit", data, *QUICK, *document)
    assert json.loads(result.stdout)["rows"] == 40
    assert (
        "the first line is numbers and read as data; columns are called x0 to x2" in result.stderr
    )
    assert json.loads(run("fit", data, *QUICK, "--header", *document).stdout)["rows"] == 39
    result = run("fit", data, *QUICK, "--no-header", "--label", "x2", *document)
    assert json.loads(result.stdout)["columns"] == 2
    assert "first line" not in result.stderr


def test_a_first_line_of_both_is_asked_about(tmp_path):
    data = tmp_path / "iris.data.csv"
    data.write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n")
    error = fails("fit", data, *QUICK, "-o", tmp_path / "m.twofold")
    assert "both names ('setosa') and numbers ('5.1'); use --header" in error
    run("fit", data, *QUICK, "-q", 1, "--no-header", "--label", "x2", "-o", tmp_path / "m.twofold")


def test_separators(model, tmp_path):
    frame = flowers()
    expected = run("transform", model, write_flowers(tmp_path), *ROLES).stdout
    for number, (separator, word) in enumerate(
        {";": "semicolons", "|": "bars", "\t": "tabs"}.items()
    ):
        data = tmp_path / f"s{number}.csv"
        frame.to_csv(data, index=False, sep=separator)
        result = run("transform", model, data, *ROLES)
        assert result.stdout == expected
        assert f"cells are separated by {word}, not commas" in result.stderr
        given = "tab" if separator == "\t" else separator
        assert run("transform", model, data, *ROLES, "--delimiter", given).stderr == ""
    data = tmp_path / "comma.csv"
    frame.to_csv(data, index=False, sep=";", decimal=",")
    assert "use --decimal ," in fails("transform", model, data)
    assert run("transform", model, data, *ROLES, "--decimal", ",").stdout == expected
    assert "must be one character" in fails("transform", model, data, "--delimiter", "::", code=2)
    frame[FEATURES].to_csv(data, index=False, sep=" ")
    assert "use --delimiter ' '" in fails("fit", data, *QUICK, "--embedding", "-")
    run("fit", data, *QUICK, "--delimiter", " ", "-o", tmp_path / "spaces.twofold")
    assert load(tmp_path / "spaces.twofold").n_features_in_ == 3


def test_numbers_of_python_alone(tmp_path):
    data = tmp_path / "a.csv"
    data.write_text("a,b\n1,2\n3,1_000\n4,5\n6,7\n")
    error = fails("fit", data, *QUICK, "--embedding", "-")
    assert "column b has '1_000' in line 3, which is not a number" in error


def test_bytes_before_and_between(model, tmp_path):
    text = flowers().to_csv(index=False)
    expected = run("transform", model, "-", *ROLES, stdin=text).stdout
    lines = text.splitlines()
    for changed in (
        "\ufeff" + text,
        text.replace("\n", "\r\n"),
        "\n\n" + "\n\n".join(lines) + "\n\n\n",
        text.replace(",", " , ", 0).replace("width,height", " width ,height"),
        text.rstrip("\n"),
    ):
        assert run("transform", model, "-", *ROLES, stdin=changed.encode()).stdout == expected


def test_long_lines_and_breaks_in_cells(model, tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.cli.tables.delimited.SMALLEST_BLOCK", 200)
    monkeypatch.setattr("twofold.cli.tables.delimited.LINES_IN_BLOCK", 1)
    frame = flowers()
    frame.loc[[3, 30], "kind"] = ["long " * 1000, "two\nlines"]
    data = tmp_path / "long.csv"
    frame.to_csv(data, index=False)
    run("transform", model, data, *ROLES, "-o", tmp_path / "out.parquet")
    assert list(pd.read_parquet(tmp_path / "out.parquet")["kind"]) == list(frame["kind"])


def test_wide_tables(tmp_path):
    data = tmp_path / "wide.csv"
    values = np.random.default_rng(0).normal(size=(4, 5000))
    pd.DataFrame(values, columns=[f"gene {number}" for number in range(5000)]).to_csv(data)
    result = run("fit", data, *QUICK, "--scale", "standard", "-o", tmp_path / "m.twofold")
    assert "column1 names the rows" in result.stderr
    assert "transposed" not in result.stderr
    assert load(tmp_path / "m.twofold").feature_names_in_[-1] == "gene 4999"


def test_columns_without_a_name(tmp_path):
    data = tmp_path / "pandas.csv"
    flowers().to_csv(data)  # with its index, as is usual
    out = ("-o", tmp_path / "m.twofold")
    result = run("fit", data, *QUICK, *ROLES, *out)
    assert "left out  column1 (it names rows)" in result.stderr
    assert list(load(tmp_path / "m.twofold").feature_names_in_) == FEATURES
    flowers().set_index("width").rename_axis("").to_csv(data)
    error = fails("fit", data, *QUICK, *ROLES, *out)
    assert "column 1 has no name in the header" in error
    assert "--drop column1" in error


def test_rows_with_missing_cells(model, tmp_path):
    frame = flowers()
    frame.loc[[2, 5], "height"] = np.nan
    data = tmp_path / "gaps.csv"
    frame.to_csv(data, index=False)
    found = read_csv(run("transform", model, data).stdout)
    np.testing.assert_array_equal(
        found[["twoway0", "twoway1"]], load(model).transform(frame[FEATURES])
    )
    frame["height"] = ["", "NA", "?", "null", "NaN"] + ["1.5"] * 35
    frame.to_csv(data, index=False)
    result = run("fit", data, *QUICK, *ROLES, "-o", tmp_path / "m.twofold")
    assert "40 rows of 3 features, 5 gaps" in result.stderr
    frame.loc[[1, 4], FEATURES] = np.nan
    frame.to_csv(data, index=False)
    result = run("transform", model, data)
    assert "2 of 40 rows have no value and are left out" in result.stderr
    assert result.stdout.count("\n") == 39
    frame[FEATURES] = np.nan
    frame.to_csv(data, index=False)
    assert "no row has a value" in fails("transform", model, data)

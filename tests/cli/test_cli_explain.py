"""``twofold explain``: tables of features, of rows, of labels and of paths."""

import json

import pandas as pd
import pytest
from cli_runs import run


def test_features_and_rows(model, data, tmp_path):
    result = run("explain", model, data, "--json")
    document = json.loads(result.stdout)
    effects = [one["effect"] for one in document["features"]]
    assert effects == sorted(effects, reverse=True)
    assert document["written"] is None
    table = tmp_path / "rows.csv"
    run("explain", model, data, "--top", "2", "-o", table)
    rows = pd.read_csv(table)
    assert len(rows) == document["rows"] == 40
    expected = ["plant", "feature_1", "effect_1", "feature_2", "effect_2", "kind"]
    assert list(rows.columns) == expected
    assert (rows.effect_1 >= rows.effect_2).all()
    assert set(rows.feature_1) <= {one["feature"] for one in document["features"]}
    printed = run("explain", model, data)
    assert document["features"][0]["feature"] in printed.stdout
    exact = run("explain", model, data, "--scale", "0", "-o", "-")
    assert "feature_1" in exact.stdout


def test_labels_and_paths(model, data, tmp_path):
    table = tmp_path / "difference.csv"
    run("explain", model, data, "--difference", "aster", "rose", "-o", table)
    found = pd.read_csv(table)
    assert {"feature", "difference", "low", "high", "mean_a"} <= set(found.columns)
    result = run("explain", model, data, "--difference", "aster", "rest", "--json")
    again = json.loads(result.stdout)["features"]
    assert [one["difference"] for one in again] == pytest.approx(found.difference.tolist())
    document = json.loads(run("explain", model, data, "--path", "0", "9", "--json").stdout)
    assert set(document["features"][0]) == {"feature", "effect", "net", "variation", "steepest"}


def test_labels_of_single_rows(model, data, tmp_path):
    rows = pd.read_csv(data)
    few = rows.drop_duplicates(rows.columns[-1])
    few.to_csv(tmp_path / "few.csv", index=False)
    names = few[few.columns[-1]].astype(str).tolist()
    result = run("explain", model, tmp_path / "few.csv", "--difference", *names[:2], code=2)
    assert "has 1 row; labels with two rows or more are missing" in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--path", "0", "99999"), "there is no row 99999"),
        (("--path", "0", "1", "--difference", "a", "b"), "exclude each other"),
        (("--difference", "nobody", "rest"), "no row has the label 'nobody'"),
        (("-o", "-", "--json"), "both use standard output"),
    ],
)
def test_wrong_usage(options, said, model, data):
    result = run("explain", model, data, *options, code=2)
    assert said in result.stderr
    assert result.stderr.count("\n") <= 2

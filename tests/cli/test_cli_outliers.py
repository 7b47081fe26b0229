"""``twofold outliers``: scores, flags and the strangest columns of a table."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_runs import run

import twofold


@pytest.fixture(scope="module")
def odd(folder, data):
    """Return a table with one odd cell, and the number of its row."""
    table = pd.read_csv(data)
    numbers = table.select_dtypes("number").columns
    table.loc[4, numbers[1]] = 100.0
    path = folder / "odd.csv"
    table.to_csv(path, index=False)
    return path, numbers[1]


def test_the_strangest_row_comes_first(model, odd, tmp_path):
    path, column = odd
    run("outliers", model, path, "-o", tmp_path / "o.csv")
    found = pd.read_csv(tmp_path / "o.csv")
    assert {"row", "score", "p_value", "outlier", "strangest"} <= set(found.columns)
    assert found.row[0] == 4
    assert found.score.is_monotonic_decreasing
    assert bool(found.outlier[0])
    assert found.strangest[0].startswith(f"{column} (")
    assert found.strangest[~found.outlier].isna().all()
    np.testing.assert_allclose(found.p_value, 10.0**-found.score)
    assert sorted(found.row) == list(range(len(found)))


def test_order_and_level(model, odd, tmp_path):
    path, _ = odd
    run("outliers", model, path, "--in-order", "--level", "0.3", "-o", tmp_path / "o.csv")
    found = pd.read_csv(tmp_path / "o.csv")
    assert found.row.is_monotonic_increasing
    fitted = twofold.load(model)
    rows = pd.read_csv(path)[list(fitted.feature_names_in_)]
    np.testing.assert_allclose(found.score, fitted.outlier_scores(rows))
    np.testing.assert_array_equal(found.outlier, fitted.predict_outlier(rows, 0.3))


def test_json(model, odd):
    path, _ = odd
    document = json.loads(run("outliers", model, path, "--json").stdout)
    assert document["table"]["row"][0] == 4


def test_bad_levels(model, odd):
    path, _ = odd
    for level in ("0", "nan"):
        assert "level" in run("outliers", model, path, "--level", level, code=2).stderr


def test_a_column_that_was_constant(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "unit": 1.0})
    twofold.TwoWay("pca", n_components=1, up="nw", down="nw").fit(table).save(
        tmp_path / "m.twofold"
    )
    table.loc[7, "unit"] = 2.0
    table.to_csv(tmp_path / "t.csv", index=False)
    run("outliers", tmp_path / "m.twofold", tmp_path / "t.csv", "-o", tmp_path / "o.csv")
    found = pd.read_csv(tmp_path / "o.csv").set_index("row")
    assert found.outlier[7]
    assert found.strangest[7].startswith("unit (was constant)")

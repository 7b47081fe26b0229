"""The benchmark of a sparse table: its data, its record and the table of the guide."""

import json

import numpy as np

from benchmarks import sparse_table


def test_data_are_sparse_and_follow_the_places():
    X, places = sparse_table.counts_on_a_sheet(400, 300)
    assert X.shape == (400, 300)
    assert 0.03 < X.nnz / np.prod(X.shape) < 0.07
    corners = [X[places[:, 0] > 0.5].mean(axis=0), X[places[:, 0] < -0.5].mean(axis=0)]
    halves = [X[::2].mean(axis=0), X[1::2].mean(axis=0)]
    assert np.abs(np.subtract(*corners)).mean() > 1.5 * np.abs(np.subtract(*halves)).mean()


def test_the_guide_has_the_table_of_the_record():
    record = json.loads(sparse_table.KEPT.read_text(encoding="utf-8"))
    assert sparse_table.table(record) in sparse_table.PAGE.read_text(encoding="utf-8")


def test_it_runs(monkeypatch, capsys):
    monkeypatch.setattr(sparse_table, "N_HELD_OUT", 100)
    sparse_table.main(["--rows", "200", "--columns", "60"])
    assert "| `UKR()` |" in capsys.readouterr().out

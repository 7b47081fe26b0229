"""The benchmark of growing maps runs on small tables, and its page has a line for each method."""

import json

import numpy as np
import pytest

from benchmarks.growing import __main__ as program
from benchmarks.growing import run, tables
from benchmarks.growing.page import NOTHING, section


def test_a_small_run_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tables, "N_TEST", 80)
    monkeypatch.setattr(run, "WARM_UP", 60)
    path = tmp_path / "growing.json"
    arguments = ["--tables", "late clusters", "--methods", "UKR", "--rows", "320", "--seeds", "0"]
    assert program.main([*arguments, "--json", str(path)]) == 0
    found = json.loads(path.read_text(encoding="utf-8"))
    (one,) = found["late clusters, UKR"]["figures"]["runs"]
    assert one["rows"] == 320
    assert one["largest_shift"] <= 0.01 + 1e-9
    assert len(one["updates"]) == 4
    assert 0.0 < one["error"] < one["first_error"]
    assert "late clusters, 320 rows, `UKR`" in section(found)
    assert "ratio" in capsys.readouterr().out


def test_an_empty_page():
    assert section({}) == NOTHING


@pytest.mark.parametrize("name", ["growing roll", "late clusters"])
def test_no_row_is_lost(name):
    stream = tables.TABLES[name](400, 0)
    rows = np.concatenate([*stream.batches, stream.test])
    assert len(np.unique(rows, axis=0)) == len(rows) >= 1_390

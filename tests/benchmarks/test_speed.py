"""The benchmark of named tables."""

import json

import pytest

from benchmarks import speed


def test_a_case_is_measured_and_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(speed, "CASES", [("UKR()", "digits, 1,438 x 64")])
    output = tmp_path / "speed.json"
    speed.main(["digits", "--repeats", "1", "--output", str(output)])
    (found,) = json.loads(output.read_text(encoding="utf-8"))["results"]
    assert found["status"] == "ok"
    assert 0.0 < found["error"] < 0.3
    assert found["fit"] > 0.0
    assert "| digits, 1,438 x 64 | `UKR()` |" in capsys.readouterr().out


def test_the_table_names_failures_and_pages():
    done = {"method": "UKR()", "table": "a sheet", "status": "ok", "fit": 1.0, "cpu": 2.0}
    new = {
        "error": 0.5,
        "transform": 2.0,
        "n_new": 1_000,
        "one_row": 1e-3,
        "page": 3.0,
        "peak_gb": 1.5,
    }
    lost = {"method": "SNE()", "table": "a sheet", "status": "time"}
    records = {
        "results": [done | new, lost],
        "machine": {"cores": 2, "processor": "some"},
        "repeats": 3,
        "commit": "abc",
    }
    text = speed.table(records)
    assert "| a sheet | `UKR()` | 1 | 2 | 1.5 | 0.5 | 2 | 1 |" in text
    assert "| a sheet | `SNE()` | time |" in text
    assert "takes 3 s" in text


@pytest.mark.parametrize("method", sorted({method for method, _ in speed.CASES}))
def test_every_method_can_be_made(method):
    if method == "umap-learn":
        pytest.importorskip("umap", reason="umap-learn is not installed")
    assert hasattr(speed._maker(method)(), "fit")

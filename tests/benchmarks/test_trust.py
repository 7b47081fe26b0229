"""The benchmark of calibrated figures: it runs on few rows, and its page shows what was kept."""

import json

import numpy as np
import pytest

from benchmarks.harness import kept
from benchmarks.trust import __main__ as command
from benchmarks.trust import measure, page, sets


@pytest.fixture
def small(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((150, 2)) @ rng.standard_normal((2, 5))
    rows += 0.1 * rng.standard_normal(rows.shape)
    labels = np.arange(150) % 3
    monkeypatch.setattr(sets, "labeled", lambda _: (rows + 2.0 * labels[:, None], labels))
    return rows


def test_a_quick_run(small, tmp_path, capsys):
    target = tmp_path / "trust.json"
    assert command.main(["--quick", "--json", str(target)]) == 0
    found = json.loads(target.read_text())
    assert list(found) == list(command.PARTS)
    (one,) = found["intervals"]["figures"]["records"]
    assert 0.5 < one["covered"] <= 1.0
    (areas,) = found["classes"]["figures"]["records"]
    assert set(areas["areas"]) >= {"DRUR", "IsolationForest", "LocalOutlierFactor"}
    (ranks,) = found["planted"]["figures"]["records"]
    assert all(1 <= rank <= 150 for rank in ranks["ranks"]["score"])
    text = capsys.readouterr().out
    assert "| detector |" in text
    with pytest.raises(SystemExit):
        command.main(["publish", str(target)])  # a quick run is not published


def test_splits_do_not_share_rows(small):
    X, X_new = sets.split("wine", 0, 100, 40)
    assert len(X) == 100
    assert len(X_new) == 40
    assert not {row.tobytes() for row in X} & {row.tobytes() for row in X_new}
    rows, new, strange = sets.one_against_the_rest("wine", 1, 0, 20, 30)
    assert len(new) == len(strange)
    assert not {row.tobytes() for row in rows} & {row.tobytes() for row in new}


def test_planted_errors_are_where_they_are_said_to_be(small):
    clean = sets.labeled("wine")[0]
    X, rows = sets.with_planted_errors("wine", 3)
    changed = np.flatnonzero((clean != X).any(axis=1))
    assert sorted(rows) == changed.tolist()
    found = measure.planted("wine", "DRUR", 3)
    assert found["ranks"]["score"][3] <= 4  # the one far out


def test_the_page_is_written_from_the_records():
    found = kept.read(command.KEPT)
    text = command.PAGE.read_text(encoding="utf-8")
    inside = text.split(command.MARKS[0])[1].split(command.MARKS[1])[0].strip()
    assert inside == page.section(found)

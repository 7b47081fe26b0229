"""The benchmark of explanations: its sets, its record, and the table of the guide."""

import numpy as np
import pytest

from benchmarks import explain
from benchmarks.harness.kept import read


@pytest.mark.parametrize("name", explain.SETS)
def test_nuisance_features_are_noise(name):
    X, n_planted = explain.SETS[name](2_000, np.random.default_rng(0))
    correlations = np.abs(np.corrcoef(X, rowvar=False))
    np.fill_diagonal(correlations, 0.0)
    assert correlations[n_planted:].max() < 0.1
    assert n_planted < X.shape[1]


def test_equal_effects_count_against_planted_features():
    assert explain.first_and_second(np.ones((3, 6)), 4) == [0.0, 0.0]
    effects = np.array([[3.0, 1.0, 2.0], [1.0, 3.0, 2.0]])
    assert explain.first_and_second(effects, 2) == [1.0, 0.0]


def test_it_runs(monkeypatch, capsys):
    for name, few in (("N_ROWS", 80), ("N_HELD_OUT", 12), ("N_PATHS", 2), ("N_SELECTED", 10)):
        monkeypatch.setattr(explain, name, few)
    monkeypatch.setattr(explain, "N_NEW", 60)
    monkeypatch.setattr(explain, "N_DRAWS", 2)
    options = ["--seeds", "1", "--estimators", "AgglomerativeIsomap()"]
    explain.main(["sheet", "intervals", *options])
    printed = capsys.readouterr().out
    assert "| sheet | `AgglomerativeIsomap()` | " in printed
    assert "| `AgglomerativeIsomap()` | " in printed


def test_the_guide_has_the_tables_of_the_record():
    page = explain.PAGE.read_text(encoding="utf-8")
    parts = read(explain.KEPT)
    assert list(parts) == list(explain.PARTS)
    assert explain.section(parts) in page


def test_planted_features_come_first_in_95_percent_of_rows():
    parts = read(explain.KEPT)
    for name in explain.SETS:
        for label, shares in parts[name]["figures"].items():
            assert np.mean([one[0] for one in shares["explain"]]) >= 0.95, label

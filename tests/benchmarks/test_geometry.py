"""The benchmark of paths and stability runs on small data, and its tables are in order."""

import numpy as np

from benchmarks import geometry


def test_runs_on_small_data(tmp_path, capsys):
    file = tmp_path / "found.json"
    geometry.main(["lengths", "--seeds", "1", "--rows", "120", "--json", str(file)])
    assert "true sheet, bent" in capsys.readouterr().out
    assert file.stat().st_size > 100


def test_lines_bends_and_summaries():
    first, last = np.zeros((2, 2)), np.ones((2, 2))
    lines = geometry.straight(first, last, 5)
    np.testing.assert_allclose(lines[1, :, 0], [0.0, 0.25, 0.5, 0.75, 1.0])
    assert geometry.summary([1.0, 1.0, 1.0]) == "1.000 (1.000 to 1.000)"
    assert (np.diff(geometry.bent(np.linspace(0, 1, 5)[:, None]), 2, axis=0) > 0.0).all()
    assert geometry.two_sheets(0).shape == (310, 6)

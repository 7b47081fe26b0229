"""The benchmark of aligned maps: its tables are what it says, and it runs on small ones."""

import json

import numpy as np
import pytest

from benchmarks.aligning import __main__ as command
from benchmarks.aligning import measure, views
from benchmarks.aligning.page import NOTHING, section
from twofold import TwoWay

NAMES = ("set", "method", "seeds", "median", "ratios")


@pytest.fixture
def quick(monkeypatch):
    methods = {"pca": lambda seed: TwoWay("pca", up="nw", down="nw", random_state=seed)}
    for module in (measure, command):
        monkeypatch.setattr(module, "METHODS", methods)
    monkeypatch.setattr(command, "SETS", dict.fromkeys(views.SETS, ("roll",)))


class TestTables:
    def test_rows_are_the_same_things(self):
        found = views.views_of("digits halves", "rows", 0, 300)
        new, old = found.shared.T
        assert len(found.first) == len(found.second) == 210
        assert len(found.shared) == int(0.7 * 210)
        whole, _ = views._images("digits", np.random.default_rng(0), 300)
        pictures = {row.tobytes() for row in whole}
        joined = np.concatenate(
            [part.reshape(-1, 8, 4) for part in (found.first[old], found.second[new])], axis=2
        )
        assert all(row.tobytes() in pictures for row in joined.reshape(-1, 64))

    def test_two_moments_have_seventy_percent_in_common(self):
        found = views.views_of("digits exposures", "moments", 0, 300)
        new, old = found.shared.T
        np.testing.assert_array_equal(found.second[new], found.first[old])
        assert len(found.shared) / len(found.first) == pytest.approx(0.7, abs=0.02)

    def test_shared_features_have_no_row_in_common(self):
        found = views.views_of("digits exposures", "features", 0, 300)
        rows = [{row.tobytes() for row in one} for one in (found.first, found.second)]
        assert found.shared is None
        assert not rows[0] & rows[1]

    @pytest.mark.parametrize("case", views.SETS)
    def test_held_out_rows_are_new(self, case):
        found = views.views_of("roll", case, 0, 100)
        known = {row.tobytes() for row in found.second}
        assert not known & {row.tobytes() for row in found.held_out[1]}


def test_figures_and_page(quick, tmp_path, capsys):
    path = tmp_path / "aligning.json"
    arguments = ["--cases", "rows", "moments", "--methods", "pca", "--seeds", "0", "1"]
    assert command.main([*arguments, "--rows", "120", "--json", str(path)]) == 0
    found = json.loads(path.read_text())
    line = found["rows"]["figures"][0]
    assert tuple(line) == NAMES
    assert line["median"]["moved_ratio"] == pytest.approx(1.0, abs=1e-6)
    assert line["ratios"][0] <= line["median"]["ratio"] <= line["ratios"][1]
    text = section(found)
    assert "| roll, pca |" in text
    assert "5 neighbors" in text
    assert text in capsys.readouterr().out
    assert section({}) == NOTHING


def test_publishing(quick, tmp_path, monkeypatch):
    kept, page = tmp_path / "results.json", tmp_path / "page.md"
    page.write_text("\n".join(["# Page", *command.MARKS, ""]))
    monkeypatch.setattr(command, "KEPT", kept)
    monkeypatch.setattr(command, "PAGE", page)
    path = tmp_path / "aligning.json"
    command.main(
        ["--cases", "features", "--methods", "pca", "--seeds", "0", "--rows", "100"]  # noqa: RUF005
        + ["--json", str(path)]
    )
    assert command.main(["publish", str(path)]) == 0
    assert "| roll, pca |" in page.read_text()
    assert list(json.loads(kept.read_text())) == ["features"]

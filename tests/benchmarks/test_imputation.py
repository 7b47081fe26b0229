"""The benchmarks of imputed cells: removed cells, other imputers, and published tables."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks import imputation, mixed_tables
from benchmarks.harness import ROOT, kept
from benchmarks.imputation import __main__ as command
from benchmarks.imputation import iterated_pca, measure, methods, page, run, tables

PAGE = ROOT / "docs" / "measured.md"


class Notes:
    """What a process notes, kept in memory."""

    def __init__(self):
        self.figures = {}

    def step(self, name):
        pass

    def add(self, **figures):
        self.figures.update(figures)


@pytest.fixture
def low_rank():
    rng = np.random.default_rng(0)
    return rng.standard_normal((120, 2)) @ rng.standard_normal((2, 16))


@pytest.fixture
def small(monkeypatch, low_rank):
    table = tables.Table(lambda: low_rank, image=(4, 4))
    monkeypatch.setattr(tables, "TABLES", {"small": table})
    for module in (measure, run):
        monkeypatch.setattr(module, "TABLES", {"small": table})
    return table


class TestRemovedCells:
    @pytest.mark.parametrize("share", [0.3, 0.6])
    def test_shares(self, share):
        X = np.zeros((4000, 3))
        removed = tables.removed_cells(X, f"{share:.0%}", None, 0)
        assert removed.mean() == pytest.approx(share, abs=0.08)
        assert not removed.all(axis=1).any()
        np.testing.assert_array_equal(removed, tables.removed_cells(X, f"{share:.0%}", None, 0))
        assert (removed != tables.removed_cells(X, f"{share:.0%}", None, 1)).any()

    def test_blocks_are_rectangles_of_half_the_image(self):
        removed = tables.removed_cells(np.zeros((200, 20 * 10)), tables.BLOCKS, (20, 10), 0)
        for image in removed.reshape(-1, 20, 10):
            rows, columns = image.any(axis=1), image.any(axis=0)
            assert image.sum() == rows.sum() * columns.sum()
            assert 8 <= rows.sum() <= 12
            assert 4 <= columns.sum() <= 6
        assert not removed.all(axis=0).any()

    def test_patterns_of_tables(self):
        found = {name: one.patterns([0.3, 0.6]) for name, one in tables.TABLES.items()}
        assert found["penguins"] == ["20%"]
        assert found["oil flow"] == ["30%", "60%"]
        assert found["USPS"] == ["30%", "60%", "block"]


class TestMethods:
    @pytest.mark.parametrize("name", [one for one in methods.METHODS if one not in methods.OURS])
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_others(self, name, small):
        notes = Notes()
        measure.imputation(notes, "small", "30%", 0, name, quick=False)
        assert 0.0 <= notes.figures["rmse"] < 1.2
        assert notes.figures["seconds"] > 0.0

    def test_iterated_pca_recovers_a_table_of_low_rank(self, low_rank):
        gaps = tables.removed_cells(low_rank, "30%", None, 0)
        filled, rank = iterated_pca.impute(np.where(gaps, np.nan, low_rank))
        assert rank > 1
        np.testing.assert_array_equal(filled[~gaps], low_rank[~gaps])
        assert np.sqrt(np.square(filled - low_rank)[gaps].mean()) < 0.05 * low_rank.std()

    def test_figures(self):
        X = np.array([[0.0, 1.0], [2.0, 3.0]])
        removed = np.array([[True, False], [False, True]])
        filled = np.array([[2.0, 1.0], [2.0, 3.0]])
        found = measure.judged(X, removed, filled, np.array([[1.0, 0.0], [0.0, 1.0]]))
        assert found == {"rmse": np.sqrt(2.0), "covered": 0.5}
        with pytest.raises(ValueError, match="observed cells have changed"):
            measure.judged(X, removed, filled + 1.0, None)
        with pytest.raises(ValueError, match="NaN"):
            measure.judged(X, removed, np.where(removed, np.nan, X), None)


class TestRuns:
    def test_a_method_over_its_limit_is_not_run_again(self, small, monkeypatch):
        limits = []

        def job(function, arguments, folder, given):
            slow = arguments.get("method") in methods.LIMITED
            limits.append(given.seconds)
            figures = {} if slow else {"seconds": 2.0, "rmse": 0.5}
            state = {"status": "time" if slow else "ok", "detail": "over 20 s" if slow else ""}
            return state | {"figures": figures}

        monkeypatch.setattr(run, "run_job", job)
        lines = []
        found = run.run(["small"], [0.3], [0, 1], quick=True, say=lines.append)
        cells = found["small"]["figures"]["cells"]
        assert [one["seed"] for one in cells if one["method"] == "IterativeImputer"] == [0, 0]
        assert set(limits) == {None, 20.0}
        shown = page.section(found)
        assert "| small, 30% | 0.5 |" in shown
        assert "not finished" in shown

    def test_sets_that_are_absent_are_left_out(self, monkeypatch):
        def absent():
            raise ImportError("no penguins here")

        monkeypatch.setattr(run, "TABLES", {"penguins": tables.Table(absent)})
        lines = []
        assert run.run(["penguins"], [0.3], [0], quick=True, say=lines.append) == {}
        assert lines == ["penguins: left out, no penguins here"]

    @pytest.mark.parametrize(
        "main", [command.main, mixed_tables.main], ids=["imputation", "mixed_tables"]
    )
    def test_quick_runs_are_not_published(self, main, tmp_path, capsys):
        path = tmp_path / "found.json"
        path.write_text(json.dumps({"penguins": {"figures": {"quick": True}}}))
        with pytest.raises(SystemExit):
            main(["publish", str(path)])
        assert "quick run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "marks", "section"),
    [
        (command.KEPT, command.MARKS, page.section),
        (mixed_tables.KEPT, mixed_tables.MARKS, mixed_tables.section),
    ],
    ids=[imputation.__name__, mixed_tables.__name__],
)
def test_sections_are_written_from_their_records(path, marks, section):
    text = PAGE.read_text(encoding="utf-8")
    shown = text.split(marks[0])[1].split(marks[1])[0].strip("\n")
    found = kept.read(path)
    assert shown == section(found)
    assert not any(one["figures"]["quick"] for one in found.values())


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    t = rng.uniform(size=90)
    return pd.DataFrame(
        {
            "a": t + 0.01 * rng.standard_normal(90),
            "kind": np.where(t < 0.3, "low", np.where(t < 0.7, "middle", "high")),
            "b": 3.0 - t,
            "size": np.round(5 * t).astype(int),
        }
    )


class TestMixedTables:
    @pytest.mark.parametrize("method", [one for one in mixed_tables.METHODS if "(" not in one])
    def test_others(self, method, frame):
        if method.startswith("FAMD"):
            pytest.importorskip("prince")
        gaps, removed = mixed_tables.with_gaps(frame, 0)
        filled = mixed_tables.METHODS[method](gaps, 0)
        found = mixed_tables.judged(frame, removed, filled)
        assert found["invalid"] == 0
        assert found["rmse"] < 1.3
        assert found["accuracy"] > 0.3
        for position, name in enumerate(frame):
            same = ~removed[:, position]
            assert (filled[name][same] == frame[name][same]).all()

    def test_cells_that_are_no_category_are_counted(self, frame):
        removed = np.zeros(frame.shape, dtype=bool)
        removed[:10] = True
        filled = frame.copy()
        filled.loc[[0, 1], "kind"] = ["medium", None]
        found = mixed_tables.judged(frame, removed, filled)
        assert found == {"accuracy": 0.8, "rmse": 0.0, "invalid": 2}

    def test_a_failed_method_is_shown(self, monkeypatch, frame):
        def fail(frame, seed):
            raise ValueError("no")

        monkeypatch.setattr(mixed_tables, "METHODS", {"mine": fail})
        monkeypatch.setattr(mixed_tables, "TABLES", {"frame": lambda: frame})
        found = mixed_tables.run(["frame"], [0], quick=False)
        assert "| frame, mine | failed |" in mixed_tables.section(found)

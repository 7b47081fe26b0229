"""The growth of costs: what is measured, what is run again, kinks, picture and tables."""

import numpy as np
import pytest

from benchmarks.growth import __main__ as command
from benchmarks.growth import curves, page, plots
from benchmarks.growth.busy import busy_processes
from benchmarks.growth.check import kinks
from benchmarks.growth.measure import STEPS, find, measure
from benchmarks.growth.methods import METHODS
from benchmarks.growth.records import OtherRunError, Records, read
from benchmarks.growth.sheet import make_sheet
from benchmarks.harness import ROOT


class Notes:
    def __init__(self):
        self.figures = {}

    def step(self, name):
        self.last = name

    def add(self, **figures):
        self.figures.update(figures)


def test_the_sheet_has_two_dimensions_and_rows_of_its_own_for_each_seed():
    one, other = make_sheet(300, 100), make_sheet(300, 100, seed=1)
    assert one.X.shape == (300, 100)
    assert not np.allclose(one.X, other.X)
    assert set(one.y) == {0, 1, 2, 3}
    values = np.linalg.svd(one.X - one.X.mean(axis=0), compute_uv=False) ** 2
    assert values[50:].sum() < 0.05 * values.sum()


def test_our_estimators_are_all_there():
    import twofold

    ours = {method.name.partition("(")[0] for method in METHODS if method.ours}
    estimators = {name for name in twofold.__all__ if hasattr(getattr(twofold, name), "sample")}
    assert ours == estimators - {"TableMap"}  # the cost of a table is that of its model


# -- one process


def measured(name, **more):
    notes = Notes()
    measure(notes, "fake_growth", name, rows=40, columns=5, threads=1, **more)
    return notes.figures


def test_all_steps_are_measured_several_times():
    found = measured("Labelled", repeats=2)
    assert tuple(found) == STEPS
    for figures in found.values():
        assert {measure: len(values) for measure, values in figures.items()} == {
            "seconds": 2,
            "cpu_seconds": 2,
            "extra_bytes": 2,
        }


def test_a_step_over_the_budget_is_not_repeated_and_steps_may_be_left_out():
    found = measured("Linear", repeats=3, budget=0.0, left_out=["transform_one"])
    assert tuple(found) == ("fit", "transform", "inverse_transform")
    assert [len(figures["seconds"]) for figures in found.values()] == [1, 1, 1]


def test_a_step_that_fails_does_not_end_the_others():
    found = measured("Sociable", repeats=1)
    assert found["transform_one"] == {"failed": "TypeError: one row is no table"}
    assert len(found["inverse_transform"]["seconds"]) == 1


def test_a_first_call_is_one_fit():
    assert find("fake_growth", "OneWay").first_call
    assert tuple(measured("OneWay", repeats=3)) == ("fit",)


# -- a run


@pytest.fixture
def job(monkeypatch):
    """Replace processes by records of one second for each row, and count them."""

    class Job:
        def __init__(self):
            self.calls = []
            self.answer = {"status": "ok", "detail": "", "step": "inverse_transform"}

        def __call__(self, function, arguments, folder, limits):
            rows = arguments["rows"]
            self.calls.append((arguments["method"], rows))
            times = {"seconds": [float(rows)], "cpu_seconds": [2.0 * rows], "extra_bytes": [2**21]}
            steps = [step for step in STEPS if step not in arguments["left_out"]]
            return self.answer | {"figures": dict.fromkeys(steps, times)}

    replaced = Job()
    monkeypatch.setattr(curves, "run_job", replaced)
    return replaced


def settings(methods=("Linear",), **more):
    given = {"sizes": (40, 20, 60), "columns": (5,), "registry": "fake_growth", "threads": 1}
    return curves.Settings(methods=methods, **{**given, "budget": 100.0, **more})


def test_finished_points_are_not_measured_again(tmp_path, job):
    path, said = tmp_path / "growth.json", []
    curves.measure_curves(Records(path, 1), settings(sizes=(20,)), said.append)
    curves.measure_curves(Records(path, 1), settings(), said.append)
    assert job.calls == [("Linear", 20), ("Linear", 40), ("Linear", 60)]
    assert said[0] == "20 x 5 | Linear | ok | fit 20 s"
    with pytest.raises(OtherRunError, match="threads"):
        Records(path, 2)


def test_what_exceeds_the_budget_is_not_run_with_more_rows(tmp_path, job):
    records = Records(tmp_path / "growth.json", 1)
    curves.measure_curves(records, settings(budget=30.0), lambda line: None)
    assert job.calls == [("Linear", 20), ("Linear", 40)]
    skipped = records.content["curves"]["Linear|60|5"]
    assert skipped["status"] == "skipped"
    assert skipped["detail"] == "over 30 s with 40 rows"
    curves.measure_curves(records, settings(budget=50.0), lambda line: None)
    assert job.calls[2:] == [("Linear", 60)]


def test_a_step_that_ran_out_of_time_is_left_out_with_more_rows(tmp_path, job):
    records = Records(tmp_path / "growth.json", 1)
    job.answer |= {"status": "time", "detail": "over 460 s in inverse_transform"}
    curves.measure_curves(records, settings(sizes=(20, 40)), lambda line: None)
    found = records.content["curves"]["Linear|40|5"]
    assert "inverse_transform" not in found["figures"]
    assert found["left_out"] == {
        "inverse_transform": "over 460 s in inverse_transform with 20 rows"
    }


def test_first_calls_run_in_a_process_each(tmp_path, job):
    records = Records(tmp_path / "growth.json", 1)
    chosen = settings(("OneWay",), sizes=(20,), repeats=3)
    curves.measure_curves(records, chosen, lambda line: None)
    assert len(job.calls) == 3
    assert records.content["curves"]["OneWay|20|5"]["figures"]["fit"]["seconds"] == [20.0] * 3


def test_a_rival_that_is_not_installed_is_left_out(tmp_path, job):
    said = []
    curves.measure_curves(Records(tmp_path / "g.json", 1), settings(("Missing",)), said.append)
    assert said == ["Missing: left out, a-package is not installed"]
    assert not job.calls


def test_unknown_methods_are_named():
    with pytest.raises(ValueError, match=r"no method is called \['Nobody'\]"):
        settings(("Nobody",)).chosen()


def test_the_command_measures_in_processes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "support"))
    path = tmp_path / "growth.json"
    arguments = ["--sizes", "30", "--columns", "4", "--threads", "1", "--repeats", "2"]
    arguments += ["--registry", "fake_growth", "--methods", "Labelled", "Raiser"]
    command.main([*arguments, "--output", str(path)])
    found = read(path)["curves"]
    assert len(found["Labelled|30|4"]["figures"]["transform"]["seconds"]) == 2
    assert found["Raiser|30|4"]["status"] == "failed"
    assert "RuntimeError: no luck" in capsys.readouterr().out


def test_busy_processes_end():
    with busy_processes(1) as started:
        assert started[0].poll() is None
    assert started[0].poll() is not None


# -- what is written


def point(method, rows, seconds, status="ok", ours=True, columns=10):
    times = {"seconds": [seconds], "cpu_seconds": [2 * seconds], "extra_bytes": [3 * 2**20]}
    return {
        "method": method,
        "ours": ours,
        "rows": rows,
        "columns": columns,
        "status": status,
        "detail": "",
        "budget": 60.0,
        "left_out": {},
        "figures": {"fit": times} if status == "ok" else {},
    }


@pytest.fixture
def content():
    points = [
        point("UKR()", 100, 1.0),
        point("UKR()", 1_000, 2.0),
        point("UKR()", 6_000, 1.5),
        point("umap-learn", 100, 3.0, ours=False),
        point("umap-learn", 1_000, 1.0, ours=False),
        point("umap-learn", 6_000, 0.0, status="time", ours=False),
    ]
    fit = {"figures": {"fit": {"seconds": [0.5, 0.4, 9.0], "cpu_seconds": [0.5]}}}
    twofold = {"twofold": {"seconds": [0.1], "cpu_seconds": [0.1]}}
    return {
        "about": {
            "machine": {"processor": "a chip", "cores": 2, "system": "Linux"},
            "versions": {"python": "3"},
            "threads": 1,
            "commit": "abc",
            "started": "then",
        },
        "curves": {str(place): one for place, one in enumerate(points)},
        "first": {
            "import": {"rows": None, "figures": twofold},
            **{f"fit|500|{state}": {"rows": 500, **fit} for state in ("empty", "full")},
        },
        "busy": {str(number): {"processes": number, **fit} for number in (4, 0)},
    }


def test_kinks_are_named_ours_first(content):
    found = kinks(content)
    assert [kink.method for kink in found] == ["UKR()", "UKR()", "umap-learn", "umap-learn"]
    assert str(found[0]) == (
        "UKR(), 10 columns: fit takes 2 s with 1,000 rows and 1.5 s with 6,000"
    )
    assert "4 CPU s" in str(found[1])
    assert not [kink for kink in kinks(content, tolerance=0.5) if kink.ours]


def test_the_check_fails_for_ours_alone(content, tmp_path, capsys):
    records = Records(tmp_path / "growth.json", 1)
    records.content = content
    records.keep("busy", "0", content["busy"]["0"])
    command.main(["check", str(records.path), "--tolerance", "0.5"])
    assert "umap-learn" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(["check", str(records.path)])


def test_the_section_has_picture_and_tables(content):
    text = page.section(content, "growth.svg")
    assert "](growth.svg)" in text
    assert "| | 100 | 1,000 | 6,000 |" in text
    assert "| `UKR()` | 1.00 / 2.00 | 2.00 / 4.00 | 1.50 / 3.00 |" in text
    assert "| umap-learn | 3.00 / 6.00 | 1.00 / 2.00 | over 60 |" in text
    assert "| `import twofold` | | 0.100 / 0.100 |" in text
    assert "| `UKR().fit`, 500 x 50 | 0.500 / 0.500 | 0.500 / 0.500 |" in text
    assert "| busy processes | 0 | 4 |" in text
    assert "| `UKR()` | 3 | 3 | 3 |" in page.tables(content)


def test_the_picture_is_the_same_each_time(content, tmp_path):
    one, other = (plots.draw(content, tmp_path / f"{name}.svg").read_bytes() for name in "ab")
    assert one == other
    assert b"<svg" in one


def test_the_documentation_has_the_marks():
    text = (ROOT / "docs" / "guide" / "costs.md").read_text()
    assert text.count(page.BEGIN) == text.count(page.END) == 1

"""The benchmark beside the rivals: its machinery, with methods that behave and misbehave."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fake_rivals
import numpy as np
import pytest
from fake_rivals import sheet

from benchmarks.harness import ROOT, memory
from benchmarks.harness.jobs import Limits, run_job
from benchmarks.rivals import __main__ as command
from benchmarks.rivals import run as running
from benchmarks.rivals import summary
from benchmarks.rivals.about import command as shown_command
from benchmarks.rivals.data import DataSet, Split
from benchmarks.rivals.measure import measure
from benchmarks.rivals.methods import Method
from benchmarks.rivals.probe import measures
from benchmarks.rivals.run import OtherRunError, Run, Settings

on_linux = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="memory is watched through /proc"
)


def a_split():
    X, truth = sheet()
    y = (truth[:, 0] > 0).astype(int)
    return Split(X[:90], X[90:], y[:90], y[90:], truth[:90], truth[90:])


class Notes:
    def __init__(self):
        self.figures, self.steps = {}, []

    def step(self, name):
        self.steps.append(name)

    def add(self, **figures):
        self.figures.update(figures)


# -- what is measured of a method


def measured(kind, **more):
    notes = Notes()
    measure(kind, a_split(), notes, **more)
    return notes.figures


def test_everything_is_measured():
    found = measured(fake_rivals.Linear, repeat_within=60)
    assert 0 < found["error"] < 0.1
    assert found["procrustes_r2"] > 0.5
    assert min(found["trustworthiness"], found["continuity"]) > 0.9
    assert min(found["distance_correlation"], found["triplet_accuracy"]) > 0.8
    X_test = a_split().X_test
    assert found["mse"] == pytest.approx(found["error"] * X_test.var(axis=0).mean())
    assert found["accuracy"] > 0.8
    assert found["batch_gap"] < 1e-12
    assert found["repeat_gap"] == 0.0
    assert found["peak_bytes"] > found["extra_bytes"] >= 0
    assert {"fit_seconds", "transform_seconds", "inverse_seconds"} <= found.keys()
    assert found["error"] < found["codebook_error_16"] < 0.5
    expected = -np.mean(np.log([found["codebook_error_16"], found["error"]]))
    assert found["map_score"] == pytest.approx(expected)
    assert "codebook_error_64" not in found  # too few rows


@pytest.mark.parametrize(
    ("method", "said"), [("linear", "Linear"), ("tsne", "Linear, tsne"), (None, "Linear")]
)
def test_what_a_method_chose_is_noted(method, said):
    class Choice(fake_rivals.Linear):
        best_estimator_ = fake_rivals.Linear()

    if method:
        Choice.method_ = method
    assert measured(Choice)["chosen"] == said
    assert "chosen" not in measured(fake_rivals.Linear)


def test_broken_promises_are_seen():
    found = measured(fake_rivals.Gregarious, repeat_within=60)
    assert found["batch_gap"] > 1e-3
    assert found["repeat_gap"] > 0.0


def test_a_row_alone_may_be_too_few():
    found = measured(fake_rivals.Sociable, repeat_within=60)
    assert found["fails_alone"]
    assert found["batch_gap"] < 1e-12
    assert found["repeat_gap"] == 0.0


def test_long_fits_are_not_repeated():
    assert "repeat_gap" not in measured(fake_rivals.Linear)


def test_missing_ways_are_said_to_be_missing():
    found = measured(fake_rivals.OneWay)
    assert found["no_inverse"]
    assert "error" not in found
    assert "map_score" not in found
    assert found["trustworthiness"] > 0.9
    found = measured(fake_rivals.Nowhere)
    assert found["no_transform"]
    assert found["fit_seconds"] >= 0


def test_latents_that_are_not_numbers_are_an_error():
    with pytest.raises(ValueError, match="30 of 30 rows"):
        measured(fake_rivals.Undefined)


@on_linux
def test_peak_memory_is_of_the_time_since_the_count_began():
    np.ones(12 * 2**20).sum()  # 96 MB that come and go before
    before = memory.start_counting()
    assert memory.peak_bytes() - before < 32 * 2**20
    np.ones(8 * 2**20).sum()
    assert memory.peak_bytes() - before > 48 * 2**20


# -- one job in a process of its own


@pytest.fixture
def fakes(monkeypatch):
    """Let workers import the fake methods."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "support"))
    return "fake_rivals"


def first_call(name, folder, seconds=50.0, most_bytes=4 * 2**30):
    arguments = {"registry": "fake_rivals", "method": name, "threads": 1, "seed": 0}
    limits = Limits(seconds, most_bytes, threads=1)
    return run_job("benchmarks.rivals.jobs:first_call", arguments, folder, limits)


def test_a_job_that_ends_well(fakes, tmp_path):
    record = first_call("Linear", tmp_path)
    assert (record["status"], record["detail"]) == ("ok", "")
    assert 0 < record["figures"]["first_call_seconds"] <= record["wall_seconds"]


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("Missing", "missing", "a_package_that_nobody_has"),
        ("Killed", "crashed", "SIGKILL in fit"),
        ("Raiser", "failed", "RuntimeError: no luck"),
    ],
)
def test_a_job_that_ends_badly(fakes, tmp_path, name, status, words):
    record = first_call(name, tmp_path)
    assert record["status"] == status
    assert words in record["detail"]


@pytest.mark.timing
def test_cap_on_time(fakes, tmp_path):
    record = first_call("Sleeper", tmp_path, seconds=2.0)
    assert record["status"] == "time"
    assert record["detail"].startswith("over 2 s in ")
    assert record["wall_seconds"] < 30


@on_linux
@pytest.mark.parametrize("name", ["Hog", "HogByProxy"])
def test_cap_on_memory(fakes, tmp_path, name):
    record = first_call(name, tmp_path, most_bytes=500 * 2**20)
    assert record["status"] == "memory"
    assert "over 0.488 GB in fit" in record["detail"]
    assert record["watched_peak_bytes"] > 500 * 2**20


def test_a_reference_line_has_errors_and_no_map(fakes, tmp_path):
    a_split().save(tmp_path / "data.npz")
    arguments = {"registry": fakes, "method": "Lookup", "threads": 1, "seed": 0}
    arguments |= {"data": str(tmp_path / "data.npz"), "repeat_within": 0}
    limits = Limits(60.0, 2**30, threads=1)
    record = run_job("benchmarks.rivals.jobs:measure_method", arguments, tmp_path, limits)
    assert record["status"] == "ok"
    assert record["figures"].keys() == {"fit_seconds", "figures_seconds", "error", "mse"}


@on_linux
def test_a_job_cut_short_keeps_what_it_had(fakes, tmp_path):
    a_split().save(tmp_path / "data.npz")
    arguments = {"registry": fakes, "method": "HogOnTheWayBack", "threads": 1, "seed": 0}
    arguments |= {"data": str(tmp_path / "data.npz"), "repeat_within": 0}
    limits = Limits(60.0, 2**30, threads=1)
    record = run_job("benchmarks.rivals.jobs:measure_method", arguments, tmp_path, limits)
    assert (record["status"], record["step"]) == ("memory", "inverse_transform")
    assert {"fit_seconds", "transform_seconds", "peak_bytes"} <= record["figures"].keys()
    assert "error" not in record["figures"]


@on_linux
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_nobody_behind(fakes, tmp_path, how):
    X, _ = sheet()
    np.savez(tmp_path / "mine.npz", X=X)
    arguments = ["--data", tmp_path / "mine.npz", "--folder", tmp_path / "run", "--methods"]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.rivals", *arguments, "Sleeper", "--registry", fakes],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    result = tmp_path / "run" / f"scratch-{process.pid}" / "result.json"
    wait_for(lambda: result.exists() and json.loads(result.read_text())["step"] == "fit")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(how)
    _, said = process.communicate(timeout=30)
    assert process.returncode == (130 if how == signal.SIGTERM else -how)
    assert ("continues where it stopped" in said) == (how == signal.SIGTERM)
    assert children
    wait_for(lambda: not any(Path(f"/proc/{child}/statm").exists() for child in children))


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# -- a run of many jobs


@pytest.fixture
def instant(monkeypatch):
    """Replace processes by instant answers; the names of the jobs are listed."""
    done, answers = [], {}

    def run_job(function, job, folder, limits, environment):
        done.append((function.rpartition(":")[2], job["method"], job["seed"]))
        figures = {"fit_seconds": 1.0, "transform_seconds": 0.1, "inverse_seconds": 0.1}
        figures |= {"error": 0.5, "first_call_seconds": 2.0}
        answer = {"status": "ok", "detail": "", "step": "end", "figures": figures}
        return answer | answers.get(job["method"], {}) | {"wall_seconds": 1.0}

    monkeypatch.setattr(running, "run_job", run_job)
    return done, answers


def settings(*methods, **more):
    return Settings("quick", registry="fake_rivals", methods=methods, threads=1, **more)


def small(name="small", rows=50, family=""):
    X, truth = sheet(rows + 20)
    return DataSet(name, lambda: Split(X[:rows], X[rows:], truth_test=truth[rows:]), family)


def test_seeds_where_they_matter(tmp_path, instant):
    done, _ = instant
    Run(tmp_path, settings("Linear", "OneWay"), say=list).measure_all([small()])
    measures = [job[1:] for job in done if job[0] == "measure_method"]
    assert measures == [("Linear", 0), ("Linear", 1), ("Linear", 2), ("OneWay", 0)]


def test_a_run_goes_on_where_it_stopped(tmp_path, instant):
    done, _ = instant
    Run(tmp_path, settings("Linear", "OneWay"), say=list).measure_all([small()])
    everything = list(done)
    Run(tmp_path, settings("Linear", "OneWay"), say=list).measure_all([small()])
    assert done == everything
    lines = tmp_path / "jobs.jsonl"
    lines.write_text(lines.read_text()[:-20])  # the last job was being written
    path = Run(tmp_path, settings("Linear", "OneWay"), say=list).measure_all([small()])
    assert done[len(everything) :] == [("first_call", "OneWay", 0)] * 2
    assert len(summary.read(path)["jobs"]) == 4 + 4
    Run(tmp_path, settings("Linear"), say=list).measure_all([small(rows=60)])
    assert done[-3:] == [
        ("measure_method", "Linear", seed) for seed in (0, 1, 2)
    ]  # other data, other jobs


def test_methods_and_versions_of_a_set_in_the_results(tmp_path, instant):
    Run(tmp_path, settings("Linear"), say=list).measure_all([small()])
    path = Run(tmp_path, settings("OneWay"), say=list).measure_all([small()])
    found = summary.read(path)
    assert [method["name"] for method in found["methods"]] == ["Linear", "OneWay"]
    assert [row.method for row in summary.rows_of(found)["small"]] == ["Linear", "OneWay"]
    path = Run(tmp_path, settings("OneWay"), say=list).measure_all([small(rows=60)])
    assert {job["rows"] for job in summary.read(path)["jobs"] if job["kind"] == "measure"} == {60}


def test_runs_under_other_conditions_are_not_mixed(tmp_path, instant):
    Run(tmp_path, settings("Linear"), say=list)
    with pytest.raises(OtherRunError, match=r"conditions \(settings\).*--restart"):
        Run(tmp_path, settings("Linear", seconds=1.0), say=list)


def test_other_measures_are_other_conditions(tmp_path, instant, monkeypatch):
    found = measures()
    assert {"error", "mse", "map_score", "accuracy", "codebook_error_64"} < found.keys()
    assert not any("seconds" in name for name in found)
    assert measures() == found
    Run(tmp_path, settings("Linear"), say=list)
    monkeypatch.setattr("benchmarks.rivals.measure.continuity", lambda *arguments: 0.5)
    with pytest.raises(OtherRunError, match=r"conditions \(measures\)"):
        Run(tmp_path, settings("Linear"), say=list)


def test_a_run_can_be_extended_by_seeds(tmp_path, instant):
    done, _ = instant
    Run(tmp_path, settings("Linear", seeds=(0,)), say=list).measure_all([small()])
    path = Run(tmp_path, settings("Linear", seeds=(0, 1)), say=list).measure_all([small()])
    assert [seed for kind, _, seed in done if kind == "measure_method"] == [0, 1]
    found = summary.read(path)
    assert found["settings"]["seeds"] == [0, 1]
    assert found["about"]["commands"] == [found["about"]["command"]]  # the same one twice


def test_all_commands_of_a_run_are_named(tmp_path, instant, monkeypatch):
    for words in (["--full"], ["--full", "--methods", "Linear"]):
        monkeypatch.setattr(sys, "argv", ["rivals", *words])
        path = Run(tmp_path, settings("Linear", seeds=(0,)), say=list).measure_all([small()])
    start = "python -m benchmarks.rivals --full"
    assert summary.read(path)["about"]["commands"] == [start, f"{start} --methods Linear"]


def test_other_code_of_the_library_voids_our_jobs_alone(tmp_path, instant, monkeypatch):
    done, _ = instant
    run = settings("Linear", "OneWay", seeds=(0,))
    Run(tmp_path, run, say=list).measure_all([small()])
    monkeypatch.setattr(running, "digest", lambda patterns: "other code")
    del done[:]
    path = Run(tmp_path, settings("OneWay", seeds=(0,)), say=list).measure_all([small()])
    assert done == []
    assert {job["method"] for job in summary.read(path)["jobs"]} == {"OneWay"}
    Run(tmp_path, run, say=list).measure_all([small()])
    assert {job[1] for job in done} == {"Linear"}
    monkeypatch.undo()  # the first jobs are still there
    monkeypatch.setattr(running, "run_job", None)
    Run(tmp_path, run, say=list).measure_all([small()])


def test_two_runs_share_a_folder(tmp_path, instant):
    one = Run(tmp_path, settings("Linear", seeds=(0,)), say=list)
    Run(tmp_path, settings("OneWay", seeds=(0,)), say=list).measure_all([small()])
    found = summary.read(one.measure_all([small()]))
    assert {job["method"] for job in found["jobs"]} == {"Linear", "OneWay"}
    assert not list(tmp_path.glob("scratch-*"))


def test_trouble_with_few_rows_spares_many(tmp_path, instant, monkeypatch):
    done, answers = instant
    answers["Linear"] = {"status": "time", "detail": "over 300 s in fit"}
    slow = {"fit_seconds": 200.0}
    answers["OneWay"] = {"figures": slow}
    sets = [small("few", 20, "roll"), small("more", 100, "roll"), small("other", 100)]
    monkeypatch.setattr("benchmarks.rivals.run.TELLING_ROWS", 20)
    path = Run(tmp_path, settings("Linear", "OneWay"), say=list).measure_all(sets)
    rows = summary.rows_of(summary.read(path))
    assert rows["more"][0].note == "not run: over 300 s in fit with 20 rows already"
    assert "200 s with 20 rows, so far beyond the cap of 300 s" in rows["more"][1].note
    assert rows["other"][1].figures == slow
    assert [job[1] for job in done if job[0] == "measure_method"] == ["Linear", "OneWay"] * 2


def test_only_the_most_rows_tell_of_more(tmp_path, instant, monkeypatch):
    done, answers = instant
    sets = [small("few", 20, "roll"), small("more", 100, "roll"), small("most", 150, "roll")]
    monkeypatch.setattr("benchmarks.rivals.run.TELLING_ROWS", 20)
    answers["Linear"] = {"figures": {"fit_seconds": 100.0}}
    # The most would take 750 s by the few rows, 150 by the more.
    Run(tmp_path, settings("Linear", seeds=(0,)), say=list).measure_all(sets)
    assert len([job for job in done if job[0] == "measure_method"]) == 3


def test_few_rows_tell_nothing(tmp_path, instant):
    done, answers = instant
    answers["Linear"] = {"figures": {"fit_seconds": 200.0}}
    sets = [small("few", 20, "roll"), small("more", 100, "roll")]
    Run(tmp_path, settings("Linear", seeds=(0,)), say=list).measure_all(sets)
    assert len([job for job in done if job[0] == "measure_method"]) == 2


def test_refusals():
    quadratic = Method("q", None, "", bytes_per_pair=8)
    assert quadratic.refusal(1_000, 2**30) is None
    assert "about 75 GB, beyond the cap of 12 GB" in quadratic.refusal(10**5, 12 * 2**30)
    assert Method("m", None, "", most_rows=5).refusal(6, 0) == "not run beyond 5 rows"
    wide = Method("w", None, "", most_values=1_000)
    assert wide.refusal(100, 0, features=10) is None
    assert wide.refusal(100, 0, features=11) == "not run beyond 1,000 values"


def test_a_set_that_is_not_there_is_said_to_be(tmp_path, instant):
    def nothing():
        raise FileNotFoundError("x.npz is not in the data folder /a/b: put it there")

    path = Run(tmp_path, settings("Linear"), say=list).measure_all(
        [DataSet("gone", nothing), small()]
    )
    results = summary.read(path)
    assert [data["name"] for data in results["sets"]] == ["small"]
    assert results["missing_sets"][0]["name"] == "gone"
    assert "/a" not in results["missing_sets"][0]["reason"]


def test_sets_that_were_not_asked_for_are_named(tmp_path, instant):
    path = Run(tmp_path, settings("Linear"), say=list).measure_all([small()], ["other"])
    assert summary.read(path)["missing_sets"] == [
        {"name": "other", "reason": "not part of this run"}
    ]


def test_unknown_names_are_errors(tmp_path):
    with pytest.raises(ValueError, match=r"'Nobody'.*there are 'Linear'"):
        Run(tmp_path, settings("Nobody"))


def test_first_calls_only_of_some(tmp_path, instant):
    done, _ = instant
    Run(tmp_path, settings("Lookup"), say=list).measure_all([small()])
    assert [job[0] for job in done] == ["measure_method"]


# -- the command


def test_groups_of_methods():
    names = command._named(["references", "rivals", "Linear"], "fake_rivals")
    assert names[0] == "Lookup"
    assert names[-1] == "Linear"
    assert {"OneWay", "Missing"} < set(names[1:-1])
    assert names.count("Linear") == 1


def test_the_command_shows_no_folders():
    shown = "python -m benchmarks.rivals --data x.npz --full"
    data = ["--data", "/home/me/x.npz"]
    assert shown_command([*data, "--folder", "/home/me/run", "--full"]) == shown
    assert shown_command([*data, "--folder=run", "--full"]) == shown


def test_the_whole_from_the_command_line(fakes, tmp_path, capsys):
    X, _ = sheet()
    np.savez(tmp_path / "mine.npz", X=X)
    arguments = ["--data", str(tmp_path / "mine.npz"), "--folder", str(tmp_path / "run")]
    arguments += ["--registry", fakes, "--methods", "Linear", "Raiser", "--threads", "1"]
    command.main([*arguments, "--check"])
    out = capsys.readouterr().out
    assert "mine | Linear | seed 0 | ok" in out
    assert "mine: no comparison; our best Linear" in out
    kept = json.loads((tmp_path / "run" / "results.json").read_text())
    assert kept["about"]["conditions"]["versions"]["a-package"] is None
    assert "RuntimeError: no luck / today" in (tmp_path / "run" / "rivals.md").read_text()
    assert (tmp_path / "run" / "images" / "rivals-mine.png").exists()
    command.main(
        ["--report-only", str(tmp_path / "run" / "results.json"), "--folder", str(tmp_path)]
    )
    assert (tmp_path / "rivals.md").exists()
    with pytest.raises(SystemExit, match="no set is called"):
        command.main([*arguments, "--sets", "other"])
    with pytest.raises(SystemExit, match="other conditions"):
        command.main([*arguments, "--seconds", "7"])


def test_only_full_runs_of_known_sets_are_published(fakes, instant, tmp_path):
    X, _ = sheet()
    np.savez(tmp_path / "mine.npz", X=X)
    arguments = ["--registry", fakes, "--methods", "Linear", "--threads", "1", "--publish"]
    arguments += ["--data", str(tmp_path / "mine.npz"), "--folder", str(tmp_path / "run")]
    before = (command.ROOT / "README.md").read_text()
    for more in ([], ["--full", "--restart"]):
        with pytest.raises(SystemExit, match="--publish is for runs with --full"):
            command.main([*arguments, *more])
    assert (command.ROOT / "README.md").read_text() == before


def test_data_that_cannot_be_read_fail(fakes, tmp_path, capsys):
    np.savez(tmp_path / "mine.npz", Y=np.ones((5, 2)))
    (tmp_path / "other.npz").write_text("a,b\n1,2\n")
    arguments = ["--registry", fakes, "--methods", "Linear", "--threads", "1"]
    for name in ("mine.npz", "other.npz"):
        arguments += ["--data", str(tmp_path / name)]
    with pytest.raises(SystemExit, match="no set could be measured"):
        command.main([*arguments, "--folder", str(tmp_path / "run")])
    out = capsys.readouterr().out
    assert "has no array X" in out
    assert "numpy.savez" in out

"""The benchmark beside the rivals: its machinery, with methods that behave and misbehave."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
if not (ROOT / "benchmarks" / "rivals").is_dir():
    pytest.skip("the benchmarks are not part of this distribution", allow_module_level=True)
sys.path.insert(0, str(ROOT))

import fake_rivals

from benchmarks.rivals import __main__ as command
from benchmarks.rivals import goal, memory, page, plots, summary
from benchmarks.rivals import run as running
from benchmarks.rivals.about import command as shown_command
from benchmarks.rivals.data import DataSet, Split, catalogue, from_file, split
from benchmarks.rivals.measure import measure
from benchmarks.rivals.methods import METHODS, Method
from benchmarks.rivals.process import run_job
from benchmarks.rivals.run import OtherRunError, Run, Settings
from benchmarks.rivals.summary import Row

on_linux = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="memory is watched through /proc"
)


def sheet(n=120, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(-1.0, 1.0, (n, 2))
    return truth @ rng.standard_normal((2, 6)) + 0.05 * rng.standard_normal((n, 6)), truth


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
    assert found["accuracy"] > 0.8
    assert found["batch_gap"] < 1e-12
    assert found["repeat_gap"] == 0.0
    assert found["peak_bytes"] > found["extra_bytes"] >= 0
    assert {"fit_seconds", "transform_seconds", "inverse_seconds"} <= found.keys()


def test_broken_promises_are_seen():
    found = measured(fake_rivals.Gregarious, repeat_within=60)
    assert found["batch_gap"] > 1e-3
    assert found["repeat_gap"] > 0.0


def test_long_fits_are_not_repeated():
    assert "repeat_gap" not in measured(fake_rivals.Linear)


def test_missing_ways_are_said_to_be_missing():
    found = measured(fake_rivals.OneWay)
    assert found["no_inverse"]
    assert "error" not in found
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
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    return "fake_rivals"


def first_call(name, folder, seconds=50.0, most_bytes=4 * 2**30):
    job = {"kind": "first_call", "registry": "fake_rivals", "method": name}
    job |= {"threads": 1, "seed": 0}
    return run_job(job, folder, seconds=seconds, most_bytes=most_bytes)


def test_a_job_that_ends_well(fakes, tmp_path):
    record = first_call("Linear", tmp_path)
    assert (record["status"], record["detail"]) == ("ok", "")
    assert 0 < record["figures"]["first_call_seconds"] <= record["wall_seconds"]


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("Missing", "missing", "a_package_that_nobody_has"),
        ("Crasher", "crashed", "SIGKILL in fit"),
        ("Raiser", "failed", "RuntimeError: no luck"),
    ],
)
def test_a_job_that_ends_badly(fakes, tmp_path, name, status, words):
    record = first_call(name, tmp_path)
    assert record["status"] == status
    assert words in record["detail"]


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


@on_linux
def test_a_job_cut_short_keeps_what_it_had(fakes, tmp_path):
    a_split().save(tmp_path / "data.npz")
    job = {
        "kind": "measure",
        "registry": fakes,
        "method": "HogOnTheWayBack",
        "threads": 1,
        "seed": 0,
    }
    job |= {"data": str(tmp_path / "data.npz"), "repeat_within": 0}
    record = run_job(job, tmp_path, seconds=60.0, most_bytes=2**30)
    assert (record["status"], record["step"]) == ("memory", "inverse_transform")
    assert {"fit_seconds", "transform_seconds", "peak_bytes"} <= record["figures"].keys()
    assert "error" not in record["figures"]


# -- a run of many jobs


@pytest.fixture
def instant(monkeypatch):
    """Replace processes by instant answers; the names of the jobs are listed."""
    done, answers = [], {}

    def run_job(job, folder, **caps):
        done.append((job["kind"], job["method"], job["seed"]))
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
    measures = [job[1:] for job in done if job[0] == "measure"]
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
        ("measure", "Linear", seed) for seed in (0, 1, 2)
    ]  # other data, other jobs


def test_runs_under_other_conditions_are_not_mixed(tmp_path, instant):
    Run(tmp_path, settings("Linear"), say=list)
    with pytest.raises(OtherRunError, match=r"conditions \(settings\).*--restart"):
        Run(tmp_path, settings("Linear", seconds=1.0), say=list)


def test_trouble_with_few_rows_spares_many(tmp_path, instant):
    done, answers = instant
    answers["Linear"] = {"status": "time", "detail": "over 300 s in fit"}
    slow = {"fit_seconds": 100.0}
    answers["OneWay"] = {"figures": slow}
    sets = [small("few", 20, "roll"), small("more", 100, "roll"), small("other", 100)]
    path = Run(tmp_path, settings("Linear", "OneWay"), say=list).measure_all(sets)
    rows = summary.rows_of(summary.read(path))
    assert rows["more"][0].note == "not run: over 300 s in fit with 20 rows already"
    assert "100 s with 20 rows, so beyond the cap of 300 s" in rows["more"][1].note
    assert rows["other"][1].figures == slow
    assert [job[1] for job in done if job[0] == "measure"] == ["Linear", "OneWay"] * 2


def test_refusals():
    quadratic = Method("q", None, "", bytes_per_pair=8)
    assert quadratic.refusal(1_000, 2**30) is None
    assert "about 75 GB, beyond the cap of 12 GB" in quadratic.refusal(10**5, 12 * 2**30)
    assert Method("m", None, "", most_rows=5).refusal(6, 0) == "not run beyond 5 rows"


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


def test_unknown_names_are_errors(tmp_path):
    with pytest.raises(ValueError, match=r"'Nobody'.*there are 'Linear'"):
        Run(tmp_path, settings("Nobody"))


# -- the goal


def row(method, error, seconds, *, ours=False):
    figures = {} if error is None else {"error": error, "total_seconds": seconds}
    return Row(method, method, ours, figures)


ours_good_slow = row("U", 0.2, 10.0, ours=True)
ours_fair_fast = row("D", 0.4, 1.0, ours=True)


@pytest.mark.parametrize(
    ("rivals", "kind"),
    [
        ([row("a", 0.5, 20.0), row("p", 0.9, 0.1)], goal.BOTH),
        ([row("a", 0.5, 5.0)], goal.ERROR),
        ([row("a", 0.1, 20.0)], goal.TIME),
        ([row("a", 0.1, 5.0)], goal.BEHIND),
        ([row("a", 0.1, 20.0), row("b", 0.15, 9.0)], goal.BEHIND),  # not the best rival, but ahead
        ([row("a", 0.2, 10.0)], goal.TIME),  # equal is neither faster nor better
        ([row("t", None, None)], goal.ALONE),
    ],
)
def test_verdicts(rivals, kind):
    found = goal.verdict("set", [*rivals, ours_fair_fast, ours_good_slow])
    assert found.kind == kind
    assert found.ours is ours_good_slow
    assert found.holds == (kind != goal.BEHIND)
    assert goal.sentence(found).startswith(f"set: {kind}")


def test_a_set_without_a_result_of_ours_is_behind():
    found = goal.verdict("set", [row("U", None, None, ours=True), row("a", 0.5, 1.0)])
    assert found.kind == goal.BEHIND
    assert "none of ours" in goal.sentence(found)


def test_others_of_ours_that_beat_the_best_rival():
    found = goal.verdict("set", [ours_good_slow, ours_fair_fast, row("a", 0.5, 5.0)])
    assert found.also == (ours_fair_fast,)
    assert goal.sentence(found).endswith("ahead of the best rival on both: D")


def test_the_count_and_the_names_of_who_is_ahead():
    behind = goal.verdict("one", [ours_good_slow, row("a", 0.1, 5.0)])
    both = goal.verdict("two", [ours_good_slow, row("a", 0.5, 20.0)])
    assert "behind: a (0.1 in 5 s) is faster and better than U 0.2 in 10 s" in goal.sentence(behind)
    assert goal.count([behind, both]).startswith("On 1 of 2 sets")
    assert goal.count([behind, both]).endswith("on 1 of 2 it is ahead of the best rival on both.")


# -- what is written


def record(method, seed, status="ok", detail="", data="set", **figures):
    figures = {"fit_seconds": 1.0, "transform_seconds": 1.0, "inverse_seconds": 1.0} | figures
    figures = {key: value for key, value in figures.items() if value is not None}
    return {
        "kind": "measure",
        "data": data,
        "method": method,
        "seed": seed,
        "status": status,
        "detail": detail,
        "step": "fit",
        "figures": figures,
    }


def results(jobs):
    machine = {"processor": "a chip", "cores": 2, "memory_gb": 8.0, "system": "Linux"}
    names = dict.fromkeys(job["method"] for job in jobs)
    return {
        "about": {
            "commit": "abc",
            "command": "python -m benchmarks.rivals --full",
            "conditions": {"machine": machine, "versions": {"python": "3", "rival": None}},
            "started": "then",
            "finished": "now",
        },
        "settings": {
            "mode": "full",
            "threads": 2,
            "seconds": 300.0,
            "most_bytes": 2**33,
            "seeds": [0],
        },
        "sets": [
            {"name": "set", "rows": 90, "held_out": 30, "features": 6, "classes": 2, "truth": False}
        ],
        "missing_sets": [],
        "methods": [
            {
                "name": name,
                "label": name,
                "ours": name == "UKR()",
                "settings": "defaults",
                "package": "p",
            }
            for name in names
        ],
        "jobs": jobs,
    }


def test_medians_over_seeds_and_what_went_wrong():
    jobs = [record("UKR()", seed, error=error) for seed, error in enumerate((0.3, 0.1, 0.2))]
    failed = record("b", 0, "failed", "E: x", fit_seconds=None, error=None)
    jobs += [record("b", 1, error=0.4), failed]
    ours, other = summary.rows_of(results(jobs))["set"]
    assert (ours.error, ours.seconds, ours.note) == (0.2, 3.0, "")
    assert (other.error, other.note) == (0.4, "1 of 2 seeds: failed in fit: E: x")


def test_the_page_says_where_we_are_behind(tmp_path):
    jobs = [
        record("UKR()", 0, error=0.3, accuracy=0.9, batch_gap=0.0, extra_bytes=2**29),
        record("better", 0, error=0.2, fit_seconds=0.5, batch_gap=0.4, repeat_gap=1e-9),
        record("one-way", 0, inverse_seconds=None, no_inverse=True),
        record("slow", 0, "time", "over 300 s in fit", fit_seconds=None),
        record("bars", 0, "failed", "a | b <c>", fit_seconds=None),
    ]
    verdicts = page.write_page(results(jobs), tmp_path / "rivals.md", "images/rivals.png")
    text = (tmp_path / "rivals.md").read_text()
    assert [v.kind for v in verdicts] == [goal.BEHIND]
    assert "Where we are behind:\n\n* set: behind: better (0.2 in 2.5 s) is faster" in text
    assert "On 0 of 1 sets no rival" in text
    assert "| `UKR()` | 0.300 | **0.900** |" in text
    assert "| one-way | none |" in text
    assert "| over 300 s in fit |" in text
    assert "a / b (c)" in text
    assert "| better | no (0.4) | same (to 1e-09) |" in text
    assert "rival not installed" in text
    widths = {
        line.count("|") for line in text.split("## set")[1].split("##")[0].splitlines() if line
    }
    assert widths == {0, 12 - 1}  # the sentence above, and rows that all have the same cells


def test_the_page_praises_only_what_is_so(tmp_path):
    jobs = [record("UKR()", 0, error=0.1), record("a", 0, error=0.2, fit_seconds=9.0)]
    page.write_page(results(jobs), tmp_path / "rivals.md")
    text = (tmp_path / "rivals.md").read_text()
    assert "**ahead on both**" in text
    assert "behind" not in text


def test_pictures_are_small_and_name_every_method(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        row(f"method {i}", *np.exp(rng.standard_normal(2)).tolist(), ours=i % 2 == 0)
        for i in range(15)
    ]
    paths = plots.draw_all({"one": rows, "two": rows[:3], "none": [row("t", None, None)]}, tmp_path)
    assert [path.name for path in paths] == ["rivals.png", "rivals-one.png", "rivals-two.png"]
    assert all(1_000 < path.stat().st_size <= plots.MOST_BYTES for path in paths)

    from matplotlib.figure import Figure

    ax = Figure().subplots()
    plots.pareto(ax, rows, "one", size=8)
    ax.figure.draw_without_rendering()
    plots.label_points(ax, rows, size=8)
    assert {text.get_text() for text in ax.texts} == {r.label for r in rows}
    boxes = [text.get_window_extent() for text in ax.texts]
    covered = sum(plots._overlap(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert covered < 0.02 * sum(box.width * box.height for box in boxes)


def test_the_frontier_is_what_nobody_beats():
    front = plots.frontier([row("a", 0.5, 1.0), row("b", 0.6, 2.0), row("c", 0.1, 3.0)])
    assert [r.method for r in front] == ["a", "c"]


# -- data and registry


def test_a_file_of_ones_own(tmp_path):
    X, truth = sheet()
    np.savez(tmp_path / "mine.npz", X=X * 1e3 + 5e3, y=np.arange(len(X)) % 3, truth=truth)
    prepared = from_file(tmp_path / "mine.npz").prepare(tmp_path / "out")
    again = from_file(tmp_path / "mine.npz").prepare(tmp_path / "out")
    assert prepared == again
    assert (prepared.name, prepared.rows, prepared.held_out, prepared.classes) == (
        "mine",
        96,
        24,
        3,
    )
    found = Split.load(prepared.path)
    assert np.allclose(found.X_train.mean(axis=0), 0, atol=1e-12)
    assert np.isclose(np.square(found.X_train).mean(), 1.0)
    assert found.truth_test.shape == (24, 2)


def test_an_official_split_is_kept():
    X = np.arange(40.0).reshape(20, 2)
    arrays = {"X_train": X[:15], "X_test": X[15:], "y_train": np.arange(15), "y_test": np.arange(5)}
    kept = split(arrays, most=4, held_out=3)
    assert np.array_equal(kept.X_train, X[kept.y_train])
    assert np.array_equal(kept.X_test, X[15 + kept.y_test])
    assert (len(kept.X_train), len(kept.X_test)) == (4, 3)


@pytest.mark.parametrize(
    ("arrays", "words"), [({"Y": 1}, "no array X"), ({"X_train": 1}, "no X_test")]
)
def test_a_file_without_data_is_an_error(arrays, words):
    with pytest.raises(ValueError, match=words):
        split(arrays)


def test_the_catalogue_and_the_registry_are_complete():
    names = [data.name for data in catalogue(quick=False)]
    assert len(names) == len(set(names)) == 14
    assert {"digits", "USPS", "oil flow", "MNIST", "COIL-20", "S-curve"} < set(names)
    assert "Swiss roll 100-D, 1,000,000" in names
    assert len({method.name for method in METHODS}) == len(METHODS)
    for method in METHODS:
        if method.ours:
            model = method.make(7, 1)
            assert model.get_params()["random_state"] == 7
            assert model.get_params()["n_components"] == 2


def test_the_command_shows_no_folders():
    assert shown_command(["--data", "/home/me/x.npz"]) == "python -m benchmarks.rivals --data x.npz"


def test_the_whole_from_the_command_line(fakes, tmp_path, capsys):
    X, _ = sheet()
    np.savez(tmp_path / "mine.npz", X=X)
    arguments = ["--data", str(tmp_path / "mine.npz"), "--folder", str(tmp_path / "run")]
    arguments += ["--registry", fakes, "--methods", "Linear", "Raiser", "--threads", "1"]
    command.main([*arguments, "--check"])
    out = capsys.readouterr().out
    assert "mine | Linear | seed 0 | ok" in out
    assert "mine: alone, no rival has a held-out error; Linear" in out
    kept = json.loads((tmp_path / "run" / "results.json").read_text())
    assert kept["about"]["conditions"]["versions"]["a-package"] is None
    assert "RuntimeError: no luck / today" in (tmp_path / "run" / "rivals.md").read_text()
    assert (tmp_path / "run" / "images" / "rivals.png").exists()
    command.main(
        ["--report-only", str(tmp_path / "run" / "results.json"), "--folder", str(tmp_path)]
    )
    assert (tmp_path / "rivals.md").exists()
    with pytest.raises(SystemExit, match="no set is called"):
        command.main([*arguments, "--sets", "other"])
    with pytest.raises(SystemExit, match="other conditions"):
        command.main([*arguments, "--seeds", "2"])

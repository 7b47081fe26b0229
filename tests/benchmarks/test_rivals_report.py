"""The benchmark beside the rivals: its goal, page, pictures and data."""

from pathlib import Path

import numpy as np
import pytest
from fake_rivals import sheet

from benchmarks.rivals import goal, page, plots, readme, summary
from benchmarks.rivals.data import Split, catalogue, from_file, split
from benchmarks.rivals.methods import METHODS
from benchmarks.rivals.summary import Row

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


def test_of_equal_errors_the_faster_is_the_best():
    rows = [row("slow", 0.2, 10.0, ours=True), row("fast", 0.2, 1.0, ours=True), row("a", 0.5, 5.0)]
    assert goal.verdict("set", rows).ours.method == "fast"
    assert goal.verdict("set", rows).kind == goal.BOTH


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
        record(
            "one-way", 0, inverse_seconds=None, no_inverse=True, batch_gap=1e-16, fails_alone=True
        ),
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
    assert "| **512** |" in text
    assert "| one-way | same (to 1e-16), fails for one row alone |" in text
    assert "| better | no (0.4) | same (to 1e-09) |" in text
    assert "rival not installed" in text
    widths = {
        line.count("|") for line in text.split("## set")[1].split("##")[0].splitlines() if line
    }
    assert widths == {0, 12 - 1}  # the sentence above, and rows that all have the same cells


def test_codebook_errors_are_shown_if_records_have_them(tmp_path):
    of_map = {"map_score": 1.25, "codebook_error_16": 0.6, "codebook_error_64": 0.4}
    jobs = [
        record("UKR()", 0, error=0.3, **of_map),
        record("a", 0, error=0.2, **{**of_map, "map_score": 1.0}),
        record("one-way", 0, inverse_seconds=None, no_inverse=True),
    ]
    page.write_page(results(jobs), tmp_path / "rivals.md")
    text = (tmp_path / "rivals.md").read_text()
    assert "| method | held-out error | map score | K = 16 | K = 64 | 1-NN accuracy |" in text
    assert "| `UKR()` | 0.300 | **1.25** | **0.600** | **0.400** |" in text
    assert "| a | **0.200** | 1.00 |" in text
    assert "| one-way | none | none | none | none |" in text
    assert "K = 256 |" not in text
    assert "The map score is the negative mean" in " ".join(text.split())


def test_runs_without_codebook_errors_have_a_page(tmp_path):
    stored = summary.read(Path(page.__file__).with_name("results.json"))
    for job in stored["jobs"]:
        job["figures"] = {
            name: figure
            for name, figure in job["figures"].items()
            if not name.startswith(("map_score", "codebook"))
        }
    page.write_page(stored, tmp_path / "rivals.md")
    text = (tmp_path / "rivals.md").read_text()
    assert "map score" not in text
    assert "codebook" not in text


def test_the_page_praises_only_what_is_so(tmp_path):
    jobs = [record("UKR()", 0, error=0.1), record("a", 0, error=0.2, fit_seconds=9.0)]
    page.write_page(results(jobs), tmp_path / "rivals.md")
    text = (tmp_path / "rivals.md").read_text()
    assert "**ahead on both**" in text
    assert "behind" not in text


def test_the_readme_is_written_anew_between_its_marks(tmp_path):
    path = tmp_path / "README.md"
    jobs = [record("UKR()", 0, error=0.1), record("a", 0, error=0.2, fit_seconds=9.0)]
    found = results(jobs)
    verdicts = [goal.verdict(name, rows) for name, rows in summary.rows_of(found).items()]
    path.write_text(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n")
    for _ in range(2):  # a second time changes nothing
        readme.write_section(path, verdicts, found)
        text = path.read_text()
        assert text.startswith(f"before\n{readme.BEGIN}\n")
        assert text.endswith(f"{readme.END}\nafter\n")
        assert "old" not in text
        assert "| set | `UKR()` | 0.100 | 3.00 | a | 0.200 | 11.0 | ahead on both |" in text
        assert text.count("On 1 of 1 sets") == 1
    path.write_text("no marks")
    with pytest.raises(ValueError, match=r"README\.md must have the line"):
        readme.write_section(path, verdicts, found)


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
    assert [data.name for data in catalogue(quick=False) if data.on_request] == [
        "Swiss roll 100-D, 1,000,000"
    ]
    assert len({method.name for method in METHODS}) == len(METHODS)
    for method in METHODS:
        if method.ours:
            model = method.make(7, 1)
            assert model.get_params()["random_state"] == 7
            assert model.get_params()["n_components"] == 2

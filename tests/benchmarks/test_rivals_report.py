"""The benchmark beside the rivals: its goal, page, pictures and data."""

from pathlib import Path

import numpy as np
import pytest
from fake_rivals import sheet

from benchmarks.rivals import goal, overview, page, plots, published, readme, summary
from benchmarks.rivals.data import Split, from_file, split
from benchmarks.rivals.summary import Row

# -- the goal


def row(method, error, seconds, *, ours=False, reference=False, codebook=None, **more):
    figures = {} if error is None else {"error": error, "total_seconds": seconds}
    figures |= {} if codebook is None else {"codebook_error_64": codebook}
    return Row(method, method, ours, figures | more, reference=reference)


auto = row("AutoTwoWay()", 0.2, 10.0, ours=True, codebook=0.4)
ours_better = row("D", 0.15, 1.0, ours=True, codebook=0.1)


@pytest.mark.parametrize(
    ("rivals", "kind"),
    [
        ([row("a", 0.5, 20.0, codebook=0.5), row("p", 0.9, 0.1, codebook=0.6)], goal.BOTH),
        ([row("a", 0.5, 5.0, codebook=0.5), row("b", 0.9, 5.0, codebook=0.3)], goal.ERROR),
        ([row("a", 0.1, 20.0, codebook=0.5)], goal.CODEBOOK),
        ([row("a", 0.195, 20.0, codebook=0.3)], goal.NEAR),
        ([row("a", 0.18, 20.0, codebook=0.3)], goal.BEHIND),
        ([row("a", 0.2, 10.0, codebook=0.4)], goal.NEAR),  # equal is not lower
        ([row("t", None, None)], goal.ALONE),
    ],
)
def test_verdicts(rivals, kind):
    found = goal.verdict("set", [*rivals, ours_better, auto], 1_000)
    assert found.kind == kind
    assert found.ours is auto
    assert found.best is ours_better  # does not decide
    near = not rivals[0].is_two_way or auto.error <= 1.05 * rivals[0].error
    assert found.holds == near
    assert goal.sentence(found).startswith(f"set: {kind}")


def test_reference_lines_are_never_the_best_rival():
    lookup = row("lookup", 0.01, 0.1, reference=True, codebook=0.01)
    found = goal.verdict("set", [lookup, row("a", 0.5, 5.0, codebook=0.5), auto], 1_000)
    assert (found.rival.method, found.map_rival.method) == ("a", "a")
    assert found.kind == goal.BOTH
    assert goal.verdict("set", [lookup, auto], 1_000).kind == goal.ALONE


def test_few_rows_are_compared_by_fewer_codewords():
    few = {"codebook_error_16": 0.3}
    rows = [row("AutoTwoWay()", 0.2, 1.0, ours=True, **few), row("a", 0.3, 1.0, **few)]
    assert goal.verdict("set", rows, 255).n_codes == 16
    assert goal.verdict("set", rows, 256).n_codes == 64
    assert goal.verdict("set", rows, 255).kind == goal.ERROR  # equal codebook errors


def test_no_result_of_the_automatic_choice_is_behind():
    found = goal.verdict(
        "set", [row("AutoTwoWay()", None, None, ours=True), row("a", 0.5, 1.0)], 1_000
    )
    assert found.kind == goal.BEHIND
    assert "has no result" in goal.sentence(found)
    without = goal.verdict("set", [ours_better, row("a", 0.5, 1.0)], 1_000)
    assert without.kind == goal.ALONE
    assert "our best D 0.15" in goal.sentence(without)


def test_of_equal_errors_the_faster_is_the_best():
    rows = [auto, row("slow", 0.5, 9.0), row("fast", 0.5, 5.0)]
    assert goal.verdict("set", rows, 1_000).rival.method == "fast"


def test_the_count():
    kinds = {
        "both": row("a", 0.5, 20.0, codebook=0.5),
        "error": row("a", 0.5, 5.0, codebook=0.3),
        "near": row("a", 0.195, 5.0, codebook=0.3),
        "behind": row("a", 0.1, 5.0, codebook=0.3),
        "alone": row("a", None, None),
    }
    text = goal.count([goal.verdict(name, [auto, one], 1_000) for name, one in kinds.items()])
    assert text.startswith("Of 4 sets")
    assert "with a decoder on 2, a lower codebook error on 1, and both on 1. On 3" in text
    assert "No set" in goal.count([])


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
                "ours": name in ("UKR()", "AutoTwoWay()"),
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
        record("AutoTwoWay()", 0, error=0.3, accuracy=0.9, batch_gap=0.0, extra_bytes=2**29),
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
    assert (
        "than the best rival's:\n\n* set: behind; AutoTwoWay() 0.3 in 3 s; best rival better 0.2"
        in text
    )
    assert "Of 1 sets" in text
    assert "| `AutoTwoWay()` | 0.300 | **0.900** |" in text
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


def test_reference_lines_are_last_and_never_bold(tmp_path):
    jobs = [record("UKR()", 0, error=0.3), record("lookup", 0, error=0.1, inverse_seconds=None)]
    found = results(jobs)
    found["methods"][1]["reference"] = True
    found["sets"][0]["unit"] = None
    page.write_page(found, tmp_path / "rivals.md")
    text = (tmp_path / "rivals.md").read_text()
    assert text.index("| `UKR()` | **0.300** |") < text.index("| lookup | 0.100 |")
    assert "reference line: no latents |" in text
    assert "2 classes; each column is standardized by the training rows." in text
    assert "| lookup |" not in text.split("## Promises")[1].split("## How")[0]


def test_errors_on_mnist_stand_beside_the_published_ones(tmp_path):
    jobs = [record("UKR()", 0, error=0.3, mse=0.5, data="MNIST"), record("a", 0, data="MNIST")]
    jobs.append(record("lookup", 0, error=0.1, mse=0.1, data="MNIST"))
    found = results(jobs)
    found["methods"][2]["reference"] = True
    found["sets"][0] |= {"name": "MNIST", "unit": 0.26, "held_out": 1_000}
    page.write_page(found, tmp_path / "rivals.md")
    text = (tmp_path / "rivals.md").read_text()
    section = text.split("## Published errors")[1].split("##")[0]
    assert f"| `UKR()` | {0.5 * 0.26**2:.4f} | this run |" in section
    assert "| PCA | 0.0557 | published |" in section
    assert section.index("`UKR()`") < section.index("UMAP/autoencoder")  # sorted
    assert "lookup" not in section
    assert "those of 1,000 of them" in " ".join(section.split())
    del found["sets"][0]["unit"]
    assert "this run" not in published.mnist_table(found)


def test_the_page_says_who_had_more_seeds(tmp_path):
    jobs = [record("AutoTwoWay()", seed, error=0.1) for seed in range(3)]
    jobs.append(record("a", 0, error=0.2))
    found = results(jobs)
    found["about"]["commands"] = ["one", "two"]
    page.write_page(found, tmp_path / "rivals.md")
    text = " ".join((tmp_path / "rivals.md").read_text().split())
    assert "`one`, then `two` generated this page" in text
    assert "Up to 2,000 rows 3 seeds for AutoTwoWay(), with medians" in text
    page.write_page(results(jobs[2:]), tmp_path / "rivals.md")
    assert "Seed: 0." in (tmp_path / "rivals.md").read_text()


def test_what_was_chosen_is_named(tmp_path):
    jobs = [
        record("AutoTwoWay()", seed, error=0.1, chosen=chosen)
        for seed, chosen in enumerate(("UKR", "DRUR", "UKR"))
    ]
    jobs.append(record("a", 0, error=0.2))
    page.write_page(results(jobs), tmp_path / "rivals.md")
    text = (tmp_path / "rivals.md").read_text()
    assert "| set | UKR | 0.100 |" in text
    assert "| chose UKR |" in text


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
    assert "K = " not in text


def test_the_page_praises_only_what_is_so(tmp_path):
    jobs = [record("AutoTwoWay()", 0, error=0.1, codebook_error_16=0.2)]
    jobs.append(record("a", 0, error=0.2, codebook_error_16=0.3))
    page.write_page(results(jobs), tmp_path / "rivals.md")
    text = (tmp_path / "rivals.md").read_text()
    assert "**lowest on both**" in text
    assert "behind" not in text


def test_the_readme_is_written_anew_between_its_marks(tmp_path):
    path = tmp_path / "README.md"
    jobs = [
        record("AutoTwoWay()", 0, error=0.1, codebook_error_16=0.2, chosen="UKR"),
        record("a", 0, error=0.2, fit_seconds=9.0, codebook_error_16=0.3),
        record("b", 0, error=0.3, fit_seconds=9.0, codebook_error_16=0.25),
    ]
    found = results(jobs)
    verdicts = page.verdicts_of(found)
    path.write_text(f"before\n{readme.BEGIN}\nstale\n{readme.END}\nafter\n")
    for _ in range(2):  # a second time changes nothing
        readme.write_section(path, verdicts, found)
        text = path.read_text()
        assert text.startswith(f"before\n{readme.BEGIN}\n")
        assert text.endswith(f"{readme.END}\nafter\n")
        assert "stale" not in text
        assert "| set | UKR | 0.100 | 0.200 | 3.00 | a | 0.200 | 0.300 | 11.0 | 0.250 |" in text
        assert text.count("Of 1 sets") == 1
    readme.write_start(path, verdicts, found)
    text = path.read_text()
    assert "| set | 90 | **0.100** | 3.00 | a | 0.200 | 11.0 |" in text
    assert text.count("Of 1 sets") == 1
    path.write_text("no marks")
    with pytest.raises(ValueError, match=r"README\.md must have the line"):
        readme.write_section(path, verdicts, found)


def test_the_overview_has_a_line_for_each_set_with_a_rival(tmp_path):
    rows = {
        "one": [auto, ours_better, row("a", 0.5, 5.0, codebook=0.5)],
        "two": [auto, row("k", None, None, reference=True, codebook=0.2), row("a", 1e-9, 5.0)],
        "none": [auto],
    }
    verdicts = [goal.verdict(name, some, 1_000) for name, some in rows.items()]
    path = overview.draw(verdicts, rows, tmp_path / "rivals.png")
    assert 1_000 < path.stat().st_size <= plots.MOST_BYTES
    assert overview.draw(verdicts[2:], rows, tmp_path / "nothing.png") is None


def test_pictures_are_small_and_name_every_method(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        row(f"method {i}", *np.exp(rng.standard_normal(2)).tolist(), ours=i % 2 == 0)
        for i in range(15)
    ]
    paths = plots.draw_all({"one": rows, "two": rows[:3], "none": [row("t", None, None)]}, tmp_path)
    assert [path.name for path in paths] == ["rivals-one.png", "rivals-two.png"]
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


# -- data


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

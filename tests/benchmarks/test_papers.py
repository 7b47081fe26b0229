"""The papers' experiments: records, runs that go on after errors, and the report."""

import json
import math
import re
import subprocess
import sys
import warnings
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from benchmarks import papers
from benchmarks.harness import ROOT
from benchmarks.papers.pictures import as_data_uri, draw
from benchmarks.papers.records import Absent, Experiment, Outcome, Paper, Row
from benchmarks.papers.report import report_page
from benchmarks.papers.running import run_experiment, run_papers
from benchmarks.papers.sgd2005.circle import eigenvectors
from benchmarks.papers.statistics import sampling_margin
from benchmarks.papers.verdict import VERDICTS, verdict
from twofold.cli.measurement import as_json
from twofold.datasets import data_folder

ALL = [(name, one) for name in papers.NAMES for one in papers.paper(name).experiments]
IDS = [f"{name}-{one.name}" for name, one in ALL]
QUICKEST = {"sgd2005-eigenvectors"}
"""Needs no data, takes a second and reaches the paper's figures in all rows."""


def fake(name, run, **settings):
    words = {"title": f"Title of {name}", "where": "Fig. 1", "reports": "“words”"}
    return Experiment(name=name, run=run, **(words | settings))


def measured(*rows, **more):
    return lambda quick, folder: Outcome(rows=list(rows), **more)


def run(tmp_path, *experiments, quick=False):
    paper = Paper("fake2000", "A. Author. A paper.", "a method", experiments, ("A table.",))
    lines = []
    results = run_papers([paper], quick=quick, folder=tmp_path, progress=lines.append)
    return results, report_page(results, tmp_path), lines


class Page(HTMLParser):
    """Collects tags with their attributes, and complains about tags that are not closed."""

    void = {"meta", "img", "br", "link"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.words = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


class TestRecords:
    def test_names_are_those_of_the_papers(self):
        assert [papers.paper(name).name for name in papers.NAMES] == list(papers.NAMES)
        assert len(set(IDS)) == len(IDS)

    @pytest.mark.parametrize(("paper", "experiment"), ALL, ids=IDS)
    def test_every_experiment_says_what_and_where(self, paper, experiment):
        assert re.fullmatch(r"[a-z_]+", experiment.name)
        for text in (experiment.title, experiment.where, experiment.reports):
            assert len(text) > 5
            assert text == text.strip()
        assert re.search(r"section|fig|table|abstract|beyond", experiment.where, re.IGNORECASE)
        assert callable(experiment.run)
        assert experiment.run.__doc__
        assert not experiment.quick.endswith(".")
        assert all(need.endswith(".npz") for need in experiment.needs)

    @pytest.mark.parametrize("name", papers.NAMES)
    def test_every_paper_says_what_is_missing(self, name):
        paper = papers.paper(name)
        assert re.search(r"20\d\d", paper.citation)
        assert paper.missing
        assert all(sentence.endswith(".") for sentence in paper.missing)

    def test_quotations_are_closed(self):
        for _, experiment in ALL:
            assert experiment.reports.count("“") == experiment.reports.count("”"), experiment.name


class TestNames:
    def test_all_and_parts(self):
        assert [paper.name for paper in papers.papers_of("all")] == list(papers.NAMES)
        (one,) = papers.papers_of(["ukr2005:times", "ukr2005:spiral", "ukr2005:times"])
        assert [experiment.name for experiment in one.experiments] == ["spiral", "times"]
        first, second = papers.papers_of(["rpm2001", "ukr2005:spiral", "rpm2001:oil"])
        assert (first.name, second.name) == ("rpm2001", "ukr2005")
        assert first == papers.paper("rpm2001")

    @pytest.mark.parametrize("names", ["ukr", ["ukr2005:nothing"], [], [""], "ukr2005:"])
    def test_unknown_names(self, names):
        with pytest.raises(ValueError, match=r"ukr2005|spiral"):
            papers.papers_of(names)


class TestVerdicts:
    @pytest.mark.parametrize(
        ("row", "expected"),
        [
            (Row("q", 1.0, 1.04, "lower"), "met"),
            (Row("q", 1.0, 1.06, "lower"), "below"),
            (Row("q", 1.0, 0.9, "lower"), "better"),
            (Row("q", 1.0, 0.9, "higher"), "below"),
            (Row("q", -1.0, -1.04, "higher"), "met"),
            (Row("q", 0.0, 0.0, "lower"), "met"),
            (Row("q", 2, 2.5, "lower", margin=0.5), "met"),
            (Row("q", 2, 2.6, "lower", margin=0.5), "below"),
            (Row("q", 1.0, 1.0), ""),
            (Row("q", "words", 1.0, "lower"), ""),
            (Row("q", None, 1.0, "lower"), ""),
            (Row("q", 1.0, "words", "lower"), ""),
            (Row("q", 1.0, None, "lower"), ""),
            (Row("q", 1.0, True, "lower"), ""),
            (Row("q", "words", 1.0, "lower", bound=1.0), "met"),
            (Row("q", "words", 1.01, "lower", bound=1.0), "below"),
            (Row("q", "words", 0.99, "higher", bound=1.0), "below"),
            (Row("q", 1.0, math.nan, "lower"), "no number"),
            (Row("q", "words", -math.inf, "lower", bound=1.0), "no number"),
        ],
    )
    def test_verdict(self, row, expected):
        assert verdict(row) == expected
        assert expected in VERDICTS

    def test_each_column_has_its_verdict(self):
        row = Row("q", 1.0, 2.0, "lower", default=0.5)
        assert verdict(row, "literal") == "below"
        assert verdict(row, "default") == "better"
        assert verdict(Row("q", 1.0, better="lower"), "default") == ""

    def test_chance_is_the_quartile_on_the_side_of_the_figure(self):
        values = [10.0, 11.0, 12.0, 14.0, 18.0]
        assert sampling_margin(values, 11.5) == 1.0
        assert sampling_margin(values, 40.0) == 2.0

    def test_a_wide_scatter_does_not_make_twice_the_figure_equal(self):
        values = [0.001, 0.004, 0.009, 0.012, 0.03]
        row = Row("q", 0.0043, 0.009, "lower", sampling_margin(values, 0.0043))
        assert verdict(row) == "below"


class TestRunning:
    def test_what_was_measured_is_kept(self, tmp_path):
        row = Row("error", 1.0, np.float32(2.0), "lower", beside="PCA 3", note="One sample.")
        one = fake("a", measured(row, numbers={"x": np.arange(3), 5: (1, None)}, seeds=[7]))
        results, _, lines = run(tmp_path, one)
        assert json.loads((tmp_path / "results.json").read_text()) == results
        found = results["papers"]["fake2000"]["experiments"]["a"]
        assert found["status"] == "done"
        assert found["numbers"] == {"x": [0, 1, 2], "5": [1, None]}
        assert found["seeds"] == [7]
        assert found["rows"][0]["literal"] == 2.0
        assert found["rows"][0]["verdicts"] == {"literal": "below", "default": ""}
        assert {"commit", "versions", "machine", "seconds", "started", "quick"} <= set(results)
        assert lines[0].startswith("fake2000, a: ")
        assert "1 below" in lines[0]

    def test_an_error_is_a_result_and_the_run_goes_on(self, tmp_path):
        def fails(quick, folder):
            raise KeyError("<b>no such key</b>")

        results, page, lines = run(tmp_path, fake("bad", fails), fake("good", measured()))
        bad, good = results["papers"]["fake2000"]["experiments"].values()
        assert (bad["status"], good["status"]) == ("failed", "done")
        assert "test_papers.py" in bad["traceback"]
        assert "KeyError" in page
        assert "<b>" not in page
        assert "failed" in lines[0]
        assert len(lines) == 2

    def test_absent_data_are_said_so_and_nothing_runs(self, tmp_path, monkeypatch):
        monkeypatch.setenv("TWOFOLD_DATA", str(tmp_path / "nowhere"))
        one = fake("a", lambda quick, folder: 1 / 0, needs=("mnist.npz", "usps.npz"))
        results, page, _ = run(tmp_path, one)
        found = results["papers"]["fake2000"]["experiments"]["a"]
        assert found["status"] == "absent"
        assert "mnist.npz, usps.npz" in found["error"]
        assert "TWOFOLD_DATA" in page

    def test_absent_packages_are_said_so(self, tmp_path):
        def needs_more(quick, folder):
            raise Absent("a-package is not installed")

        results, page, _ = run(tmp_path, fake("a", needs_more))
        assert results["papers"]["fake2000"]["experiments"]["a"]["status"] == "absent"
        assert "a-package is not installed" in page

    def test_interrupts_are_not_swallowed(self, tmp_path):
        def interrupted(quick, folder):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, fake("first", measured()), fake("second", interrupted))
        kept = json.loads((tmp_path / "results.json").read_text())
        assert list(kept["papers"]["fake2000"]["experiments"]) == ["first"]

    def test_what_is_no_number_stays_readable(self, tmp_path):
        rows = [Row("a", 1.0, math.nan, "lower"), Row("b", math.inf, 2.0, "lower")]
        results, page, _ = run(tmp_path, fake("a", measured(*rows, numbers={"x": [math.nan]})))
        found = results["papers"]["fake2000"]["experiments"]["a"]
        assert [row["verdicts"]["literal"] for row in found["rows"]] == ["no number", ""]
        assert found["numbers"] == {"x": [None]}
        assert "not a number" in page
        assert as_json({"a": {1.5, 2.5} & {1.5}}) == {"a": "{1.5}"}

    def test_warnings_are_counted_whatever_their_numbers(self, tmp_path):
        def warns(quick, folder):
            for number in (1, 2.5, 3e-11):
                warnings.warn(f"x=7: falling by {number} %.", stacklevel=1)
            warnings.warn("", stacklevel=1)
            return Outcome(rows=[])

        results, page, _ = run(tmp_path, fake("a", warns))
        found = results["papers"]["fake2000"]["experiments"]["a"]["warnings"]
        assert sorted(found.values()) == [1, 3]
        assert "Warned 3 x: UserWarning" in page

    def test_only_what_was_left_out_is_marked_quick(self, tmp_path):
        row = Row("error", 1.0, 1.0, "lower")
        pair = (fake("a", measured(row), quick="half of it"), fake("b", measured(row)))
        for quick, marks in ((True, 1), (False, 0)):
            _, page, _ = run(tmp_path, *pair, quick=quick)
            assert page.count('<span class="quick">quick</span>') == marks
            assert ("Measured quickly: half of it." in page) == quick

    def test_main(self, tmp_path, monkeypatch, caplog):
        paper = Paper("ukr2005", "A. Author.", "m", (fake("one", measured()),), ())
        monkeypatch.setattr(papers, "paper", lambda name: paper)
        path = papers.main(["ukr2005"], quick=True, folder=tmp_path / "new" / "folder")
        assert path == tmp_path / "new" / "folder" / "report.html"
        assert path.read_text().startswith("<!doctype html>")
        assert "ukr2005, one" in caplog.text

        def fails(quick, folder):
            raise OSError("disk")

        paper = Paper("ukr2005", "A. Author.", "m", (fake("bad", fails), *paper.experiments), ())
        lines = []
        with pytest.raises(papers.ExperimentsFailed, match="ukr2005:bad") as failure:
            papers.main("ukr2005", folder=tmp_path, progress=lines.append)
        assert failure.value.failed == ["ukr2005:bad"]
        assert failure.value.report.is_file()
        assert len(lines) == 2


class TestReport:
    def test_it_is_one_page_without_scripts_or_network(self, tmp_path):
        def draws(quick, folder):
            pictures = draw(
                folder / "p.png", "a line", (20, 4), lambda f: f.add_subplot().plot([1])
            )
            return Outcome(
                rows=[Row("error", "“words”", 0.5, "lower", bound=0.7)], pictures=pictures
            )

        results, page, _ = run(tmp_path, fake("a", draws))
        parsed = Page(page)
        assert parsed.all("script") == []
        assert parsed.all("link") == []
        (image,) = parsed.all("img")
        assert image["src"].startswith("data:image/png;base64,")
        assert image["alt"]
        assert "//" not in page.replace("data:image/png;base64," + image["src"][22:], "")
        assert "url(" not in page
        policy = next(m["content"] for m in parsed.all("meta") if "http-equiv" in m)
        assert "default-src 'none'" in policy
        assert any(m.get("name") == "viewport" for m in parsed.all("meta"))
        assert "prefers-color-scheme: dark" in page
        assert "read as &le; 0.7" in page
        file = results["papers"]["fake2000"]["experiments"]["a"]["pictures"][0]["file"]
        assert (tmp_path / file).is_file()  # a path within the folder, which may be moved

    def test_it_can_be_made_again_from_results(self, tmp_path):
        _, page, _ = run(tmp_path, fake("a", measured(Row("error", 1.0, math.nan, "lower"))))
        again = json.loads((tmp_path / "results.json").read_text())
        assert report_page(again, tmp_path) == page

    def test_texts_are_escaped(self, tmp_path):
        evil = "<script>alert('x')</script>&\"quote\""
        row = Row(evil, evil, evil, default=evil, beside=evil, note=evil)
        one = fake("a", measured(row), title=evil, where=evil, reports=evil, quick=evil)
        paper = Paper("fake2000", evil, evil, (one,), (evil,))
        results = run_papers([paper], quick=True, folder=tmp_path, progress=lambda line: None)
        page = report_page(results, tmp_path)
        assert Page(page).all("script") == []
        assert page.count("&lt;script&gt;") >= 10
        assert evil in "".join(Page(page).words)

    def test_counts(self, tmp_path):
        rows = [Row("a", 1.0, h, "lower", default=h) for h in (1.0, 0.5, 2.0, 3.0)]
        rows += [Row("b", None, 1.0), Row("c", 1.0)]
        _, page, _ = run(tmp_path, fake("a", measured(*rows)))
        summary = page[page.index('class="summary"') :]
        cells = re.findall(r'<td class="count">(\d*)</td>', summary[: summary.index("</table>")])
        assert cells[:4] == ["1", "1", "2", "1"]
        assert cells[5:9] == ["1", "1", "2", ""]
        assert "absent" not in summary[: summary.index("</table>")]

    def test_pictures_are_small_and_of_few_colors(self, tmp_path):
        def paint(figure):
            figure.add_subplot().imshow(np.random.default_rng(0).random((300, 300)))

        (picture,) = draw(tmp_path / "sub" / "p.png", "noise", (16, 8), paint)
        uri, wide = as_data_uri(picture.path)
        assert wide
        assert len(uri) < 0.8 * picture.path.stat().st_size

    def test_no_pictures_without_matplotlib(self, tmp_path, monkeypatch):
        monkeypatch.setattr("benchmarks.papers.pictures.is_installed", lambda module: False)
        assert draw(tmp_path / "p.png", "a", (4, 4), lambda figure: 1 / 0) == []


def command(*arguments):
    words = [sys.executable, "-m", "benchmarks.papers", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)


class TestCommand:
    def test_it_writes_a_report(self, tmp_path):
        done = command("sgd2005:eigenvectors", "--quick", "-o", tmp_path)
        assert done.returncode == 0
        assert Path(done.stdout.strip()) == tmp_path / "report.html"
        assert "eigenvectors" in done.stderr

    def test_unknown_names_are_wrong_usage(self, tmp_path):
        done = command("nothing", "-o", tmp_path / "new")
        assert done.returncode == 2
        assert "ukr2005" in done.stderr
        assert not (tmp_path / "new").exists()


def checked(paper, experiment, tmp_path):
    """Run an experiment quickly; whatever it measured has to be complete and writable."""
    result = run_experiment(experiment, quick=True, folder=tmp_path / paper)
    if result["status"] == "absent":
        pytest.skip(result["error"])
    assert result["status"] == "done", result["traceback"]
    json.dumps(result, allow_nan=False)
    assert result["rows"] or result["pictures"]
    assert not any("no number" in row["verdicts"].values() for row in result["rows"])
    for picture in result["pictures"]:
        assert Path(picture["file"]).read_bytes().startswith(b"\x89PNG")
    return result


@pytest.mark.parametrize(
    ("paper", "experiment"),
    [pair for pair, name in zip(ALL, IDS, strict=True) if name in QUICKEST],
    ids=[name for name in IDS if name in QUICKEST],
)
def test_the_quickest_experiments(paper, experiment, tmp_path):
    result = checked(paper, experiment, tmp_path)
    judged = [word for row in result["rows"] for word in row["verdicts"].values() if word]
    assert judged
    assert set(judged) <= {"met", "better"}


@pytest.mark.slow
@pytest.mark.skipif(
    not (data_folder() / "oil_flow.npz").is_file(), reason="no oil flow data in the data folder"
)
def test_the_graph_of_the_oil_flow_data_is_connected_from_46_neighbors_on(tmp_path):
    oil_starts = papers.papers_of("ukr2005:oil_starts")[0].experiments[0]
    connected, larger, _ = checked("ukr2005", oil_starts, tmp_path)["rows"]
    assert connected["literal"] == connected["paper"] == 46
    assert larger["verdicts"]["literal"] == "met"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "experiment"),
    [pair for pair, name in zip(ALL, IDS, strict=True) if name not in QUICKEST],
    ids=[name for name in IDS if name not in QUICKEST],
)
def test_every_experiment_quickly(paper, experiment, tmp_path):
    checked(paper, experiment, tmp_path)


def test_an_experiment_repeats(tmp_path):
    first, second = (eigenvectors(True, tmp_path).numbers for _ in range(2))
    assert first == second

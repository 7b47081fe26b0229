"""The documentation of the papers' results: kept records, and pages written from them alone."""

import json
import math

import pytest

from benchmarks import geometry, many_rows, map_quality, papers
from benchmarks.harness import ROOT, kept
from benchmarks.papers import pages, publishing
from benchmarks.papers.__main__ import run as command
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Experiment, Outcome, Paper, Row
from benchmarks.papers.report import report_page
from benchmarks.papers.running import run_papers

PUBLISHED = [name for name in papers.NAMES if publishing.records(name)]


def section_of(page, begin, end):
    return page.read_text(encoding="utf-8").split(begin)[1].split(end)[0].strip("\n")


def fake(name, run):
    return Experiment(
        name=name, title=f"Title of {name}", where="Fig. 1", reports="“a|b*”", run=run
    )


def two_experiments(value):
    def first(quick, folder):
        drawn = draw(folder / "a.png", "a line", (4, 3), lambda f: f.add_subplot().plot([1]))
        rows = [
            Row("error_a", 1.0, value, "lower", default=1.0, note="One sample.", highlight=True),
            Row("words", "“recovers”", 0.5, "higher", bound=0.9, beside="PCA 3"),
            Row("no number", 1.0, math.nan, "lower", 0.25),
        ]
        return Outcome(rows=rows, pictures=drawn, seeds=[3, 4, 5])

    second = lambda quick, folder: Outcome(rows=[Row("count", 46, 46, default=47)])
    experiments = (fake("first", first), fake("second", second))
    return Paper("ukr2005", "A. Author. A_paper", "UKR", experiments, ("A table.",))


@pytest.fixture
def empty_house(tmp_path, monkeypatch):
    """A documentation and records of their own."""
    docs, records = tmp_path / "docs", tmp_path / "records"
    docs.mkdir()
    (records / "ukr2005").mkdir(parents=True)
    for file in ("reproduce.md", "measured.md"):
        (docs / file).write_text(f"before\n{pages.BEGIN}\n{pages.END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(publishing, "DOCS", docs)
    monkeypatch.setattr(publishing, "RECORDS", records)
    return docs


def publish(tmp_path, monkeypatch, paper, name="run"):
    monkeypatch.setattr(publishing, "paper", lambda _: paper)
    folder = tmp_path / name
    folder.mkdir()
    results = run_papers([paper], quick=False, folder=folder, progress=lambda line: None)
    report_page(results, folder)
    return publishing.publish([folder])


def test_pages_hold_the_figures_of_a_run(tmp_path, monkeypatch, empty_house):
    publish(tmp_path, monkeypatch, two_experiments(2.0))
    page = (empty_house / "papers" / "ukr2005.md").read_text(encoding="utf-8")
    assert "| error\\_a (1) | 1 | 2, **below** | 1, met |  |" in page
    assert "(1) One sample." in page
    assert "“recovers” (read as ≥ 0.9) | 0.5, **below** |  | PCA 3 |" in page
    assert "| no number | 1 ± 0.25 | **not a number** |" in page
    assert "| count | 46 | 46 | 47 |" in page  # no column that no row fills
    assert "“a\\|b\\*”" in page
    assert "Seeds: 3 to 5." in page
    assert "* A table." in page
    assert (empty_house / "papers" / "../images/papers/ukr2005/a.png").is_file()
    summary = (empty_house / "reproduce.md").read_text(encoding="utf-8")
    assert summary.startswith("before\n")
    assert summary.endswith("after\n")
    assert (
        "| [ukr2005](papers/ukr2005.md) | Title of first | error\\_a | 1 | 2, **below** |"
        in summary
    )
    assert "| no number |" in summary
    assert "| count |" not in summary
    highlights = (empty_house / "measured.md").read_text(encoding="utf-8")
    assert "error\\_a" in highlights
    assert "words" not in highlights


def test_a_later_run_replaces_only_its_experiments(tmp_path, monkeypatch, empty_house):
    paper = two_experiments(2.0)
    publish(tmp_path, monkeypatch, paper)
    again = Paper("ukr2005", paper.citation, "UKR", (two_experiments(0.5).experiments[0],))
    monkeypatch.setattr(publishing, "paper", lambda _: paper)
    folder = tmp_path / "again"
    folder.mkdir()
    run_papers([again], quick=False, folder=folder, progress=lambda line: None)
    publishing.publish([folder])
    page = (empty_house / "papers" / "ukr2005.md").read_text(encoding="utf-8")
    assert "0.5, better" in page
    assert "| count | 46 | 46 | 47 |" in page


def test_experiments_and_pictures_that_are_gone_leave(tmp_path, monkeypatch, empty_house):
    paper = two_experiments(2.0)
    publish(tmp_path, monkeypatch, paper)
    rest = Paper("ukr2005", paper.citation, "UKR", paper.experiments[1:])
    publish(tmp_path, monkeypatch, rest, "rest")
    assert list(publishing.records("ukr2005")) == ["second"]
    assert not publishing.picture_path("ukr2005").exists()


def test_the_command_publishes_folders_of_runs(tmp_path, capsys, monkeypatch):
    with pytest.raises(SystemExit) as stop:
        command(["publish", str(tmp_path)])
    assert stop.value.code == 2
    assert "results.json" in capsys.readouterr().err
    (tmp_path / "results.json").write_text('{"quick": true, "papers": {}}')
    with pytest.raises(SystemExit):
        command(["publish", str(tmp_path)])
    assert "quick run" in capsys.readouterr().err
    monkeypatch.setattr(publishing, "publish", lambda folders: [*folders, "page.md"])
    assert command(["publish", str(tmp_path)]) == 0
    assert "page.md" in capsys.readouterr().out


def test_all_papers_are_published():
    assert tuple(PUBLISHED) == papers.NAMES


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_page_of_a_paper_is_written_from_its_records(name):
    page = ROOT / "docs" / "papers" / f"{name}.md"
    written = pages.paper_page(papers.paper(name), publishing.records(name))
    assert page.read_text(encoding="utf-8") == written


@pytest.mark.parametrize("name", PUBLISHED)
def test_records_are_those_of_full_runs_of_a_commit(name):
    for title, one in publishing.records(name).items():
        assert one["status"] == "done", title
        assert one["quick"] == "", title
        assert "dirty" not in one["run"]["commit"], title
        for picture in one["pictures"]:
            assert publishing.picture_path(picture["file"]).is_file()
    assert set(publishing.records(name)) == {one.name for one in papers.paper(name).experiments}


@pytest.mark.parametrize("file", ["reproduce.md", "measured.md"])
def test_sections_are_written_from_the_records(file):
    found = {name: publishing.records(name) for name in PUBLISHED}
    written = {"reproduce.md": pages.summary_section, "measured.md": pages.highlights_section}
    shown = section_of(ROOT / "docs" / file, pages.BEGIN, pages.END)
    assert shown == written[file](found).strip("\n")


@pytest.mark.parametrize(
    "benchmark", [geometry, map_quality, many_rows], ids=lambda one: one.__name__
)
def test_measured_parts_are_written_from_their_records(benchmark):
    found = kept.read(benchmark.KEPT)
    assert found
    page = ROOT / "docs" / "measured.md"
    assert section_of(page, *benchmark.MARKS) == benchmark.section(found)


def test_a_part_measured_again_replaces_its_record(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- a -->\n<!-- b -->\n", encoding="utf-8")
    path = tmp_path / "kept.json"
    for figures in ({"x": 1.0}, {"x": 2.0, "y": 3}):
        measured = {"one": kept.recorded({"row": figures})}
        kept.publish(
            path,
            measured,
            ["zero", "one"],
            page,
            ("<!-- a -->", "<!-- b -->"),
            lambda parts: kept.figures_table("", parts["one"]["figures"]),
        )
    assert "| row | 2 | 3 |" in page.read_text(encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8"))["one"]["figures"] == {"row": figures}

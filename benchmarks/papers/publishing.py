"""Keep the results of runs in the repository, and write the documentation from them.

    python -m benchmarks.papers publish twofold-papers

Each paper has its records in ``benchmarks/papers/<paper>/results.json`` and its pictures in
``docs/images/papers/<paper>``. An experiment that was run again replaces its former record; the
others stay, with the commit and date of their own run. The pages are written from the records
alone, so that no figure of the papers' experiments is typed by hand.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT
from benchmarks.harness.records import write_json, write_text
from benchmarks.harness.sections import write_section
from benchmarks.papers import NAMES, pages, paper
from benchmarks.papers.pictures import as_png

DOCS = ROOT / "docs"
RECORDS = ROOT / "benchmarks" / "papers"
OF_A_RUN = ("commit", "started", "versions", "machine")
"""Facts of a run that every experiment keeps."""


def publish(folders: list[Path]) -> list[Path]:
    """Keep the results in folders of runs, write the documentation, and return its pages."""
    runs = [json.loads((one / "results.json").read_text(encoding="utf-8")) for one in folders]
    for folder, results in zip(folders, runs, strict=True):
        if results["quick"]:
            raise ValueError(f"{folder} has the results of a quick run; only full runs are kept.")
    for folder, results in zip(folders, runs, strict=True):
        for name, run in results["papers"].items():
            keep(name, run["experiments"], {key: results[key] for key in OF_A_RUN}, folder)
    return write_pages()


def keep(name: str, experiments: dict[str, Any], run: dict[str, Any], folder: Path) -> None:
    """Add the experiments of a run to the records of a paper."""
    kept = records(name)
    for title, result in experiments.items():
        shown = [dict(picture) for picture in result["pictures"]]
        for picture in shown:
            picture["file"] = f"{name}/{Path(picture['file']).name}"
        drawn = zip(result["pictures"], shown, strict=True)
        for source, target in ((folder / a["file"], picture_path(b["file"])) for a, b in drawn):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(as_png(source)[0])
        kept[title] = result | {"pictures": shown, "run": run}
    order = [one.name for one in paper(name).experiments]
    current = {title: kept[title] for title in order if title in kept}
    write_json(RECORDS / name / "results.json", current)
    remove_unused_pictures(name, current)


def records(name: str) -> dict[str, Any]:
    """Return the kept experiments of a paper, none if it was never published."""
    path = RECORDS / name / "results.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def picture_path(file: str) -> Path:
    """Return where the documentation has a picture."""
    return DOCS / "images" / "papers" / file


def remove_unused_pictures(name: str, kept: dict[str, Any]) -> None:
    """Remove the pictures of a paper that no record names."""
    used = {picture_path(picture["file"]) for one in kept.values() for picture in one["pictures"]}
    folder = picture_path(name)
    for path in sorted(folder.glob("*.png")) if folder.is_dir() else ():
        if path not in used:
            path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        shutil.rmtree(folder)


def write_pages() -> list[Path]:
    """Write one page for each paper, and the sections of the two pages that sum them up."""
    kept = {name: found for name in NAMES if (found := records(name))}
    written = []
    for name, experiments in kept.items():
        path = DOCS / "papers" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        written.append(write_text(path, pages.paper_page(paper(name), experiments)))
    for file, section in (
        ("reproduce.md", pages.summary_section(kept)),
        ("measured.md", pages.highlights_section(kept)),
    ):
        write_section(DOCS / file, pages.BEGIN, pages.END, section)
        written.append(DOCS / file)
    return written

"""Run experiments one after the other and keep the result of each.

An experiment cannot end the run: missing data or packages and errors are results too. Each result
is a plain dict that JSON can hold. The report needs nothing else.
"""

from __future__ import annotations

import re
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.harness.records import described, write_json
from benchmarks.papers.records import Absent, Experiment, Outcome, Paper, Row
from benchmarks.papers.verdict import COLUMNS, verdict
from twofold.cli.measurement import as_json
from twofold.datasets import data_folder

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,.]*(e[-+]?\d+)?")

DONE, ABSENT, FAILED = "done", "absent", "failed"


def run_papers(
    papers: list[Paper], *, quick: bool, folder: Path, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Run all experiments of some papers and return the results.

    ``results.json`` in the folder, which must exist, is updated after each experiment, and
    ``progress`` is called with one line.
    """
    began = time.perf_counter()
    results: dict[str, Any] = {
        "quick": quick,
        **described("matplotlib", "umap-learn", "ugtm", "torch"),
        "papers": {},
    }
    for paper in papers:
        found: dict[str, Any] = {}
        results["papers"][paper.name] = {
            "citation": paper.citation,
            "method": paper.method,
            "missing": list(paper.missing),
            "experiments": found,
        }
        for experiment in paper.experiments:
            result = run_experiment(experiment, quick=quick, folder=folder / paper.name)
            for picture in result["pictures"]:  # relative, so that the folder may be moved
                picture["file"] = Path(picture["file"]).relative_to(folder).as_posix()
            found[experiment.name] = result
            results["seconds"] = round(time.perf_counter() - began, 1)
            write_json(folder / "results.json", results)
            progress(f"{paper.name}, {experiment.name}: {_in_short(result)}")
    return results


def run_experiment(experiment: Experiment, *, quick: bool, folder: Path) -> dict[str, Any]:
    """Run one experiment and return its result, also after an error, in types that JSON has."""
    status, error, trace = DONE, "", ""
    outcome = Outcome(rows=[])
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _check_data(experiment.needs)
            outcome = experiment.run(quick, folder)
        except Absent as absent:
            status, error = ABSENT, str(absent)
        except Exception as raised:  # noqa: BLE001 - the run goes on after any error
            status, error = FAILED, f"{type(raised).__name__}: {raised}"
            trace = traceback.format_exc()
    quickly = bool(quick and experiment.quick and status == DONE)
    result: dict[str, Any] = {
        "title": experiment.title,
        "where": experiment.where,
        "reports": experiment.reports,
        "status": status,
        "error": error,
        "traceback": trace,
        "quick": experiment.quick if quickly else "",
        "seconds": round(time.perf_counter() - began, 2),
        "seeds": outcome.seeds,
        "rows": [_row(row) for row in outcome.rows],
        "numbers": outcome.numbers,
        "pictures": [{"file": str(p.path), "caption": p.caption} for p in outcome.pictures],
        "warnings": _counted(caught),
    }
    return {key: as_json(value) for key, value in result.items()}


def _check_data(files: tuple[str, ...]) -> None:
    """Raise `Absent` for files that are not in the data folder."""
    folder = data_folder()
    absent = [file for file in files if not (folder / file).is_file()]
    if absent:
        raise Absent(
            f"{', '.join(absent)} not in the data folder "
            "(the environment variable TWOFOLD_DATA names it)"
        )


def _row(row: Row) -> dict[str, Any]:
    return asdict(row) | {"verdicts": {column: verdict(row, column) for column in COLUMNS}}


def _counted(caught: list[warnings.WarningMessage]) -> dict[str, int]:
    """Count warnings by category and first line, with the numbers in them replaced by dots."""
    said = [
        f"{one.category.__name__}: {(str(one.message) or '-').splitlines()[0]}" for one in caught
    ]
    return dict(Counter(NUMBER.sub("...", text) for text in said).most_common(10))


def _in_short(result: dict[str, Any]) -> str:
    if result["status"] != DONE:
        return f"{result['status']}, {result['error']}"
    said = []
    for column in COLUMNS:
        found = Counter(row["verdicts"][column] for row in result["rows"])
        counts = ", ".join(f"{count} {word}" for word, count in found.items() if word)
        said.append(f"{column}: {counts}" if counts else "")
    return f"{result['seconds']:.1f} s; {'; '.join(filter(None, said)) or 'nothing to compare'}"

"""Run experiments one after the other, and keep what came of each.

Nothing that an experiment does ends the run: data or packages that are absent are said so, an error is kept as its result.
Each result is a plain dict that JSON can hold, in which the report finds all it needs.
"""

from __future__ import annotations

import json
import math
import re
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from twofold.datasets import data_folder
from twofold.numerics.files import whole_file
from twofold.reproduce.machine import commit, described_machine, versions
from twofold.reproduce.records import Absent, Experiment, Outcome, Paper, Row
from twofold.reproduce.verdicts import verdict

__all__ = ["as_json", "run_experiment", "run_papers", "written"]

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,.]*(e[-+]?\d+)?")

DONE, ABSENT, FAILED = "done", "absent", "failed"


def run_papers(
    papers: list[Paper], *, quick: bool, folder: Path, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Run all experiments of some papers; ``results.json`` in the folder grows with each.

    Parameters
    ----------
    papers : list of Paper
        What to run, in this order.
    quick : bool
        Whether to run the quick forms.
    folder : Path
        Where results and pictures go; it exists.
    progress : callable
        Called with one line after each experiment.

    Returns
    -------
    dict
        The results as in ``results.json``.
    """
    began = time.perf_counter()
    results: dict[str, Any] = {
        "quick": quick,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "versions": versions(),
        "machine": described_machine(),
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
            for picture in result["pictures"]:  # so that the folder may be moved
                picture["file"] = Path(picture["file"]).relative_to(folder).as_posix()
            found[experiment.name] = result
            results["seconds"] = round(time.perf_counter() - began, 1)
            written(folder / "results.json", json.dumps(results, indent=1, allow_nan=False))
            progress(f"{paper.name}, {experiment.name}: {_in_short(result)}")
    return results


def run_experiment(experiment: Experiment, *, quick: bool, folder: Path) -> dict[str, Any]:
    """Run one experiment, whatever it does, and return what came of it as JSON can hold it."""
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
        except Exception as raised:  # noqa: BLE001 - whatever it is, the run goes on
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
            f"{', '.join(absent)} not in the data folder (the environment variable TWOFOLD_DATA names it)"
        )


def _row(row: Row) -> dict[str, Any]:
    cells = ("quantity", "paper", "here", "better", "bound", "beside", "note", "form")
    return {cell: getattr(row, cell) for cell in cells} | {"verdict": verdict(row)}


def _counted(caught: list[warnings.WarningMessage]) -> dict[str, int]:
    """Return the kind and the first line of the warnings, whose numbers may differ, and how often they were given."""
    said = [
        f"{one.category.__name__}: {(str(one.message) or '-').splitlines()[0]}" for one in caught
    ]
    return dict(Counter(NUMBER.sub("...", text) for text in said).most_common(10))


def _in_short(result: dict[str, Any]) -> str:
    if result["status"] != DONE:
        return f"{result['status']}, {result['error']}"
    verdicts = Counter(row["verdict"] for row in result["rows"] if row["verdict"])
    counts = ", ".join(f"{count} {word}" for word, count in verdicts.items())
    return f"{result['seconds']:.1f} s; {counts or 'nothing to compare'}"


def as_json(value: Any) -> Any:
    """Return the same in types that JSON has; what is not a finite number becomes null."""
    if isinstance(value, dict):
        return {str(key): as_json(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, list | tuple | range):
        return [as_json(one) for one in value]
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def written(path: Path, text: str) -> Path:
    """Write a file that is complete or as it was before."""
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return path

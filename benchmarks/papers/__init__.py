"""The experiments of the five papers, with the papers' numbers beside ours.

``python -m benchmarks.papers all --quick`` from the root of a clone runs them and writes one page,
``report.html``, that needs no network and no scripts, and ``results.json``. ``ukr2005:spiral``
names a single experiment. Each paper is a package here: ``paper.toml`` lists its experiments with
the words and figures of the paper, and each experiment is a function ``run(quick, folder)``.
Running (`running`) and reporting (`report`) are separate.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from benchmarks.harness.records import write_text
from benchmarks.papers.records import Experiment, Paper

NAMES = ("ukr2005", "sgd2005", "rpm2001", "pdrur2010", "sisomap2012")
"""The papers: the first author's method and the year."""

_logger = logging.getLogger(__name__)


class ExperimentsFailed(RuntimeError):
    """Some experiments raised an error. The report is complete and holds their messages."""

    def __init__(self, report: Path, failed: list[str]) -> None:
        super().__init__(f"{', '.join(failed)} failed; {report} says why.")
        self.report, self.failed = report, failed


def paper(name: str) -> Paper:
    """Return the paper of a name in `NAMES`, with its experiments."""
    if name not in NAMES:
        raise ValueError(f"{name!r} is not a paper; there are {', '.join(NAMES)}.")
    text = Path(__file__).with_name(name).joinpath("paper.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text)
    experiments = tuple(_experiment(name, **one) for one in listed.pop("experiments"))
    missing = tuple(listed.pop("missing"))
    return Paper(name=name, experiments=experiments, missing=missing, **listed)


def _experiment(paper: str, run: str, needs: Iterable[str] = (), **words: str) -> Experiment:
    """Return the experiment of a paper whose function is ``"module:name"``."""
    module, _, name = run.partition(":")
    function = getattr(import_module(f"benchmarks.papers.{paper}.{module}"), name)
    return Experiment(name=name, run=function, needs=tuple(needs), **words)


def papers_of(names: str | Iterable[str]) -> list[Paper]:
    """Return the papers that names ask for, in the order given and each once.

    A name is that of a paper, of one experiment ("ukr2005:spiral"), or "all". The papers returned
    hold only the experiments asked for.
    """
    asked: dict[str, set[str]] = {}
    for name in [names] if isinstance(names, str) else list(names):
        if name == "all":
            asked |= {one: {part.name for part in paper(one).experiments} for one in NAMES}
            continue
        whole, colon, part = name.partition(":")
        parts = {one.name for one in paper(whole).experiments}
        if colon and part not in parts:
            raise ValueError(f"{name!r}: {whole} has the experiments {', '.join(sorted(parts))}.")
        asked.setdefault(whole, set()).update({part} if part else parts)
    if not asked:
        raise ValueError(f"no names; there are {', '.join(NAMES)} and 'all'.")
    return [
        replace(
            paper(name),
            experiments=tuple(one for one in paper(name).experiments if one.name in parts),
        )
        for name, parts in asked.items()
    ]


def main(
    names: str | Iterable[str],
    *,
    quick: bool = False,
    folder: str | Path,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Run experiments and write the report.

    Parameters
    ----------
    names : str or iterable of str
        Papers (`NAMES`), single experiments (``"ukr2005:spiral"``) or ``"all"``.
    quick : bool, default=False
        Use fewer seeds, repeats and iterations. The report marks such results.
    folder : str or Path
        Where ``report.html``, ``results.json`` and pictures go. It is created if needed.
    progress : callable, default=None
        Called with one line after each experiment; None logs the lines.

    Returns
    -------
    Path
        Path of ``report.html``.

    Raises
    ------
    ExperimentsFailed
        Some experiments raised errors. All others ran, and the report was written.
    """
    from benchmarks.papers.report import report_page
    from benchmarks.papers.running import FAILED, run_papers

    papers = papers_of(names)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = run_papers(papers, quick=quick, folder=folder, progress=progress or _logger.info)
    report = write_text(folder / "report.html", report_page(results, folder))
    failed = [
        f"{name}:{experiment}"
        for name, one in results["papers"].items()
        for experiment, result in one["experiments"].items()
        if result["status"] == FAILED
    ]
    if failed:
        raise ExperimentsFailed(report, failed)
    return report

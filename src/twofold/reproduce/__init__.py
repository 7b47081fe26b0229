"""The experiments of the five papers, run from the installed package, with every paper's numbers beside ours.

``main`` runs them and writes one page, ``report.html``, that needs no network and no scripts, and ``results.json``::

    from twofold import reproduce
    reproduce.main(["all"], quick=True, folder="reproduce")

A single experiment is named as in ``"ukr2005:spiral"``. Each paper is a package here, each experiment a record
(`twofold.reproduce.records.Experiment`); running (`twofold.reproduce.running`) and reporting
(`twofold.reproduce.report`) are separate.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from twofold.reproduce.records import Absent, Experiment, Outcome, Paper, Picture, Row

__all__ = [
    "NAMES",
    "Absent",
    "Experiment",
    "ExperimentsFailed",
    "Outcome",
    "Paper",
    "Picture",
    "Row",
    "main",
    "paper",
    "papers_of",
]

NAMES = ("ukr2005", "sgd2005", "rpm2001", "pdrur2010", "sisomap2012")
"""The papers: first author's method and year."""

_logger = logging.getLogger(__name__)


class ExperimentsFailed(RuntimeError):
    """Some experiments raised an error. The report is complete: it says which, and why.

    Parameters
    ----------
    report : Path
        The report.
    failed : list of str
        Their names.

    Attributes
    ----------
    report : Path
        The report.
    failed : list of str
        Their names.

    Examples
    --------
    >>> from pathlib import Path
    >>> from twofold.reproduce import ExperimentsFailed
    >>> error = ExperimentsFailed(Path("report.html"), ["ukr2005:oil"])
    >>> print(error)
    ukr2005:oil failed; report.html says why.
    >>> error.failed
    ['ukr2005:oil']
    """

    def __init__(self, report: Path, failed: list[str]) -> None:
        super().__init__(f"{', '.join(failed)} failed; {report} says why.")
        self.report, self.failed = report, failed


def paper(name: str) -> Paper:
    """Return a paper and its experiments by name.

    Parameters
    ----------
    name : str
        One of `NAMES`.

    Returns
    -------
    Paper

    Examples
    --------
    >>> from twofold.reproduce import NAMES, paper
    >>> NAMES
    ('ukr2005', 'sgd2005', 'rpm2001', 'pdrur2010', 'sisomap2012')
    >>> [one.name for one in paper("ukr2005").experiments]
    ['starts', 'spiral', 'digits', 'times', 'oil_starts', 'oil']
    """
    if name not in NAMES:
        raise ValueError(f"{name!r} is not a paper; there are {', '.join(NAMES)}.")
    found: Paper = import_module(f"twofold.reproduce.{name}").PAPER
    return found


def papers_of(names: str | Iterable[str]) -> list[Paper]:
    """Return what names ask for, in the order given and each once.

    Parameters
    ----------
    names : str or iterable of str
        Papers (``"ukr2005"``), single experiments (``"ukr2005:spiral"``) or ``"all"``.

    Returns
    -------
    list of Paper
        With the experiments that were asked for.

    Examples
    --------
    >>> from twofold.reproduce import papers_of
    >>> asked = papers_of(["ukr2005:spiral", "sgd2005"])
    >>> [(paper.name, len(paper.experiments)) for paper in asked][0]
    ('ukr2005', 1)
    >>> len(papers_of("all"))
    5
    """
    asked: dict[str, set[str]] = {}
    for name in [names] if isinstance(names, str) else list(names):
        if name == "all":
            asked |= {one: {part.name for part in paper(one).experiments} for one in NAMES}
            continue
        whole, _, part = name.partition(":")
        parts = {one.name for one in paper(whole).experiments}
        if part and part not in parts:
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
        Fewer seeds, repeats and iterations; the report marks what was measured so.
    folder : str or Path
        Where ``report.html``, ``results.json`` and pictures go; it is made if need be.
    progress : callable, default=None
        Called with one line after each experiment; None logs them to the logger "twofold.reproduce".

    Returns
    -------
    Path
        Of ``report.html``.

    Raises
    ------
    ExperimentsFailed
        Some experiments raised errors. All others ran, and the report was written.

    Examples
    --------
    >>> import tempfile
    >>> from twofold import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = reproduce.main("sgd2005:eigenvectors", quick=True, folder=folder)
    ...     written = sorted(path.name for path in report.parent.glob("re*"))
    >>> written
    ['report.html', 'results.json']
    """
    from twofold.reproduce.report import report_page
    from twofold.reproduce.running import FAILED, run_papers, written

    papers = papers_of(names)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = run_papers(papers, quick=quick, folder=folder, progress=progress or _logger.info)
    report = written(folder / "report.html", report_page(results, folder))
    failed = [
        f"{name}:{experiment}"
        for name, one in results["papers"].items()
        for experiment, result in one["experiments"].items()
        if result["status"] == FAILED
    ]
    if failed:
        raise ExperimentsFailed(report, failed)
    return report

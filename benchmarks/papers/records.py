"""An experiment and its outcome.

An `Experiment` names its place in a paper and quotes what the paper reports there. Running it gives
an `Outcome`: rows that compare figures of the paper with ours, all numbers measured, and pictures.

A row has three columns: the paper's figure, ours by the paper's protocol (its data, settings,
optimizer and number of steps), and ours by our defaults. The defaults are those of our estimators
for the same question: a row or its note names what else is set, such as a start that the paper
gives. A column that an experiment does not have stays empty.

Each of ours is compared in one of two ways. If the paper gives a figure, ours is judged against it
within a margin. If the paper gives words ("recovers the Swiss roll"), `Row.bound` is the number
that stands for them, and the report shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Value = float | int | str | None
"""Content of a table's cell: a number, words, or nothing."""

Better = Literal["lower", "higher"]
"""Which direction is better."""

Run = Callable[[bool, Path], "Outcome"]
"""``run(quick, folder)`` measures, draws into the folder, and returns the outcome."""


class Absent(Exception):
    """A data file or an optional package is missing. The message says which."""


@dataclass(frozen=True)
class Row:
    """One quantity: the paper's figure, ours by its protocol, ours by our defaults.

    Attributes
    ----------
    quantity : str
        What was measured.
    paper : float, int, str or None
        The paper's figure or words.
    literal : float, int, str or None
        Ours by the paper's protocol, without anything that the paper does not have.
    better : {"lower", "higher"} or None
        Which direction is better. With None there is no verdict.
    margin : float or None
        Difference up to which two figures count as equal; None means 5 % of the paper's.
    default : float, int, str or None
        Ours by our defaults, on the same data. A note names every setting that is not the default.
    bound : float or None
        Number that stands for the paper's words: ours must be at most (``better="lower"``) or at
        least (``"higher"``) this.
    beside : str
        What rivals reached in the same run.
    note : str
        What a reader has to know to compare the two.
    form : str
        Format specification of the numbers.
    highlight : bool
        Whether the row is one of the few that ``docs/measured.md`` shows.
    """

    quantity: str
    paper: Value = None
    literal: Value = None
    better: Better | None = None
    margin: float | None = None
    default: Value = None
    bound: float | None = None
    beside: str = ""
    note: str = ""
    form: str = ".3g"
    highlight: bool = False


@dataclass(frozen=True)
class Picture:
    """A PNG file that an experiment drew."""

    path: Path
    caption: str


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment.

    Attributes
    ----------
    rows : list of Row
        The paper's figures beside ours.
    numbers : dict
        Everything that was measured, in types that JSON has.
    pictures : list of Picture
        Pictures drawn.
    seeds : list of int
        Random seeds used.
    """

    rows: list[Row]
    numbers: dict[str, Any] = field(default_factory=dict)
    pictures: list[Picture] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper, ready to run.

    Attributes
    ----------
    name : str
        Short name, for files and logs.
    title : str
        What is shown.
    where : str
        Section, figure or table of the paper, or "beyond the paper".
    reports : str
        What the paper says there, in its own words and figures.
    run : callable
        ``run(quick, folder)`` returns an `Outcome`.
    quick : str
        What the quick form leaves out ("3 samples instead of 10"); empty if it leaves out nothing.
    needs : tuple of str
        Files in `twofold.datasets.data_folder` that it reads.
    """

    name: str
    title: str
    where: str
    reports: str
    run: Run
    quick: str = ""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments.

    Attributes
    ----------
    name : str
        One of `benchmarks.papers.NAMES`.
    citation : str
        Authors, title, journal, year.
    method : str
        The estimators of this library that it led to.
    experiments : tuple of Experiment
        In the order of the paper.
    missing : tuple of str
        Sentences: what of the paper cannot be repeated here, and why.
    """

    name: str
    citation: str
    method: str
    experiments: tuple[Experiment, ...]
    missing: tuple[str, ...] = ()

"""What an experiment is, and what comes out of one.

An `Experiment` says where in a paper it stands and what the paper reports there, in the paper's own words and figures. Running
it gives an `Outcome`: rows that set a figure of the paper beside ours, all numbers measured, and pictures.

A row is compared in one of two ways. Where the paper gives a figure, ours is judged against it within a margin. Where the
paper gives words ("recovers the Swiss roll"), `Row.bound` is the number they are read as, and the report shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

__all__ = ["Absent", "Better", "Experiment", "Outcome", "Paper", "Picture", "Row", "Value"]

Value = float | int | str | None
"""What a cell of a table holds: a number, words, or nothing."""


Better = Literal["lower", "higher"]
"""Which direction is better."""


class Absent(Exception):
    """Something optional is not there: a file of data, or a package. Its text says which.

    Examples
    --------
    >>> from twofold.reproduce import Absent
    >>> try:
    ...     raise Absent("mnist.npz is not in the data folder")
    ... except Absent as missing:
    ...     print(missing)
    mnist.npz is not in the data folder
    """


@dataclass(frozen=True)
class Row:
    """One quantity, the paper's figure and ours.

    Parameters
    ----------
    quantity : str
        What was measured.
    paper : float, int, str or None, default=None
        The paper's figure, its words, or None where it has neither.
    here : float, int, str or None, default=None
        Ours.
    better : {"lower", "higher"} or None, default=None
        Which direction is better; None where neither is, and no verdict is given.
    margin : float or None, default=None
        Difference up to which two figures count as equal; None means 5 % of the paper's.
    bound : float or None, default=None
        What the paper's words are read as: at most (``better="lower"``) or at least (``"higher"``) this.
    beside : str, default=""
        What rivals reached in the same run.
    note : str, default=""
        What a reader has to know to compare the two.
    form : str, default=".3g"
        How numbers are written, a format specification.

    Examples
    --------
    >>> from twofold.reproduce import Row
    >>> from twofold.reproduce.verdicts import verdict
    >>> row = Row("leave-one-out error", paper=0.00178, here=0.00150, better="lower")
    >>> verdict(row)
    'better'
    >>> verdict(Row("latents in order", paper="most", here=59, better="higher", bound=31))
    'met'
    """

    quantity: str
    paper: Value = None
    here: Value = None
    better: Better | None = None
    margin: float | None = None
    bound: float | None = None
    beside: str = ""
    note: str = ""
    form: str = ".3g"


@dataclass(frozen=True)
class Picture:
    """A picture that an experiment drew.

    Parameters
    ----------
    path : Path
        A PNG file.
    caption : str
        What it shows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from twofold.reproduce import Picture
    >>> Picture(Path("spiral.png"), "The curve among the data").caption
    'The curve among the data'
    """

    path: Path
    caption: str


@dataclass(frozen=True)
class Outcome:
    """What an experiment measured.

    Parameters
    ----------
    rows : list of Row
        The paper's figures beside ours.
    numbers : dict
        All that was measured, as JSON can hold it; empty by default.
    pictures : list of Picture
        Empty by default.
    seeds : list of int
        What randomness started from; empty by default.

    Examples
    --------
    >>> from twofold.reproduce import Outcome, Row
    >>> rows = [Row("test error", paper=0.9, here=0.8, better="lower")]
    >>> outcome = Outcome(rows, numbers={"errors": [0.7, 0.8, 0.9]}, seeds=[0, 1, 2])
    >>> len(outcome.rows), outcome.pictures
    (1, [])
    """

    rows: list[Row]
    numbers: dict[str, Any] = field(default_factory=dict)
    pictures: list[Picture] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper, ready to run.

    Parameters
    ----------
    name : str
        Short, for files and logs.
    title : str
        What is shown.
    where : str
        Section, figure or table of the paper; "beyond the paper" for what we add.
    reports : str
        What the paper says there, in its own words and figures.
    run : callable
        ``run(quick, folder)`` measures, draws into the folder, and returns an `Outcome`.
    quick : str, default=""
        What the quick form leaves out, as a phrase ("3 samples instead of 10"); empty where it leaves out nothing.
    needs : tuple of str, default=()
        Files of `twofold.datasets.data_folder` without which it cannot run.

    Examples
    --------
    >>> from twofold.reproduce import Experiment, Outcome, Row
    >>> def run(quick, folder):
    ...     return Outcome([Row("answer", paper=42, here=42)])
    >>> experiment = Experiment("answer", "The answer", "Table 1", "The answer is 42.", run)
    >>> experiment.run(True, None).rows[0].here
    42
    """

    name: str
    title: str
    where: str
    reports: str
    run: Callable[[bool, Path], Outcome]
    quick: str = ""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments.

    Parameters
    ----------
    name : str
        One of `twofold.reproduce.NAMES`.
    citation : str
        Authors, title, journal, year.
    method : str
        The estimators of this library that it led to.
    experiments : tuple of Experiment
        In the order of the paper.
    missing : tuple of str, default=()
        What of the paper cannot be repeated here, and why: sentences.

    Examples
    --------
    >>> from twofold.reproduce import paper
    >>> found = paper("rpm2001")
    >>> found.name, "principal manifolds" in found.citation
    ('rpm2001', True)
    """

    name: str
    citation: str
    method: str
    experiments: tuple[Experiment, ...]
    missing: tuple[str, ...] = ()

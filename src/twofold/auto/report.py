"""The report of a race: a table of all trials, for people, notebooks and programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

COLUMNS = ("method", "round", "rows", "score", "error", "codebook_error", "seconds", "verdict")
"""The columns of the table."""


@dataclass(frozen=True, eq=False)
class RaceReport:
    """The methods that `AutoTwoWay` has compared, the winner first.

    Parameters
    ----------
    rows : list of dict, default=[]
        One for each method: "method", the last "round" it took part in and the "rows" it was fitted
        to there, "score", held-out "error" and "codebook_error" as shares of the variance,
        "seconds" of all its fits in that round, and "verdict", the reason why it won or lost.
    n_held_out : int, default=0
        Held-out rows of the last round.
    n_codes : int, default=0
        Codewords of the codebook error.

    Examples
    --------
    >>> from twofold import AutoTwoWay
    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(300, random_state=0)
    >>> report = AutoTwoWay(methods=["pca", "isomap"], random_state=0).fit(X).report_
    >>> [row["method"] for row in report]
    ['isomap', 'pca']
    >>> report.to_frame().shape
    (2, 8)
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    n_held_out: int = 0
    n_codes: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return self.rows[number]

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row for each method, the winner first.

        Examples
        --------
        >>> from twofold.auto import RaceReport
        >>> RaceReport([]).to_frame().empty
        True
        """
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(COLUMNS))

    def __str__(self) -> str:
        cells = [list(COLUMNS)] + [[_text(row.get(name)) for name in COLUMNS] for row in self.rows]
        widths = [max(len(line[number]) for line in cells) for number in range(len(COLUMNS))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in cells
        ]
        return "\n".join([*lines, self._caption()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in COLUMNS)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(_text(row.get(name)))}</td>" for name in COLUMNS)
            + "</tr>"
            for row in self.rows
        )
        return (
            f'<table class="twofold-race"><thead><tr>{head}</tr></thead><tbody>{body}</tbody>'
            f"<caption>{escape(self._caption())}</caption></table>"
        )

    def _caption(self) -> str:
        """Return what the figures mean."""
        if not self.n_held_out:
            return "No methods were compared."
        return (
            f"Errors of {self.n_held_out} held-out rows as shares of the variance, plain and from "
            f"the nearest of {self.n_codes} codewords. The score is minus the mean of their "
            "logarithms: higher is better."
        )


def _text(value: Any) -> str:
    """Return a cell of the table."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)

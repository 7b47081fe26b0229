"""Tables of results, for people and for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

import numpy as np

MOST_PRINTED = 20
"""Features in a printed table; `to_frame` has all."""

Row = dict[str, Any]


class Printed:
    """Base of results that print as a table of features, the strongest first."""

    _columns: ClassVar[tuple[str, ...]]

    def _rows(self) -> list[Row]:
        """Return one row for each feature, the strongest first."""
        raise NotImplementedError

    def _caption(self) -> str:
        """Return what the figures mean."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame, one row for each feature, strongest first."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=list(self._columns))

    def __str__(self) -> str:
        rows = self._rows()
        cells = [[shown(row[name]) for name in self._columns] for row in rows[:MOST_PRINTED]]
        lines = [[name.replace("_", " ") for name in self._columns], *cells]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self._columns))]
        printed = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*printed, *self._more(len(rows)), self._caption()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        rows = self._rows()
        head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in self._columns)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(shown(row[name]))}</td>" for name in self._columns)
            + "</tr>"
            for row in rows[:MOST_PRINTED]
        )
        caption = " ".join([*self._more(len(rows)), self._caption()])
        return (
            f'<table class="twofold-explain"><thead><tr>{head}</tr></thead><tbody>{body}</tbody>'
            f"<caption>{escape(caption)}</caption></table>"
        )

    @staticmethod
    def _more(n_rows: int) -> list[str]:
        rest = n_rows - MOST_PRINTED
        return [f"... and {rest} more feature{'s' * (rest > 1)}."] if rest > 0 else []


def shown(value: Any) -> str:
    """Return a cell of the table."""
    if isinstance(value, float | np.floating):
        return f"{value:.3g}"
    return "" if value is None else str(value)

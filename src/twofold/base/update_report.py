"""What an update did: a small table for people, notebooks and programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from html import escape
from typing import Any

MEANINGS = {
    "n_new": "new rows",
    "n_rows": "rows of the model now",
    "share_off": "share of new rows off the old manifold",
    "density_change": "change of the log density",
    "n_regions": "new regions",
    "n_in_regions": "new rows in these regions",
    "median_shift": "median shift of old rows, of the map's diagonal",
    "largest_shift": "largest shift of old rows, of the map's diagonal",
    "seconds": "seconds",
}
"""What the figures mean, in the order of the table."""


@dataclass(frozen=True)
class UpdateReport:
    """The drift of new rows, and what an update did to the map.

    Parameters
    ----------
    n_new : int
        New rows.
    n_rows : int
        Rows that the model stands for after the update.
    share_off : float
        Share of the new rows off the manifold before the update: with a larger error than 95 % of
        the old rows. 0.05 means no drift.
    density_change : float
        Mean log density of the new rows on the old map, less that of the old rows. Around 0 the new
        rows lie where old rows are dense; below, where they are sparse.
    n_regions : int
        Regions of new rows that old rows did not cover.
    n_in_regions : int
        New rows in these regions.
    median_shift, largest_shift : float
        How far latents of old rows moved, as a share of the diagonal of the box around them.
    seconds : float, default=0.0
        Duration of the update.

    Examples
    --------
    >>> from twofold import UKR
    >>> from twofold.datasets import make_noisy_spiral
    >>> X, _ = make_noisy_spiral(400, random_state=0)
    >>> model = UKR(1, init="isomap", random_state=0).fit(X[:300])
    >>> report = model.update(X[300:]).update_report_
    >>> report.n_new, report.n_rows, report.largest_shift <= 0.01
    (100, 400, True)
    """

    n_new: int
    n_rows: int
    share_off: float
    density_change: float
    n_regions: int
    n_in_regions: int
    median_shift: float
    largest_shift: float
    seconds: float = 0.0

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Iterate over the names and values of the table."""
        return ((one.name, getattr(self, one.name)) for one in fields(self))

    def to_frame(self) -> Any:
        """Return the figures as a pandas data frame with one row.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from twofold.base import UpdateReport
        >>> UpdateReport(10, 110, 0.0, 0.1, 0, 0, 0.001, 0.002).to_frame().n_rows.item()
        110
        """
        import pandas as pd

        return pd.DataFrame([dict(self)])

    def __str__(self) -> str:
        lines = [(MEANINGS[name], _text(name, value)) for name, value in self]
        width = max(len(meaning) for meaning, _ in lines)
        return "\n".join(f"{meaning.ljust(width)}  {value}" for meaning, value in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        body = "".join(
            f"<tr><th>{escape(MEANINGS[name])}</th><td>{escape(_text(name, value))}</td></tr>"
            for name, value in self
        )
        return f'<table class="twofold-update"><tbody>{body}</tbody></table>'


def _text(name: str, value: Any) -> str:
    """Return a value as text: shares in percent."""
    if name == "share_off" or name.endswith("_shift"):
        return f"{100.0 * value:.3g} %"
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}"

"""How near the shared rows of two maps are, as a table of one line."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from twofold.protocols import Array


@dataclass(frozen=True)
class Alignment:
    """The distances of shared rows in an aligned map from their places in the old one.

    They are shares of the old map: of the root of the mean squared distance between two of its
    rows.

    Parameters
    ----------
    n_shared : int
        Number of shared rows.
    median, percentile_90 : float
        The median and the 90th percentile of their distances.

    Examples
    --------
    >>> from twofold.base import Alignment
    >>> Alignment(200, 0.021, 0.044)
    200 shared rows: median distance 2.1 % of the map, 90th percentile 4.4 %
    >>> Alignment(200, 0.021, 0.044).to_frame().shape
    (1, 3)
    """

    n_shared: int
    median: float
    percentile_90: float

    def __str__(self) -> str:
        return (
            f"{self.n_shared} shared rows: median distance {100 * self.median:.1f} % of the map, "
            f"90th percentile {100 * self.percentile_90:.1f} %"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the line as HTML, for notebooks."""
        return f"<p>{escape(str(self))}</p>"

    def to_frame(self) -> Any:
        """Return the figures as a pandas data frame of one row.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from twofold.base import Alignment
        >>> list(Alignment(200, 0.021, 0.044).to_frame())
        ['n_shared', 'median', 'percentile_90']
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "n_shared": [self.n_shared],
                "median": [self.median],
                "percentile_90": [self.percentile_90],
            }
        )


def alignment_of(shares: Array) -> Alignment:
    """Summarize the distances (m,) of shared rows, as shares of the map."""
    return Alignment(len(shares), float(np.median(shares)), float(np.quantile(shares, 0.9)))

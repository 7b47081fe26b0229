"""Verdicts, computed from the paper's figure and one of ours.

=============  ==================================================================
"better"       ours is better than the paper's figure by more than the margin
"met"          equal within the margin; or it satisfies the bound
"below"        worse by more than the margin; or it does not satisfy the bound
"no number"    ours is NaN or infinite
""             no figure to compare with, or no direction is better
=============  ==================================================================
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Literal

from benchmarks.papers.records import Row

Column = Literal["literal", "default"]
"""Our two columns: by the paper's protocol, and by our defaults."""

COLUMNS: tuple[Column, ...] = ("literal", "default")

MARGIN = 0.05
"""Share of the paper's figure within which ours counts as equal, if a row states no margin."""

VERDICTS = ("met", "better", "below", "no number", "")


def is_number(value: object) -> bool:
    """Return whether a value is a number, not words, a truth value or None."""
    return isinstance(value, Real) and not isinstance(value, bool)


def verdict(row: Row, column: Column = "literal") -> str:
    """Return the verdict of one of our two columns of a row, one of `VERDICTS`."""
    ours = getattr(row, column)
    if not is_number(ours):
        return ""
    here = float(ours)
    if not math.isfinite(here):
        return "no number"
    if row.better is None:
        return ""
    sign = 1.0 if row.better == "higher" else -1.0
    if row.bound is not None:
        return "met" if sign * (here - row.bound) >= 0.0 else "below"
    if not is_number(row.paper):
        return ""
    paper = float(row.paper)  # type: ignore[arg-type]
    if not math.isfinite(paper):
        return ""
    margin = MARGIN * abs(paper) if row.margin is None else row.margin
    gain = sign * (here - paper)
    if abs(gain) <= margin:
        return "met"
    return "better" if gain > 0.0 else "below"

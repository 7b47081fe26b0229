"""Summaries of many runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def median(values: Iterable[float]) -> float:
    """Return the median as a float."""
    return float(np.median(list(values)))


def reach(values: Iterable[float], figure: float) -> float:
    """Return how far the last value on the side of a figure lies from the median.

    A figure of a single sample that lies within the range of ours is what one of ours might have
    been.
    """
    found = list(values)
    middle = median(found)
    return middle - min(found) if figure < middle else max(found) - middle


def quartiles(values: Any) -> list[float]:
    """Return the three quartiles."""
    return [float(q) for q in np.quantile(values, [0.25, 0.5, 0.75])]


def summary(values: Iterable[float]) -> dict[str, float]:
    """Return median, least and greatest value."""
    found = np.asarray(list(values))
    return {
        "median": float(np.median(found)),
        "least": float(found.min()),
        "greatest": float(found.max()),
    }

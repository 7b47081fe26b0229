"""Summaries of many runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def median(values: Iterable[float]) -> float:
    """Return the median as a float."""
    return float(np.median(list(values)))


def sampling_margin(values: Iterable[float], figure: float) -> float:
    """Return the difference between a paper's single sample and our median that may be chance.

    It is the distance from our median to the quartile on the side of the paper's figure, at most a
    quarter of the figure: samples that scatter widely must not make everything count as equal.
    """
    found = list(values)
    lower, middle, upper = np.quantile(found, [0.25, 0.5, 0.75])
    spread = middle - lower if figure < middle else upper - middle
    return float(min(spread, 0.25 * abs(figure)))


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

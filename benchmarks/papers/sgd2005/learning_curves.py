"""Learning curves of guided and plain descents."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.protocols import Array


def curve(history: Array, length: int) -> list[float]:
    """Return the learning curve, filled up with its last value."""
    known = np.asarray(history[: length + 1])
    filled = np.concatenate([known, np.full(length + 1 - len(known), known[-1])])
    return [float(value) for value in filled]


def over_plain(curves: dict[str, Any], name: str, step: int) -> float:
    """Return the median error of a curve at an iteration, over that of the plain one."""
    here, plain = (np.median(np.asarray(curves[one])[:, step]) for one in (name, "plain"))
    return float(here / plain)


def paint_curves(ax: Any, curves: dict[str, Any], title: str) -> None:
    """Draw median learning curves with their quartiles, on log axes; iterations start at 1."""
    for name, values in curves.items():
        low, middle, high = np.quantile(np.asarray(values)[:, 1:], [0.25, 0.5, 0.75], axis=0)
        steps = np.arange(1, len(middle) + 1)
        (line,) = ax.loglog(steps, middle, label=name)
        ax.fill_between(steps, low, high, alpha=0.15, color=line.get_color(), lw=0)
    ax.set(title=title, xlabel="iterations", ylabel="error")
    ax.legend(fontsize=8)

"""Line search and learning curves for the experiments on guided descents."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.optimize import GradientDescent, Guide
from twofold.protocols import Array, MinimizeResult, Objective


def descend(
    objective: Objective, Z0: Array, guide: Guide | None = None, n_iter: int = 200
) -> MinimizeResult:
    """Descend with a line search which doubles a step once at most; no tolerance ends it."""
    minimizer = GradientDescent(max_iter=n_iter, tol=0.0, max_doublings=1, guide=guide)
    return minimizer.minimize(objective, Z0)


def curve(result: MinimizeResult, length: int) -> list[float]:
    """Return the learning curve, filled up with its last value."""
    history = np.asarray(result.history[: length + 1])
    filled = np.concatenate([history, np.full(length + 1 - len(history), history[-1])])
    return [float(value) for value in filled]


def paint_curves(ax: Any, curves: dict[str, Any], title: str) -> None:
    """Draw median learning curves with their quartiles, on log axes."""
    for name, values in curves.items():
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        steps = np.arange(1, len(middle) + 1)
        (line,) = ax.loglog(steps, middle, label=name)
        ax.fill_between(steps, low, high, alpha=0.15, color=line.get_color(), lw=0)
    ax.set(title=title, xlabel="iterations", ylabel="error")
    ax.legend(fontsize=8)

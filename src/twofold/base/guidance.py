"""Spectral guidance as a parameter of estimators: checked, prepared for data in their units, and whether it came to its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from twofold.base.estimator import Problem
from twofold.optimize import GradientDescent, Guide, SpectralGuidance
from twofold.protocols import Array, IntArray

__all__ = [
    "check_guidance",
    "in_units",
    "prepared",
    "squared_unit",
]

SMALLEST, LARGEST = 1e-300, 1e300


def check_guidance(guidance: Any, optimizer: Any, *, words: tuple[str, ...] = ()) -> None:
    """Raise unless the setting is None, a `SpectralGuidance` or one of the words."""
    if guidance is None or (isinstance(guidance, str) and guidance in words):
        return
    if not isinstance(guidance, SpectralGuidance):
        allowed = "".join(f"{word!r}, " for word in words)
        raise TypeError(
            f"guidance={guidance!r} must be {allowed}None or a twofold.optimize.SpectralGuidance."
        )
    descends = isinstance(optimizer, GradientDescent) or optimizer == "gd"
    if guidance.form == "deflated" and not descends:
        raise ValueError(
            f"guidance with form='deflated' is for optimizer='gd', not for {optimizer!r}: it is no change of "
            "variables. Use form='power' or 'truncated', or optimizer='gd'."
        )


def squared_unit(problem: Problem, power: int = 2) -> float:
    """Return what one squared unit of centred data is in the caller's units; a plain unit where the power is one."""
    return float(np.ldexp(1.0, int(np.clip(power * problem.units.exponent, -1074, 1023))))


def in_units(bandwidth: float, unit: float) -> float:
    """Return a bandwidth in so large units, kept within what can be divided by."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.clip(np.float64(bandwidth) / unit, SMALLEST, LARGEST))


def prepared(
    guidance: SpectralGuidance | None, data: Array, unit: float, neighbors: IntArray | None = None
) -> Guide | None:
    """Return the guide of data in centred units.

    Parameters
    ----------
    guidance : SpectralGuidance or None
        What is asked for, its bandwidth in squared units of the caller's data.
    data : ndarray of shape (n, D)
        The data.
    unit : float
        What one squared unit of the data is in the caller's.
    neighbors : ndarray of int, shape (n, k), default=None
        Nearest others of each row, where they are known already.
    """
    if guidance is None:
        return None
    if not isinstance(guidance.bandwidth, str):
        guidance = replace(guidance, bandwidth=in_units(guidance.bandwidth, unit))
    return guidance.prepare(data, neighbors)

r"""Line searches: how far to go along a descent direction.

Along ``d`` the objective is ``phi(s) = f(Z + s d)``, with ``phi'(0) = <grad f(Z), d> < 0``. A step
``s`` is acceptable when it satisfies Armijo's condition of sufficient decrease::

    phi(s) <= phi(0) + c_1 s phi'(0)                    (1)

and, for conjugate gradients, the strong curvature condition::

    |phi'(s)| <= c_2 |phi'(0)|                          (2)

`armijo_search` halves the step until (1) holds, or doubles it while that lowers the value further.
It needs no slopes beyond the first, and suits gradient descent, where the step is carried over.
`wolfe_search` brackets a minimum of ``phi`` by its slopes and closes in on it with secants, until
(1) and (2) hold. On a quadratic the second trial is exact.

Neither ever returns a point that is not lower. Both give up early once the decrease that the slope
predicts is below the rounding of the value.

Notation
--------
================  =============================
Nocedal & Wright  here
================  =============================
``alpha``         ``step``
``p``             ``direction``
``c_1``, ``c_2``  ``sufficient``, ``curvature``
================  =============================

References
----------
L. Armijo (1966). Minimization of functions having Lipschitz continuous first partial derivatives.
Pacific Journal of Mathematics 16.

J. Nocedal and S. Wright (2006). Numerical Optimization, chapter 3. Springer.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from twofold.optimize._progress import EPS, Point
from twofold.protocols import Array

Evaluate = Callable[[Array], Point]

_ROUNDING = 64 * EPS  # of a value that is a sum of many terms
_NARROW = 0.01


def slope_along(point: Point, direction: Array) -> float:
    """Return the directional derivative ``<grad, direction>``."""
    return float(np.vdot(point.grad, direction))


def armijo_search(
    evaluate: Evaluate,
    point: Point,
    direction: Array,
    step: float,
    sufficient: float = 1e-4,
    max_doublings: int = 30,
    max_halvings: int = 60,
) -> tuple[float, Point] | None:
    """Halve the step until it is acceptable, or double it while that lowers the value.

    Return the step and the point there, or None if no lower point was found. ``sufficient`` is
    ``c_1`` of Armijo's condition.
    """
    slope = slope_along(point, direction)

    def trial_at(length: float) -> tuple[float, Point] | None:
        trial = evaluate(point.Z + length * direction)
        enough = trial.value <= point.value + sufficient * length * slope
        return (length, trial) if enough and trial.value < point.value else None

    found = trial_at(step)
    if found is None:
        for _ in range(max_halvings):
            step *= 0.5
            if _is_hidden(point, slope, step):
                return None
            found = trial_at(step)
            if found is not None:
                return found
        return None
    for _ in range(max_doublings):
        longer = trial_at(2.0 * found[0])
        if longer is None or longer[1].value >= found[1].value:
            break
        found = longer
    return found


def wolfe_search(
    evaluate: Evaluate,
    point: Point,
    direction: Array,
    step: float,
    *,
    sufficient: float = 1e-4,
    curvature: float = 0.1,
    max_trials: int = 40,
) -> tuple[float, Point] | None:
    """Close in on a minimum along the direction, by secants on the slopes within a bracket.

    Return the step and the point there, or None if no lower point was found. ``sufficient`` and
    ``curvature`` are ``c_1`` and ``c_2`` of the strong Wolfe conditions. After ``max_trials``
    evaluations the lowest acceptable point counts.
    """
    first_slope = slope_along(point, direction)
    # Invariant: phi'(low) < 0 and low satisfies (1). Once high is finite, phi rises again before
    # it, so that (low, high) holds a local minimum.
    low, low_value, low_slope = 0.0, point.value, first_slope
    high, high_value, high_slope = math.inf, math.inf, math.inf
    found: tuple[float, Point] | None = None
    for _ in range(max_trials):
        trial = evaluate(point.Z + step * direction)
        finite = math.isfinite(trial.value)
        slope = slope_along(trial, direction) if finite else math.inf
        enough = trial.value <= point.value + sufficient * step * first_slope
        lower = enough and trial.value < low_value
        if lower:
            if found is None or trial.value < found[1].value:
                found = (step, trial)
            if abs(slope) <= -curvature * first_slope:
                break
        if lower and slope < 0.0:
            gap, secant = step - low, slope - low_slope
            low, low_value, low_slope = step, trial.value, slope
            if math.isinf(high):
                # Extrapolate the slope to zero; one that gets steeper sends us ten times as far.
                further = -slope * gap / secant if secant > 0.0 else math.inf
                step = min(max(step + further, 1.1 * step), 10.0 * step)
                continue
        else:
            high, high_value, high_slope = step, trial.value, slope
        part = _inner_part(low_value, low_slope, high_value, high_slope, high - low)
        step = low + part * (high - low)
        # At a kink or the edge of the domain no slope is ever flat: a narrow bracket must do.
        is_narrow = found is not None and high - low <= _NARROW * high
        if is_narrow or _is_hidden(point, first_slope, step):
            break
    return found


def _inner_part(
    low_value: float, low_slope: float, high_value: float, high_slope: float, width: float
) -> float:
    """Return where to try next inside the bracket, as a part of its width from the low end."""
    part = 0.5
    if 0.0 < high_slope < math.inf:
        part = low_slope / (low_slope - high_slope)  # the zero of the slopes' secant
    if low_value <= high_value < math.inf:
        # The minimum of the parabola through both values and the low slope: the same on a parabola,
        # but not misled by a slope that is small because the trial is far out.
        promised = -low_slope * width
        part = min(part, promised / (2.0 * (high_value - low_value + promised)))
    # Kept off the ends, so that the bracket shrinks by a tenth at least.
    return min(max(part, 0.1), 0.9)


def _is_hidden(point: Point, slope: float, step: float) -> bool:
    """Whether rounding of the value hides the decrease that the slope predicts."""
    return -slope * step <= _ROUNDING * abs(point.value)

"""Line searches along one direction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from minimizer_problems import Function

from twofold.optimize._progress import Point, Progress
from twofold.optimize.line_search import armijo_search, wolfe_search


def along(phi, slope):
    """Return an evaluation of phi on the line, and the point at 0."""

    def evaluate(Z):
        return Point(Z, phi(Z[0]), np.array([slope(Z[0])]))

    return evaluate, evaluate(np.zeros(1))


DOWN = np.ones(1)


@pytest.mark.parametrize("first", [1e-6, 0.1, 1.0, 3.0, 40.0, 1e6])
@pytest.mark.parametrize(
    ("phi", "slope"),
    [
        (lambda s: (s - 3.0) ** 2, lambda s: 2.0 * (s - 3.0)),
        (lambda s: -1.0 / (1.0 + (s - 3.0) ** 2), lambda s: 2 * (s - 3) / (1 + (s - 3) ** 2) ** 2),
        (lambda s: np.cosh(np.clip(s - 3.0, -99, 99)), lambda s: np.sinh(np.clip(s - 3, -99, 99))),
        (lambda s: np.sin(s + 3.0), lambda s: np.cos(s + 3.0)),
    ],
    ids=["parabola", "well", "cosh", "sine"],
)
def test_line_searches_keep_their_conditions(first, phi, slope):
    evaluate, start = along(phi, slope)
    step, point = wolfe_search(evaluate, start, DOWN, first)
    assert point.value == phi(step) <= start.value + 1e-4 * step * slope(0.0)
    assert abs(slope(step)) <= 0.1 * abs(slope(0.0))
    step, point = armijo_search(evaluate, start, DOWN, first)
    assert point.value == phi(step) <= start.value + 1e-4 * step * slope(0.0)


def test_wolfe_is_exact_on_a_parabola_in_two_trials():
    for first in (0.5, 2.0, 5.9, 20.0):
        trials = []

        def phi(s, trials=trials):
            trials.append(s)
            return (s - 3.0) ** 2

        evaluate, start = along(phi, lambda s: 2.0 * (s - 3.0))
        step, _ = wolfe_search(evaluate, start, DOWN, first, curvature=1e-9)
        assert step == pytest.approx(3.0)
        assert len(trials) == 3  # the start and two more


def test_wolfe_crosses_a_bump():
    """Higher at the far end though the slope there leads down: bisect."""
    evaluate, start = along(lambda s: np.sin(s + 3.0) + 0.01 * s, lambda s: np.cos(s + 3.0) + 0.01)
    step, point = wolfe_search(evaluate, start, DOWN, 5.5)
    assert point.value < start.value
    assert 0.0 < step < 5.5


def test_wolfe_returns_the_lowest_point_when_trials_run_out():
    """At a kink the slope never gets small; the narrow bracket or the number of trials ends it."""
    evaluate, start = along(lambda s: abs(s - 1.0), lambda s: math.copysign(1.0, s - 1.0))
    step, point = wolfe_search(evaluate, start, DOWN, 0.3)
    assert step == pytest.approx(1.0, abs=0.02)
    assert point.value < 0.02
    few, _ = wolfe_search(evaluate, start, DOWN, 0.3, max_trials=1)
    assert few == 0.3
    # The first trial lies lower than later ones inside the bracket: it is the one returned.
    evaluate, start = along(
        lambda s: -1.0 + 0.3 * abs(s - 1.0) if s > 0.9 else -s * 0.5,
        lambda s: math.copysign(0.3, s - 1.0) if s > 0.9 else -0.5,
    )
    step, point = wolfe_search(evaluate, start, DOWN, 1.01, max_trials=2)
    assert step == 1.01


def test_line_searches_give_up():
    evaluate, start = along(lambda s: 1.0 + s, lambda s: -1.0)
    assert wolfe_search(evaluate, start, DOWN, 1.0) is None
    assert armijo_search(evaluate, start, DOWN, 1.0) is None
    assert armijo_search(evaluate, start, DOWN, 1.0, max_halvings=3) is None
    assert wolfe_search(evaluate, start, DOWN, 1.0, max_trials=3) is None


def test_armijo_ends_its_doubling():
    evaluate, start = along(lambda s: -s, lambda s: -1.0)
    step, _ = armijo_search(evaluate, start, DOWN, 1.0, max_doublings=5)
    assert step == 32.0


def test_attainable_decrease_of_a_concave_objective():
    """Below its tangent there is no parabola: the promise of the slope counts."""
    concave = Function(lambda Z: (10.0 - float(np.sum(Z**2)), -2.0 * Z))
    progress = Progress(concave, np.array([[1.0, 1.0]]), None, 1e-6, 1)
    result = progress.no_lower_point(progress.start)
    assert not result.converged

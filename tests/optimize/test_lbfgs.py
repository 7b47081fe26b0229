"""What only `LBFGS` promises: its scale, and its walls."""

import dataclasses
import math
import re

import numpy as np
import pytest
from minimizer_problems import Function, Watched

from twofold.optimize import LBFGS


def hyperbola(wall):
    """Return ``1 / x``, and nothing finite behind a wall."""

    def function(Z):
        x = float(Z[0, 0])
        if x > wall:
            return math.nan, np.full_like(Z, math.nan)
        return 1.0 / x, np.array([[-1.0 / x**2]])

    return function


@pytest.mark.parametrize("wall", [0.51, 0.5001, 0.7])
def test_behind_a_wall_the_next_trial_is_at_a_third(wall):
    """The parabola of the module's docstring, whose minimum is at a third of the step.

    The first trial from 0.5 is at 0.55, so the last wall is met by the second search.
    """
    watched, began = Watched(Function(hyperbola(wall))), [0]

    def callback(n_iter, value, Z):
        began.append(len(watched.places) - 1)
        return np.isnan(watched.values).any()

    result = LBFGS().minimize(watched, np.array([[0.5]]), callback=callback)
    places, behind = np.array(watched.places).ravel(), np.isnan(watched.values)
    first = int(behind.argmax())
    origin = places[max(place for place in began if place < first)]
    assert (origin == 0.5) == (wall < 0.55)
    steps = places[first:] - origin
    n_behind = int((~behind[first:]).argmax())
    assert n_behind >= 1
    np.testing.assert_allclose(steps[1 : n_behind + 1] / steps[:n_behind], 1.0 / 3.0, rtol=1e-6)
    assert 0.5 < result.Z[0, 0] <= wall


def test_the_memory_is_that_of_the_last_steps():
    """With one pair the method is slower than with ten on an ill-conditioned bowl."""
    scale = np.geomspace(1.0, 1e4, 12).reshape(6, 2)

    def bowl(Z):
        return float(np.sum(scale * Z**2)), 2.0 * scale * Z

    start = np.random.default_rng(0).standard_normal((6, 2))
    few, many = (
        LBFGS(memory=memory, tol=1e-12, max_iter=2000).minimize(Function(bowl), start)
        for memory in (1, 10)
    )
    assert many.n_iter < few.n_iter
    assert many.value < 1e-8


def test_defaults_are_those_of_the_docstring():
    named = re.findall(r"(\w+) : \w+, default=(\S+)", LBFGS.__doc__)
    fields = dataclasses.fields(LBFGS)
    assert {field.name: float(field.default) for field in fields} == {
        name: float(value) for name, value in named
    }

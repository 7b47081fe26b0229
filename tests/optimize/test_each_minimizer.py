"""The steps of each minimizer, by hand."""

from __future__ import annotations

import numpy as np
from minimizer_problems import PROBLEMS, Function, Watched, bowl, quadratic

from twofold.optimize import LBFGS, ConjugateGradient, GradientDescent, RProp
from twofold.optimize._progress import Point
from twofold.optimize.conjugate_gradient import _directions


def test_rprop_moves_as_igel_and_huesken_say():
    """The first steps on a parabola, by hand: grow by 1.2, rest after a change of sign, halve."""
    seen = []
    RProp(max_iter=6, initial_step=1.0, max_step=1.3).minimize(
        Function(bowl), np.array([3.0]), callback=lambda n, value, Z: seen.append(Z[0])
    )
    # 3 -1-> 2 -1.2-> 0.8 -1.3 (not 1.44)-> -0.5, sign change: rests, then 0.65 up, change, rests.
    np.testing.assert_allclose(seen, [2.0, 0.8, -0.5, -0.5, 0.15, 0.15])


def test_rprop_leaves_a_plateau_that_is_no_improvement():
    """A step beyond the rim, where the gradient is exactly zero, is taken back."""

    def rimmed(Z):
        return bowl(Z) if abs(Z[0]) < 2.0 else (100.0, np.zeros_like(Z))

    result = RProp(initial_step=4.0).minimize(Function(rimmed), np.array([1.9]))
    assert result.value <= 1e-6
    assert result.history[1] == result.history[0]


def test_rprop_keeps_a_short_longest_step():
    moved = Watched(Function(bowl))
    RProp(max_iter=3, max_step=1e-3).minimize(moved, np.array([3.0, 4.0]))
    np.testing.assert_allclose(np.diff([Z[0] for Z in moved.places]), -1e-3)


def test_conjugate_gradients_solve_a_quadratic_in_as_many_steps_as_unknowns():
    A = np.diag([1.0, 10.0, 100.0, 1000.0])

    def function(Z):
        return float(0.5 * Z @ A @ Z), A @ Z

    result = ConjugateGradient(curvature=1e-6, tol=0.0, max_iter=4).minimize(
        Function(function), np.array([1.0, -1.0, 1.0, 1.0])
    )
    assert result.value <= 1e-20 * result.history[0]


def test_conjugate_gradients_know_when_to_start_over():
    place = np.array([[0.5, 0.25]])
    direction = np.array([[1.0, 0.0]])
    old = Point(place, 1.0, np.array([[1.0, 0.0]]))
    new = Point(place, 0.5, np.array([[0.0, 1.0]]))
    conjugate, steepest = _directions(old, new, -direction)
    np.testing.assert_array_equal(conjugate, [[-1.0, -1.0]])
    np.testing.assert_array_equal(steepest, [[0.0, -1.0]])
    # not a descent direction; gradients that overlap; an old gradient whose square underflows
    (only,) = _directions(old, new._replace(grad=np.array([[0.05, 1.0]])), 100.0 * direction)
    np.testing.assert_array_equal(only, [[-0.05, -1.0]])
    assert len(_directions(old, old, -direction)) == 1
    assert len(_directions(old._replace(grad=1e-200 * old.grad), new, -direction)) == 1


def test_gradient_descent_doubles_and_halves():
    watched = Watched(Function(lambda Z: (0.5e-4 * bowl(Z)[0], 0.5e-4 * bowl(Z)[1])))
    start = np.array([3.0, -1.0])
    result = GradientDescent(max_iter=1).minimize(watched, start)
    lengths = [np.linalg.norm(Z - start) for Z in watched.places[1:]]
    np.testing.assert_allclose(np.divide(lengths[1:], lengths[:-1]), 2.0)
    # The last doubling went past the minimum and was not taken.
    assert result.value < min(watched.values[:-2] + watched.values[-1:])


def test_lbfgs_first_step_is_a_tenth_of_the_spread():
    watched = Watched(Function(quadratic))
    start = PROBLEMS["quadratic"][1]
    LBFGS(max_iter=1).minimize(watched, start)
    spread = np.sqrt(np.mean((start - start.mean(axis=0)) ** 2))
    assert 0.05 <= np.abs(watched.places[1] - start).max() / spread <= 0.1

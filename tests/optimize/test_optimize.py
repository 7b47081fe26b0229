"""Minimizers x problems, what every run promises, and Gauss-Newton row by row."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import least_squares

from twofold.optimize import (
    LBFGS,
    ConjugateGradient,
    GaussNewton,
    GradientDescent,
    Pull,
    RProp,
    resolve_minimizer,
)
from twofold.optimize._progress import Point, Progress
from twofold.optimize._small_systems import damped_steps
from twofold.optimize.conjugate_gradient import _directions
from twofold.optimize.line_search import armijo_search, wolfe_search
from twofold.protocols import Minimizer

MINIMIZERS = {
    "lbfgs": LBFGS,
    "rprop": RProp,
    "cg": ConjugateGradient,
    "gd": GradientDescent,
}
MONOTONE = {"cg", "gd", "lbfgs"}
LINE_SEARCHING = sorted(MONOTONE)

each_minimizer = pytest.mark.parametrize("name", sorted(MINIMIZERS))


# ---------------------------------------------------------------- problems


@dataclass(frozen=True)
class Function:
    """An objective from a plain function."""

    function: object

    def value_and_grad(self, Z):
        return self.function(Z)


class Watched:
    """An objective that remembers where it was evaluated, and what came out."""

    def __init__(self, objective):
        self.objective, self.places, self.values = objective, [], []

    def value_and_grad(self, Z):
        value, grad = self.objective.value_and_grad(Z)
        self.places.append(Z.copy())
        self.values.append(value)
        return value, grad


@dataclass(frozen=True)
class Times:
    """An objective multiplied by a number."""

    objective: object
    factor: float

    def value_and_grad(self, Z):
        value, grad = self.objective.value_and_grad(Z)
        return value * self.factor, grad * self.factor


WEIGHTS = np.geomspace(1.0, 1e3, 20).reshape(10, 2)
CENTRE = np.random.default_rng(1).normal(size=(10, 2))


def quadratic(Z):
    """Condition number 1000, minimum 1."""
    gap = Z - CENTRE
    return 1.0 + 0.5 * float(np.sum(WEIGHTS * gap**2)), WEIGHTS * gap


def rosenbrock(Z):
    """One curved valley per row, minimum 0 at (1, 1)."""
    x, y = Z.T
    across = y - x**2
    grad = np.stack([-400.0 * x * across - 2.0 * (1.0 - x), 200.0 * across], axis=1)
    return float(np.sum(100.0 * across**2 + (1.0 - x) ** 2)), grad


def plateaus(Z):
    """A well per row; far from it the gradient vanishes. Minimum 1."""
    hit = np.exp(-0.5 * np.sum(Z**2, axis=1))
    return 1.0 + float(np.sum(1.0 - hit)), hit[:, None] * Z


TARGET = np.array([0.6, -0.4])


def in_disc(Z):
    """A barrier towards the unit circle, and NaN outside."""
    left = 1.0 - np.sum(Z**2, axis=1)
    if (left <= 0.0).any():
        return math.nan, np.full_like(Z, math.nan)
    value = float(np.sum((Z - TARGET) ** 2) - 0.01 * np.sum(np.log(left)))
    return value, 2.0 * (Z - TARGET) + 0.02 * Z / left[:, None]


def to_the_edge(Z):
    """Lower and lower up to the unit circle, and infinite outside."""
    if (np.sum(Z**2, axis=1) >= 1.0).any():
        return math.inf, np.zeros_like(Z)
    return float(np.sum((Z - 5.0 * TARGET) ** 2)), 2.0 * (Z - 5.0 * TARGET)


def bowl(Z):
    return float(np.sum(Z**2)), 2.0 * Z


RNG = np.random.default_rng(0)
PROBLEMS = {
    "quadratic": (quadratic, RNG.normal(size=(10, 2))),
    "rosenbrock": (rosenbrock, np.array([[-1.2, 1.0], [-0.8, 1.1], [0.5, -0.5]])),
    "plateaus": (plateaus, RNG.normal(size=(8, 2))),
    "in_disc": (in_disc, RNG.uniform(-0.6, 0.6, size=(5, 2))),
    "to_the_edge": (to_the_edge, RNG.uniform(-0.6, 0.6, size=(5, 2))),
}
each_problem = pytest.mark.parametrize("problem", sorted(PROBLEMS))


def minimize(name, problem, *, callback=None, **settings):
    function, start = PROBLEMS[problem]
    return MINIMIZERS[name](**settings).minimize(Function(function), start, callback=callback)


# ---------------------------------------------------------------- solvers x problems

LOWEST = {"quadratic": 1.0, "rosenbrock": 0.0, "plateaus": 1.0, "in_disc": 0.0356377547399}
# What may be left of the way from the start's value to the lowest, ten times what was measured.
LEFT_OVER = {
    ("gd", "quadratic"): 2e-7,
    ("lbfgs", "quadratic"): 1e-7,
    ("gd", "rosenbrock"): 3e-3,
    ("rprop", "rosenbrock"): 1e-3,
}


@each_minimizer
@pytest.mark.parametrize("problem", sorted(LOWEST))
def test_reaches_the_minimum(name, problem):
    result = minimize(name, problem, max_iter=1000)
    lowest = LOWEST[problem]
    assert result.value - lowest <= LEFT_OVER.get((name, problem), 2e-9) * (
        result.history[0] - lowest
    )


@each_minimizer
@each_problem
def test_what_every_run_promises(name, problem):
    function, start = PROBLEMS[problem]
    before = start.copy()
    watched = Watched(Function(function))
    result = MINIMIZERS[name](max_iter=200).minimize(watched, start)
    np.testing.assert_array_equal(start, before)
    assert result.Z.shape == start.shape
    assert result.Z is not start
    assert np.isfinite(result.Z).all()
    assert result.n_evaluations == len(watched.values)
    assert result.history.shape == (result.n_iter + 1,)
    assert result.history[0] == watched.values[0]
    assert np.isfinite(result.history).all()
    # The best point seen, and its value.
    assert result.value == np.nanmin(watched.values)
    assert result.value == function(result.Z)[0]
    assert result.value <= result.history.min()
    assert re.fullmatch(r"[A-Z].*\.", result.status)
    if name in MONOTONE:
        assert np.diff(result.history).max() <= 0.0


@each_minimizer
@each_problem
def test_runs_are_bit_equal(name, problem):
    first, second = minimize(name, problem, max_iter=60), minimize(name, problem, max_iter=60)
    assert first.Z.tobytes() == second.Z.tobytes()
    assert first.history.tobytes() == second.history.tobytes()


@each_minimizer
@each_problem
@pytest.mark.parametrize("exponent", [-300, -7, 1, 40, 600])
def test_a_power_of_two_times_the_objective_changes_no_bit(name, problem, exponent):
    function, start = PROBLEMS[problem]
    minimizer = MINIMIZERS[name](max_iter=60)
    plain, scaled = Watched(Function(function)), Watched(Times(Function(function), 2.0**exponent))
    one, other = minimizer.minimize(plain, start), minimizer.minimize(scaled, start)
    assert len(plain.places) == len(scaled.places)
    for here, there in zip(plain.places, scaled.places, strict=True):
        assert here.tobytes() == there.tobytes()
    assert one.status == other.status
    np.testing.assert_array_equal(np.ldexp(one.history, exponent), other.history)


@each_minimizer
def test_units_of_the_latents_do_not_matter(name):
    """Latents in units 1000 times smaller: the same run, up to rounding."""
    function, start = PROBLEMS["quadratic"]

    def in_small_units(Z):
        value, grad = function(Z / 1024.0)
        return value, grad / 1024.0

    minimizer = MINIMIZERS[name](max_iter=20)
    one = minimizer.minimize(Function(function), start)
    other = minimizer.minimize(Function(in_small_units), 1024.0 * start)
    np.testing.assert_allclose(other.history, one.history, rtol=1e-9)
    np.testing.assert_allclose(other.Z, 1024.0 * one.Z, rtol=1e-9)


@each_minimizer
def test_the_origin_of_the_latents_does_not_matter_to_the_first_step(name):
    function, start = PROBLEMS["quadratic"]
    moved = Watched(Function(lambda Z: function(Z - 1e6)))
    MINIMIZERS[name](max_iter=1).minimize(moved, start + 1e6)
    spread = np.sqrt(np.mean((start - start.mean(axis=0)) ** 2))
    first_move = np.abs(moved.places[1] - moved.places[0]).max()
    assert 0.049 * spread <= first_move <= 0.1001 * spread


@each_minimizer
@pytest.mark.parametrize("shape", [(), (1,), (5,), (1, 3), (2, 3, 4)])
def test_any_shape(name, shape):
    start = np.random.default_rng(3).normal(size=shape)
    result = MINIMIZERS[name]().minimize(Function(bowl), start)
    assert result.converged
    assert result.Z.shape == shape
    assert result.value <= 1e-9


@each_minimizer
def test_a_start_at_the_origin_and_float32(name):
    shifted = Function(lambda Z: bowl(Z - 3.0))
    result = MINIMIZERS[name]().minimize(shifted, np.zeros((2, 2), dtype=np.float32))
    np.testing.assert_allclose(result.Z, 3.0, atol=1e-3)
    assert result.Z.dtype == np.float64


@each_minimizer
@pytest.mark.parametrize("offset", [0.0, -1.0, -100.0])
def test_values_may_be_zero_or_negative(name, offset):
    """A start of value 0 takes its unit from the gradient."""
    start = np.array([[0.6, 0.8]])
    result = MINIMIZERS[name]().minimize(
        Function(lambda Z: (bowl(Z)[0] + offset, bowl(Z)[1])), start
    )
    assert result.converged
    assert result.value - offset <= 1e-4


@each_minimizer
def test_an_objective_may_reuse_its_gradient_array(name):
    start = PROBLEMS["quadratic"][1]
    buffer = np.empty_like(start)

    def thrifty(Z):
        value, grad = quadratic(Z)
        buffer[:] = grad
        return value, buffer

    result = MINIMIZERS[name](max_iter=50).minimize(Function(thrifty), start)
    assert result.Z.tobytes() == minimize(name, "quadratic", max_iter=50).Z.tobytes()


# ---------------------------------------------------------------- trouble


@each_minimizer
def test_walls_are_met_and_survived(name):
    for problem in ("in_disc", "to_the_edge"):
        function, _ = PROBLEMS[problem]
        start = np.array([[0.9, -0.4], [0.0, 0.9], [-0.99, 0.0]])
        watched = Watched(Function(function))
        result = MINIMIZERS[name]().minimize(watched, start)
        assert problem == "in_disc" or not np.isfinite(watched.values).all()
        assert result.value < result.history[0]
        assert np.isfinite(result.Z).all()


@each_minimizer
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["value", "grad"])
def test_not_finite_beyond_a_line(name, bad, where):
    """Whatever is not finite is worse: minus infinity too, and a bad gradient."""

    def function(Z):
        value, grad = bowl(Z - 2.0)
        if Z[0, 0] > 1.0:
            if where == "value":
                value = bad
            else:
                grad = grad.copy()
                grad[0, 0] = bad
        return value, grad

    result = MINIMIZERS[name]().minimize(Function(function), np.zeros((1, 2)))
    assert np.isfinite(result.value)
    assert result.Z[0, 0] <= 1.0
    assert result.value < 3.0


@each_minimizer
def test_a_gradient_too_large_for_the_units_counts_as_infinite(name):
    def function(Z):
        far = np.abs(Z).max() > 1.0
        grad = np.full_like(Z, 1e200) if far else 1e-200 * bowl(Z - 2.0)[1]
        return 1e-200 * bowl(Z - 2.0)[0], grad

    result = MINIMIZERS[name](max_iter=20).minimize(Function(function), np.zeros((1, 2)))
    assert np.isfinite(result.Z).all()
    assert result.value < result.history[0]


@each_minimizer
@pytest.mark.parametrize(
    ("value", "grad"), [(math.nan, 1.0), (-math.inf, 1.0), (1.0, math.nan), (1.0, math.inf)]
)
def test_a_start_that_is_not_finite_is_refused(name, value, grad):
    function = Function(lambda Z: (value, np.full_like(Z, grad)))
    with pytest.raises(ValueError, match=rf"objective at Z0 is {value}.* Pass another start"):
        MINIMIZERS[name]().minimize(function, np.ones((2, 2)))


@each_minimizer
@pytest.mark.parametrize("start", [np.empty((0, 2)), np.array([[1.0, math.nan]])])
def test_a_bad_start_is_refused(name, start):
    with pytest.raises(ValueError, match="non-empty array of finite numbers"):
        MINIMIZERS[name]().minimize(Function(bowl), start)


@each_minimizer
def test_a_gradient_of_the_wrong_shape_is_refused(name):
    function = Function(lambda Z: (1.0, np.ones(3)))
    with pytest.raises(ValueError, match=r"gradient of shape \(3,\).*shape of Z0, \(2, 2\)"):
        MINIMIZERS[name]().minimize(function, np.ones((2, 2)))


# ---------------------------------------------------------------- how runs end


@each_minimizer
def test_ends_by_tolerance(name):
    loose, tight = (minimize(name, "quadratic", tol=tol, max_iter=2000) for tol in (1e-2, 1e-8))
    assert loose.converged
    assert tight.converged
    assert "relative decrease" in loose.status
    assert "tol=0.01" in loose.status
    assert loose.n_iter < tight.n_iter
    assert tight.value <= loose.value


@each_minimizer
def test_ends_by_iterations(name):
    result = minimize(name, "rosenbrock", max_iter=3)
    assert not result.converged
    assert result.n_iter == 3
    assert "iterations ran out (max_iter=3)" in result.status


@each_minimizer
def test_ends_at_once_where_the_gradient_is_zero(name):
    result = MINIMIZERS[name]().minimize(Function(bowl), np.zeros((2, 2)))
    assert (result.n_iter, result.n_evaluations, result.converged) == (0, 1, True)
    assert result.history.tolist() == [0.0]
    assert result.status == "The gradient is zero."


@each_minimizer
def test_ends_later_where_the_gradient_is_zero(name):
    """A cone that is flat at its tip: the gradient becomes zero exactly."""

    def blunt(Z):
        size = float(np.linalg.norm(Z))
        return (1.0 + size, Z / size) if size > 0.1 else (1.0, np.zeros_like(Z))

    result = MINIMIZERS[name]().minimize(Function(blunt), np.array([[0.6, 0.8]]))
    assert result.status == "The gradient is zero."
    assert result.converged
    assert result.value == 1.0
    assert result.n_iter >= 1


@pytest.mark.parametrize("name", ["cg", "gd", "lbfgs"])
def test_ends_where_rounding_hides_the_rest(name):
    """At 1 + 1e-18 no step can show a decrease, though the gradient is not zero."""
    start = np.array([[1.0, 2.0], [3.0, 4.0]])
    offset = start + np.array([[1e-9, -1e-9], [1e-9, 1e-9]])
    result = MINIMIZERS[name](tol=0.0).minimize(
        Function(lambda Z: (1.0 + bowl(Z - start)[0], bowl(Z - start)[1])), offset
    )
    assert result.converged
    assert result.value == 1.0


@pytest.mark.parametrize("name", LINE_SEARCHING)
def test_ends_where_the_gradient_is_wrong(name):
    result = MINIMIZERS[name]().minimize(
        Function(lambda Z: (bowl(Z)[0], -bowl(Z)[1])), np.array([[1.0, 2.0]])
    )
    assert not result.converged
    assert result.n_iter == 0
    assert "its gradient is wrong" in result.status
    np.testing.assert_array_equal(result.Z, [[1.0, 2.0]])


@pytest.mark.parametrize("name", LINE_SEARCHING)
def test_ends_where_everything_around_is_not_finite(name):
    start = np.array([[1.0, 2.0]])

    def island(Z):
        return bowl(Z) if np.array_equal(Z, start) else (math.nan, np.zeros_like(Z))

    result = MINIMIZERS[name]().minimize(Function(island), start)
    assert not result.converged
    assert "not smooth here" in result.status
    assert result.value == 5.0


def test_ends_where_rprop_has_only_negligible_steps():
    start = np.array([[1.0, 2.0]])

    def island(Z):
        return bowl(Z) if np.array_equal(Z, start) else (math.nan, np.zeros_like(Z))

    result = RProp(window=100).minimize(Function(island), start)
    assert result.status == "The steps have become negligible."
    assert result.converged
    assert result.history.tolist() == [5.0] * (result.n_iter + 1)


@each_minimizer
def test_the_callback_sees_every_iteration(name):
    seen = []
    result = minimize(
        name, "quadratic", callback=lambda *args: seen.append(args) or False, max_iter=30
    )
    assert [n for n, _, _ in seen] == list(range(1, result.n_iter + 1))
    assert [value for _, value, _ in seen] == result.history[1:].tolist()
    for _, value, Z in seen:
        assert quadratic(Z)[0] == value
        with pytest.raises(ValueError, match="read-only"):
            Z[0, 0] = 0.0
    result.Z[0, 0] = 0.0


@each_minimizer
def test_the_callback_may_stop(name):
    result = minimize(name, "quadratic", callback=lambda n_iter, value, Z: n_iter == 4)
    assert result.n_iter == 4
    assert result.converged
    assert result.status == "The callback asked to stop."
    assert result.history.shape == (5,)


@each_minimizer
@pytest.mark.parametrize("error", [KeyboardInterrupt, StopIteration, RuntimeError])
def test_errors_pass_through(name, error):
    def callback(n_iter, value, Z):
        raise error("from the callback")

    def broken(Z):
        if not np.array_equal(Z, PROBLEMS["quadratic"][1]):
            raise error("from the objective")
        return quadratic(Z)

    with pytest.raises(error, match="from the callback"):
        minimize(name, "quadratic", callback=callback)
    with pytest.raises(error, match="from the objective"):
        MINIMIZERS[name]().minimize(Function(broken), PROBLEMS["quadratic"][1])


# ---------------------------------------------------------------- each algorithm


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


# ---------------------------------------------------------------- line searches


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


# ---------------------------------------------------------------- settings and names


@pytest.mark.parametrize(
    ("kind", "settings", "error"),
    [
        *[(kind, {"max_iter": 0}, ValueError) for kind in [*MINIMIZERS.values(), GaussNewton]],
        *[(kind, {"max_iter": 2.0}, TypeError) for kind in MINIMIZERS.values()],
        *[(kind, {"max_iter": True}, TypeError) for kind in MINIMIZERS.values()],
        *[(kind, {"tol": -1e-3}, ValueError) for kind in [*MINIMIZERS.values(), GaussNewton]],
        *[(kind, {"tol": math.nan}, ValueError) for kind in MINIMIZERS.values()],
        *[(kind, {"tol": "tight"}, TypeError) for kind in MINIMIZERS.values()],
        (LBFGS, {"memory": 0}, ValueError),
        (RProp, {"window": 0}, ValueError),
        (RProp, {"initial_step": 0.0}, ValueError),
        (RProp, {"initial_step": "long"}, TypeError),
        (RProp, {"max_step": math.inf}, ValueError),
        (RProp, {"growth": 1.0}, ValueError),
        (RProp, {"shrink": 1.0}, ValueError),
        (GradientDescent, {"window": 0}, ValueError),
        (GradientDescent, {"sufficient": 0.5}, ValueError),
        (ConjugateGradient, {"window": 0}, ValueError),
        (ConjugateGradient, {"curvature": 0.0}, ValueError),
        (GaussNewton, {"damping": -1.0}, ValueError),
        (GaussNewton, {"max_halvings": -1}, ValueError),
    ],
)
def test_settings_are_checked_at_once(kind, settings, error):
    ((parameter, value),) = settings.items()
    with pytest.raises(error, match=re.escape(f"{kind.__name__}({parameter}={value!r})")):
        kind(**settings)


def test_rprop_steps_must_be_in_order():
    with pytest.raises(ValueError, match="initial_step must not exceed max_step"):
        RProp(initial_step=2.0, max_step=1.0)
    RProp(initial_step=2.0)
    RProp(max_step=1e-3)


@each_minimizer
def test_minimizers_are_frozen(name):
    minimizer = MINIMIZERS[name]()
    assert isinstance(minimizer, Minimizer)
    with pytest.raises(dataclasses.FrozenInstanceError):
        minimizer.max_iter = 7


@each_minimizer
def test_resolve_by_name(name):
    assert resolve_minimizer(name) == MINIMIZERS[name]()
    assert resolve_minimizer(name, max_iter=7) == MINIMIZERS[name](max_iter=7)
    assert resolve_minimizer(name, tol=0.0) == MINIMIZERS[name](tol=0.0)


def test_resolve_an_object():
    class Mine:
        def minimize(self, objective, Z0, *, callback=None):
            raise NotImplementedError

    mine = Mine()
    assert resolve_minimizer(mine, max_iter=7) is mine
    minimizer = LBFGS(max_iter=3)
    assert resolve_minimizer(minimizer, max_iter=7) is minimizer


def test_resolve_refuses():
    with pytest.raises(ValueError, match=r"optimizer='adam'.*'lbfgs', 'rprop', 'cg', 'gd'"):
        resolve_minimizer("adam")
    with pytest.raises(TypeError, match=r"optimizer=3 is of type int.*'lbfgs'"):
        resolve_minimizer(3)
    with pytest.raises(TypeError, match=r"is a class;.*LBFGS\(max_iter=100\)"):
        resolve_minimizer(LBFGS)


# ---------------------------------------------------------------- Gauss-Newton


@dataclass(frozen=True)
class Rows:
    """Least squares on a map given with its Jacobian; remembers which rows were asked for."""

    function: object  # Z (m, q) -> (m, D)
    jacobian: object  # Z (m, q) -> (m, D, q)
    targets: np.ndarray
    asked: list = dataclasses.field(default_factory=list)

    def losses(self, Z, rows):
        self.asked.append(rows.copy())
        return np.square(self.targets[rows] - self.function(Z)).sum(axis=1)

    def normal_terms(self, Z, rows):
        self.asked.append(rows.copy())
        J = self.jacobian(Z)
        r = self.targets[rows] - self.function(Z)
        return (
            np.einsum("idk,idl->ikl", J, J),
            np.einsum("idk,id->ik", J, r),
            np.square(r).sum(axis=1),
        )


def linear_rows(n, D, q, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(D, q))
    targets = rng.normal(size=(n, D))
    problem = Rows(lambda Z: Z @ W.T, lambda Z: np.broadcast_to(W, (len(Z), D, q)), targets)
    return problem, W, rng.normal(size=(n, q))


def waves(n, q, seed=0, noise=0.3):
    """A smooth map from q to q + 3 dimensions, with targets near its image."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, q + 3, q))

    def function(Z):
        return np.sin(Z @ A.T) + Z @ B.T

    def jacobian(Z):
        return np.cos(Z @ A.T)[:, :, None] * A + B

    truth = rng.normal(size=(n, q))
    targets = function(truth) + noise * rng.normal(size=(n, q + 3))
    return Rows(function, jacobian, targets), truth + 0.3 * rng.normal(size=(n, q))


@pytest.mark.parametrize("q", [1, 2, 3, 5])
def test_linear_maps_take_one_step_and_one_to_see_it(q):
    problem, W, start = linear_rows(7, 6, q)
    exact = np.linalg.lstsq(W, problem.targets.T, rcond=None)[0].T
    for damping, n_iter in ((0.0, 2), (1e-6, 3)):
        result = GaussNewton(damping=damping).minimize_rows(problem, start)
        np.testing.assert_allclose(result.Z, exact, rtol=1e-9, atol=1e-9)
        assert result.converged.all()
        assert (result.n_iter <= n_iter).all()
    one = GaussNewton(damping=0.0, max_iter=1).minimize_rows(problem, start)
    np.testing.assert_allclose(one.Z, exact, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_agrees_with_scipy(q):
    problem, start = waves(20, q)
    result = GaussNewton(tol=1e-12).minimize_rows(problem, start)
    assert result.converged.all()
    for i in range(20):
        row = np.array([i])
        reference = least_squares(
            lambda z: (problem.function(z[None]) - problem.targets[row]).ravel(),  # noqa: B023
            start[i],
            jac=lambda z: problem.jacobian(z[None])[0],
            method="lm",
            xtol=1e-12,
            ftol=1e-14,
        )
        assert result.losses[i] == pytest.approx(2.0 * reference.cost, rel=1e-6)
        np.testing.assert_allclose(result.Z[i], reference.x, atol=1e-4)
    np.testing.assert_allclose(
        result.losses, problem.losses(result.Z, np.arange(20)), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_large_residuals_too(seed):
    """Far targets, where plain Gauss-Newton steps are too long: never up, mostly to the end."""
    problem, start = waves(200, 2, seed, noise=3.0)
    every = np.arange(200)
    before = problem.losses(start, every)
    losses = [before]
    for max_iter in (1, 2, 5, 20, 100):
        result = GaussNewton(max_iter=max_iter).minimize_rows(problem, start)
        losses.append(result.losses)
        assert (result.n_iter <= max_iter).all()
    assert np.diff(losses, axis=0).max() <= 0.0
    assert result.converged.mean() > 0.95
    _, descent, _ = problem.normal_terms(result.Z, every)
    assert np.median(np.abs(descent)) < 1e-2


@pytest.mark.parametrize("noise", [0.3, 3.0])
@pytest.mark.parametrize("q", [1, 2, 4])
def test_rows_are_independent(q, noise):
    problem, start = waves(30, q, noise=noise)
    together = GaussNewton().minimize_rows(problem, start)
    for i in range(30):
        alone = GaussNewton().minimize_rows(
            dataclasses.replace(problem, targets=problem.targets[i : i + 1]), start[i : i + 1]
        )
        np.testing.assert_allclose(alone.Z[0], together.Z[i], rtol=0, atol=1e-12)
        assert alone.n_iter[0] == together.n_iter[i]
        assert alone.converged[0] == together.converged[i]


def test_only_unfinished_rows_are_evaluated():
    problem, W, start = linear_rows(6, 4, 2)
    start[::2] = np.linalg.lstsq(W, problem.targets.T, rcond=None)[0].T[::2]
    before = start.copy()
    result = GaussNewton().minimize_rows(problem, start)
    np.testing.assert_array_equal(start, before)
    assert result.n_iter.tolist() == [1, 2, 1, 2, 1, 2]
    assert problem.asked[0].tolist() == [0, 1, 2, 3, 4, 5]
    for rows in problem.asked[2:]:
        assert set(rows) <= {1, 3, 5}


@pytest.mark.parametrize("weight", [1.0, 0.25, "per row"])
def test_the_pull_gives_drurs_step(weight):
    """Carreira-Perpinan & Lu (2010), Eq. (12), from a full step without damping."""
    problem, start = waves(12, 2)
    rng = np.random.default_rng(5)
    centres = start + 0.1 * rng.normal(size=start.shape)
    weights = rng.uniform(0.5, 2.0, size=12) if weight == "per row" else np.full(12, weight)
    pull = Pull(problem, centres, weights if weight == "per row" else weight)
    result = GaussNewton(damping=0.0, max_iter=1).minimize_rows(pull, start)
    for i in range(12):
        J = problem.jacobian(start[i : i + 1])[0]
        r = problem.targets[i] - problem.function(start[i : i + 1])[0]
        step = np.linalg.solve(
            weights[i] * np.eye(2) + J.T @ J, J.T @ r + weights[i] * (centres[i] - start[i])
        )
        np.testing.assert_allclose(result.Z[i], start[i] + step, rtol=1e-10)
    gap = np.square(result.Z - centres).sum(axis=1)
    np.testing.assert_allclose(
        result.losses, problem.losses(result.Z, np.arange(12)) + weights * gap
    )


def test_the_pull_finds_the_stationary_point():
    """Eq. (8) of the paper set to zero: J^T (y - f(x)) = x - F(y)."""
    problem, start = waves(12, 3)
    pull = Pull(problem, np.zeros_like(start))
    result = GaussNewton(tol=1e-14).minimize_rows(pull, start)
    assert result.converged.all()
    _, descent, _ = problem.normal_terms(result.Z, np.arange(12))
    np.testing.assert_allclose(descent, result.Z, atol=1e-5)


@pytest.mark.parametrize("weight", [-1.0, math.nan, np.ones(3)])
def test_a_bad_pull_is_refused(weight):
    problem, start = waves(4, 2)
    with pytest.raises(ValueError, match="weight"):
        Pull(problem, start, weight)


def circle(targets):
    return Rows(
        lambda Z: np.concatenate([np.cos(Z), np.sin(Z)], axis=1),
        lambda Z: np.stack([-np.sin(Z), np.cos(Z)], axis=1),
        targets,
    )


def test_feasible_steps_only():
    """Projection onto an arc: the row whose nearest point lies outside stops at the border."""
    problem = circle(np.array([[2.0, 0.2], [-2.0, 0.1], [0.0, 2.0], [1.5, 0.5]]))
    start = np.array([[0.5], [0.5], [0.5], [-2.5]])

    def on_arc(Z, rows):
        assert len(Z) == len(rows)
        return np.abs(Z[:, 0]) <= 1.0

    every = np.arange(4)
    result = GaussNewton().minimize_rows(problem, start, feasible=on_arc)
    assert result.Z[0, 0] == pytest.approx(math.atan2(0.2, 2.0), abs=1e-4)
    assert 0.9 < result.Z[1, 0] <= 1.0
    assert 0.9 < result.Z[2, 0] <= 1.0
    # An infeasible start: a feasible point that is lower, or no move at all.
    assert result.Z[3, 0] == -2.5 or abs(result.Z[3, 0]) <= 1.0
    assert result.converged.tolist()[:3] == [True, False, False]
    assert (result.losses <= problem.losses(start, every)).all()
    free = GaussNewton().minimize_rows(problem, start)
    assert free.Z[2, 0] == pytest.approx(math.pi / 2, abs=1e-3)
    nowhere = GaussNewton().minimize_rows(
        problem, start, feasible=lambda Z, rows: np.zeros(len(rows), dtype=bool)
    )
    np.testing.assert_array_equal(nowhere.Z, start)
    assert not nowhere.converged.any()


def test_singular_jacobians():
    """A map that ignores its second input, and one that ignores both."""
    targets = np.array([[1.0, 2.0], [3.0, -1.0]])

    def only_first(Z):
        return np.stack([Z[:, 0], 2.0 * Z[:, 0]], axis=1)

    def jacobian(Z):
        return np.broadcast_to(np.array([[1.0, 0.0], [2.0, 0.0]]), (len(Z), 2, 2))

    start = np.array([[0.3, 0.7], [-0.2, 0.1]])
    for damping in (0.0, 1e-6):
        result = GaussNewton(damping=damping).minimize_rows(
            Rows(only_first, jacobian, targets), start
        )
        assert result.converged.all()
        np.testing.assert_allclose(result.Z[:, 0], [1.0, 0.2], atol=1e-6)
        np.testing.assert_array_equal(result.Z[:, 1], start[:, 1])
    constant = Rows(lambda Z: np.zeros((len(Z), 2)), lambda Z: np.zeros((len(Z), 2, 2)), targets)
    result = GaussNewton(damping=0.0).minimize_rows(constant, start)
    np.testing.assert_array_equal(result.Z, start)
    assert result.converged.all()
    # With a pull, a constant map leads straight to the centre.
    pulled = GaussNewton(damping=0.0).minimize_rows(Pull(constant, np.ones((2, 2))), start)
    np.testing.assert_allclose(pulled.Z, 1.0)


def test_rows_that_lead_to_nowhere_do_not_disturb_the_others():
    """Losses that are not finite beyond a line, terms that are not finite, a wrong Jacobian."""
    targets = np.full((4, 1), 2.0)

    class Hostile:
        def losses(self, Z, rows):
            loss = np.square(targets[rows] - Z).sum(axis=1)
            loss[(rows == 1) & (Z[:, 0] > 1.0)] = math.nan
            return loss

        def normal_terms(self, Z, rows):
            curvature = np.ones((len(rows), 1, 1))
            descent = targets[rows] - Z
            curvature[rows == 2] = math.inf
            descent[rows == 3] *= -1.0
            return curvature, descent, self.losses(Z, rows)

    start = np.array([[0.0], [0.0], [0.0], [0.0]])
    result = GaussNewton(damping=0.0).minimize_rows(Hostile(), start)
    assert np.isfinite(result.Z).all()
    assert np.isfinite(result.losses).all()
    assert result.Z[0, 0] == 2.0
    assert 0.9 < result.Z[1, 0] <= 1.0
    assert result.Z[2:, 0].tolist() == [0.0, 0.0]
    assert result.converged.tolist() == [True, False, False, False]
    assert result.n_iter[2] == 1


def test_a_start_where_a_loss_is_not_finite_is_refused():
    problem, start = waves(5, 2)
    problem.targets[3] = math.inf
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(ValueError, match=r"loss at Z0 is inf in row 3 .*1 rows of 5"),
    ):
        GaussNewton().minimize_rows(problem, start)


@pytest.mark.parametrize("start", [np.zeros(3), np.array([[math.nan, 1.0]])])
def test_rows_must_start_from_a_finite_matrix(start):
    problem, _ = waves(1, 2)
    with pytest.raises(ValueError, match="Z0 of shape"):
        GaussNewton().minimize_rows(problem, start)


def test_no_rows():
    problem, start = waves(0, 2)
    result = GaussNewton().minimize_rows(problem, start)
    assert result.Z.shape == (0, 2)
    assert result.losses.shape == result.n_iter.shape == result.converged.shape == (0,)


@pytest.mark.parametrize("q", [1, 2, 3, 6])
def test_small_systems(q):
    rng = np.random.default_rng(q)
    J = rng.normal(size=(9, q + 2, q))
    A = np.einsum("idk,idl->ikl", J, J)
    b = rng.normal(size=(9, q))
    A[3] *= 1e250
    A[4] *= 1e-250
    A[5], b[5] = 0.0, 0.0
    A[6, 0, 0] = math.nan
    b[7, 0] = math.inf
    A[8], b[8] = 1e-320 * np.eye(q), 1.0
    damping = np.linspace(0.0, 0.5, 9)
    steps, solved = damped_steps(A, b, damping)
    assert solved.tolist() == [True] * 6 + [False] * 3
    assert np.isfinite(steps).all()
    assert not steps[5:].any()
    for i in range(5):
        size = np.trace(A[i])
        damped = A[i] / size + damping[i] / q * np.eye(q)
        np.testing.assert_allclose(steps[i], np.linalg.solve(damped, b[i] / size), rtol=1e-8)

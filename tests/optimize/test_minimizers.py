"""Minimizers x problems: minima, invariances, and points that are not finite."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from minimizer_problems import (
    MINIMIZERS,
    MONOTONE,
    PROBLEMS,
    Function,
    Times,
    Watched,
    bowl,
    each_minimizer,
    each_problem,
    minimize,
    quadratic,
)

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

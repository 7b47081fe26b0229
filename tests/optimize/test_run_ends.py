"""How runs end: tolerance, iterations, callbacks and errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from minimizer_problems import (
    LINE_SEARCHING,
    MINIMIZERS,
    PROBLEMS,
    Function,
    bowl,
    each_minimizer,
    minimize,
    quadratic,
)

from twofold.optimize import RProp

ISLAND = np.array([[1.0, 2.0]])


def island(Z):
    """A bowl that is finite at a single point."""
    return bowl(Z) if np.array_equal(Z, ISLAND) else (math.nan, np.zeros_like(Z))


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


@pytest.mark.parametrize("name", LINE_SEARCHING)
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
    result = MINIMIZERS[name]().minimize(Function(island), ISLAND)
    assert not result.converged
    assert "not smooth here" in result.status
    assert result.value == 5.0


def test_ends_where_rprop_has_only_negligible_steps():
    result = RProp(window=100).minimize(Function(island), ISLAND)
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

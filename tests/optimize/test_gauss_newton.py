"""Gauss-Newton, row by row."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import least_squares

from twofold.optimize import GaussNewton, Pull
from twofold.optimize._small_systems import damped_steps


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


def test_the_pull_gives_drurs_step():
    """Carreira-Perpinan & Lu (2010), Eq. (12), from a full step without damping."""
    problem, start = waves(12, 2)
    rng = np.random.default_rng(5)
    centers = start + 0.1 * rng.normal(size=start.shape)
    result = GaussNewton(damping=0.0, max_iter=1).minimize_rows(Pull(problem, centers), start)
    for i in range(12):
        J = problem.jacobian(start[i : i + 1])[0]
        r = problem.targets[i] - problem.function(start[i : i + 1])[0]
        step = np.linalg.solve(np.eye(2) + J.T @ J, J.T @ r + centers[i] - start[i])
        np.testing.assert_allclose(result.Z[i], start[i] + step, rtol=1e-10)
    gap = np.square(result.Z - centers).sum(axis=1)
    np.testing.assert_allclose(result.losses, problem.losses(result.Z, np.arange(12)) + gap)


def test_the_pull_finds_the_stationary_point():
    """Eq. (8) of the paper set to zero: J^T (y - f(x)) = x - F(y)."""
    problem, start = waves(12, 3)
    pull = Pull(problem, np.zeros_like(start))
    result = GaussNewton(tol=1e-14).minimize_rows(pull, start)
    assert result.converged.all()
    _, descent, _ = problem.normal_terms(result.Z, np.arange(12))
    np.testing.assert_allclose(descent, result.Z, atol=1e-5)


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
    # With a pull, a constant map leads straight to the center.
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


def test_a_loss_that_ends_at_zero_converges_at_its_rounding():
    """In units of a million no relative decrease is small: the first loss's rounding decides."""
    problem, start = waves(20, 2, noise=0.0)
    large = Rows(
        lambda Z: 1e6 * problem.function(Z),
        lambda Z: 1e6 * problem.jacobian(Z),
        1e6 * problem.targets,
    )
    result = GaussNewton(tol=0.0).minimize_rows(large, start)
    assert result.converged.all()
    assert (result.n_iter < 20).all()
    assert (result.losses <= 1e-3).all()


class Uphill:
    """A wrong Jacobian: all steps lead up. Counts the trials."""

    def __init__(self):
        self.n_trials = 0

    def losses(self, Z, rows):
        self.n_trials += len(rows)
        return 1.0 + np.square(Z).sum(axis=1)

    def normal_terms(self, Z, rows):
        return np.ones((len(rows), 1, 1)), Z.copy(), 1.0 + np.square(Z).sum(axis=1)


@pytest.mark.parametrize("max_halvings", [0, 1, 12])
def test_steps_are_halved_and_damped_so_often(max_halvings):
    plain = Uphill()
    options = {"damping": 0.0, "max_halvings": max_halvings}
    result = GaussNewton(max_damping=0.0, **options).minimize_rows(plain, np.ones((1, 1)))
    assert plain.n_trials == max_halvings + 1
    assert result.n_iter[0] == 1
    damped = Uphill()
    result = GaussNewton(max_damping=100.0, **options).minimize_rows(damped, np.ones((1, 1)))
    assert result.n_iter[0] == 5  # undamped, then with 0.1, 1, 10 and 100
    assert damped.n_trials == 5 * (max_halvings + 1)
    assert not result.converged.any()
    assert result.Z[0, 0] == 1.0


@pytest.mark.parametrize("options", [{"max_halvings": 0}, {"max_damping": 0.0}])
def test_halving_and_damping_each_lead_to_the_end(options):
    problem, start = waves(200, 2, noise=1.0)
    result = GaussNewton(max_iter=200, **options).minimize_rows(problem, start)
    assert result.converged.mean() > 0.95
    both = GaussNewton(max_iter=200).minimize_rows(problem, start)
    assert np.median(np.abs(result.losses - both.losses)) < 1e-4


@pytest.mark.parametrize(
    "bad", [{"max_iter": 0}, {"tol": -1.0}, {"damping": -1.0}, {"max_damping": -1.0}]
)
def test_settings_are_checked(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))}="):
        GaussNewton(**bad)


def test_a_system_with_one_bad_entry_is_not_solved():
    A, b = np.stack([np.eye(3)] * 4), np.ones((4, 3))
    A[0, 0, 2] = A[0, 2, 0] = math.inf
    A[1, 0, 1] = A[1, 1, 0] = math.nan
    A[2, 2, 2], b[2, 2] = 1e-10, 1e300  # one unknown overflows
    steps, solved = damped_steps(A, b, np.zeros(4))
    assert solved.tolist() == [False, False, False, True]
    np.testing.assert_allclose(steps, [[0.0] * 3] * 3 + [[1.0] * 3], rtol=1e-15)


def test_defaults_are_those_of_the_docstring():
    named = re.findall(r"(\w+) : \w+, default=(\S+)", GaussNewton.__doc__)
    fields = dataclasses.fields(GaussNewton)
    assert {field.name: float(field.default) for field in fields} == {
        name: float(value) for name, value in named
    }

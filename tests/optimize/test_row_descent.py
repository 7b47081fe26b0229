"""Gradient descent, row by row."""

import numpy as np
import pytest

from twofold.optimize import GaussNewton, RowDescent


class Quadratic:
    """``|A z - t|^2`` for each row, with the same matrix A (D, q)."""

    def __init__(self, A, targets):
        self.A, self.targets = A, targets

    def losses(self, Z, rows):
        return np.square(self.targets[rows] - Z @ self.A.T).sum(axis=1)

    def normal_terms(self, Z, rows):
        r = self.targets[rows] - Z @ self.A.T
        JTJ = np.broadcast_to(self.A.T @ self.A, (len(Z), 2, 2)).copy()
        return JTJ, r @ self.A, np.square(r).sum(axis=1)


def problem(seed=0):
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.standard_normal((4, 2)))[0] * [1.0, 0.5]
    return Quadratic(A, rng.standard_normal((30, 4))), rng.standard_normal((30, 2))


@pytest.mark.parametrize("step", [None, 0.3])
def test_reaches_the_minimum(step):
    rows, start = problem()
    minimum = GaussNewton(tol=1e-12).minimize_rows(rows, start)
    found = RowDescent(max_iter=1000, tol=1e-7, step=step).minimize_rows(rows, start)
    assert found.converged.all()
    np.testing.assert_allclose(found.Z, minimum.Z, atol=1e-4)
    np.testing.assert_allclose(found.losses, rows.losses(found.Z, np.arange(30)))
    assert found.n_iter.max() > minimum.n_iter.max()


@pytest.mark.parametrize("step", [None, 0.3, 5.0])
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_no_loss_rises_and_starts_are_kept(step, max_iter):
    rows, start = problem(1)
    before = start.copy()
    found = RowDescent(max_iter=max_iter, step=step).minimize_rows(rows, start)
    np.testing.assert_array_equal(start, before)
    assert (found.losses <= rows.losses(start, np.arange(30))).all()
    assert found.n_iter.max() <= max_iter


def test_constant_steps_converge_below_two_over_the_curvature():
    # The Hessian of |A z - t|^2 is 2 A^T A: eigenvalues 2 and 0.5.
    rows, start = problem()
    assert RowDescent(max_iter=500, step=0.9).minimize_rows(rows, start).converged.all()
    beyond = RowDescent(max_iter=500, step=1.1).minimize_rows(rows, start)
    assert not beyond.converged.any()
    assert np.isfinite(beyond.Z).all()


def test_steps_that_overflow_end_a_row():
    rows, start = problem()
    found = RowDescent(max_iter=300, step=1e9).minimize_rows(rows, start)
    np.testing.assert_array_equal(found.Z, start)
    assert not found.converged.any()


@pytest.mark.parametrize("setting", [{"max_iter": 0}, {"tol": -1.0}, {"step": 0.0}])
def test_settings(setting):
    with pytest.raises(ValueError, match="RowDescent"):
        RowDescent(**setting)


def test_gauss_newton_without_damping():
    rows, start = problem()
    plain = GaussNewton(tol=1e-10, damping=0.0, max_damping=0.0).minimize_rows(rows, start)
    exact = np.linalg.lstsq(rows.A, rows.targets.T)[0].T
    np.testing.assert_allclose(plain.Z, exact, atol=1e-8)
    with pytest.raises(ValueError, match="max_damping"):
        GaussNewton(max_damping=-1.0)

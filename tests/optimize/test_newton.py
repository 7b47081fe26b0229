"""Newton polishing: to working precision, and only where a step is sound."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from twofold.optimize import NewtonPolish


@dataclass(frozen=True)
class OnParabola:
    """Nearest points of the curve (z, z^2) times a scale to targets (n, 2)."""

    targets: np.ndarray
    scale: float = 1.0

    def residuals(self, Z, rows):
        return self.targets[rows] - self.scale * np.hstack([Z, Z**2])

    def losses(self, Z, rows):
        return np.square(self.residuals(Z, rows)).sum(axis=1)

    def normal_terms(self, Z, rows):
        J = self.scale * np.hstack([np.ones_like(Z), 2.0 * Z])
        descent = np.einsum("nd,nd->n", J, self.residuals(Z, rows))
        return np.square(J).sum(axis=1)[:, None, None], descent[:, None], self.losses(Z, rows)


TARGETS = np.array([[1.0, 3.0], [-2.0, 1.0], [0.4, -2.0], [3.0, 0.0]])


def nearest(target):
    """Return the latent of the nearest point of the parabola, and its distance squared."""
    found = minimize_scalar(
        lambda z: (target[0] - z) ** 2 + (target[1] - z * z) ** 2,
        bracket=(target[0], target[0] + 0.1),
        tol=1e-15,
    )
    return found.x


def test_to_working_precision():
    Z = np.array([[nearest(target)] for target in TARGETS])
    problem = OnParabola(TARGETS)
    found = NewtonPolish().polish_rows(problem, Z + 0.01)
    assert_allclose(problem.normal_terms(found, np.arange(4))[1], 0.0, atol=1e-9)
    assert_allclose(found, Z, atol=1e-7)  # which differences of losses can tell


def test_rows_are_independent():
    Z = np.array([[nearest(target)] for target in TARGETS]) + 0.01
    together = NewtonPolish().polish_rows(OnParabola(TARGETS), Z)
    for row in range(len(Z)):
        alone = NewtonPolish().polish_rows(OnParabola(TARGETS[[row]]), Z[[row]])
        assert_array_equal(alone[0], together[row])


def test_steps_stay_in_the_domain():
    Z = np.array([[nearest(target)] for target in TARGETS]) + 0.01
    found = NewtonPolish().polish_rows(
        OnParabola(TARGETS), Z, feasible=lambda trial, rows: rows != 2
    )
    assert_array_equal(found[2], Z[2])
    assert (np.delete(found, 2) != np.delete(Z, 2)).all()


def test_maxima_are_left_alone():
    # On the axis of the parabola, above its center of curvature, z = 0 is the farthest place.
    problem = OnParabola(np.array([[0.0, 5.0]]))
    for z in (0.0, 1e-3):
        assert_array_equal(NewtonPolish().polish_rows(problem, np.array([[z]])), [[z]])


@pytest.mark.parametrize("far", [1e100, 1e150, 1e154])
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e-160])
def test_overflows_are_no_warnings_and_no_steps(far, scale):
    problem = OnParabola(far * TARGETS, scale)
    Z = np.array([[1.0], [0.0], [1e50], [-1.0]])
    found = NewtonPolish().polish_rows(problem, Z)
    assert np.isfinite(found).all()
    with np.errstate(over="ignore"):
        assert (problem.losses(found, np.arange(4)) <= problem.losses(Z, np.arange(4))).all()


def test_a_hessian_that_overflows_is_not_used():
    class Steep(OnParabola):
        def normal_terms(self, Z, rows):
            curvature, descent, losses = super().normal_terms(Z, rows)
            return curvature, np.where(Z < 0.5, 1e308, -1e308) + 0.0 * descent, losses

    Z = np.full((4, 1), 0.5)
    assert_array_equal(NewtonPolish().polish_rows(Steep(TARGETS), Z), Z)

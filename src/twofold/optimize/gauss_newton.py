r"""Gauss-Newton on many small least-squares problems at once, one per row.

For every row ``i`` on its own::

    min_z E_i(z),    E_i(z) = |t_i - f(z)|^2  (+ w_i |z - c_i|^2)

With ``r = t - f(z)`` and ``J`` the Jacobian of ``f`` at ``z``, dropping the second derivatives of
``f`` leaves the step (Carreira-Perpinan & Lu 2010, Eq. 7-12; there ``w = 1`` and ``c = F(y)``, so
that the pull makes the matrix positive definite)::

    p = (J^T J + w I)^{-1} (J^T r + w (c - z))

The parabola it rests on predicts that the full step lowers the loss by ``<J^T r + w (c - z), p>``.

**Backtracking.** The step is halved until it satisfies Armijo's condition and the trial is feasible
and finite. A loss never rises. A start outside the feasible set moves only to a feasible point that
is lower.

**Damping.** Without a pull ``J^T J`` may be singular. ``damping * trace(J^T J) / q`` is added to
its diagonal, and directions whose pivot is still zero to rounding are left out of the step. A row
whose step was cut has ten times the damping in its next iteration, and a tenth after a full step:
far from the minimum or with large residuals the step turns towards the gradient, as in Levenberg
and Marquardt's method. (On a map with large residuals, 60,000 rows, this took 18 loss evaluations
per row instead of 48, and left 0.4 % of the rows unconverged instead of 10 %.) The paper's
projections, where full steps nearly always succeed, do not change.

**Convergence**, row by row: the gradient is zero, or the full step ``p`` is short against ``z``, or
its predicted decrease is small against the loss (or below rounding of the row's first loss). The
*full* step with the least damping counts: a step that was cut or damped may be small far from the
minimum. A row stuck at the border of the feasible set is not converged.

**Independence.** Only unfinished rows are evaluated, and a row's arithmetic does not involve
others: as long as the problem computes its rows independently, so does the solver.

Notation
--------
=======================  ======================================================
Carreira-Perpinan & Lu   here
=======================  ======================================================
``x``, ``y``, ``F(y)``   ``Z[i]``, the target, `twofold.optimize.Pull`'s center
``J^T J`` (+ ``I``)      ``curvature`` (m, q, q)
``J^T (y - f(x))`` ...   ``descent`` (m, q), minus half the gradient (Eq. 8)
``p``, ``alpha``         ``steps`` (m, q), ``fraction``
=======================  ======================================================

References
----------
M. Carreira-Perpinan and Z. Lu (2010). Parametric dimensionality reduction by
unsupervised regression. IEEE conference on computer vision and pattern recognition.

D. Marquardt (1963). An algorithm for least-squares estimation of nonlinear parameters. SIAM Journal
on Applied Mathematics 11.

J. Nocedal and S. Wright (2006). Numerical Optimization, section 10.3. Springer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.linalg import norm
from numpy.typing import NDArray

from twofold.numerics.validation import check_int, check_real
from twofold.optimize._progress import EPS
from twofold.optimize._small_systems import damped_steps
from twofold.protocols import Array, IntArray, NormalTerms

Mask = NDArray[np.bool_]

Feasible = Callable[[Array, IntArray], Mask]
"""``feasible(Z, rows)`` returns for each k whether row ``rows[k]`` may be at the point ``Z[k]``."""

# c_1 of Armijo's condition. Not the usual 1e-4: on the convex side of a curved manifold the full
# step can jump from one side of the minimum to the other, a little lower each time, for ever.
SUFFICIENT = 0.1

# Where a row's damping goes, in units of the mean of the diagonal: after a step that was cut, after
# one that failed altogether, and at most. At most, the step is the negative gradient's.
DAMPING_IF_CUT = 1e-3
DAMPING_IF_STUCK = 0.1
MAX_DAMPING = 100.0


class RowProblem(Protocol):
    """Independent least-squares problems, one per row of a batch.

    ``Z`` (m, q) holds the current points of the rows ``rows`` (m,), indices into the batch.

    Examples
    --------
    Square roots, one number per row:

    >>> import numpy as np
    >>> from twofold.optimize import GaussNewton
    >>> class Roots:
    ...     numbers = np.array([4.0, 9.0])
    ...     def residuals(self, Z, rows):
    ...         return self.numbers[rows] - Z[:, 0] ** 2
    ...     def losses(self, Z, rows):
    ...         return self.residuals(Z, rows) ** 2
    ...     def normal_terms(self, Z, rows):
    ...         J = 2.0 * Z
    ...         r = self.residuals(Z, rows)
    ...         return (J**2)[:, :, None], J * r[:, None], r**2
    >>> GaussNewton().minimize_rows(Roots(), np.ones((2, 1))).Z.round(6).ravel()
    array([2., 3.])
    """

    def normal_terms(self, Z: Array, rows: IntArray) -> NormalTerms:
        """Return ``J^T J`` (m, q, q), ``J^T r`` (m, q) and the loss (m,), ``r = target - f(z)``."""
        ...

    def losses(self, Z: Array, rows: IntArray) -> Array:
        """Return the loss ``|r|^2`` (m,)."""
        ...


@dataclass(frozen=True)
class RowsResult:
    """The result of `GaussNewton.minimize_rows`.

    Attributes
    ----------
    Z : ndarray of shape (n, q)
        The final points.
    losses : ndarray of shape (n,)
        Their losses, none above that of its start.
    n_iter : ndarray of shape (n,)
        Steps computed for each row.
    converged : ndarray of shape (n,)
        Which rows met the tolerance. The others ran out of iterations, were held by the constraint,
        or found no lower point.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.optimize import GaussNewton
    >>> class AtThree:
    ...     def losses(self, Z, rows):
    ...         return (3.0 - Z[:, 0]) ** 2
    ...     def normal_terms(self, Z, rows):
    ...         return np.ones((len(Z), 1, 1)), 3.0 - Z, self.losses(Z, rows)
    >>> result = GaussNewton(damping=0.0).minimize_rows(AtThree(), np.zeros((1, 1)))
    >>> result.Z, result.losses, result.n_iter, result.converged
    (array([[3.]]), array([0.]), array([2]), array([ True]))
    """

    Z: Array
    losses: Array
    n_iter: IntArray
    converged: Mask


@dataclass(frozen=True)
class GaussNewton:
    """Batched Gauss-Newton with backtracking.

    Parameters
    ----------
    max_iter : int, default=50
        Maximum number of steps per row.
    tol : float, default=1e-6
        A row has converged when its full step is below ``tol`` of its norm, or predicts a decrease
        below ``tol`` of its loss. That last step is still taken.
    damping : float, default=1e-6
        The smallest damping of a row, added to the diagonal in units of its mean.
    max_halvings : int, default=12
        Maximum number of halvings of a step.
    max_damping : float, default=100.0
        The damping that a row can reach after steps that were cut. 0 is the plain method of
        Carreira-Perpinan & Lu (2010), with backtracking alone.

    Examples
    --------
    The points of a line closest to two targets:

    >>> import numpy as np
    >>> line = np.array([3.0, 4.0])
    >>> class OnLine:
    ...     targets = np.array([[6.0, 8.0], [-4.0, 3.0]])
    ...     def residuals(self, Z, rows):
    ...         return self.targets[rows] - Z * line
    ...     def losses(self, Z, rows):
    ...         return np.square(self.residuals(Z, rows)).sum(axis=1)
    ...     def normal_terms(self, Z, rows):
    ...         JTJ = np.full((len(rows), 1, 1), line @ line)
    ...         return JTJ, self.residuals(Z, rows) @ line[:, None], self.losses(Z, rows)
    >>> result = GaussNewton(damping=0.0).minimize_rows(OnLine(), np.array([[1.0], [1.0]]))
    >>> result.Z.ravel().tolist(), result.converged.tolist()
    ([2.0, 0.0], [True, True])
    """

    max_iter: int = 50
    tol: float = 1e-6
    damping: float = 1e-6
    max_halvings: int = 12
    max_damping: float = MAX_DAMPING

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_int("max_iter", self.max_iter, owner=owner)
        check_real("tol", self.tol, low=0.0, owner=owner)
        check_real("damping", self.damping, low=0.0, owner=owner)
        check_int("max_halvings", self.max_halvings, low=0, owner=owner)
        check_real("max_damping", self.max_damping, low=0.0, owner=owner)

    def minimize_rows(
        self, problem: RowProblem, Z0: Array, *, feasible: Feasible | None = None
    ) -> RowsResult:
        """Minimize every row from its start.

        Parameters
        ----------
        problem : RowProblem
            The rows' losses and normal equations.
        Z0 : ndarray of shape (n, q)
            The starts; left unchanged.
        feasible : callable, default=None
            ``feasible(Z, rows)`` returns a mask (m,) of the points that are allowed.

        Returns
        -------
        RowsResult
        """
        Z = np.array(Z0, dtype=np.float64, order="C")
        if Z.ndim != 2 or not np.isfinite(Z).all():
            raise ValueError(f"Z0 of shape {Z.shape} must be a matrix (n, q) of finite numbers.")
        losses = rounding = np.zeros(Z.shape[0])
        damping = np.full(Z.shape[0], float(self.damping))
        n_iter = np.zeros(Z.shape[0], dtype=np.intp)
        converged = np.zeros(Z.shape[0], dtype=np.bool_)
        active = np.arange(Z.shape[0])
        for iteration in range(self.max_iter):
            if active.size == 0:
                break
            curvature, descent, current = problem.normal_terms(Z[active], active)
            if iteration == 0:
                losses = _checked_start(current)
                rounding = EPS * losses
            n_iter[active] += 1
            steps, solved = damped_steps(curvature, descent, np.full(active.size, self.damping))
            descent = np.where(solved[:, None], descent, 0.0)
            with np.errstate(over="ignore"):  # steps from a flat place are very long
                short = norm(steps, axis=1) <= self.tol * norm(Z[active], axis=1)
            promise = np.einsum("ij,ij->i", descent, steps)
            poor = promise <= np.maximum(self.tol * losses[active], rounding[active])
            last = solved & (short | poor)
            converged[active[last]] = True

            hard = damping[active] > self.damping
            steps[hard], _ = damped_steps(curvature[hard], descent[hard], damping[active[hard]])
            promise[hard] = np.einsum("ij,ij->i", descent[hard], steps[hard])
            fractions = self._backtrack(problem, feasible, Z, losses, active, steps, promise, last)
            stuck = (fractions == 0.0) & (damping[active] >= self.max_damping)
            damping[active] = self._next_damping(damping[active], fractions)
            active = active[solved & ~last & ~stuck]
        return RowsResult(Z=Z, losses=losses, n_iter=n_iter, converged=converged)

    def _backtrack(
        self,
        problem: RowProblem,
        feasible: Feasible | None,
        Z: Array,
        losses: Array,
        active: IntArray,
        steps: Array,
        promise: Array,
        last: Mask,
    ) -> Array:
        """Move the active rows in ``Z`` and ``losses``; return the fractions (m,) of the steps."""
        fractions = np.zeros(active.size)
        pending = np.flatnonzero(steps.any(axis=1))
        fraction = 1.0
        for _ in range(self.max_halvings + 1 if pending.size else 0):
            rows = active[pending]
            trial = Z[rows] + fraction * steps[pending]
            found = _finite_losses(problem, trial, rows)
            # Armijo: the slope of the loss along the step is minus twice the promise.
            bound = losses[rows] - 2.0 * SUFFICIENT * fraction * promise[pending]
            lower = (found < losses[rows]) & (found <= bound)
            if feasible is not None and lower.any():
                lower[lower] = feasible(trial[lower], rows[lower])
            Z[rows[lower]] = trial[lower]
            losses[rows[lower]] = found[lower]
            fractions[pending[lower]] = fraction
            # The last step of a row is within the tolerance: worth one trial, not thirteen.
            pending = pending[~lower & ~last[pending]]
            if pending.size == 0:
                break
            fraction *= 0.5
        return fractions

    def _next_damping(self, damping: Array, fractions: Array) -> Array:
        """Return the rows' damping (m,) after steps of which these fractions were taken."""
        least = np.where(fractions == 0.0, DAMPING_IF_STUCK, DAMPING_IF_CUT)
        raised = np.clip(10.0 * damping, least, max(self.max_damping, self.damping))
        return np.where(fractions == 1.0, np.maximum(0.1 * damping, self.damping), raised)


def _finite_losses(problem: RowProblem, trial: Array, rows: IntArray) -> Array:
    """Return the losses (m,), infinite where a trial or its loss is not finite."""
    losses = np.full(rows.size, np.inf)
    usable = np.isfinite(trial).all(axis=1)
    if usable.any():
        losses[usable] = problem.losses(trial[usable], rows[usable])
    losses[~np.isfinite(losses)] = np.inf
    return losses


def _checked_start(losses: Array) -> Array:
    """Return a copy of the first losses, all of which must be finite."""
    bad = np.flatnonzero(~np.isfinite(losses))
    if bad.size:
        raise ValueError(
            f"the loss at Z0 is {losses[bad[0]]} in row {bad[0]} and not finite in {bad.size} rows "
            f"of {losses.size}; every row must start where its loss is finite. Move these rows."
        )
    return np.array(losses, dtype=np.float64)

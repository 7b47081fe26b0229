r"""Gradient descent on many small problems at once, one per row.

For every row on its own, with the gradient ``g`` of its loss (Carreira-Perpinan & Lu 2010, section
2.1)::

    z  <-  z - s g(z)

**Backtracking** (``step=None``). The step ``s`` of a row is halved until Armijo's condition holds,
and doubled after each success. A loss never rises.

**Constant steps.** With ``s = 1/2`` on DRUR's energy this is the paper's *fixed-point iteration*
``z <- F(x) + J^T (x - f(z))``, which equates the gradient to zero. It converges only where every
eigenvalue of the Hessian is below ``2 / s = 4`` ("it did not converge in general"). A row that does
not converge ends at the lowest point that it visited.

A row has converged when its step is short against ``z``. `GaussNewton` needs far fewer steps; this
class is the reference to compare it with.

References
----------
M. Carreira-Perpinan and Z. Lu (2010). Parametric dimensionality reduction by
unsupervised regression. IEEE conference on computer vision and pattern recognition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.linalg import norm

from twofold.numerics.validation import check_int, check_real
from twofold.optimize.gauss_newton import Mask, RowProblem, RowsResult
from twofold.protocols import Array, IntArray

SUFFICIENT = 0.1
"""Share of the decrease predicted by the gradient that a step must deliver."""

DIVERGED = 1e12
"""Constant steps of a row end where its loss is this many times that of its start."""


@dataclass(frozen=True)
class RowDescent:
    """Batched gradient descent.

    Parameters
    ----------
    max_iter : int, default=300
        Maximum number of steps per row.
    tol : float, default=1e-4
        A row has converged when its step is below ``tol`` of its norm.
    step : float or None, default=None
        A constant factor of the gradient. None means backtracking.
    max_halvings : int, default=30
        Maximum number of halvings of a step, with backtracking.

    Examples
    --------
    The point of a parabola nearest to (0, 1), by backtracking and by constant steps:

    >>> import numpy as np
    >>> from twofold.optimize import RowDescent
    >>> class Nearest:
    ...     def losses(self, Z, rows):
    ...         return Z[:, 0] ** 2 + (1.0 - Z[:, 0] ** 2) ** 2
    ...     def normal_terms(self, Z, rows):
    ...         JTr = -Z + 2.0 * Z * (1.0 - Z**2)
    ...         return (1.0 + 4.0 * Z**2)[:, :, None], JTr, self.losses(Z, rows)
    >>> start = np.array([[0.5]])
    >>> [RowDescent(step=s).minimize_rows(Nearest(), start).Z.round(3).item() for s in (None, 0.2)]
    [0.707, 0.707]
    """

    max_iter: int = 300
    tol: float = 1e-4
    step: float | None = None
    max_halvings: int = 30

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_int("max_iter", self.max_iter, owner=owner)
        check_real("tol", self.tol, low=0.0, owner=owner)
        if self.step is not None:
            check_real("step", self.step, owner=owner)
        check_int("max_halvings", self.max_halvings, low=0, owner=owner)

    def minimize_rows(self, problem: RowProblem, Z0: Array) -> RowsResult:
        """Minimize every row from its start.

        Parameters
        ----------
        problem : RowProblem
            The rows' losses and normal equations.
        Z0 : ndarray of shape (n, q)
            The starts; left unchanged.

        Returns
        -------
        RowsResult
        """
        Z = np.array(Z0, dtype=np.float64, order="C")
        if self.step is None:
            return self._backtracked(problem, Z)
        return self._constant_steps(problem, Z, self.step)

    def _backtracked(self, problem: RowProblem, Z: Array) -> RowsResult:
        n_iter, converged = np.zeros(len(Z), dtype=np.intp), np.zeros(len(Z), dtype=np.bool_)
        active = np.arange(len(Z))
        lengths = np.full(len(Z), 0.5)
        losses = problem.losses(Z, active)
        for _ in range(self.max_iter):
            if not active.size:
                break
            # Minus half the gradient: Eq. (8) of the paper.
            directions = 2.0 * problem.normal_terms(Z[active], active)[1]
            n_iter[active] += 1
            before, tried = Z[active], lengths[active] * norm(directions, axis=1)
            moved = self._search(problem, Z, losses, lengths, active, directions)
            steps = norm(Z[active] - before, axis=1)
            # At a minimum rounding hides the decrease, so that a row cannot move at all.
            short = np.where(moved, steps, tried) <= self.tol * norm(Z[active], axis=1)
            converged[active[short]] = True
            lengths[active[moved]] *= 2.0
            active = active[moved & ~short]
        return RowsResult(Z=Z, losses=losses, n_iter=n_iter, converged=converged)

    def _search(
        self,
        problem: RowProblem,
        Z: Array,
        losses: Array,
        lengths: Array,
        active: IntArray,
        directions: Array,
    ) -> Mask:
        """Move the active rows by steps that satisfy Armijo's condition; return which moved."""
        moved = np.zeros(active.size, dtype=np.bool_)
        pending = np.flatnonzero(directions.any(axis=1))
        for _ in range(self.max_halvings + 1 if pending.size else 0):
            rows = active[pending]
            trial = Z[rows] + lengths[rows, None] * directions[pending]
            found = problem.losses(trial, rows)
            slope = lengths[rows] * np.square(directions[pending]).sum(axis=1)
            lower = found <= losses[rows] - SUFFICIENT * slope
            Z[rows[lower]], losses[rows[lower]] = trial[lower], found[lower]
            moved[pending[lower]] = True
            lengths[rows[~lower]] *= 0.5
            pending = pending[~lower]
            if not pending.size:
                break
        return moved

    def _constant_steps(self, problem: RowProblem, Z: Array, step: float) -> RowsResult:
        n_iter, converged = np.zeros(len(Z), dtype=np.intp), np.zeros(len(Z), dtype=np.bool_)
        active = np.arange(len(Z))
        best, lowest = Z.copy(), problem.losses(Z, active)
        too_high = DIVERGED * lowest
        for _ in range(self.max_iter):
            if not active.size:
                break
            moves = 2.0 * step * problem.normal_terms(Z[active], active)[1]
            n_iter[active] += 1
            with np.errstate(over="ignore", invalid="ignore"):
                short = norm(moves, axis=1) <= self.tol * norm(Z[active], axis=1)
                Z[active] += moves
            usable = np.isfinite(Z[active]).all(axis=1)
            active, short = active[usable], short[usable]
            losses = problem.losses(Z[active], active)
            lower = losses < lowest[active]
            best[active[lower]], lowest[active[lower]] = Z[active[lower]], losses[lower]
            converged[active[short]] = True
            active = active[~short & (losses <= too_high[active])]
        return RowsResult(Z=best, losses=lowest, n_iter=n_iter, converged=converged)

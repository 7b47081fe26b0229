r"""Newton polishing of many small least-squares problems, one per row.

Gauss-Newton drops the curvature of ``f``. With large residuals it converges linearly, and where it
stops depends on rounding: two runs that differ in the last bit may end a square root of the
tolerance apart. A few Newton steps settle the minimum to working precision, so that the result of a
row does not depend on the rounding of other rows.

With ``d(z) = J^T r``, minus half the gradient of ``|r|^2``, the Newton step solves ``H p = d``.
Column l of ``H`` is the central difference ``-(d(z + h e_l) - d(z - h e_l)) / 2h``. The length h is
a small share of ``|r| / |J|``, over which the linear model changes by the residual. A step is taken
if ``H`` is positive definite, the step is short, the gradient shrinks and the loss does not rise.
``H`` is computed once and used for all steps: its 2q gradients are most of the cost, and it hardly
changes near the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.optimize.gauss_newton import Feasible, RowProblem
from twofold.protocols import Array, IntArray

DIFFERENCE = 1e-3
"""h above, as a share of ``|r| / |J|``."""

DEFINITE = 1e-10
"""A Hessian is positive definite if its least eigenvalue is more than this share of the largest."""

AS_LOW = 1.0 + 1e-12
"""Ratio of losses up to which the loss has not risen."""


_overflows_are_refused = np.errstate(over="ignore", invalid="ignore")
"""Where f is flat or a row is far away, steps or losses overflow; such a step is not taken."""


@dataclass(frozen=True)
class NewtonPolish:
    """A few Newton steps for rows that are close to their minimum.

    Parameters
    ----------
    max_iter : int, default=6
        Maximum number of steps.
    tol : float, default=1e-11
        A row has converged when its step is below this share of ``|r| / |J|``.

    Examples
    --------
    The point of a parabola nearest to (0, 1), from a close start to working precision:

    >>> import numpy as np
    >>> from twofold.optimize import NewtonPolish
    >>> class Nearest:
    ...     def losses(self, Z, rows):
    ...         return Z[:, 0] ** 2 + (1.0 - Z[:, 0] ** 2) ** 2
    ...     def normal_terms(self, Z, rows):
    ...         JTr = -Z + 2.0 * Z * (1.0 - Z**2)
    ...         return (1.0 + 4.0 * Z**2)[:, :, None], JTr, self.losses(Z, rows)
    >>> z = NewtonPolish().polish_rows(Nearest(), np.array([[0.71]]))
    >>> bool(abs(z[0, 0] - np.sqrt(0.5)) < 1e-9)
    True
    """

    max_iter: int = 6
    tol: float = 1e-11

    @_overflows_are_refused
    def polish_rows(
        self, problem: RowProblem, Z0: Array, *, feasible: Feasible | None = None
    ) -> Array:
        """Return the polished points (n, q); arguments are those of `GaussNewton.minimize_rows`."""
        Z = np.array(Z0, dtype=np.float64)
        rows = np.arange(len(Z))
        curvature, descent, losses = problem.normal_terms(Z, rows)
        length = np.sqrt(losses / np.maximum(np.einsum("nqq->n", curvature), 1e-300))
        inverse = self._inverse_hessians(problem, Z, length, rows)
        for _ in range(self.max_iter):
            steps = np.einsum("nqp,np->nq", inverse, descent)
            size = np.abs(steps).max(axis=1)
            moving = (size > self.tol * length) & (size < length)
            if feasible is not None:
                moving[moving] = feasible((Z[rows] + steps)[moving], rows[moving])
            rows, steps, descent, losses, length, inverse = (
                one[moving] for one in (rows, steps, descent, losses, length, inverse)
            )
            if not rows.size:
                break
            trial = Z[rows] + steps
            _, trial_descent, trial_losses = problem.normal_terms(trial, rows)
            better = np.square(trial_descent).sum(axis=1) < np.square(descent).sum(axis=1)
            better &= trial_losses <= losses * AS_LOW
            rows, length, inverse = rows[better], length[better], inverse[better]
            descent, losses = trial_descent[better], trial_losses[better]
            Z[rows] = trial[better]
            if not rows.size:
                break
        return Z

    def _inverse_hessians(
        self, problem: RowProblem, Z: Array, length: Array, rows: IntArray
    ) -> Array:
        """Return the inverse Hessians (m, q, q); zero where they are not positive definite."""
        q = Z.shape[1]
        h = DIFFERENCE * length
        usable = (h > 0.0) & np.isfinite(h)
        hessian = np.tile(-np.eye(q), (len(Z), 1, 1))
        if usable.any():
            some, h = rows[usable], h[usable, None]
            for column in range(q):
                shift = h * np.eye(q)[column]
                above = problem.normal_terms(Z[usable] + shift, some)[1]
                below = problem.normal_terms(Z[usable] - shift, some)[1]
                hessian[usable, :, column] = (below - above) / (2.0 * h)
        hessian = 0.5 * (hessian + hessian.transpose(0, 2, 1))
        hessian[~np.isfinite(hessian).all(axis=(1, 2))] = -np.eye(q)
        values, vectors = np.linalg.eigh(hessian)
        definite = values[:, 0] > DEFINITE * np.abs(values[:, -1])
        scaled = vectors / np.where(definite[:, None], values, np.inf)[:, None]
        inverse: Array = np.einsum("nqk,npk->nqp", scaled, vectors)
        return inverse

r"""Nonlinear conjugate gradients, Polak and Ribiere's rule with restarts.

With ``g_k`` the gradient at iteration ``k``, the search direction is::

    d_0 = -g_0
    d_k = -g_k + beta_k d_{k-1},    beta_k = max(0, <g_k, g_k - g_{k-1}> / <g_{k-1}, g_{k-1}>)

The maximum ("PR+") is a restart: the negative gradient replaces a direction that made no progress.
There are three other restarts. Powell's: in exact line searches on a quadratic, successive
gradients are orthogonal; once ``|<g_k, g_{k-1}>| >= 0.1 |g_k|^2`` the directions have lost their
conjugacy. (Without this restart an ill-conditioned quadratic took four times the evaluations.) The
others: ``d_k`` is no descent direction, or the line search along it finds no lower point.

The line search (`twofold.optimize.line_search.wolfe_search`) closes in on a minimum along ``d_k``,
which the conjugacy of the directions requires. Its first trial expects the decrease of the last
iteration, ``s_k = s_{k-1} <g_{k-1}, d_{k-1}> / <g_k, d_k>`` (Nocedal & Wright, section 3.5), and
moves no coordinate further than the start's spread (a tenth of it in the first iteration). The
values never rise.

Notation
--------
``s`` is the step, ``d`` the ``direction``, ``g`` the gradient ``point.grad``.

References
----------
E. Polak and G. Ribiere (1969). Note sur la convergence de methodes de directions conjuguees. Revue
francaise d'informatique et de recherche operationnelle 3.

J. Nocedal and S. Wright (2006). Numerical Optimization, section 5.2. Springer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from twofold.numerics.validation import check_real
from twofold.optimize._progress import FIRST_STEP, IterativeMinimizer, Point, Progress
from twofold.optimize.line_search import slope_along, wolfe_search
from twofold.protocols import Array, MinimizeResult

# Gradients less orthogonal than this call for a restart: Nocedal & Wright (2006), Eq. (5.52).
_MAX_OVERLAP = 0.1


@dataclass(frozen=True)
class ConjugateGradient(IterativeMinimizer):
    """Polak-Ribiere+ conjugate gradients with automatic restarts.

    Parameters
    ----------
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        The run ends when the objective decreases by less than this share in ``window`` iterations.
    window : int, default=3
        Iterations over which the decrease is measured; the one after a restart is often poor.
    curvature : float, default=0.1
        The part of the first slope that may remain at the end of a line search.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.optimize import rosen, rosen_der
    >>> class Valley:
    ...     def value_and_grad(self, Z):
    ...         return rosen(Z), rosen_der(Z)
    >>> ConjugateGradient().minimize(Valley(), np.zeros(2)).Z.round(2)
    array([1., 1.])
    """

    window: int = 3
    curvature: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        check_real("curvature", self.curvature, above=0.0, below=0.5, owner=owner)

    def _run(self, progress: Progress) -> MinimizeResult:
        point = progress.start
        directions = [-point.grad]
        expected, reach = math.inf, FIRST_STEP
        for _ in range(self.max_iter):
            found = None
            while found is None and directions:
                direction = directions.pop(0)
                slope = slope_along(point, direction)
                longest = progress.step_within(reach, direction)
                step = min(expected / -slope, longest) if slope < 0.0 else longest
                found = wolfe_search(
                    progress.evaluate, point, direction, step, curvature=self.curvature
                )
            if found is None:
                return progress.no_lower_point(point)
            step, new = found
            if result := progress.record(new):
                return result
            directions = _directions(point, new, direction)
            point = new
            # A slope that underflows predicts nothing.
            expected, reach = -step * slope or math.inf, 1.0
        return progress.out_of_iterations()


def _directions(old: Point, new: Point, direction: Array) -> list[Array]:
    """Return the directions to try: the conjugate one, unless it is time to restart, and -grad."""
    overlap = float(np.vdot(new.grad, old.grad))
    square = float(np.vdot(new.grad, new.grad))
    steepest = -new.grad
    old_square = float(np.vdot(old.grad, old.grad))
    if abs(overlap) >= _MAX_OVERLAP * square or old_square == 0.0:
        return [steepest]
    # Nocedal & Wright (2006), Eq. (5.44); positive here, so the maximum of (5.45) has been taken.
    beta = (square - overlap) / old_square
    conjugate = steepest + beta * direction
    return [conjugate, steepest] if slope_along(new, conjugate) < 0.0 else [steepest]

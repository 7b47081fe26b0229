r"""Gradient descent with a line search that remembers its step.

Each iteration goes from ``Z`` to ``Z - s grad f(Z)``. The step ``s`` starts at that of the last
iteration, is doubled while that lowers the value further and halved until Armijo's condition holds
(`twofold.optimize.line_search`). The first step moves the coordinate with the largest gradient by a
tenth of the start's spread::

    s_0 = 0.1 spread(Z_0) / max |grad f(Z_0)|

so that neither the units of the objective nor those of the latents matter. No later iteration
starts with a move of more than ten spreads. The values never rise.

Plain and slow: the reference for the other minimizers, and the one whose every step can be
explained.

Notation
--------
``s`` is the step, ``spread`` the root mean square about the mean row.

References
----------
J. Nocedal and S. Wright (2006). Numerical Optimization, section 3.1. Springer.
"""

from __future__ import annotations

from dataclasses import dataclass

from twofold.optimize._progress import FIRST_STEP, Progress
from twofold.optimize._settings import check_count, check_number
from twofold.optimize.line_search import armijo_search
from twofold.protocols import Array, Callback, MinimizeResult, Objective

__all__ = ["GradientDescent"]

_LONGEST_STEP = 10.0  # of an iteration's first trial, in spreads


@dataclass(frozen=True)
class GradientDescent:
    """Steepest descent with Armijo's rule, halving and doubling.

    Parameters
    ----------
    max_iter : int, default=500
        Iterations at most.
    tol : float, default=1e-6
        Relative decrease of the objective over ``window`` iterations below which the run is over.
    window : int, default=10
        Iterations over which the decrease is measured; the zigzag of a narrow valley has short
        steps in between.
    sufficient : float, default=1e-4
        The part of the decrease predicted by the gradient that a step must deliver.

    Examples
    --------
    >>> import numpy as np
    >>> class Bowl:
    ...     def value_and_grad(self, Z):
    ...         return float(np.sum(Z**2)), 2.0 * Z
    >>> result = GradientDescent().minimize(Bowl(), np.array([[3.0, 4.0]]))
    >>> result.converged, round(result.value, 12)
    (True, 0.0)
    """

    max_iter: int = 500
    tol: float = 1e-6
    window: int = 10
    sufficient: float = 1e-4

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_count(owner, "max_iter", self.max_iter, least=1)
        check_number(owner, "tol", self.tol, least=0.0)
        check_count(owner, "window", self.window, least=1)
        check_number(owner, "sufficient", self.sufficient, above=0.0, below=0.5)

    def minimize(
        self, objective: Objective, Z0: Array, *, callback: Callback | None = None
    ) -> MinimizeResult:
        """Minimize from ``Z0``, which is left unchanged.

        Parameters
        ----------
        objective : Objective
            What is minimized.
        Z0 : ndarray of any shape
            The start.
        callback : callable, optional
            ``callback(n_iter, value, Z)`` after each iteration; True ends the run.

        Returns
        -------
        MinimizeResult
            Its ``history`` never rises.
        """
        progress = Progress(objective, Z0, callback, self.tol, self.window)
        point = progress.start
        if not point.grad.any():
            return progress.zero_gradient()
        step = progress.step_within(FIRST_STEP, point.grad)
        for _ in range(self.max_iter):
            # A gradient that has grown suddenly must not throw the first trial far away.
            step = min(step, progress.step_within(_LONGEST_STEP, point.grad))
            found = armijo_search(
                progress.evaluate, point, -point.grad, step, sufficient=self.sufficient
            )
            if found is None:
                return progress.no_lower_point(point)
            step, point = found
            result = progress.record(point)
            if result is not None:
                return result
        return progress.out_of_iterations()

r"""L-BFGS: a quasi-Newton method that remembers the last few steps.

From the last ``m`` pairs ``s = Z_{k+1} - Z_k``, ``y = g_{k+1} - g_k`` the method holds an
approximation ``H`` of the inverse Hessian, as a product of rank-one updates of a multiple of the
identity, and searches along ``-H g`` with the strong Wolfe conditions. This module runs SciPy's
L-BFGS-B, makes it scale-free, keeps the best point, and handles values that are not finite.

**First step.** L-BFGS-B's first trial has length 1. The variables handed to it are ``Z / c`` with::

    c = 0.1 spread(Z_0) |g_0| / max |g_0|

rounded to a power of two, so that the first trial moves no coordinate further than (about) a tenth
of the spread of the start.

**Stopping.** SciPy's ``ftol`` compares a decrease with ``max(|f|, 1)`` and its ``gtol`` is an
absolute bound: both depend on the units of the objective. Both are set to 0, and the shared rule
decides: the relative decrease, here over two iterations.

**Walls.** At a trial ``Z_k + t`` with a value or a gradient that is not finite, the line search
sees a parabola through ``Z_k`` instead. With ``m = <g_k, t> < 0``, it has slope ``m`` at ``Z_k``,
and ``|m| / 2`` more than ``f(Z_k)`` at the trial, where its derivative along ``t`` is ``2 |m|``.
Its minimum lies at a third of ``t``: that is where the search tries next. Such a trial never
satisfies Armijo's condition.

Notation
--------
``c`` is the length unit of the variables, ``m`` in the text above a slope; the
number of pairs is ``memory``.

References
----------
J. Nocedal (1980). Updating quasi-Newton matrices with limited storage.
Mathematics of Computation 35.

R. Byrd, P. Lu, J. Nocedal and C. Zhu (1995). A limited memory algorithm for bound constrained
optimization. SIAM Journal on Scientific Computing 16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from twofold.numerics.validation import check_int
from twofold.optimize._progress import FIRST_STEP, IterativeMinimizer, Progress
from twofold.protocols import Array, MinimizeResult

_scipy_minimize: Any = optimize.minimize  # typed or not, depending on the stubs installed

_MAX_TRIALS = 30  # evaluations of one line search


@dataclass(frozen=True)
class LBFGS(IterativeMinimizer):
    """Limited-memory BFGS, scale-free, around SciPy's L-BFGS-B.

    Parameters
    ----------
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        The run ends when the objective decreases by less than this share in two iterations.
    memory : int, default=10
        Pairs of steps and gradient differences kept.

    Examples
    --------
    >>> import numpy as np
    >>> class Bowl:
    ...     def value_and_grad(self, Z):
    ...         return float(np.sum(Z**2)), 2.0 * Z
    >>> result = LBFGS().minimize(Bowl(), np.array([[3.0, 4.0]]))
    >>> result.converged, round(result.value, 12)
    (True, 0.0)
    """

    memory: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        check_int("memory", self.memory, owner=owner)

    def _run(self, progress: Progress) -> MinimizeResult:
        search = _Search(progress)
        try:
            _scipy_minimize(
                search.value_and_grad,
                search.to_variables(progress.start.Z),
                jac=True,
                method="L-BFGS-B",
                callback=search.end_iteration,
                options={
                    "maxcor": self.memory,
                    "maxiter": self.max_iter,
                    "maxfun": _MAX_TRIALS * (self.max_iter + 1),
                    "maxls": _MAX_TRIALS,
                    "ftol": 0.0,
                    "gtol": 0.0,
                },
            )
        except _Ended as ended:
            if isinstance(ended.outcome, StopIteration):
                raise ended.outcome from None
            return ended.outcome
        if progress.n_iter >= self.max_iter:
            return progress.out_of_iterations()
        return progress.no_lower_point(search.iterate)


class _Ended(Exception):
    """Carries the end of a run out of SciPy, which would swallow a StopIteration."""

    def __init__(self, outcome: MinimizeResult | StopIteration) -> None:
        super().__init__()
        self.outcome = outcome


class _Search:
    """One run as SciPy sees it: a function of a flat vector, and a callback.

    The current line search starts at the point ``iterate``.
    """

    def __init__(self, progress: Progress) -> None:
        start = progress.start
        self._progress = progress
        self.iterate = self._latest = start
        grad = start.grad / np.abs(start.grad).max()
        length = FIRST_STEP * progress.spread * float(np.linalg.norm(grad))
        # Rounded down to a power of two, so that Z -> variables -> Z is exact.
        self._length = math.ldexp(1.0, math.frexp(length)[1] - 1)

    def to_variables(self, Z: Array) -> Array:
        return Z.ravel() / self._length

    def value_and_grad(self, variables: Array) -> tuple[float, Array]:
        Z = variables.reshape(self.iterate.Z.shape) * self._length
        # SciPy asks for the start again, and may end a line search where it has been last.
        if np.array_equal(Z, self._latest.Z):
            return self._as_scipy_wants(self._latest.value, self._latest.grad)
        point = self._progress.evaluate(Z)
        if math.isinf(point.value):
            step = Z - self.iterate.Z
            rise = abs(float(np.vdot(self.iterate.grad, step)))
            wall = (2.0 * rise / float(np.vdot(step, step))) * step
            return self._as_scipy_wants(self.iterate.value + 0.5 * rise, wall)
        self._latest = point
        return self._as_scipy_wants(point.value, point.grad)

    def end_iteration(self, _variables: Array) -> None:
        """Accept the latest finite trial, which is where SciPy's line search ended."""
        # A search that fails inside its bracket returns to its start and reports an iteration.
        if self._latest.value >= self.iterate.value:
            raise _Ended(self._progress.no_lower_point(self.iterate))
        self.iterate = self._latest
        try:
            result = self._progress.record(self.iterate)
        except StopIteration as error:
            raise _Ended(error) from None
        if result:
            raise _Ended(result)

    def _as_scipy_wants(self, value: float, grad: Array) -> tuple[float, Array]:
        return value, grad.ravel() * self._length

r"""Resilient propagation: a step for every coordinate, moved by the gradient's signs alone.

With ``g`` the gradient at the current point and ``g'`` that at the last one, for every coordinate::

    g' g > 0   s <- min(1.2 s, s_max)                         same sign: faster
    g' g < 0   s <- 0.5 s,  and g <- 0 for this step          sign change: a minimum was passed over
    z <- z - sign(g) s

This is iRPROP- (Igel and Huesken 2000): after a sign change the coordinate rests for one iteration
and keeps its halved step in the next. Meinicke et al. (2005) minimize UKR's leave-one-out error
this way.

The steps do not depend on values, so values may rise for a while: the best point is kept, and
``history`` is not monotone. If the objective is not finite, or the gradient vanishes at a point
that does not improve on the best, the run returns to its best point with all steps halved.
``history`` then records the best value.

Step sizes are in units of the latents. "auto" derives them from the spread of the start (root mean
square about the mean row): the first step is a tenth of it, the longest the spread itself.

Notation
--------
==========================  ==============================
Igel & Huesken              here
==========================  ==============================
``eta^+``, ``eta^-``        ``growth``, ``shrink``
``Delta_0``, ``Delta_max``  ``initial_step``, ``max_step``
==========================  ==============================

References
----------
C. Igel and M. Huesken (2000). Improving the Rprop learning algorithm. Proceedings of the second
international symposium on neural computation.

M. Riedmiller and H. Braun (1993). A direct adaptive method for faster backpropagation learning: the
RPROP algorithm. IEEE international conference on neural networks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from twofold.numerics.validation import check_real
from twofold.optimize._progress import FIRST_STEP, IterativeMinimizer, Progress
from twofold.protocols import MinimizeResult

# Steps below this part of the start's spread no longer move a map.
_TINY_STEP = 1e-10


@dataclass(frozen=True)
class RProp(IterativeMinimizer):
    """The iRPROP- algorithm.

    Parameters
    ----------
    max_iter : int, default=500
        Maximum number of iterations; each is one evaluation.
    tol : float, default=1e-6
        The run ends when the lowest value decreases by less than this share in ``window``
        iterations.
    window : int, default=20
        Iterations over which the decrease is measured; values may rise in between.
    initial_step : float or "auto", default="auto"
        First step of every coordinate; "auto" is a tenth of the start's spread.
    max_step : float or "auto", default="auto"
        Longest step; "auto" is the start's spread, or ``initial_step`` if that is longer.
    growth : float, default=1.2
        Factor of a step while the gradient keeps its sign.
    shrink : float, default=0.5
        Factor of a step after a change of sign.

    Examples
    --------
    >>> import numpy as np
    >>> class Distance:
    ...     def value_and_grad(self, Z):
    ...         return float(np.abs(Z).sum()), np.sign(Z)
    >>> RProp().minimize(Distance(), np.array([3.0, -4.0])).Z.round(3) + 0.0
    array([0., 0.])
    """

    window: int = 20
    initial_step: float | Literal["auto"] = "auto"
    max_step: float | Literal["auto"] = "auto"
    growth: float = 1.2
    shrink: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        if self.initial_step != "auto":
            check_real("initial_step", self.initial_step, above=0.0, also="'auto'", owner=owner)
        if self.max_step != "auto":
            check_real("max_step", self.max_step, above=0.0, also="'auto'", owner=owner)
        # A spread of 0 leaves only the steps given as numbers to compare.
        first, longest = self._step_range(0.0)
        if first > longest:
            raise ValueError(
                f"{owner}(initial_step={self.initial_step!r}, max_step={self.max_step!r}): "
                "initial_step must not exceed max_step; lower the one or raise the other."
            )
        check_real("growth", self.growth, above=1.0, owner=owner)
        check_real("shrink", self.shrink, above=0.0, below=1.0, owner=owner)

    def _run(self, progress: Progress) -> MinimizeResult:
        point = best = progress.start
        first, longest = self._step_range(progress.spread)
        steps = np.full(point.Z.shape, min(first, longest))
        last_signs = np.zeros_like(point.Z)
        for _ in range(self.max_iter):
            signs = np.sign(point.grad)
            agreement = last_signs * signs
            steps = np.where(agreement > 0.0, np.minimum(self.growth * steps, longest), steps)
            steps = np.where(agreement < 0.0, self.shrink * steps, steps)
            signs = np.where(agreement < 0.0, 0.0, signs)
            last_signs = signs
            point = progress.evaluate(point.Z - signs * steps)
            if point.value < best.value:
                best = point
            elif math.isinf(point.value) or not (point.grad.any() or point.value == best.value):
                point = best
                steps = self.shrink * steps
                last_signs = np.zeros_like(point.Z)
            if result := progress.record(point):
                return result
            longest_in_use = np.max(steps, where=point.grad != 0.0, initial=0.0)
            if longest_in_use <= _TINY_STEP * progress.spread:
                return progress.result("The steps have become negligible.", converged=True)
        return progress.out_of_iterations()

    def _step_range(self, spread: float) -> tuple[float, float]:
        """Return the first and the longest step in the units of the latents."""
        first = FIRST_STEP * spread if self.initial_step == "auto" else self.initial_step
        longest = max(first, spread) if self.max_step == "auto" else self.max_step
        return first, longest

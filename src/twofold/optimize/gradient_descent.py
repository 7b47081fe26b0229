r"""Gradient descent with a line search that remembers its step.

Each iteration goes from ``Z`` to ``Z - s grad f(Z)``. The step ``s`` starts at that of the last
iteration, is doubled while that lowers the value further and halved until Armijo's condition holds
(`twofold.optimize.line_search`). The first step moves the coordinate with the largest gradient by a
tenth of the start's spread::

    s_0 = 0.1 spread(Z_0) / max |grad f(Z_0)|

so that neither the units of the objective nor those of the latents matter. No later iteration
starts with a move of more than ten spreads. The values never rise.

This method is slow. It is the reference for the other minimizers.

Doubling nearly to the lowest point of a line helps in narrow valleys and harms far from a minimum,
where single steps throw points across the map. From random starts on a helix it left a quarter of
the guided descents in the wrong order, at twice the error. Therefore a guided step is doubled at
most once; ``max_doublings`` sets the limit for plain steps.

With a guide (`twofold.optimize.guidance`) the direction is ``-A grad f(Z)`` until the guidance
ends. The operator changes the length of directions from one iteration to the next, so the root
mean square of the move is carried over instead of ``s``. If a guided direction leads to no lower
point, the plain one replaces it. The stopping rule counts from the end of the guidance on.

Notation
--------
``s`` is the step, ``spread`` the root mean square about the mean row.

References
----------
J. Nocedal and S. Wright (2006). Numerical Optimization, section 3.1. Springer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from twofold.numerics.validation import check_int, check_real
from twofold.optimize._progress import FIRST_STEP, IterativeMinimizer, Point, Progress
from twofold.optimize.guidance import Guide
from twofold.optimize.line_search import armijo_search
from twofold.protocols import Array, MinimizeResult

# Added to the status of a run whose iterations were too few for its guide.
NOT_ENDED = " The guidance had not ended."
NEVER_ENDS = " The guidance never ends."
MAX_DOUBLINGS = 30
_LONGEST_STEP = 10.0  # of an iteration's first trial, in spreads


@dataclass(frozen=True)
class GradientDescent(IterativeMinimizer):
    """Steepest descent with Armijo's rule, halving and doubling.

    Parameters
    ----------
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        The run ends when the objective decreases by less than this share in ``window`` iterations.
    window : int, default=10
        Iterations over which the decrease is measured; the zigzag of a narrow valley has short
        steps in between.
    sufficient : float, default=1e-4
        The part of the decrease predicted by the gradient that a step must deliver.
    max_doublings : int, default=None
        Maximum number of doublings of a step in an iteration; None means 30, with a guide 1.
    guide : Guide, default=None
        The operator that turns gradients into directions in the first iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> bowl = SimpleNamespace(value_and_grad=lambda Z: (1.0 + Z @ Z, 2.0 * Z))
    >>> round(GradientDescent().minimize(bowl, np.array([3.0, 4.0])).value, 6)
    1.0
    """

    window: int = 10
    sufficient: float = 1e-4
    max_doublings: int | None = None
    guide: Guide | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        check_real("sufficient", self.sufficient, above=0.0, below=0.5, owner=owner)
        if self.max_doublings is not None:
            check_int("max_doublings", self.max_doublings, low=0, owner=owner)

    def _run(self, progress: Progress) -> MinimizeResult:
        point = progress.start
        direction = self._direction(point.grad, 0)
        step = progress.step_within(FIRST_STEP, direction)
        for n_iter in range(self.max_iter):
            found = self._search(progress, point, direction, step)
            if found is None and direction is not point.grad:
                direction = point.grad
                found = self._search(
                    progress, point, direction, progress.step_within(FIRST_STEP, direction)
                )
            if found is None:
                return progress.no_lower_point(point)
            step, point = found
            if result := progress.record(point, may_end=not self._ends_later(n_iter)):
                return self._marked(result, n_iter)
            last, direction = direction, self._direction(point.grad, n_iter + 1)
            if self.guide is not None:
                step *= _root_mean_square(last) / _root_mean_square(direction)
        return self._marked(progress.out_of_iterations(), self.max_iter - 1)

    def _ends_later(self, n_iter: int) -> bool:
        """Return whether an iteration belongs to a guidance that ends later."""
        return self.guide is not None and self.guide.fades and not self.guide.is_plain(n_iter)

    def _marked(self, result: MinimizeResult, n_iter: int) -> MinimizeResult:
        """Add to the status whether the last iteration was guided."""
        if self.guide is None or self.guide.is_plain(n_iter):
            return result
        return with_guided_end(result, self.guide)

    def _direction(self, gradient: Array, n_iter: int) -> Array:
        """Return the gradient, or the guided gradient if its negative is a descent direction."""
        if self.guide is None or self.guide.is_plain(n_iter):
            return gradient
        guided = self.guide.guided(gradient, n_iter)
        return guided if float(np.vdot(guided, gradient)) > 0.0 else gradient

    def _search(
        self, progress: Progress, point: Point, direction: Array, step: float
    ) -> tuple[float, Point] | None:
        most = self.max_doublings
        if most is None:
            most = MAX_DOUBLINGS if self.guide is None else 1
        # A gradient that has grown suddenly must not throw the first trial far away.
        step = min(step, progress.step_within(_LONGEST_STEP, direction))
        return armijo_search(progress.evaluate, point, -direction, step, self.sufficient, most)


def with_guided_end(result: MinimizeResult, guide: Guide) -> MinimizeResult:
    """Return a result whose status says that the last step was guided."""
    return replace(result, status=result.status + (NOT_ENDED if guide.fades else NEVER_ENDS))


def _root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) or 1.0

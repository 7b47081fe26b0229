r"""What the four minimizers share: settings, evaluation, recording, and the stopping rule.

**Units.** With ``f(Z_0)`` the start's value, a run works on ``f / u`` where ``u`` is the power of
two below ``|f(Z_0)|``. Dividing by a power of two changes exponents only, so ``f`` and ``2^k f``
give the same iterates bit for bit, and squared norms of gradients do not overflow. A start of value
0 takes ``u`` from its largest gradient entry.

**Scale of the latents.** ``spread`` is the root mean square of ``Z_0`` about its mean row: a length
that moves with the units of ``Z`` and ignores its origin. Where all rows coincide it is the root
mean square itself, and 1 where that is 0 too.

**The stopping rule** of all four, over a window of ``w`` iterations, with ``low_k`` the lowest
value of the first ``k`` iterates::

    low_{k-w} - low_k <= max(tol |low_k|, eps |f(Z_0)|)

The second term ends runs towards a minimum of 0, where no relative decrease is ever small.

**Worse, not wrong.** A trial point where the value or a gradient entry is not finite counts as
infinitely bad: line searches step back from it, and it never becomes the best point.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from twofold.numerics.validation import check_int, check_real
from twofold.protocols import Array, Callback, MinimizeResult, Objective

EPS = float(np.finfo(np.float64).eps)

FIRST_STEP = 0.1
"""The first step of every minimizer moves no coordinate further than this part of the spread."""

# A predicted decrease below this part of the value, or of the start's value, counts as zero: the
# rounding of a sum of many terms hides it.
_HIDDEN_IN_VALUE = 1e-8
_HIDDEN_IN_START = 1e-12

_MAX_HALVINGS = 20

# Keeps |grad|^2 within the exponents of float64 whatever the ratio of value to gradient.
_MAX_EXPONENT = 500


class Point(NamedTuple):
    """A place with its value and gradient there, both divided by the run's unit."""

    Z: Array
    value: float
    grad: Array


@dataclass(frozen=True)
class IterativeMinimizer(ABC):
    """A minimizer with a limit on its iterations and the shared stopping rule.

    Subclasses implement `_run`. The rule looks at ``window`` iterations: a field of the subclass,
    or two iterations, since one of them may be a short step.
    """

    max_iter: int = 500
    tol: float = 1e-6

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_int("max_iter", self.max_iter, owner=owner)
        check_real("tol", self.tol, low=0.0, owner=owner)
        check_int("window", self._window, owner=owner)

    @property
    def _window(self) -> int:
        window: int = getattr(self, "window", 2)
        return window

    def minimize(
        self, objective: Objective, Z0: Array, *, callback: Callback | None = None
    ) -> MinimizeResult:
        """Minimize an objective from the start ``Z0``, which is left unchanged.

        Parameters
        ----------
        objective : Objective
            The function to minimize.
        Z0 : ndarray of any shape
            The start.
        callback : callable, default=None
            ``callback(n_iter, value, Z)`` after each iteration; returning True ends the run.

        Returns
        -------
        MinimizeResult
            Its ``Z`` is the best point evaluated, which may be a trial of a line search.
        """
        progress = Progress(objective, Z0, callback, self.tol, self._window)
        return self._run(progress) if progress.start.grad.any() else progress.zero_gradient()

    @abstractmethod
    def _run(self, progress: Progress) -> MinimizeResult:
        """Minimize from ``progress.start``, where the gradient is not zero."""


class Progress:
    """The record of one run: best point, history, evaluations, and why it ended."""

    def __init__(
        self, objective: Objective, Z0: Array, callback: Callback | None, tol: float, window: int
    ) -> None:
        Z = np.array(Z0, dtype=np.float64, order="C")
        if Z.size == 0 or not np.isfinite(Z).all():
            n_bad = Z.size - int(np.isfinite(Z).sum())
            raise ValueError(
                f"Z0 of shape {Z.shape} has {n_bad} entries that are not finite; it must be a "
                "non-empty array of finite numbers. Pass another start."
            )
        self._objective = objective
        self._callback = callback
        self._tol = tol
        self._window = window
        self._unit = 1.0
        self._counted_from = 0
        self.n_evaluations = 0
        self.spread = spread(Z)
        raw = self._checked(Z, *objective.value_and_grad(Z))
        if not _is_finite(raw):
            n_bad = raw.grad.size - int(np.isfinite(raw.grad).sum())
            raise ValueError(
                f"the objective at Z0 is {raw.value}, with {n_bad} gradient entries that are not "
                "finite; a run must start where both are finite. Pass another start."
            )
        self._unit = _power_of_two(raw)
        self.start = Point(Z, raw.value / self._unit, raw.grad / self._unit)
        self._best = self.start
        self._history = [raw.value]
        self._lows = [raw.value]

    @property
    def n_iter(self) -> int:
        """Iterations recorded so far."""
        return len(self._history) - 1

    def evaluate(self, Z: Array) -> Point:
        """Evaluate at ``Z``; the value is infinite where the objective is not finite."""
        Z = np.asarray(Z)
        raw = self._checked(Z, *self._objective.value_and_grad(Z))
        with np.errstate(over="ignore"):
            point = Point(raw.Z, raw.value / self._unit, np.asarray(raw.grad / self._unit))
        if not _is_finite(point):
            return point._replace(value=math.inf)
        if point.value < self._best.value:
            self._best = point
        return point

    def record(self, point: Point, *, may_end: bool = True) -> MinimizeResult | None:
        """Note that an iteration ended at ``point``; return the result if the run is over.

        With ``may_end=False`` the stopping rule starts to count after this iteration.
        """
        value = point.value * self._unit
        self._history.append(value)
        self._lows.append(min(value, self._lows[-1]))
        if self._callback is not None:
            shown = point.Z.view()
            shown.flags.writeable = False
            if self._callback(self.n_iter, value, shown):
                return self.result("The callback asked to stop.", converged=True)
        # A vanishing gradient is the end only at the lowest iterate; elsewhere it is a plateau.
        if value <= self._lows[-1] and not point.grad.any():
            return self.zero_gradient()
        if not may_end:
            self._counted_from = self.n_iter
        if self.n_iter - self._counted_from < self._window:
            return None
        decrease = self._lows[-1 - self._window] - self._lows[-1]
        if decrease > max(self._tol * abs(self._lows[-1]), EPS * abs(self._history[0])):
            return None
        over = f"over {self._window} iteration(s) fell below tol={self._tol:g}"
        return self.result(f"The relative decrease of the objective {over}.", converged=True)

    def zero_gradient(self) -> MinimizeResult:
        """End where no direction leads down."""
        return self.result("The gradient is zero.", converged=True)

    def out_of_iterations(self) -> MinimizeResult:
        """End because the iterations ran out."""
        reason = f"(max_iter={self.n_iter}) before tol={self._tol:g} was met"
        return self.result(f"The iterations ran out {reason}.", converged=False)

    def no_lower_point(self, point: Point) -> MinimizeResult:
        """End because a line search failed at ``point``.

        The run has converged if the parabola along the negative gradient has its minimum less than
        a tolerance below. Otherwise the gradient predicts a decrease that the objective does not
        show.
        """
        negligible = max(self._tol, _HIDDEN_IN_VALUE) * abs(point.value)
        if self._attainable_decrease(point) <= max(negligible, _HIDDEN_IN_START):
            reason = "and the gradient promises none beyond the tolerance"
            return self.result(f"No lower point was found, {reason}.", converged=True)
        reason = "the objective is not smooth here, or its gradient is wrong"
        status = f"No lower point was found along a descent direction: {reason}."
        return self.result(status, converged=False)

    def step_within(self, part: float, direction: Array) -> float:
        """Return the step that moves no coordinate further than this part of the spread."""
        return part * self.spread / float(np.abs(direction).max())

    def result(self, status: str, *, converged: bool) -> MinimizeResult:
        """Return the best point seen, with the record."""
        return MinimizeResult(
            Z=self._best.Z,
            value=self._best.value * self._unit,
            n_iter=self.n_iter,
            n_evaluations=self.n_evaluations,
            converged=converged,
            status=status,
            history=np.array(self._history),
        )

    def _checked(self, Z: Array, value: float, grad: Array) -> Point:
        self.n_evaluations += 1
        grad = np.asarray(grad, dtype=np.float64)
        if grad.shape != Z.shape:
            raise ValueError(
                f"objective.value_and_grad returned a gradient of shape {grad.shape}; it must have "
                f"the shape of Z0, {Z.shape}."
            )
        return Point(Z, float(value), grad)

    def _attainable_decrease(self, point: Point) -> float:
        """Return the depth of the parabola through the value, the slope and a trial's value."""
        step = self.step_within(FIRST_STEP, point.grad)
        trial = self.evaluate(point.Z - step * point.grad)
        for _ in range(_MAX_HALVINGS):
            if math.isfinite(trial.value):
                break
            step *= 0.5
            trial = self.evaluate(point.Z - step * point.grad)
        promised = step * float(np.vdot(point.grad, point.grad))
        # phi(t step) = phi(0) - promised t + excess t^2 is lowest at t = promised / (2 excess).
        excess = trial.value - point.value + promised
        if math.isinf(excess):
            return math.inf
        return promised * (promised / (4.0 * excess)) if excess > 0.0 else promised


def _is_finite(point: Point) -> bool:
    return math.isfinite(point.value) and bool(np.isfinite(point.grad).all())


def _power_of_two(start: Point) -> float:
    """Return the power of two below the start's value, kept in reach of its gradient's."""
    of_grad = math.frexp(float(np.abs(start.grad).max()))[1]
    of_value = math.frexp(start.value)[1] if start.value else of_grad
    exponent = min(max(of_value, of_grad - _MAX_EXPONENT), of_grad + _MAX_EXPONENT)
    return math.ldexp(1.0, exponent - 1)


def spread(Z: Array) -> float:
    """Return the root mean square about the mean row, or about 0 where the rows coincide."""
    rows = np.atleast_1d(Z)
    size = _root_mean_square(rows)
    about_mean = _root_mean_square(rows - rows.mean(axis=0))
    # The mean of equal rows is off by rounding: that is no spread.
    return about_mean if about_mean > 1e-13 * size else size or 1.0


def _root_mean_square(values: Array) -> float:
    largest = float(np.abs(values).max())
    if largest == 0.0:
        return 0.0
    return largest * float(np.sqrt(np.mean(np.square(values / largest))))

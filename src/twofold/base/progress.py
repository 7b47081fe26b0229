"""Progress of a fit through scikit-learn's callbacks, if the installed version has them.

scikit-learn 1.9 added ``sklearn.callback`` (progress bars, monitors, early stopping), still
experimental. For older versions there are substitutes that do nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from twofold.protocols import Array

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn < 1.9
    _with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in without callbacks."""


_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_callbacks(method: _Function) -> _Function:
    """Return a method that runs scikit-learn's callbacks, or the method if there are none."""
    if _with_callbacks is None:
        return method
    wrapped: _Function = _with_callbacks(method)
    return wrapped


__all__ = ["CallbackSupportMixin", "FitProgress", "ProgressEvent", "with_callbacks"]

logger = logging.getLogger("twofold")

SECONDS_BETWEEN_LINES = 5.0


@dataclass(frozen=True)
class ProgressEvent:
    """One line of the log in machine-readable form: the attribute ``progress`` of a log record.

    ``at_most`` bounds the iterations of the phase, None if unknown; ``objective`` is None in phases
    that minimize nothing. ``waiting`` marks a line that only tells that the phase goes on.
    """

    estimator: str
    phase: str
    at_most: int | None = None
    n_iter: int = 0
    objective: float | None = None
    ended: bool = False
    waiting: bool = False


class FitProgress:
    """Reports the phases and iterations of one fit to callbacks and to the log.

    ``verbose=1`` logs each phase and, every few seconds, its objective and the time per iteration,
    or that it goes on; 2 logs every iteration. The logger is "twofold", at level INFO; all other
    lines get DEBUG. What runs ``alone``, outside of `fit`, has no callbacks.
    """

    def __init__(self, estimator: object, *, verbose: int = 0, alone: bool = False) -> None:
        self._estimator = estimator
        self._verbose = int(verbose)
        if self._verbose:
            _show_on_stderr()
        self._context: Any = None
        if not alone and hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=None)

    @contextmanager
    def fit(self) -> Iterator[None]:
        """Enclose the whole fit."""
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=self._estimator)
        yield
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)

    @contextmanager
    def phase(
        self, name: str, *, max_iter: int | None = 0, at_most: int | None = None
    ) -> Iterator[Callable[[int, float, Array], bool]]:
        """Enclose one phase and yield the callback for its minimizer.

        Callbacks of scikit-learn hold the phase to ``max_iter`` iterations, None if unknown. The
        log estimates the remaining time from ``at_most``.
        """
        event = ProgressEvent(type(self._estimator).__name__, name, at_most)
        self._log(f"{event.estimator}: {name}", event, shown=self._verbose >= 1)
        began = last_logged = time.perf_counter()

        def still_waiting() -> None:
            nonlocal last_logged
            now = time.perf_counter()
            if now - last_logged > SECONDS_BETWEEN_LINES:
                last_logged = now
                line = f"{name}: {now - began:.0f} s so far"
                self._log(line, replace(event, waiting=True), shown=self._verbose >= 1)

        context = None
        if self._context is not None:
            context = self._context.subcontext(task_name=name, max_subtasks=max_iter)
            context.call_on_fit_task_begin(estimator=self._estimator)

        def on_iteration(n_iter: int, value: float, Z: Array) -> bool:  # noqa: ARG001 - a protocol
            nonlocal last_logged
            now = time.perf_counter()
            due = self._verbose >= 2 or now - last_logged > SECONDS_BETWEEN_LINES
            rate = (now - began) / max(1, n_iter)
            line = f"{name}, iteration {n_iter}: {value:.6g} ({rate:.2g} s per iteration)"
            step_event = replace(event, n_iter=n_iter, objective=value)
            self._log(line, step_event, shown=self._verbose >= 1 and due)
            last_logged = now if due else last_logged
            if context is None:
                return False
            step = context.subcontext(task_name=f"{name}, iteration")
            metadata = {"n_iter": n_iter, "objective": value}
            step.call_on_fit_task_begin(estimator=self._estimator, metadata=metadata)
            return bool(step.call_on_fit_task_end(estimator=self._estimator, metadata=metadata))

        level = logging.INFO if self._verbose else logging.DEBUG
        with _repeated(still_waiting) if logger.isEnabledFor(level) else nullcontext():
            yield on_iteration
        if context is not None:
            context.call_on_fit_task_end(estimator=self._estimator)
        seconds = time.perf_counter() - began
        self._log(f"{name}: {seconds:.1f} s", replace(event, ended=True), shown=self._verbose >= 1)

    def note(self, line: str) -> None:
        """Log a line about the fit as a whole."""
        event = ProgressEvent(type(self._estimator).__name__, line, ended=True)
        self._log(line, event, shown=self._verbose >= 1)

    def _log(self, line: str, event: ProgressEvent, *, shown: bool) -> None:
        level = logging.INFO if shown else logging.DEBUG
        logger.log(level, "%s", line, extra={"progress": event})


@contextmanager
def _repeated(work: Callable[[], None]) -> Iterator[None]:
    """Call a function ten times as often as lines are due, from a thread of its own."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(0.1 * SECONDS_BETWEEN_LINES):
            work()

    thread = threading.Thread(target=repeat, name="twofold-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show_on_stderr() -> None:
    """Add a handler to the logger if the program has configured none."""
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)

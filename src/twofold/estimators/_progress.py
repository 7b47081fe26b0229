"""Progress of a fit through scikit-learn's callbacks, where the installed version has them.

scikit-learn 1.9 brought ``sklearn.callback`` (progress bars, monitors, early stopping), still
experimental. Older versions get stand-ins that do nothing, so that estimators are written once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9
    _Function = TypeVar("_Function", bound=Callable[..., Any])

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in without callbacks."""

    def with_callbacks(method: _Function) -> _Function:
        """Return the method as it is."""
        return method


from twofold.protocols import Array

__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]

logger = logging.getLogger("twofold")


class FitProgress:
    """The phases and iterations of one fit, told to callbacks and to the log.

    Parameters
    ----------
    estimator : estimator
        Who is being fitted.
    verbose : bool
        Whether to log each phase at level INFO rather than DEBUG.
    """

    def __init__(self, estimator: Any, *, verbose: bool = False) -> None:
        self._estimator = estimator
        self._level = logging.INFO if verbose else logging.DEBUG
        self._context: Any = None
        if hasattr(estimator, "_init_callback_context"):
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
        self, name: str, *, max_iter: int | None = 0
    ) -> Iterator[Callable[[int, float, Array], bool]]:
        """Enclose one phase, and give the callback that its minimizer should call.

        Parameters
        ----------
        name : str
            What is being done, for people to read.
        max_iter : int or None, default=0
            The most iterations it may take; None where unknown.
        """
        logger.log(self._level, "%s: %s", type(self._estimator).__name__, name)
        context = None
        if self._context is not None:
            context = self._context.subcontext(task_name=name, max_subtasks=max_iter)
            context.call_on_fit_task_begin(estimator=self._estimator)

        def on_iteration(n_iter: int, value: float, Z: Array) -> bool:  # noqa: ARG001 - a protocol
            logger.debug("%s, iteration %d: %.6g", name, n_iter, value)
            if context is None:
                return False
            step = context.subcontext(task_name=f"{name}, iteration")
            metadata = {"n_iter": n_iter, "objective": value}
            step.call_on_fit_task_begin(estimator=self._estimator, metadata=metadata)
            return bool(step.call_on_fit_task_end(estimator=self._estimator, metadata=metadata))

        yield on_iteration
        if context is not None:
            context.call_on_fit_task_end(estimator=self._estimator)

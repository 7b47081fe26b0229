"""Warnings about fits that reach ``max_iter`` before they converge: one rule and one text."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.exceptions import ConvergenceWarning

from twofold.numerics.validation import warn_user
from twofold.optimize.gradient_descent import NOT_ENDED
from twofold.protocols import Array, MinimizeResult

STILL_FALLING = 1e-2


def warn_if_still_falling(
    values: Array | Sequence[float],
    what: str,
    *,
    n_iter: int,
    max_iter: int,
    threshold: float = STILL_FALLING,
    window: int = 1,
) -> None:
    """Give a `ConvergenceWarning` if the objective was still falling when ``max_iter`` was reached.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        The objective after each iteration; a value of the start may precede them.
    what : str
        The name of the objective in the message, such as "energy".
    n_iter, max_iter : int
        Iterations done and allowed; there is no warning if ``n_iter < max_iter``.
    threshold : float, default=0.01
        The largest decrease per iteration, relative to the earlier value, that gives no warning.
    window : int, default=1
        Average the decrease over this many last iterations, or over all if there are fewer.
    """
    if n_iter < max_iter:
        return
    if len(values) < 2:
        warn_user(
            f"max_iter={max_iter}: one iteration cannot show whether the {what} still falls. "
            "Increase max_iter.",
            ConvergenceWarning,
        )
        return
    window = min(window, len(values) - 1)
    before, after = float(values[-1 - window]), float(values[-1])
    if before - after > threshold * window * abs(before):
        percent = 100.0 * (before - after) / (window * abs(before))
        warn_user(
            f"The {what} was still falling by {percent:.2g} % per iteration when "
            f"max_iter={max_iter} was reached. Increase max_iter.",
            ConvergenceWarning,
        )


def warn_if_cut_short(result: MinimizeResult, max_iter: int, what: str) -> None:
    """Warn if ``max_iter`` ended a minimization that was guided or still falling."""
    if result.n_iter >= max_iter and result.status.endswith(NOT_ENDED):
        warn_user(
            f"The iterations ran out (max_iter={max_iter}) while steps were still guided: the "
            "plain objective was not minimized. Increase max_iter, or shorten the schedule or "
            "hold of the guidance.",
            ConvergenceWarning,
        )
        return
    warn_if_still_falling(result.history, what, n_iter=result.n_iter, max_iter=max_iter)

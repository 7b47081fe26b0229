"""Warnings about fits that reach ``max_iter`` before they converge: one rule and one text.

The last iteration may lower the objective by a share of it without a warning:

===================  ============================  =================================================
estimator            share                         because
===================  ============================  =================================================
`UKR`, `SNE`         ``MINIMIZATION``              close to a minimum, minimizers gain less
`DRUR`               ``REGRESSION``                its ``tol`` is 0.03; more iterations fit noise
`PrincipalManifold`  ``MANIFOLD_TOLS * tol``       it follows ``tol``, 3e-4 by default
===================  ============================  =================================================
"""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.exceptions import ConvergenceWarning

from twofold.numerics.validation import warn_user
from twofold.optimize.gradient_descent import NEVER_ENDS, NOT_ENDED
from twofold.protocols import Array, MinimizeResult

MINIMIZATION = 0.01
REGRESSION = 0.1
MANIFOLD_TOLS = 10.0


def warn_if_still_falling(
    values: Array | Sequence[float],
    what: str,
    *,
    n_iter: int,
    max_iter: int,
    threshold: float = MINIMIZATION,
) -> None:
    """Give a `ConvergenceWarning` if the objective was still falling when ``max_iter`` was reached.

    ``values`` (n,) has the objective after each iteration, and maybe before the first; ``what`` is
    its name. The last iteration may lower it by the share ``threshold``, without a warning.
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
    before, after = float(values[-2]), float(values[-1])
    if before - after > threshold * abs(before):
        percent = 100.0 * (before - after) / abs(before)
        warn_user(
            f"The {what} was still falling by {percent:.2g} % per iteration when "
            f"max_iter={max_iter} was reached. Increase max_iter.",
            ConvergenceWarning,
        )


def warn_if_cut_short(result: MinimizeResult, max_iter: int, what: str) -> None:
    """Warn if a minimization ended with a guided step, or at ``max_iter`` while still falling."""
    if result.status.endswith(NEVER_ENDS):
        warn_user(
            "The last step was still guided, because the schedule of the guidance never becomes "
            "plain: the plain objective was not minimized. End the schedule at 0 for powers, or "
            'at all eigenvectors for form="truncated".',
            ConvergenceWarning,
        )
        return
    if result.n_iter >= max_iter and result.status.endswith(NOT_ENDED):
        warn_user(
            f"The iterations ran out (max_iter={max_iter}) while steps were still guided: the "
            "plain objective was not minimized. Increase max_iter, or shorten the schedule or "
            "hold of the guidance.",
            ConvergenceWarning,
        )
        return
    warn_if_still_falling(result.history, what, n_iter=result.n_iter, max_iter=max_iter)

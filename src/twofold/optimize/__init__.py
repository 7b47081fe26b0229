"""Minimizers of any `twofold.protocols.Objective`.

=====================  ==========  ================================================================
class                  name        when
=====================  ==========  ================================================================
`LBFGS`                "lbfgs"     the default: fewest evaluations
`RProp`                "rprop"     the papers' choice: robust, one evaluation per step
`ConjugateGradient`    "cg"        values that never rise, little memory
`GradientDescent`      "gd"        the reference
`Staged`                           any of these under spectral guidance
`GaussNewton`                      many small least-squares problems at once, one per row
`RowDescent`                       gradient descent on the same, the reference
=====================  ==========  ================================================================

All are frozen dataclasses that hold their settings. A run returns a `MinimizeResult`, or a
`RowsResult` for rows. The first four share their stopping rule and the treatment of values that are
not finite, see `twofold.optimize._progress`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from twofold.optimize.conjugate_gradient import ConjugateGradient
from twofold.optimize.gauss_newton import Feasible, GaussNewton, RowProblem, RowsResult
from twofold.optimize.gradient_descent import GradientDescent
from twofold.optimize.guidance import Guide, SpectralGuidance
from twofold.optimize.lbfgs import LBFGS
from twofold.optimize.newton import NewtonPolish
from twofold.optimize.pull import Pull
from twofold.optimize.row_descent import RowDescent
from twofold.optimize.rprop import RProp
from twofold.optimize.staged import Staged, guided_minimizer
from twofold.protocols import Minimizer

__all__ = [
    "LBFGS",
    "ConjugateGradient",
    "Feasible",
    "GaussNewton",
    "GradientDescent",
    "Guide",
    "NewtonPolish",
    "Pull",
    "RProp",
    "RowDescent",
    "RowProblem",
    "RowsResult",
    "SpectralGuidance",
    "Staged",
    "guided_minimizer",
    "resolve_minimizer",
]

_BY_NAME: Final[dict[str, Callable[..., Minimizer]]] = {
    "lbfgs": LBFGS,
    "rprop": RProp,
    "cg": ConjugateGradient,
    "gd": GradientDescent,
}


def resolve_minimizer(
    optimizer: str | Minimizer, *, max_iter: int | None = None, tol: float | None = None
) -> Minimizer:
    """Return the minimizer with a name, or the given one.

    Parameters
    ----------
    optimizer : {"lbfgs", "rprop", "cg", "gd"} or Minimizer
        A name, or an object with ``minimize(objective, Z0, *, callback=None)``.
    max_iter : int, default=None
        Iterations of a minimizer given by name; None means its default. Objects keep theirs.
    tol : float, default=None
        Tolerance of a minimizer given by name; None means its default. Objects keep theirs.

    Returns
    -------
    Minimizer

    Examples
    --------
    >>> resolve_minimizer("rprop", max_iter=20).max_iter
    20
    """
    names = ", ".join(map(repr, _BY_NAME))
    candidate: object = optimizer
    if isinstance(candidate, str):
        if candidate not in _BY_NAME:
            raise ValueError(
                f"optimizer={candidate!r} is unknown; it must be one of {names}, or a Minimizer."
            )
        given: dict[str, Any] = {"max_iter": max_iter, "tol": tol}
        return _BY_NAME[candidate](**{k: v for k, v in given.items() if v is not None})
    # A class has the method too, but no settings; isinstance cannot tell it from an instance.
    if isinstance(candidate, Minimizer) and not isinstance(candidate, type):
        return candidate
    kind = "a class" if isinstance(candidate, type) else f"of type {type(candidate).__name__}"
    raise TypeError(
        f"optimizer={candidate!r} is {kind}; it must be one of {names}, or an object with "
        "minimize(objective, Z0, *, callback=None), for example LBFGS(max_iter=100)."
    )

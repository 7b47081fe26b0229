r"""The penalty as a constraint: the smallest mean loss among maps with ``Q[f] <= Lambda``.

The bounds of Smola et al. (2001), section 7, hold for the class ``F_Lambda = {f : Q[f] <= Lambda}``
(Eq. 41), and a principal curve of a given length (Example 7) is one of its members. For given
latents the best map of the class has a multiplier: it is the minimum of the mean loss plus
``alpha Q[f]``, for the one ``alpha >= 0`` at which ``Q[f] = Lambda``, or ``alpha = 0`` if the best
map of all lies inside the class. ``Q`` falls as ``alpha`` grows, so a root finder finds it.

An adaptation takes that map, and a projection does not change ``Q``. So the mean loss never rises,
and all maps stay in the class.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from twofold.numerics.validation import check_real
from twofold.principal_manifold.nodes import NodeExpansion

LOG_RANGE = (-27.0, 27.0)
"""Logarithms of the smallest and the largest multiplier."""

FIRST_STEP = 0.1
PRECISION = 1e-3
"""Of the logarithm of the multiplier."""

SMALLEST, LARGEST = 1e-250, 1e250
"""Bounds of a limit in units of the coordinates."""


@dataclass(frozen=True)
class PenaltyLimit:
    """Bound the penalty instead of weighting it: the lowest mean loss with ``Q[f] <= limit``.

    Pass it as ``alpha`` of `PrincipalManifold`. Give one of both parameters.

    Parameters
    ----------
    limit : float or None, default=None
        ``Lambda``, positive, in squared units of the data; with ``penalty="l1"`` in their units,
        with the losses of Mahalanobis in those of the metric. The attribute ``roughness_`` of a
        fitted model is a value to start from.
    length : float or None, default=None
        With ``kernel="spline"``: the longest curve, in the units of the data. A curve on [-1, 1]
        with ``Q[f] <= length^2 / 4`` is not longer than that, and the best one has constant speed.
        The fit brings the curve to constant speed a few times, which spends the whole length.

    Examples
    --------
    The best line of length 1 for rows on a line of length 2:

    >>> import numpy as np
    >>> from twofold import PrincipalManifold
    >>> from twofold.principal_manifold import PenaltyLimit
    >>> X = np.column_stack([np.linspace(-1, 1, 200), np.zeros(200)])
    >>> model = PrincipalManifold(kernel="spline", alpha=PenaltyLimit(length=1.0), init="pca")
    >>> curve = model.fit(X).inverse_transform(np.linspace(-1, 1, 500)[:, None])
    >>> round(float(np.linalg.norm(np.diff(curve, axis=0), axis=1).sum()), 2)
    1.0
    """

    limit: float | None = None
    length: float | None = None

    def __post_init__(self) -> None:
        if (self.limit is None) == (self.length is None):
            raise ValueError(
                f"Give one of limit={self.limit!r} and length={self.length!r}, not both or none."
            )
        name = "limit" if self.length is None else "length"
        check_real(name, getattr(self, name))


def limit_in_units(given: PenaltyLimit, unit: float, penalty: str) -> float:
    """Return ``Lambda`` of a penalty for coordinates in a unit of the data, clipped to be safe."""
    if given.limit is not None:
        found = given.limit / unit if penalty == "l1" else given.limit / unit / unit
    else:
        assert given.length is not None
        relative = given.length / unit
        found = 0.25 * relative * relative
    return float(np.clip(found, SMALLEST, LARGEST))


def within(
    limit: float,
    solved: Callable[[float], NodeExpansion],
    penalty: Callable[[NodeExpansion], float],
    *,
    degree: float,
    hint: float,
) -> tuple[NodeExpansion, float]:
    """Return the best map with ``penalty(map) <= limit``, and its multiplier.

    ``solved`` returns the map of least loss plus a weight times the penalty, which is homogeneous
    of the given degree in the weights of the map. The search starts at the weight ``hint``.
    """

    def excess(log_weight: float) -> float:
        return float(np.log(max(penalty(solved(np.exp(log_weight))), 1e-300) / limit))

    low = high = float(np.clip(np.log(max(hint, 1e-300)), *LOG_RANGE))
    step, down = FIRST_STEP, excess(low) <= 0.0
    while LOG_RANGE[0] <= low and high <= LOG_RANGE[1]:
        if down:
            low, high = low - step, low
            if excess(low) > 0.0:
                break
        else:
            low, high = high, high + step
            if excess(high) <= 0.0:
                break
        step *= 2.0
    if low < LOG_RANGE[0]:
        return solved(float(np.exp(LOG_RANGE[0]))), 0.0
    weight = float(np.exp(high))
    if high <= LOG_RANGE[1]:
        weight = float(np.exp(brentq(excess, low, high, xtol=PRECISION)))
    found = copy(solved(weight))
    found.alpha = weight
    # The root is not exact: shrink the map into the class.
    share = limit / max(penalty(found), 1e-300)
    found.weights_ = found.weights_ * min(share, 1.0) ** (1.0 / degree)
    return found, weight

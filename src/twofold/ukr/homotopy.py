"""The schedule of a homotopy: density thresholds, iterations at each, weights of the barrier.

`twofold.ukr.density_constraint` has the mathematics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twofold.numerics.validation import check_int, check_real

LEAST, MOST = 1e-8, 1e4
"""Bounds of ``variance``: below, all kernel values are equal; above, no two kernels overlap."""


@dataclass(frozen=True)
class Homotopy:
    """The stepwise relaxation of a density constraint, for ``UKR(homotopy=...)``.

    Parameters
    ----------
    thresholds : sequence of float, default=(0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005)
        Density thresholds, as shares of the kernel's maximum, in decreasing order. The default is
        the sequence of Meinicke et al. (2005), section 4.3.
    max_iter : int, default=50
        Most iterations at each threshold. The iterations of the free minimization that follows are
        ``UKR(max_iter=...)``.
    tol : float, default=1e-4
        Relative decrease of the error at which the run at a threshold ends.
    variance : float, default=0.01
        Total variance to which the initial latents are scaled, in squared kernel widths; from 1e-8
        to 1e4.
    barrier : sequence of float, default=(1e-3, 1e-4)
        Weights of the barrier as shares of the variance of the data, in decreasing order. The
        iterations at a threshold are divided evenly among them.

    Examples
    --------
    The schedule of the paper: 100 steps of RPROP at each of seven thresholds, then 300 steps
    without constraint:

    >>> from twofold import UKR
    >>> from twofold.ukr import Homotopy
    >>> literal = UKR(
    ...     init="pca", homotopy=Homotopy(max_iter=100, tol=0.0), optimizer="rprop", max_iter=300,
    ...     tol=0.0, pseudo_count=0.0, density_threshold="quantile:0"
    ... )

    A shorter one:

    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(80, random_state=0)
    >>> schedule = Homotopy(thresholds=(0.5, 0.1, 0.02), max_iter=20)
    >>> model = UKR(init="pca", homotopy=schedule, random_state=0).fit(X)
    >>> model.cv_error_ < 0.1
    True
    """

    thresholds: Sequence[float] = (0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005)
    max_iter: int = 50
    tol: float = 1e-4
    variance: float = 0.01
    barrier: Sequence[float] = (1e-3, 1e-4)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name, below in (("thresholds", 1.0), ("barrier", np.inf)):
            given = getattr(self, name)
            if np.ndim(given) != 1 or not len(given):
                raise ValueError(f"{name}={given!r} must be a list of at least one number.")
            values = tuple(check_real(name, one, below=below, owner=owner) for one in given)
            if any(np.diff(values) >= 0.0):
                raise ValueError(f"{name}={given!r} must decrease.")
            object.__setattr__(self, name, values)
        check_int("max_iter", self.max_iter, owner=owner)
        check_real("tol", self.tol, low=0.0, owner=owner)
        check_real("variance", self.variance, low=LEAST, below=MOST, owner=owner)

r"""Probabilities of large values, from a sample of usual ones.

The conformal p-value of a value v beside m usual ones is :math:`(1 + \#\{v_i \ge v\}) / (m + 1)`:
if v is drawn like them, it is at most a level with at most that probability (Vovk, Gammerman and
Shafer 2005). It cannot be below 1 / (m + 1). Beyond the largest few values it is continued by an
exponential tail, whose scale is the mean excess of the largest tenth. So values beyond the sample
keep their order.

References
----------
V. Vovk, A. Gammerman, G. Shafer. Algorithmic learning in a random world. Springer, 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twofold.protocols import Array

N_LARGEST = 4
"""Values that are exceeded by so many usual ones or more have their conformal p-values."""

TAIL_SHARE, FEWEST_IN_TAIL = 0.1, 5


@dataclass(frozen=True)
class Tail:
    """The distribution of usual values (m,)."""

    values: Array

    @cached_property
    def _ascending(self) -> Array:
        return np.sort(self.values)

    @cached_property
    def scale(self) -> float:
        """The scale of the exponential tail."""
        ascending, m = self._ascending, len(self.values)
        n_tail = min(max(FEWEST_IN_TAIL, round(TAIL_SHARE * m)), m - 1)
        excess = float((ascending[m - n_tail :] - ascending[m - n_tail - 1]).mean())
        spread = float(np.ptp(ascending))
        return max(excess, 1e-3 * spread, 1e-12 * float(np.abs(ascending).max()), 1e-300)

    @cached_property
    def own_log_p(self) -> Array:
        """The same (m,) of each of the usual values, beside the others."""
        values, m = self.values, len(self.values)
        if m < 2:
            return np.zeros(m)
        reaching = m - np.searchsorted(self._ascending, values, side="left")  # with itself
        found: Array = np.log10(m / reaching)
        for place in np.argsort(-values, kind="stable")[: N_LARGEST + 1]:
            others = Tail(np.delete(values, place))
            found[place] = others.log_p(values[place : place + 1])[0]
        return found

    def log_p(self, values: Array) -> Array:
        """Return ``-log10`` of the p-values (n,) of values; larger for less usual ones."""
        ascending, m = self._ascending, len(self.values)
        exceeding = m - np.searchsorted(ascending, values, side="left")
        found: Array = np.log10((m + 1.0) / (1.0 + exceeding))
        if m <= N_LARGEST:
            return found
        bound = ascending[m - N_LARGEST]
        with np.errstate(over="ignore"):
            beyond = np.maximum(values - bound, 0.0) / self.scale / np.log(10.0)
        continued = -np.log10((1.0 + N_LARGEST) / (m + 1.0)) + beyond
        return np.where(values > bound, np.minimum(continued, 1e6), found)

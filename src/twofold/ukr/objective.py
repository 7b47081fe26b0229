r"""The error of unsupervised kernel regression as a function of the latents.

.. math::
   R(Z) = \frac1n \sum_i |x_i - f_i|^2, \qquad
   f_i = \frac{\sum_{j \ne i} k_{ij} x_j}{\sum_{j \ne i} k_{ij} + \varepsilon}, \qquad
   k_{ij} = k(|z_i - z_j|^2)

With each point leaving itself out this is the cross-validation error, Meinicke et al. (2005), Eq.
(10); with ``j = i`` included, the plain reconstruction error, Eq. (8). The data are centered: the
pseudo-count ``epsilon`` is that many observations at their mean: a point out of reach of all others
is predicted as the mean instead of 0/0, the objective stays smooth and bounded, and a stray is
pulled back while any kernel mass is left. ``epsilon = 0`` is the paper's objective; there a point
out of reach counts as predicted by the mean, and its gradient is zero.

With masses ``m_i`` and residuals ``r_i = f_i - x_i``, the derivative of ``R`` with respect to
``k_ij`` is

.. math:: Q_{ij} = \frac{2}{n} \, \frac{r_i \cdot (x_j - f_i)}{m_i + \varepsilon},

Eqs. (30)-(31) of the paper, and ``dR/dz_i = 2 sum_j (Q_ij + Q_ji) k'_ij (z_i - z_j)`` is its Eq.
(32).

Inner products are sufficient: with ``C = B - I``, ``f_i = sum_j B_ij x_j`` and a Gram matrix ``G``,
the numerators are ``r_i . x_j = (C G)_ij`` and the error is ``sum_ij C_ij (C G)_ij / n``, Eqs.
(13)-(14). This form is cheaper for data of more columns than half their rows (Appendix B), and for
lists of pairs: there an evaluation costs the sum of squared numbers of neighbors, whatever D.

Notation
--------
===============  ============================
Meinicke et al.  here
===============  ============================
``Y``, ``X``     ``data`` (n, D), ``Z`` (n, q)
``B``            ``weights`` (rows: targets; the paper: columns)
``M``            ``products`` (transposed)
``K(Y)``, ``G``  ``gram``
===============  ============================

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.sums import DenseWeights, PairWeights, SelfWeights
from twofold.protocols import Array

Weigh = Callable[[Array], SelfWeights]
"""Returns the kernel weights among latents."""

LEAST_MASS = 1e-30
"""Added to the mass if there is no pseudo-count, so that 0/0 is 0: the mean."""


@dataclass(frozen=True)
class Barrier:
    r"""``-strength * mean_i log(p(z_i) / K(0) - threshold)``: keeps latents where they are dense.

    The density constraint, Meinicke et al. (2005), Eq. (7), with ``eta`` the threshold and
    :math:`p(z_i) / K(0) = (1 + \sum_{j \ne i} k_{ij}) / n`.
    """

    threshold: float
    strength: float

    def value_and_slope(self, mass: Array) -> tuple[float, Array]:
        """Return the barrier and its derivative (n,) with respect to each mass."""
        n = len(mass)
        slack = (1.0 + mass) / n - self.threshold
        if slack.min() <= 0.0:
            return np.inf, np.zeros(n)
        value = -self.strength * float(np.log(slack).mean())
        return value, -self.strength / (n * n * slack)


@dataclass(frozen=True)
class Reconstruction:
    """The error as an objective of a minimizer.

    Data (n, D) are centered; ``pseudo_count`` is ``epsilon``; ``leave_one_out`` tells whether a
    point is left out of its own prediction; the barrier is a density constraint. Inner products
    ``gram`` (n, n) of the data are used for lists of pairs or, with ``wide``, for all weights; they
    need ``leave_one_out``.
    """

    data: Array
    weigh: Weigh
    pseudo_count: float = 0.0
    leave_one_out: bool = True
    barrier: Barrier | None = None
    gram: Array | None = None
    wide: bool = False

    def value(self, Z: Array) -> float:
        """Return the error without its gradient."""
        if self.wide:
            return self.value_and_grad(Z)[0]
        mass, sums = self.weigh(Z).mass_and_apply(self.data)
        predictions, _ = self._predictions(mass, sums)
        value = float(row_norms_sq(predictions - self.data).mean())
        return value if self.barrier is None else value + self.barrier.value_and_slope(mass)[0]

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the error and its gradient (n, q)."""
        weights = self.weigh(Z)
        if self.gram is not None and (
            isinstance(weights, PairWeights) or (self.wide and isinstance(weights, DenseWeights))
        ):
            n = len(self.gram)
            scale = 1.0 / (weights.mass + (self.pseudo_count or LEAST_MASS))
            error, own, products = weights.gram_products(scale, self.gram)
            value = error / n
            # Q_ij = 2/n scale_i ((C G)_ij - sum_l B_il (C G)_il), Eqs. (30)-(31).
            offset = -own
            if self.barrier is not None:
                penalty, slope = self.barrier.value_and_slope(weights.mass)
                value += penalty
                offset = offset + slope / scale * (0.5 * n)
            return value, weights.pull_gradient(products, 2.0 / n * scale, offset)
        mass, sums = weights.mass_and_apply(self.data)
        predictions, denominators = self._predictions(mass, sums)
        left = predictions - self.data
        value = float(row_norms_sq(left).mean(dtype=np.float64))
        # Q_ij = left_i . x_j + offset_i
        left *= (2.0 / len(left) / denominators)[:, None]
        offset = -np.einsum("nd,nd->n", left, predictions).astype(np.float64)
        if self.barrier is not None:
            penalty, slope = self.barrier.value_and_slope(mass)
            value += penalty
            offset += slope
        return value, weights.gradient(left, self.data, offset)

    def _predictions(self, mass: Array, sums: Array) -> tuple[Array, Array]:
        """Return predictions ``f`` (n, D) and their denominators (n,), in the data's precision."""
        denominators = mass + (self.pseudo_count or LEAST_MASS)
        if not self.leave_one_out:  # k(0) = 1 for each point itself
            denominators = denominators + 1.0
            sums = sums + self.data
        denominators = denominators.astype(self.data.dtype, copy=False)
        sums /= denominators[:, None]
        return sums, denominators

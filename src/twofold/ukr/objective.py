r"""The error of unsupervised kernel regression as a function of the latents.

.. math::
   R(Z) = \frac1n \sum_i |x_i - f_i|^2, \qquad
   f_i = \frac{\sum_{j \ne i} k_{ij} x_j}{\sum_{j \ne i} k_{ij} + \varepsilon}, \qquad
   k_{ij} = k(|z_i - z_j|^2)

With each point leaving itself out this is the cross-validation error, Meinicke et al. (2005), Eq. (10);
with ``j = i`` included, the plain reconstruction error, Eq. (8). The data are centred, so the pseudo-count
``epsilon`` is that many observations at their mean: a point that no other reaches is predicted as the
mean instead of 0/0, the objective stays smooth and bounded, and a stray feels a pull back while any
kernel mass is left. ``epsilon = 0`` is the paper's objective; there a point out of everyone's reach
counts as predicted by the mean, and its gradient is zero.

With the masses ``m_i`` and residuals ``r_i = f_i - x_i``, the derivative of ``R`` with respect to ``k_ij`` is

.. math:: Q_{ij} = \frac{2}{n} \, \frac{r_i \cdot (x_j - f_i)}{m_i + \varepsilon},

Eqs. (30)-(31) of the paper, and ``dR/dz_i = 2 sum_j (Q_ij + Q_ji) k'_ij (z_i - z_j)`` is its Eq. (32).

Inner products are all that is needed: with ``C = B - I``, ``f_i = sum_j B_ij x_j`` and a Gram matrix
``G``, the numerators are ``r_i . x_j = (C G)_ij`` and the error is ``sum_ij C_ij (C G)_ij / n``, Eqs. (13)-(14).
That form serves feature spaces, and data of more columns than half their rows, where it is cheaper
(Appendix B).

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
from typing import Any

import numpy as np

from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.sums import GramWeights, PairWeights, SelfWeights
from twofold.protocols import Array

__all__ = ["Barrier", "CheaperReconstruction", "GramReconstruction", "Reconstruction", "Weigh"]

Weigh = Callable[[Array], Any]
"""Gives the kernel weights among latents: `SelfWeights`, for inner products `GramWeights`."""

LEAST_MASS = 1e-30
"""Added to the mass where there is no pseudo-count, so that 0/0 is 0: the mean."""


@dataclass(frozen=True)
class Barrier:
    r"""``-strength * mean_i log(p(z_i) / K(0) - threshold)``: keeps latents where they are dense.

    The density constraint, Meinicke et al. (2005), Eq. (7), with
    :math:`p(z_i) / K(0) = (1 + \sum_{j \ne i} k_{ij}) / n`.

    Parameters
    ----------
    threshold : float
        ``eta``, between 0 and 1.
    strength : float
        The barrier's weight.

    Examples
    --------
    The barrier falls as points get more company, and is infinite where they have too little:

    >>> import numpy as np
    >>> from twofold.ukr.objective import Barrier
    >>> barrier = Barrier(threshold=0.2, strength=1.0)
    >>> close, slope = barrier.value_and_slope(np.full(5, 3.0))
    >>> apart, _ = barrier.value_and_slope(np.full(5, 1.0))
    >>> bool(close < apart), bool((slope < 0).all())
    (True, True)
    >>> float(barrier.value_and_slope(np.zeros(5))[0])
    inf
    """

    threshold: float
    strength: float

    def value_and_slope(self, mass: Array) -> tuple[float, Array]:
        """Return the barrier and its derivative with respect to each mass."""
        n = len(mass)
        slack = (1.0 + mass) / n - self.threshold
        if slack.min() <= 0.0:
            return np.inf, np.zeros(n)
        value = -self.strength * float(np.log(slack).mean())
        return value, -self.strength / (n * n * slack)


@dataclass(frozen=True)
class Reconstruction:
    """The error in data space.

    Parameters
    ----------
    data : ndarray of shape (n, D)
        Centred data.
    weigh : callable
        Gives the kernel weights among latents.
    pseudo_count : float, default=0.0
        ``epsilon`` above.
    leave_one_out : bool, default=True
        Whether a point is left out of its own prediction.
    barrier : Barrier, default=None
        A density constraint.

    Examples
    --------
    Latents in the order of the data rebuild a curve better than shuffled ones:

    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.ukr.objective import Reconstruction
    >>> from twofold.numerics.sums import DenseWeights
    >>> t = np.linspace(-3.0, 3.0, 60)[:, None]
    >>> curve = np.hstack([t, np.sin(t)])
    >>> error = Reconstruction(curve, lambda Z: DenseWeights.of(Z, Gaussian()))
    >>> shuffled = np.random.default_rng(0).permutation(10 * t)
    >>> error.value(10 * t) < 0.01 * error.value(shuffled)
    True

    What minimisers need:

    >>> value, gradient = error.value_and_grad(10 * t)
    >>> bool(np.isclose(value, error.value(10 * t))), gradient.shape
    (True, (60, 1))
    >>> again, _ = error.value_and_grad_from(DenseWeights.of(10 * t, Gaussian()))
    >>> bool(np.isclose(again, value))
    True
    """

    data: Array
    weigh: Weigh
    pseudo_count: float = 0.0
    leave_one_out: bool = True
    barrier: Barrier | None = None

    def value(self, Z: Array) -> float:
        """Return the error without its gradient."""
        residuals, _, mass, _ = self._predict(self.weigh(Z))
        value = float(row_norms_sq(residuals).mean())
        return value if self.barrier is None else value + self.barrier.value_and_slope(mass)[0]

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the error and its gradient."""
        return self.value_and_grad_from(self.weigh(Z))

    def value_and_grad_from(self, weights: SelfWeights) -> tuple[float, Array]:
        """Return the error and its gradient at the latents of these weights."""
        residuals, predictions, mass, denominators = self._predict(weights)
        value = float(row_norms_sq(residuals).mean(dtype=np.float64))
        # Q_ij = left_i . x_j + offset_i
        left = residuals
        left *= (2.0 / len(left) / denominators)[:, None]
        offset = -np.einsum("nd,nd->n", left, predictions).astype(np.float64)
        if self.barrier is not None:
            penalty, slope = self.barrier.value_and_slope(mass)
            value += penalty
            offset += slope
        return value, weights.gradient(left, self.data, offset)

    def _predict(self, weights: SelfWeights) -> tuple[Array, Array, Array, Array]:
        """Return residuals ``f - x`` and predictions ``f`` (n, D), masses and denominators (n,).

        The first two in the data's precision.
        """
        mass, predictions = weights.mass_and_apply(self.data)
        denominators = mass + (self.pseudo_count or LEAST_MASS)
        if not self.leave_one_out:  # k(0) = 1 for each point itself
            denominators = denominators + 1.0
            predictions = predictions + self.data
        denominators = denominators.astype(self.data.dtype, copy=False)
        predictions /= denominators[:, None]
        return predictions - self.data, predictions, mass, denominators


@dataclass(frozen=True)
class GramReconstruction:
    """The error in terms of inner products: in feature space, or for many columns.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Inner products of the centred data or features.
    weigh : callable
        Gives the kernel weights among latents.
    pseudo_count : float, default=0.0
        As in `Reconstruction`.
    barrier : Barrier, default=None
        As in `Reconstruction`.

    Examples
    --------
    With the linear kernel it is the error in data space:

    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.ukr.objective import GramReconstruction, Reconstruction
    >>> from twofold.numerics.sums import DenseWeights
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    >>> X -= X.mean(axis=0)
    >>> weigh = lambda Z: DenseWeights.of(Z, Gaussian())
    >>> by_gram, by_data = GramReconstruction(X @ X.T, weigh), Reconstruction(X, weigh)
    >>> bool(np.isclose(by_gram.value(Z), by_data.value(Z)))
    True
    >>> _, gradient = by_gram.value_and_grad(Z)
    >>> bool(np.allclose(gradient, by_data.value_and_grad(Z)[1]))
    True
    >>> bool(np.allclose(gradient, by_gram.value_and_grad_from(weigh(Z))[1]))
    True
    """

    gram: Array
    weigh: Weigh
    pseudo_count: float = 0.0
    barrier: Barrier | None = None

    def value(self, Z: Array) -> float:
        """Return the error."""
        return self.value_and_grad(Z)[0]

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the error and its gradient."""
        return self.value_and_grad_from(self.weigh(Z))

    def value_and_grad_from(self, weights: GramWeights) -> tuple[float, Array]:
        """Return the error and its gradient at the latents of these weights."""
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


@dataclass(frozen=True)
class CheaperReconstruction:
    """The error in the form that is cheaper for the weights at hand.

    Inner products serve lists of pairs: an evaluation then costs the sum of squared numbers of
    neighbours, whatever D. Full matrices of weights are cheaper on the data.

    Parameters
    ----------
    by_data : Reconstruction
        The one form.
    by_gram : GramReconstruction
        The other, of the same problem.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.kernels import Compact
    >>> from twofold.ukr.objective import CheaperReconstruction, GramReconstruction, Reconstruction
    >>> from twofold.numerics.sums import PairWeights
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    >>> X -= X.mean(axis=0)
    >>> weigh = lambda Z: PairWeights.of(Z, Compact())
    >>> by_data, by_gram = Reconstruction(X, weigh, 0.1), GramReconstruction(X @ X.T, weigh, 0.1)
    >>> error = CheaperReconstruction(by_data, by_gram)
    >>> value, gradient = error.value_and_grad(Z)
    >>> gradient.shape, bool(np.isclose(error.value(Z), by_data.value(Z)))
    ((20, 2), True)
    """

    by_data: Reconstruction
    by_gram: GramReconstruction

    def value(self, Z: Array) -> float:
        """Return the error."""
        return self.by_data.value(Z)

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the error and its gradient."""
        weights = self.by_data.weigh(Z)
        if isinstance(weights, PairWeights):
            return self.by_gram.value_and_grad_from(weights)
        return self.by_data.value_and_grad_from(weights)

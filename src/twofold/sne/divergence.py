r"""The divergence of stochastic neighbor embedding as a function of the latents.

.. math::
   E(Z) = \frac 1n \sum_{i \ne j} P_{ij} \log \frac{P_{ij}}{Q_{ij}}, \qquad
   Q_{ij} = \frac{e^{-|z_i - z_j|^2}}{\sum_{k \ne i} e^{-|z_i - z_k|^2}}, \qquad
   \frac{\partial E}{\partial z_l} = \frac 2n \sum_i (P_{il} + P_{li} - Q_{il} - Q_{li}) (z_l - z_i)

(Memisevic & Hinton 2005, Eqs. 2-4; Hinton & Roweis 2003), for probabilities ``P`` of the data
(`twofold.numerics.probabilities`). No row is its own neighbor, as in Hinton & Roweis (2003). The
sums of Eqs. (1)-(3) are printed with the row itself; ``include_self`` is that: ``P_ii`` is positive
and ``Q_i`` has the weight ``e^0 = 1`` at ``k = i``. The gradient keeps its form.

**Linear time.** With the masses ``m_i = sum_k e^{-|z_i - z_k|^2}`` the error is

.. math:: n E = \sum_{ij} P_{ij} \log P_{ij} + \sum_{ij} P_{ij} |z_i - z_j|^2 + \sum_i \log m_i.

The first term is constant. The second is a quadratic form of the sparse ``S = P + P^T``: with its
row sums ``s`` it is ``sum_i s_i |z_i|^2 - z_i . (S Z)_i`` and costs one product. The third needs
sums of a Gaussian over all rows, which `twofold.numerics.sums` computes in linear time (its
Gaussian is ``e^{-y^2 / 2}``, hence ``y = sqrt(2) z``); its gradient is that of ``sum_ij k_ij b_i``
at ``b_i = 1 / m_i``. The mass of an isolated row would be zero within the accuracy of the sums, so
a small mass is added to each.

References
----------
R. Memisevic, G. Hinton. Improving dimensionality reduction with spectral gradient descent. Neural
Networks 18, 2005.
G. Hinton, S. Roweis. Stochastic neighbor embedding. NIPS 15, 2003.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from twofold.numerics.linalg import row_norms_sq, shifted_exp, sqdist
from twofold.numerics.sums.weights import SelfWeights
from twofold.protocols import Array, IntArray

LEAST_MASS = 1e-3


@dataclass(frozen=True)
class NeighborEmbedding:
    """The divergence over all pairs, for probabilities ``P`` (n, n).

    Their diagonal is zero, except with ``include_self``.
    """

    P: Array
    include_self: bool = False

    @cached_property
    def _minus_entropy(self) -> float:
        return _sum_p_log_p(self.P)

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the error and its gradient (n, q)."""
        n = len(Z)
        distances = sqdist(Z, Z)
        attraction = float(np.vdot(self.P, distances))
        log_weights = np.negative(distances, out=distances)
        np.fill_diagonal(log_weights, 0.0 if self.include_self else -np.inf)
        weights, shift = shifted_exp(log_weights)
        mass = weights.sum(axis=1)
        value = (self._minus_entropy + attraction + float((shift + np.log(mass)).sum())) / n
        # P - Q, whose rows sum to zero
        weights *= (-1.0 / mass)[:, None]
        weights += self.P
        Z1 = np.column_stack([Z, np.ones(n)])
        sums = weights @ Z1 + weights.T @ Z1
        gradient: Array = (2.0 / n) * (sums[:, -1:] * Z - sums[:, :-1])
        return value, gradient


@dataclass(frozen=True)
class SparseNeighborEmbedding:
    """The divergence in linear time, for sparse ``P`` (n, n).

    Its diagonal is zero, except with ``include_self``. ``weigh`` returns the weights of the
    Gaussian ``e^{-y^2 / 2}`` among different points of (n, q).
    """

    P: csr_array
    weigh: Callable[[Array], SelfWeights]
    include_self: bool = False

    def take(self, order: IntArray) -> SparseNeighborEmbedding:
        """Return the divergence of the same rows in another order (n,)."""
        rows: Any = self.P[order]
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        P = csr_array((rows.data, place[rows.indices], rows.indptr), shape=rows.shape)
        return SparseNeighborEmbedding(P, self.weigh, self.include_self)

    @cached_property
    def _minus_entropy(self) -> float:
        return _sum_p_log_p(self.P.data)

    @cached_property
    def _symmetric(self) -> tuple[csr_array, Array]:
        both: Any = csr_array(self.P + self.P.T)
        return both, np.asarray(both.sum(axis=1), dtype=np.float64).ravel()

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the error and its gradient (n, q)."""
        n = len(Z)
        both, degrees = self._symmetric
        centered = Z - Z.mean(axis=0)
        pulled = both @ centered
        attraction = degrees @ row_norms_sq(centered) - np.vdot(centered, pulled)
        pull = 2.0 * (degrees[:, None] * centered - pulled)
        weights = self.weigh(np.sqrt(2.0) * centered)
        nothing = np.empty((n, 0))
        own = 1.0 if self.include_self else LEAST_MASS
        mass = weights.mass_and_apply(nothing)[0] + own
        value = (self._minus_entropy + float(attraction) + float(np.log(mass).sum())) / n
        push = weights.gradient(nothing, nothing, 1.0 / mass)
        return value, (pull + np.sqrt(2.0) * push) / n


def _sum_p_log_p(P: Array) -> float:
    positive = P[P > 0.0]
    return float(np.vdot(positive, np.log(positive)))

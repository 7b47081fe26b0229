r"""Stochastic neighbour embedding as a function of the latents.

.. math::
   E(Z) = \frac 1n \sum_{i \ne j} P_{ij} \log \frac{P_{ij}}{Q_{ij}}, \qquad
   Q_{ij} = \frac{e^{-|z_i - z_j|^2}}{\sum_{k \ne i} e^{-|z_i - z_k|^2}}, \qquad
   \frac{\partial E}{\partial z_l} = \frac 2n \sum_i (P_{il} + P_{li} - Q_{il} - Q_{li}) (z_l - z_i)

(Memisevic & Hinton 2005, Eqs. 1-4; Hinton & Roweis 2003). No row is its own neighbour. ``P`` has either one bandwidth for all
rows, ``P_ij`` proportional to ``e^{-|x_i - x_j|^2 / h}`` (Eq. 1), or one for each row such that its entropy is the logarithm of a
perplexity.

References
----------
R. Memisevic, G. Hinton. Improving dimensionality reduction with spectral gradient descent. Neural Networks 18, 2005.
G. Hinton, S. Roweis. Stochastic neighbor embedding. NIPS 15, 2003.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold._linalg import shifted_exp, sqdist
from twofold.protocols import Array

__all__ = ["NeighbourEmbedding", "calibrated_neighbours", "transition_probabilities"]

BISECTIONS = 60


@dataclass(frozen=True)
class NeighbourEmbedding:
    """The mismatch of neighbourhoods, for all pairs.

    Parameters
    ----------
    P : ndarray of shape (n, n)
        Transition probabilities of the data: rows sum to one, the diagonal is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.objectives.neighbour_embedding import NeighbourEmbedding, transition_probabilities
    >>> X = np.random.default_rng(0).standard_normal((20, 2))
    >>> error, gradient = NeighbourEmbedding(transition_probabilities(X, 1.0)).value_and_grad(X)
    >>> bool(abs(error) < 1e-12)
    True
    """

    P: Array

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the error and its gradient (n, q)."""
        n = len(Z)
        distances = sqdist(Z, Z)
        log_weights = -distances
        np.fill_diagonal(log_weights, -np.inf)
        weights, shift = shifted_exp(log_weights)
        mass = weights.sum(axis=1)
        Q = weights / mass[:, None]
        positive = self.P > 0.0
        logs = np.log(self.P, out=np.zeros_like(self.P), where=positive)
        log_mass = shift + np.log(mass)
        value = (
            float((self.P * (logs + distances)).sum() + (self.P.sum(axis=1) * log_mass).sum()) / n
        )
        pull = self.P - Q
        pull = pull + pull.T
        gradient: Array = (2.0 / n) * (pull.sum(axis=1)[:, None] * Z - pull @ Z)
        return value, gradient


def transition_probabilities(X: Array, bandwidth: float) -> Array:
    """Return ``P`` (n, n) of Eq. (1), with one bandwidth ``h`` for all rows."""
    log_weights = -sqdist(X, X) / bandwidth
    np.fill_diagonal(log_weights, -np.inf)
    weights, _ = shifted_exp(log_weights)
    probabilities: Array = weights / weights.sum(axis=1, keepdims=True)
    return probabilities


def calibrated_neighbours(X: Array, perplexity: float) -> Array:
    """Return ``P`` (n, n) in which every row has the same perplexity, the exponential of its entropy.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Data.
    perplexity : float
        Effective number of neighbours, above 1 and below ``n - 1``.
    """
    n = len(X)
    if not 1.0 < perplexity < n - 1:
        raise ValueError(
            f"perplexity={perplexity!r} must lie between 1 and n_samples - 1 = {n - 1}."
        )
    distances = sqdist(X, X)
    np.fill_diagonal(distances, np.inf)
    distances -= distances.min(axis=1, keepdims=True)
    finite = np.where(np.isfinite(distances), distances, 0.0)
    scale = max(float(finite.mean()), 1e-300)
    low, high = np.full(n, 1e-12), np.full(n, 1e12)
    P = np.empty((n, n))
    for _ in range(BISECTIONS):
        width = np.sqrt(low * high)
        weights = np.exp(-distances / (scale * width[:, None]))
        P = weights / weights.sum(axis=1, keepdims=True)
        logs = np.log(P, out=np.zeros_like(P), where=P > 0.0)
        entropy = -(P * logs).sum(axis=1)
        too_wide = entropy > np.log(perplexity)
        high = np.where(too_wide, width, high)
        low = np.where(too_wide, low, width)
    return P

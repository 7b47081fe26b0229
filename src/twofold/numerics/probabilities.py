r"""Transition probabilities between rows of the data.

.. math:: P_{ij} = \frac{e^{-|x_i - x_j|^2 / h_i}}{\sum_{k \ne i} e^{-|x_i - x_k|^2 / h_i}}

(Memisevic & Hinton 2005, Eq. 1). The paper prints the sum over all ``k``, which is
``include_self=True``. By default no row is its own neighbor, as in Hinton & Roweis (2003). Either
one bandwidth ``h`` serves all rows, or each row has the bandwidth at which the entropy of its
probabilities is the logarithm of a *perplexity*, an effective number of neighbors (Hinton & Roweis
2003). With the mass ``m`` and the mean squared distance ``<d>`` under the probabilities, that
entropy is ``log m + <d> / h``, so the bisection for ``h`` needs no logarithm of a probability.

Few rows see all others. Many rows see their nearest neighbors only: three times the perplexity,
beyond which probabilities vanish.

The squared distances may be those of paths along the data, which do not cross from one sheet of a
roll to the next.

References
----------
R. Memisevic, G. Hinton. Improving dimensionality reduction with spectral gradient descent. Neural
Networks 18, 2005.
G. Hinton, S. Roweis. Stochastic neighbor embedding. NIPS 15, 2003.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from twofold.numerics.linalg import row_norms_sq, sqdist
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import Array, IntArray

BISECTIONS = 50
WIDEST = 2.0**20
"""Bandwidths are searched within this factor of the squared distance to the neighbor whose rank is
the perplexity, so far rows have no influence."""

ENTROPY_TOLERANCE = 1e-9


def transition_probabilities(X: Array, bandwidth: float, *, include_self: bool = False) -> Array:
    """Return ``P`` (n, n) with one bandwidth for all rows, in squared units of the data."""
    return probabilities_of(sqdist(X, X), bandwidth=bandwidth, include_self=include_self)


def calibrated_neighbors(X: Array, perplexity: float) -> Array:
    """Return ``P`` (n, n) in which every row has the same perplexity, between 1 and ``n - 1``.

    Of two rows each is the only neighbor of the other.
    """
    n = len(X)
    if n > 2 and not 1.0 < perplexity < n - 1:
        raise ValueError(
            f"perplexity={perplexity!r} must lie between 1 and n_samples - 1 = {n - 1}."
        )
    return probabilities_of(sqdist(X, X), perplexity=perplexity)


def probabilities_of(
    squares: Array,
    *,
    perplexity: float | None = None,
    bandwidth: float | None = None,
    include_self: bool = False,
) -> Array:
    """Return ``P`` (n, n) from squared distances (n, n); pass the perplexity or the bandwidth."""
    n = len(squares)
    if include_self:
        exact = squares.copy()
        np.fill_diagonal(exact, 0.0)  # not off by rounding
        return _rows(exact, perplexity, bandwidth)
    others = ~np.eye(n, dtype=bool)
    P = np.zeros((n, n))
    P[others] = _rows(squares[others].reshape(n, n - 1), perplexity, bandwidth).ravel()
    return P


def neighbor_matrix(
    X: Array,
    neighbors: IntArray,
    *,
    perplexity: float | None = None,
    bandwidth: float | None = None,
) -> csr_array:
    """Return the sparse ``P`` (n, n) of rows that see the given neighbors (n, k) only.

    Pass either the perplexity or the bandwidth, in squared units of the data.
    """
    n, k = neighbors.shape
    squares = np.empty((n, k))

    def work(rows: slice) -> None:
        differences = X[neighbors[rows]] - X[rows, None]
        squares[rows] = row_norms_sq(differences.reshape(-1, X.shape[1])).reshape(-1, k)

    map_blocks(work, row_blocks(n, 8 * k * (X.shape[1] + 4)))
    return sparse_probabilities(squares, neighbors, perplexity=perplexity, bandwidth=bandwidth)


def sparse_probabilities(
    squares: Array,
    neighbors: IntArray,
    *,
    perplexity: float | None = None,
    bandwidth: float | None = None,
) -> csr_array:
    """Return the sparse ``P`` (n, n) from squared distances (n, k) to neighbors (n, k)."""
    n, k = neighbors.shape
    P = np.empty((n, k))

    def work(rows: slice) -> None:
        P[rows] = _rows(squares[rows], perplexity, bandwidth)

    map_blocks(work, row_blocks(n, 8 * k * 4))
    pointers = np.arange(0, n * k + 1, k)
    return csr_array((P.ravel(), neighbors.ravel(), pointers), shape=(n, n))


def _rows(squares: Array, perplexity: float | None, bandwidth: float | None) -> Array:
    """Return probabilities (n, k) by one of perplexity and bandwidth."""
    if perplexity is not None and bandwidth is None:
        return calibrated_rows(squares, perplexity)
    if bandwidth is not None and perplexity is None:
        return fixed_rows(squares, bandwidth)
    raise ValueError(f"give one of perplexity={perplexity!r} and bandwidth={bandwidth!r}.")


def fixed_rows(distances: Array, bandwidth: float) -> Array:
    """Return probabilities (n, k) from squared distances (n, k) and one bandwidth."""
    nearest = distances.min(axis=1, keepdims=True)
    weights: Array = np.exp(-(distances - nearest) / bandwidth)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def calibrated_rows(distances: Array, perplexity: float) -> Array:
    """Return probabilities (n, k) from squared distances (n, k), each row at its own bandwidth.

    If more rows than the perplexity are at the smallest distance, they get equal probabilities.
    """
    distances = distances - distances.min(axis=1, keepdims=True)
    rank = min(int(np.ceil(perplexity)), distances.shape[1]) - 1
    near = np.partition(distances, rank, axis=1)[:, rank]
    mean = distances.mean(axis=1)
    scale = np.where(near > 0.0, near, np.where(mean > 0.0, mean, 1.0))
    distances = distances / scale[:, None]
    low, high = np.full(len(scale), 1.0 / WIDEST), np.full(len(scale), WIDEST)
    weights = np.ones_like(distances)
    mass = weights.sum(axis=1)
    for _ in range(BISECTIONS):
        width = np.sqrt(low * high)
        np.exp(-distances / width[:, None], out=weights)
        mass = weights.sum(axis=1)
        entropy = np.log(mass) + np.einsum("nk,nk->n", weights, distances) / (mass * width)
        if np.abs(entropy - np.log(perplexity)).max(initial=0.0) < ENTROPY_TOLERANCE:
            break
        too_wide = entropy > np.log(perplexity)
        high = np.where(too_wide, width, high)
        low = np.where(too_wide, low, width)
    weights /= mass[:, None]
    return weights

"""Landmarks: some points that stand for all, and the way from them back to all.

The weights with which a point is best rebuilt from its nearest landmarks (sum one, least squares) carry
over to latents. They are exact for locally linear maps and need no width.

References
----------
S. Roweis, L. Saul. Nonlinear dimensionality reduction by locally linear embedding. Science 290, 2000.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.numerics.threads import row_blocks
from twofold.protocols import Array, IntArray

__all__ = ["choose_landmarks", "extend_from_landmarks"]

MAX_EXACT = 5_000
DEFAULT_LANDMARKS = 2_000


def choose_landmarks(n_samples: int, n_landmarks: int | None, rng: np.random.Generator) -> IntArray:
    """Return the numbers of the landmarks, ascending; None means all up to 5,000 points, else 2,000.

    Parameters
    ----------
    n_samples : int
        Number of points, n.
    n_landmarks : int or None
        How many landmarks; None means all up to 5,000 points, else 2,000.
    rng : Generator
        Draws them.

    Returns
    -------
    ndarray of int, shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.geodesics.landmarks import choose_landmarks
    >>> rng = np.random.default_rng(0)
    >>> choose_landmarks(4, None, rng)
    array([0, 1, 2, 3])
    >>> len(choose_landmarks(10_000, None, rng))
    2000
    >>> chosen = choose_landmarks(100, 5, rng)
    >>> len(chosen), bool((np.diff(chosen) > 0).all())
    (5, True)
    """
    if n_landmarks is None:
        n_landmarks = n_samples if n_samples <= MAX_EXACT else DEFAULT_LANDMARKS
    if n_landmarks >= n_samples:
        return np.arange(n_samples)
    return np.sort(rng.choice(n_samples, size=n_landmarks, replace=False))


def extend_from_landmarks(X: Array, landmarks: Array, latents: Array) -> Array:
    """Place all points by their nearest landmarks.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points to place.
    landmarks : ndarray of shape (m, D)
        Points with known latents.
    latents : ndarray of shape (m, q)
        Their latents.

    Returns
    -------
    ndarray of shape (n, q)

    Examples
    --------
    Twelve landmarks on a line in three dimensions place all others on it:

    >>> import numpy as np
    >>> from twofold.geodesics.landmarks import extend_from_landmarks
    >>> position = np.linspace(0.0, 1.0, 100)[:, None]
    >>> X = position * [1.0, 2.0, 3.0]
    >>> Z = extend_from_landmarks(X, X[::9], position[::9])
    >>> Z.shape, bool(np.abs(Z - position).max() < 0.01)
    ((100, 1), True)
    """
    from sklearn.neighbors import NearestNeighbors  # slow to import

    n_neighbors = min(latents.shape[1] + 4, len(landmarks))
    search = NearestNeighbors(n_neighbors=n_neighbors).fit(landmarks)
    blocks = row_blocks(len(X), 8 * n_neighbors * (3 * X.shape[1] + len(landmarks)))
    return np.concatenate([_placed(X[rows], landmarks, latents, search) for rows in blocks])


def _placed(X: Array, landmarks: Array, latents: Array, search: Any) -> Array:
    """Place some points; see `extend_from_landmarks`."""
    neighbors = search.kneighbors(X, return_distance=False)
    n_neighbors = neighbors.shape[1]
    # Weights that sum to one and rebuild the point best: solve G w = 1, G the Gram matrix of the
    # neighbours seen from the point, with a ridge so that weights stay bounded.
    offsets = landmarks[neighbors] - X[:, None, :]
    gram = np.einsum("nkd,nld->nkl", offsets, offsets)
    trace = np.einsum("nkk->n", gram)
    diagonal = np.arange(n_neighbors)
    gram[:, diagonal, diagonal] += np.where(trace > 0.0, 1e-2 * trace, 1.0)[:, None]
    weights = np.linalg.solve(gram, np.ones((len(X), n_neighbors, 1)))[:, :, 0]
    weights /= weights.sum(axis=1, keepdims=True)
    placed: Array = np.einsum("nk,nkq->nq", weights, latents[neighbors])
    return placed

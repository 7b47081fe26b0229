"""Preserved neighborhoods: trustworthiness, continuity and shared neighbors.

Let ``r_X(i, j)`` be the rank of sample ``j`` among the neighbors of ``i`` in the data (1 = nearest)
and ``r_Z(i, j)`` its rank in the embedding. The co-ranking matrix counts how often a pair of ranks
occurs, ``Q_kl = #{(i, j): r_X(i, j) = k, r_Z(i, j) = l}``; a perfect map has a diagonal one. With
``k`` neighbors, three parts of it are summed:

* *trustworthiness* penalizes intruders, near in the embedding but not in the data,
  ``1 - c sum_{r_Z <= k} max(r_X - k, 0)``,
* *continuity* penalizes extruders, near in the data but not in the embedding,
  ``1 - c sum_{r_X <= k} max(r_Z - k, 0)``,
* *neighborhood preservation* is the mass of the upper left block,
  ``sum_{r_X <= k, r_Z <= k} 1 / (n k)``,

with ``c = 2 / (n k (2 n - 3 k - 1))``, so that all of them lie in [0, 1] and 1 is best. Samples at
equal distances are ranked by their index. No function holds an n x n matrix.

References
----------
* J. Venna and S. Kaski. Neighborhood preservation in nonlinear projection methods: an
  experimental study. *ICANN* 2001.
* J. A. Lee and M. Verleysen. Quality assessment of dimensionality reduction: rank-based criteria.
  *Neurocomputing* 72(7-9), 2009.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from twofold.metrics._checks import check_pair
from twofold.numerics.neighbors import nearest
from twofold.numerics.threads import row_blocks
from twofold.protocols import Array, IntArray


def trustworthiness(X: ArrayLike, Z: ArrayLike, n_neighbors: int = 5) -> float:
    """Return how far neighbors in the embedding are neighbors in the data.

    Parameters
    ----------
    X, Z : array-like of shape (n_samples, n_features) and (n_samples, n_components)
        Data and embedding.
    n_neighbors : int, default=5
        Size of the neighborhoods; at least 1, less than ``n_samples / 2``.

    Returns
    -------
    float
        In [0, 1]; 1 if no neighborhood of the embedding has an intruder.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.metrics import trustworthiness
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, (100, 1))
    >>> trustworthiness(X, 2.0 * X), trustworthiness(X, np.abs(X)) < 0.8
    (1.0, True)
    """
    data, latents = check_pair(X, Z, n_neighbors)
    n_samples = len(data)
    ranks = _ranks(data, _nearest(latents, n_neighbors))
    excess = int(np.maximum(ranks - n_neighbors, 0).sum())
    # Venna & Kaski (2001), the measure M1
    return 1.0 - excess * 2.0 / (n_samples * n_neighbors * (2 * n_samples - 3 * n_neighbors - 1))


def continuity(X: ArrayLike, Z: ArrayLike, n_neighbors: int = 5) -> float:
    """Return how far neighbors in the data are neighbors in the embedding.

    This is the trustworthiness of the data as an embedding of ``Z``.

    Parameters
    ----------
    X, Z : array-like of shape (n_samples, n_features) and (n_samples, n_components)
        Data and embedding.
    n_neighbors : int, default=5
        Size of the neighborhoods; at least 1, less than ``n_samples / 2``.

    Returns
    -------
    float
        In [0, 1]; 1 if all neighbors in the data stay neighbors.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.metrics import continuity
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, (100, 1))
    >>> continuity(X, np.abs(X)) > 0.9
    True
    """
    return trustworthiness(Z, X, n_neighbors)


def neighborhood_preservation(X: ArrayLike, Z: ArrayLike, n_neighbors: int = 5) -> float:
    """Return the mean share of nearest neighbors that data and embedding have in common.

    Parameters
    ----------
    X, Z : array-like of shape (n_samples, n_features) and (n_samples, n_components)
        Data and embedding.
    n_neighbors : int, default=5
        Size of the neighborhoods; at least 1, less than ``n_samples / 2``.

    Returns
    -------
    float
        In [0, 1]; about ``n_neighbors / n_samples`` for a random embedding.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.metrics import neighborhood_preservation
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> neighborhood_preservation(X, 2.0 * X), neighborhood_preservation(X, X[::-1]) < 0.1
    (1.0, True)
    """
    data, latents = check_pair(X, Z, n_neighbors)
    owners = np.arange(len(data))[:, np.newaxis] * len(data)
    # Pairs (i, j) as single numbers, each once per space
    in_data, in_latents = (owners + _nearest(space, n_neighbors) for space in (data, latents))
    common = np.intersect1d(in_data, in_latents, assume_unique=True)
    return len(common) / in_data.size


def _nearest(points: Array, n_neighbors: int) -> IntArray:
    """Return the nearest other samples (n_samples, n_neighbors); ties go to the lower index."""
    found, distances = nearest(points, None, n_neighbors + 1)
    neighbors: IntArray = found[:, :n_neighbors]
    # The choice matters only if the last neighbor and the next sample are equally far.
    tied = np.flatnonzero(distances[:, -2] == distances[:, -1])
    for block in row_blocks(len(tied), 8 * len(points)):
        rows = tied[block]
        to_all = cdist(points[rows], points, "sqeuclidean")
        to_all[np.arange(len(rows)), rows] = np.inf
        neighbors[rows] = np.argsort(to_all, axis=1, kind="stable")[:, :n_neighbors]
    return neighbors


def _ranks(points: Array, others: IntArray) -> IntArray:
    """Return the ranks ``r(i, others[i])`` among the neighbors of ``i``, shaped like ``others``.

    A rank is one plus the number of samples before. For a few columns of ``others`` counting is
    cheaper than sorting all n distances.
    """
    index = np.arange(len(points))
    sqnorms = np.einsum("ij,ij->i", points, points)
    ranks = np.empty(others.shape, dtype=np.intp)
    for block in row_blocks(len(points), 8 * len(points)):
        sqdist = sqnorms - 2 * (points[block] @ points.T)  # less |x_i|^2, the same along a row
        sqdist[index[: len(sqdist)], index[block]] = np.inf
        for column, other in enumerate(others[block].T):
            own = np.take_along_axis(sqdist, other[:, np.newaxis], axis=1)
            before = (sqdist == own) & (index < other[:, np.newaxis])
            before |= sqdist < own
            ranks[block, column] = 1 + np.count_nonzero(before, axis=1)
    return ranks

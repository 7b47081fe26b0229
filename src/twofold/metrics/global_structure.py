"""Global structure: whether an embedding keeps distances, their order, and densities.

* *Spearman correlation of distances*: of the ranks of all pairwise distances in the data and in
  the embedding.
* *Random triplets*: the share of triplets (i, j, k) for which j is nearer to i than k both in the
  data and in the embedding, or in neither.
* *Density preservation*: the correlation of ``log r_X(i)`` and ``log r_Z(i)``, where the local
  radius ``r(i)`` is the mean squared distance of sample i to its nearest neighbors.

No function holds an n x n matrix.

References
----------
* D. Kobak and P. Berens. The art of using t-SNE for single-cell transcriptomics. *Nature
  Communications* 10, 2019.
* Y. Wang, H. Huang, C. Rudin and Y. Shaposhnik. Understanding how dimension reduction tools work.
  *Journal of Machine Learning Research* 22, 2021.
* A. Narayan, B. Berger and H. Cho. Assessing single-cell transcriptomic variability through
  density-preserving data visualization. *Nature Biotechnology* 39, 2021.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from twofold.metrics._checks import check_rows_of_pair
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.neighbors import nearest
from twofold.numerics.threads import row_blocks
from twofold.numerics.validation import RandomLike, check_int, check_rng
from twofold.protocols import Array, IntArray


def spearman_distance_correlation(
    X: ArrayLike, Z: ArrayLike, *, n_pairs: int = 200_000, random_state: RandomLike = 0
) -> float:
    """Return the Spearman correlation of pairwise distances in the data and in the embedding.

    The literature also calls it Shepard goodness, or the correlation of pairwise distances. It is
    not the distance correlation of statistics, which measures dependence.

    Parameters
    ----------
    X, Z : array-like of shape (n_samples, n_features) and (n_samples, n_components)
        Data and embedding, of at least two samples.
    n_pairs : int, default=200_000
        All pairs are used if there are no more than this; otherwise so many random ones.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random pairs.

    Returns
    -------
    float
        In [-1, 1]; 1 if the order of all distances is kept, 0 if either side has no order.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.metrics import spearman_distance_correlation
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> round(spearman_distance_correlation(X, 2.0 * X), 6)
    1.0
    >>> spearman_distance_correlation(X, X[:, :1]) < 0.9
    True
    """
    data, latents = check_rows_of_pair(X, Z, 2)
    check_int("n_pairs", n_pairs)
    n_samples = len(data)
    if n_samples * (n_samples - 1) // 2 <= n_pairs:
        one, other = np.triu_indices(n_samples, 1)
    else:
        one, other = _distinct(n_samples, 2, n_pairs, check_rng(random_state))
    ranks = [rankdata(_sqdist(space, one, other)) for space in (data, latents)]
    return _correlation(*ranks)


def random_triplet_accuracy(
    X: ArrayLike, Z: ArrayLike, *, n_triplets: int = 100_000, random_state: RandomLike = 0
) -> float:
    """Return the share of random triplets whose order of distances the embedding keeps.

    Of a triplet (i, j, k), either j or k is nearer to i. The embedding keeps the order if it agrees
    which one, or that both are equally near.

    Parameters
    ----------
    X, Z : array-like of shape (n_samples, n_features) and (n_samples, n_components)
        Data and embedding, of at least three samples.
    n_triplets : int, default=100_000
        Number of random triplets.
    random_state : int, RandomState, Generator or None, default=0
        Source of the triplets.

    Returns
    -------
    float
        In [0, 1]; about 0.5 for a random embedding.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.metrics import random_triplet_accuracy
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> random_triplet_accuracy(X, 2.0 * X)
    1.0
    """
    data, latents = check_rows_of_pair(X, Z, 3)
    check_int("n_triplets", n_triplets)
    i, j, k = _distinct(len(data), 3, n_triplets, check_rng(random_state))
    orders = [np.sign(_sqdist(space, i, j) - _sqdist(space, i, k)) for space in (data, latents)]
    return float(np.mean(orders[0] == orders[1]))


def density_preservation(X: ArrayLike, Z: ArrayLike, n_neighbors: int = 15) -> float:
    """Return the correlation of log local radii in the data and in the embedding, as in densMAP.

    The local radius of a sample is the mean squared distance to its nearest neighbors, those of
    each space. (densMAP weights the neighbors by their affinities; here they count alike.)

    Parameters
    ----------
    X, Z : array-like of shape (n_samples, n_features) and (n_samples, n_components)
        Data and embedding.
    n_neighbors : int, default=15
        Number of neighbors; at least 1, less than ``n_samples``.

    Returns
    -------
    float
        In [-1, 1]; 1 if sparse regions of the data are sparse on the map and dense ones dense. 0 if
        the density of either side is the same everywhere. A radius of 0, of samples with equal
        neighbors, counts as the smallest positive radius.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.metrics import density_preservation
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> round(density_preservation(X, 3.0 * X), 6)
    1.0
    """
    data, latents = check_rows_of_pair(X, Z, 2)
    check_int("n_neighbors", n_neighbors, high=len(data) - 1)
    return _correlation(*(_log_radii(space, n_neighbors) for space in (data, latents)))


def _log_radii(points: Array, n_neighbors: int) -> Array:
    """Return the log mean squared distances (n,) to the nearest other points."""
    radii = nearest(points, None, n_neighbors)[1].mean(axis=1)
    positive = radii[radii > 0]
    if not len(positive):
        return np.zeros(len(points))
    logs: Array = np.log(np.maximum(radii, positive.min()))
    return logs


def _distinct(
    n_samples: int, size: int, n_tuples: int, rng: np.random.Generator
) -> tuple[IntArray, ...]:
    """Return columns (n_tuples,) of random tuples of different samples."""
    drawn: list[IntArray] = []
    for number in range(size):
        # One of the samples that are left; then skip those taken before, in ascending order.
        column = rng.integers(n_samples - number, size=n_tuples)
        for taken in np.sort(np.array(drawn).reshape(number, n_tuples), axis=0):
            column += column >= taken
        drawn.append(column)
    return tuple(drawn)


def _sqdist(points: Array, one: IntArray, other: IntArray) -> Array:
    """Return the squared distances (k,) of pairs of points."""
    found = np.empty(len(one))
    for rows in row_blocks(len(one), 3 * 8 * points.shape[1]):
        found[rows] = row_norms_sq(points[one[rows]] - points[other[rows]])
    return found


def _correlation(one: Array, other: Array) -> float:
    """Return the correlation of numbers (k,), 0 if either does not vary."""
    a, b = one - one.mean(), other - other.mean()
    spread = float(np.linalg.norm(a) * np.linalg.norm(b))
    if spread == 0 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(np.clip(np.vdot(a, b) / spread, -1.0, 1.0))

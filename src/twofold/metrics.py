"""Measures of a map: preserved neighborhoods, reconstruction, agreement with the truth.

Neighborhoods. Let ``r_X(i, j)`` be the rank of sample ``j`` among the neighbors of ``i`` in the
data (1 = nearest) and ``r_Z(i, j)`` its rank in the embedding. The co-ranking matrix counts how
often a pair of ranks occurs, ``Q_kl = #{(i, j): r_X(i, j) = k, r_Z(i, j) = l}``; a perfect map has
a diagonal one. With ``k`` neighbors, three parts of it are summed:

* *trustworthiness* penalizes intruders, near in the embedding but not in the data,
  ``1 - c sum_{r_Z <= k} max(r_X - k, 0)``,
* *continuity* penalizes extruders, near in the data but not in the embedding,
  ``1 - c sum_{r_X <= k} max(r_Z - k, 0)``,
* *neighborhood preservation* is the mass of the upper left block,
  ``sum_{r_X <= k, r_Z <= k} 1 / (n k)``,

with ``c = 2 / (n k (2 n - 3 k - 1))``, so that all of them lie in [0, 1] and 1 is best. Samples at
equal distances are ranked by their index.

Reconstruction. ``sum_i |x_i - xhat_i|^2 / (n V)`` with ``V`` the total variance: 0 is exact, and 1
is the error of the mean.

Truth. After the best shift, rotation or reflection, and scale of the embedding onto the truth,
``R^2 = 1 - residual / total``. With both centered, ``c = |T^T E|_* / (|T| |E|)`` their cosine
(nuclear norm over Frobenius norms) and ``rho = |E| / |T|``, the best rotation leaves
``R^2 = 2 c rho - rho^2``, and the best scale besides, ``c / rho``, leaves ``R^2 = c^2``.

No function holds an n x n matrix. Data are shifted and scaled by a power of two first, so data far
from the origin and squares that overflow do no harm.

References
----------
* J. Venna and S. Kaski. Neighborhood preservation in nonlinear projection methods: an
  experimental study. *ICANN* 2001.
* J. A. Lee and M. Verleysen. Quality assessment of dimensionality reduction: rank-based criteria.
  *Neurocomputing* 72(7-9), 2009.
* P. H. Schönemann and R. M. Carroll. Fitting one matrix to another under choice of a central
  dilation and a rigid motion. *Psychometrika* 35(2), 1970.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.utils import check_array, check_consistent_length

from twofold.numerics.neighbors import nearest
from twofold.numerics.threads import row_blocks
from twofold.protocols import Array, IntArray

__all__ = [
    "continuity",
    "nearest_neighbor_accuracy",
    "neighborhood_preservation",
    "procrustes_r2",
    "relative_reconstruction_error",
    "round_trip_error",
    "trustworthiness",
]


class _TwoWayMap(Protocol):
    """The methods that :func:`round_trip_error` needs."""

    def transform(self, X: Array) -> ArrayLike: ...
    def inverse_transform(self, Z: Array) -> ArrayLike: ...


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
    data, latents = _check_pair(X, Z, n_neighbors)
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
    data, latents = _check_pair(X, Z, n_neighbors)
    owners = np.arange(len(data))[:, np.newaxis] * len(data)
    # Pairs (i, j) as single numbers, each once per space
    in_data, in_latents = (owners + _nearest(space, n_neighbors) for space in (data, latents))
    common = np.intersect1d(in_data, in_latents, assume_unique=True)
    return len(common) / in_data.size


def relative_reconstruction_error(
    X: ArrayLike, X_reconstructed: ArrayLike, *, reference: ArrayLike | None = None
) -> float:
    """Return the mean squared error of a reconstruction in units of the total variance.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data.
    X_reconstructed : array-like of shape (n_samples, n_features)
        Their reconstructions.
    reference : array-like of shape (n_reference, n_features), default=None
        The data whose variance is the unit, such as the training data if ``X`` is held out; None
        means ``X``.

    Returns
    -------
    float
        0 for an exact reconstruction, 1 for reconstruction by the mean of ``X``. If the reference
        is constant, 0 for an exact reconstruction and infinity for any other.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.metrics import relative_reconstruction_error
    >>> X = np.array([[0.0], [2.0], [4.0]])
    >>> relative_reconstruction_error(X, X), relative_reconstruction_error(X, np.full((3, 1), 2.0))
    (0.0, 1.0)
    """
    data = _check("X", X)
    rebuilt = _check("X_reconstructed", X_reconstructed)
    unit = data if reference is None else _check("reference", reference)
    if rebuilt.shape != data.shape:
        raise ValueError(
            f"X_reconstructed has shape {rebuilt.shape}, but X has shape {data.shape}: pass one "
            "reconstruction for each sample."
        )
    if unit.shape[1] != data.shape[1]:
        raise ValueError(
            f"reference has {unit.shape[1]} features, but X has {data.shape[1]}: pass samples "
            "from the same space."
        )
    exponent = _exponent(data, rebuilt, unit)
    residual = np.ldexp(data, -exponent) - np.ldexp(rebuilt, -exponent)
    error = float(np.vdot(residual, residual)) / len(data)
    deviation = _centered(unit, exponent)
    variance = float(np.vdot(deviation, deviation)) / len(unit)
    if variance == 0:
        return np.inf if error > 0 else 0.0
    return error / variance


def round_trip_error(estimator: _TwoWayMap, Z: ArrayLike) -> float:
    """Return the error of decoding latents and encoding the result.

    Parameters
    ----------
    estimator : object with ``transform`` and ``inverse_transform``
        A fitted two-way model.
    Z : array-like of shape (n_samples, n_components)
        Latents.

    Returns
    -------
    float
        The error of ``transform(inverse_transform(Z))`` in units of the variance of ``Z``, see
        :func:`relative_reconstruction_error`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from twofold.metrics import round_trip_error
    >>> model = PCA(2).fit(np.random.default_rng(0).normal(size=(50, 4)))
    >>> round_trip_error(model, [[0.0, 1.0], [1.0, 0.0]]) < 1e-12
    True
    """
    latents = _check("Z", Z)
    returned = estimator.transform(np.asarray(estimator.inverse_transform(latents)))
    return relative_reconstruction_error(latents, returned)


def procrustes_r2(truth: ArrayLike, embedding: ArrayLike, *, scaling: bool = True) -> float:
    """Return the share of the truth's variance that an embedding explains, up to a similarity.

    Parameters
    ----------
    truth : array-like of shape (n_samples, n_parameters)
        True parameters.
    embedding : array-like of shape (n_samples, n_components)
        Latents. If the widths differ, the narrower array is padded with columns of zeros.
    scaling : bool, default=True
        Whether the alignment may scale the embedding, besides shifting, rotating and reflecting.

    Returns
    -------
    float
        At most 1, which means equal up to the alignment; at least 0 with ``scaling``. A constant
        truth gives 1 if the aligned embedding is equal to it and minus infinity otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.metrics import procrustes_r2
    >>> truth = np.random.default_rng(0).uniform(size=(100, 2))
    >>> [round(procrustes_r2(truth, Z), 1) for Z in (3.0 - 5.0 * truth, truth[:, :1])]
    [1.0, 0.5]
    """
    target, source = _check("truth", truth), _check("embedding", embedding)
    check_consistent_length(target, source)
    # Without scaling the two must keep their common unit.
    exponent = None if scaling else _exponent(target, source)
    target = _centered(target, _exponent(target) if exponent is None else exponent)
    source = _centered(source, _exponent(source) if exponent is None else exponent)
    total, spread = float(np.linalg.norm(target)), float(np.linalg.norm(source))
    if total == 0:
        return 1.0 if scaling or spread == 0 else -np.inf
    if spread == 0:
        return 0.0
    # Schönemann & Carroll (1970): the best rotation makes the cross product the nuclear norm.
    overlap = np.linalg.svd((target / total).T @ (source / spread), compute_uv=False).sum()
    cosine = min(float(overlap), 1.0)
    ratio = spread / total
    return cosine**2 if scaling else ratio * (2 * cosine - ratio)


def nearest_neighbor_accuracy(
    Z_train: ArrayLike, y_train: ArrayLike, Z_test: ArrayLike, y_test: ArrayLike
) -> float:
    """Return the share of test samples whose nearest training sample has their label.

    Parameters
    ----------
    Z_train : array-like of shape (n_train, n_components)
        Latents (or data) with known labels.
    y_train : array-like of shape (n_train,)
        Their labels.
    Z_test : array-like of shape (n_test, n_components)
        Latents to classify.
    y_test : array-like of shape (n_test,)
        Their true labels.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from twofold.metrics import nearest_neighbor_accuracy
    >>> Z, y = [[0.0], [1.0], [5.0]], ["a", "a", "b"]
    >>> nearest_neighbor_accuracy(Z, y, [[0.4], [4.0], [2.0], [9.0]], ["a", "b", "b", "b"])
    0.75
    """
    train, test = _check("Z_train", Z_train), _check("Z_test", Z_test)
    known, true = np.asarray(y_train), np.asarray(y_test)
    check_consistent_length(train, known)
    check_consistent_length(test, true)
    exponent = _exponent(train, test)
    shift = np.median(np.ldexp(train, -exponent), axis=0)
    train, test = (np.ldexp(points, -exponent) - shift for points in (train, test))
    found, _ = nearest(train, test, 1)
    return float(np.mean(known[found[:, 0]] == true))


def _check(name: str, values: ArrayLike) -> Array:
    """Return finite float64 values of shape (n_samples, n_columns)."""
    checked: Array = check_array(values, dtype=np.float64, input_name=name)
    return checked


def _check_pair(X: ArrayLike, Z: ArrayLike, n_neighbors: int) -> tuple[Array, Array]:
    """Return data and embedding, shifted and scaled, after checking them for rank metrics."""
    data, latents = _check("X", X), _check("Z", Z)
    check_consistent_length(data, latents)
    if not 1 <= n_neighbors < len(data) / 2:
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be at least 1 and less than n_samples / 2 = "
            f"{len(data) / 2:g}: change n_neighbors or give more samples."
        )
    return _tame(data), _tame(latents)


def _exponent(*arrays: Array) -> int:
    """Return the power of two that brings the largest entry into [0.5, 1)."""
    largest = max(float(np.abs(values).max()) for values in arrays)
    return int(np.frexp(largest)[1])


def _centered(values: Array, exponent: int) -> Array:
    """Return ``2^-exponent values`` less their mean; exactly zero if all rows are equal."""
    scaled = np.ldexp(values, -exponent)
    # The rounded mean of equal numbers need not be that number; the mean of zeros is zero.
    scaled -= scaled[0].copy()
    centered: Array = scaled - scaled.mean(axis=0)
    return centered


def _tame(values: Array) -> Array:
    """Return the values scaled by a power of two, less their median: distances keep their ratios.

    Both steps are exact for data on a grid, such as integers, so ties stay ties.
    """
    scaled = np.ldexp(values, -_exponent(values))
    tame: Array = scaled - np.median(scaled, axis=0)
    return tame


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

"""Linear algebra that everything else uses: squared distances, principal axes, semidefinite solves.

Squared distances have two forms. The difference form ``sum_l (a_l - b_l)^2`` is exact; the product
form ``|a|^2 + |b|^2 - 2 a.b`` runs at the speed of BLAS but cancels if both points lie far from the
origin (an offset of 1e8 with unit spread leaves no digits). So few columns take the first form,
many take the second, after a shift to the mean of the second argument.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from twofold.numerics.row_products import row_product
from twofold.protocols import AnyArray, Array, IntArray

FEW_COLUMNS = 4

MAX_RANK = 50
VARIANCE_SHARE = 0.99
"""Leading subspaces hold this share of the variance, unless 50 axes hold less."""

NEGLIGIBLE = -40.0
"""Weights below ``exp`` of this vanish in rounding beside a weight of one."""

LARGEST = 1e16
"""Larger values count as this in single precision."""


def single(rows: AnyArray) -> AnyArray:
    """Return rows in single precision, with values whose squares are finite there."""
    return np.ascontiguousarray(np.clip(rows, -LARGEST, LARGEST), dtype=np.float32)


def row_norms_sq(A: Array) -> Array:
    """Return ``sum_d A[:, d]^2`` of shape (n,)."""
    norms: Array = np.einsum("nd,nd->n", A, A)
    return norms


def sqdist(A: Array, B: Array) -> Array:
    """Return the squared Euclidean distances between rows, shape (len(A), len(B))."""
    if A.shape[1] <= FEW_COLUMNS:
        distances = np.zeros((len(A), len(B)))
        for column in range(A.shape[1]):
            difference = A[:, column, None] - B[:, column]
            distances += np.square(difference, out=difference)
        return distances
    shift = B.mean(axis=0)
    A, B = A - shift, B - shift
    distances = row_product(A, (-2.0 * B).T)
    distances += row_norms_sq(A)[:, None]
    distances += row_norms_sq(B)
    return np.maximum(distances, 0.0, out=distances)


def shifted_exp(log_weights: Array) -> tuple[Array, Array]:
    """Return ``exp(log_weights - shift)`` (n, m) and the shift (n,), each row's maximum.

    ``log_weights`` is overwritten. Negligible weights are zero and cost nothing: the exponential is
    most of the cost of a kernel, and at useful widths nearly all pairs are out of reach of each
    other. A row of ``-inf`` gives zeros and a shift of ``-inf``.
    """
    shift: Array = log_weights.max(axis=1)
    log_weights -= np.where(np.isneginf(shift), 0.0, shift)[:, None]
    weights = np.zeros_like(log_weights)
    np.exp(log_weights, out=weights, where=log_weights > NEGLIGIBLE)
    return weights, shift


def k_smallest(values: Array, k: int) -> IntArray:
    """Return the columns of the k smallest entries of each row, in ascending order."""
    if k >= values.shape[1]:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.sort(np.argpartition(values, k - 1, axis=1)[:, :k], axis=1)


def fix_signs(Z: Array) -> Array:
    """Orient each column, such as an eigenvector, so that its largest entry is positive."""
    largest = np.take_along_axis(Z, np.abs(Z).argmax(axis=0)[np.newaxis], axis=0)
    return Z * np.where(largest < 0.0, -1.0, 1.0)


def principal_axes(X: Array, n_axes: int) -> tuple[Array, Array]:
    """Return the leading principal axes (n_axes, n_features) of centered data and their variances.

    Works on the smaller of the covariance and the Gram matrix. Axes are orthonormal rows, oriented
    so that the largest entry is positive; a row is zero if the data have no further direction.
    Variances (n_axes,) descend.
    """
    n_samples, n_features = X.shape
    if n_axes > min(X.shape):
        axes, variances = principal_axes(X, min(X.shape))
        missing = n_axes - len(axes)
        return np.pad(axes, ((0, missing), (0, 0))), np.pad(variances, (0, missing))
    if n_features <= n_samples:
        return axes_of_products(X.T @ X, n_samples, n_axes)
    eigenvalues, vectors = _top_eigenpairs(X @ X.T, n_axes)
    with np.errstate(divide="ignore", invalid="ignore"):
        axes = (X.T @ (vectors / np.sqrt(eigenvalues))).T
    axes[~np.isfinite(axes).all(axis=1)] = 0.0
    return fix_signs(axes.T).T, eigenvalues / n_samples


def axes_of_products(products: Array, n_samples: int, n_axes: int) -> tuple[Array, Array]:
    """Return the result of `principal_axes` from ``X^T X`` (D, D)."""
    eigenvalues, vectors = _top_eigenpairs(products, n_axes)
    return fix_signs(vectors).T, eigenvalues / n_samples


def _top_eigenpairs(symmetric: Array, k: int) -> tuple[Array, Array]:
    n = len(symmetric)
    values, vectors = linalg.eigh(symmetric, subset_by_index=(n - k, n - 1))
    if len(values) < k:  # LAPACK can miss a subset of equal eigenvalues
        values, vectors = (part[..., n - k :] for part in linalg.eigh(symmetric))
    values = np.maximum(values[::-1], 0.0)
    # Directions at rounding level are noise, not structure.
    values[values <= values[0] * n * np.finfo(np.float64).eps] = 0.0
    return values, vectors[:, ::-1]


def spatial_median(X: Array) -> Array:
    """Return the point of the least mean distance to the rows.

    Outliers hardly move this center, and it rotates with the data.

    References
    ----------
    E. Weiszfeld. On the point for which the sum of the distances to n given points is minimum.
    Tohoku Math. J. 43, 1937.
    """
    center: Array = X.mean(axis=0)
    for _ in range(30):
        distances = np.sqrt(row_norms_sq(X - center))
        nearest = max(float(distances.max()) * 1e-12, 1e-300)
        weights = 1.0 / np.maximum(distances, nearest)
        center = weights @ X / weights.sum()
    return center


def solve_psd(A: Array, B: Array) -> Array:
    """Solve ``A W = B`` for a symmetric positive semidefinite ``A``.

    Kernel Gram matrices of wide kernels are singular to working precision. A ridge that starts at
    rounding level, relative to the mean eigenvalue, and grows tenfold until the Cholesky factor
    exists, disturbs the solution least.
    """
    n = len(A)
    mean_eigenvalue = float(np.trace(A)) / n
    if mean_eigenvalue <= 0.0:
        return np.zeros_like(B)
    ridge = 0.0
    while True:
        try:
            factor = linalg.cho_factor(A + ridge * np.eye(n) if ridge else A, lower=True)
        except linalg.LinAlgError:
            ridge = max(10.0 * ridge, 1e-14 * mean_eigenvalue)
        else:
            solution: Array = linalg.cho_solve(factor, B)
            return solution


def rank_up_to(centered: Array, most: int) -> int:
    """Return the number of directions in which data vary, counted up to a bound.

    A random projection to that many columns keeps the rank and costs one thin product.
    """
    if not centered.any():
        return 0
    directions = np.random.default_rng(0).standard_normal((centered.shape[1], most))
    projected = centered @ directions
    singular = np.linalg.svd(projected, compute_uv=False)
    return int((singular > 1e-10 * singular[0]).sum())


def n_leading_axes(variances: Array, total: float, least: int) -> int:
    """Return how many axes, leading first, hold 99 % of the total variance; at least ``least``."""
    enough = int(np.searchsorted(np.cumsum(variances), VARIANCE_SHARE * total)) + 1
    return max(enough, least)

"""Squared distances, principal axes, semidefinite solves: the linear algebra everything else uses.

Squared distances have two forms. The difference form ``sum_l (a_l - b_l)^2`` is exact; the product
form ``|a|^2 + |b|^2 - 2 a.b`` runs at the speed of BLAS but cancels when both points lie far from
the origin (an offset of 1e8 with unit spread leaves nothing). So few columns take the first form,
many take the second, after a shift to the mean of the second argument.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from twofold.protocols import Array, IntArray

__all__ = [
    "axes_of_products",
    "fix_signs",
    "k_smallest",
    "principal_axes",
    "rank_up_to",
    "row_norms_sq",
    "row_product",
    "shifted_exp",
    "solve_psd",
    "spatial_median",
    "sqdist",
]

FEW_COLUMNS = 4
FEW_ROWS = 16

NEGLIGIBLE = -40.0
"""Weights below ``exp`` of this, beside a weight of one, vanish in rounding."""


def row_norms_sq(A: Array) -> Array:
    """Return ``sum_d A[:, d]^2`` of shape (n,)."""
    norms: Array = np.einsum("nd,nd->n", A, A)
    return norms


def row_product(A: Array, B: Array) -> Array:
    """Return ``A @ B`` so that a row's result does not depend on how many rows there are.

    BLAS takes other routes for few rows, which round differently; those get company.
    """
    if len(A) >= FEW_ROWS:
        return A @ B
    padded = np.zeros((FEW_ROWS, A.shape[1]))
    padded[: len(A)] = A
    product: Array = (padded @ B)[: len(A)]
    return product


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


def shifted_exp(log_weights: Array, shift: Array | None = None) -> tuple[Array, Array]:
    """Return ``exp(log_weights - shift)`` and the shift, by default each row's maximum.

    Negligible weights are zero, and cost nothing: the exponential is most of the price of a kernel,
    and at useful widths nearly all pairs are out of reach of each other. A row of ``-inf`` gives zeros
    and a shift of ``-inf``.

    Parameters
    ----------
    log_weights : ndarray of shape (n, m)
        Overwritten.
    shift : ndarray of shape (n,), default=None
        What to subtract from each row.
    """
    if shift is None:
        shift = log_weights.max(axis=1)
    log_weights -= np.where(np.isneginf(shift), 0.0, shift)[:, None]
    weights = np.zeros_like(log_weights)
    np.exp(log_weights, out=weights, where=log_weights > NEGLIGIBLE)
    return weights, shift


def k_smallest(values: Array, k: int) -> IntArray:
    """Return for each row the column numbers of its k smallest entries, in ascending column order."""
    if k >= values.shape[1]:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.sort(np.argpartition(values, k - 1, axis=1)[:, :k], axis=1)


def fix_signs(Z: Array) -> Array:
    """Orient each column so that its largest entry is positive: eigenvectors have no sign."""
    largest = np.take_along_axis(Z, np.abs(Z).argmax(axis=0)[np.newaxis], axis=0)
    return Z * np.where(largest < 0.0, -1.0, 1.0)


def principal_axes(X: Array, n_axes: int) -> tuple[Array, Array]:
    """Return the leading principal axes of centred data and the variances along them.

    Works on the smaller of the covariance and the Gram matrix. Each axis is oriented so that its
    largest entry is positive, which makes the result repeatable.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centred data.
    n_axes : int
        At most ``min(n_samples, n_features)``.

    Returns
    -------
    axes : ndarray of shape (n_axes, n_features)
        Orthonormal rows; a row is zero where the data have no further direction.
    variances : ndarray of shape (n_axes,)
        In descending order.
    """
    n_samples, n_features = X.shape
    if n_features <= n_samples:
        return axes_of_products(X.T @ X, n_samples, n_axes)
    eigenvalues, vectors = _top_eigenpairs(X @ X.T, n_axes)
    with np.errstate(divide="ignore", invalid="ignore"):
        axes = (X.T @ (vectors / np.sqrt(eigenvalues))).T
    axes[~np.isfinite(axes).all(axis=1)] = 0.0
    return fix_signs(axes.T).T, eigenvalues / n_samples


def axes_of_products(products: Array, n_samples: int, n_axes: int) -> tuple[Array, Array]:
    """Return the same as `principal_axes` from ``X^T X`` (D, D)."""
    eigenvalues, vectors = _top_eigenpairs(products, n_axes)
    return fix_signs(vectors).T, eigenvalues / n_samples


def _top_eigenpairs(symmetric: Array, k: int) -> tuple[Array, Array]:
    n = len(symmetric)
    values, vectors = linalg.eigh(symmetric, subset_by_index=(n - k, n - 1))
    values = np.maximum(values[::-1], 0.0)
    # Directions at rounding level are noise, not structure.
    values[values <= values[0] * n * np.finfo(np.float64).eps] = 0.0
    return values, vectors[:, ::-1]


def spatial_median(X: Array, n_iter: int = 30) -> Array:
    """Return the point of the least mean distance to the rows: a centre that outliers hardly move, and that turns with the data.

    References
    ----------
    E. Weiszfeld. On the point for which the sum of the distances to n given points is minimum. Tohoku Math. J. 43, 1937.
    """
    center: Array = X.mean(axis=0)
    for _ in range(n_iter):
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


def rank_up_to(centred: Array, most: int) -> int:
    """Return the number of directions in which data vary, counted up to a bound.

    A random projection to that many columns keeps the rank, and costs one thin product.
    """
    if not centred.any():
        return 0
    directions = np.random.default_rng(0).standard_normal((centred.shape[1], most))
    projected = centred @ directions
    singular = np.linalg.svd(projected, compute_uv=False)
    return int((singular > 1e-10 * singular[0]).sum())

r"""Affinity matrices of data, by which guidance multiplies gradients.

``M = D^{-1/2} K D^{-1/2}`` (clustering; Memisevic & Hinton 2005, Eq. 12), or
``(I - e e^T) K (I - e e^T)`` (kernel PCA, Eq. 21), with ``K_ij = e^{-|x_i - x_j|^2 / h}``, or a
user-supplied matrix. All are scaled to a largest eigenvalue of one. The paper divides by the trace
(Eq. 17), which also only scales; powers of a matrix with another norm would move the change of
variables away from the scale of the data.

With many rows only neighbors are linked. A sparse ``K`` is not positive semi-definite, but
``(I + M) / 2`` is. Centering would make it dense, so it is applied as an operator.

References
----------
R. Memisevic, G. Hinton. Improving dimensionality reduction with spectral gradient descent. Neural
Networks 18, 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, issparse
from scipy.sparse.linalg import LinearOperator, eigsh

from twofold.geodesics.graph import graph_of_neighbors, heat_affinity, normalized_affinity
from twofold.numerics.linalg import sqdist
from twofold.numerics.neighbors import nearest_neighbors
from twofold.protocols import Array, IntArray

ASYMMETRY = 1e-8
TINY = 1e-300
EIGENVALUE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Centered:
    """``(I - e e^T) K (I - e e^T)`` of a sparse ``K`` (n, n), as an operator."""

    matrix: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n: int = self.matrix.shape[0]
        return n, n

    def __matmul__(self, values: Array) -> Array:
        product = self.matrix @ (values - values.mean(axis=0))
        centered: Array = product - product.mean(axis=0)
        return centered


def dense_affinity(X: Array, bandwidth: float, *, centered: bool) -> Array:
    """Return M (n, n) for all pairs."""
    kernel = np.exp(-sqdist(X, X) / bandwidth)
    if not centered:
        normalized: Array = normalized_affinity(kernel)
        return normalized
    M = kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()
    scaled: Array = M / max(_largest_eigenvalue(M), TINY)
    return scaled


def sparse_affinity(
    X: Array, bandwidth: float, n_neighbors: int, neighbors: IntArray | None, *, centered: bool
) -> Any:
    """Return M (n, n) with links between neighbors only.

    ``neighbors`` (n, k) holds the nearest other rows of each row if they are known already.
    """
    if n_neighbors >= len(X):
        raise ValueError(
            f"n_neighbors={n_neighbors} must be less than the number of rows, {len(X)}."
        )
    if neighbors is None or neighbors.shape[1] < n_neighbors:
        neighbors = nearest_neighbors(X, n_neighbors, np.random.default_rng(0))
    kernel = heat_affinity(graph_of_neighbors(X, neighbors[:, :n_neighbors]), bandwidth)
    linked = kernel / _largest_eigenvalue(kernel) if centered else normalized_affinity(kernel)
    lazy = csr_array(0.5 * (eye_array(len(X), format="csr") + linked))
    return Centered(lazy) if centered else lazy


def own_affinity(matrix: Any, n: int) -> Any:
    """Check a user-supplied matrix and scale it to a largest eigenvalue of one."""
    try:
        is_sparse = bool(issparse(matrix))
        M: Any = matrix.tocsr() if is_sparse else np.asarray(matrix)
        M = M.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"affinity of type {type(matrix).__name__} must be a matrix of numbers, 'clustering' "
            "or 'kpca'."
        ) from error
    if M.shape != (n, n):
        raise ValueError(f"affinity has shape {M.shape}; the data have {n} rows.")
    values = M.data if is_sparse else M
    if not np.isfinite(values).all():
        raise ValueError("affinity has entries that are not finite; all must be numbers.")
    size = float(np.abs(values).max(initial=0.0))
    if size == 0.0:
        raise ValueError("affinity is zero everywhere; it must link some rows.")
    if float(abs(M - M.T).max()) > ASYMMETRY * size:
        raise ValueError("affinity must be symmetric; use (M + M.T) / 2.")
    return M / _largest_eigenvalue(M / size) / size


def taken(M: Any, rows: IntArray) -> Any:
    """Return the affinities of some rows, in their order."""
    if isinstance(M, Centered):
        return Centered(taken(M.matrix, rows))
    return M.tocsr()[rows][:, rows] if hasattr(M, "tocsr") else M[np.ix_(rows, rows)]


def as_operator(M: Any) -> Any:
    """Convert to a type that SciPy's eigensolvers accept."""
    if not isinstance(M, Centered):
        return M
    return LinearOperator(M.shape, matvec=M.__matmul__, matmat=M.__matmul__, dtype=np.float64)


def _largest_eigenvalue(M: Any) -> float:
    """Return the largest absolute eigenvalue, to about a thousandth."""
    n = M.shape[0]
    if n <= 3:
        return float(np.abs(np.linalg.eigvalsh(M @ np.eye(n))).max())
    start = np.random.default_rng(0).standard_normal(n)
    found = eigsh(M, k=1, which="LM", v0=start, tol=EIGENVALUE_TOLERANCE, return_eigenvectors=False)
    return float(np.abs(found[0]))

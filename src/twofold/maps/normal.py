"""The products of Jacobian columns that Gauss-Newton steps are made of."""

from __future__ import annotations

import numpy as np

from twofold.protocols import Array

__all__ = ["normal_products"]


def normal_products(
    columns: list[Array], residuals: Array, left: list[Array] | None = None
) -> tuple[Array, Array]:
    """Return ``J^T J`` (n, q, q) and ``J^T r`` (n, q) of many rows at once.

    Parameters
    ----------
    columns : list of q ndarrays of shape (n, m)
        The columns of the Jacobians, or their coordinates in some basis.
    residuals : ndarray of shape (n, m)
        The residuals, in the dual coordinates.
    left : list of q ndarrays of shape (n, m), default=None
        The columns times the basis's Gram matrix; None for an orthonormal one.
    """
    n, q = len(residuals), len(columns)
    left = columns if left is None else left
    JTJ, JTr = np.empty((n, q, q)), np.empty((n, q))
    for i in range(q):
        JTr[:, i] = np.einsum("nm,nm->n", columns[i], residuals)
        for j in range(i + 1):
            JTJ[:, i, j] = JTJ[:, j, i] = np.einsum("nm,nm->n", left[i], columns[j])
    return JTJ, JTr

"""Normal terms of Gauss-Newton steps: ``J^T J``, ``J^T r`` and ``|r|^2`` of many rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from twofold.numerics.threads import map_blocks
from twofold.protocols import Array, NormalTerms


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
        The columns times the basis's Gram matrix; None for an orthonormal basis.
    """
    n, q = len(residuals), len(columns)
    left = columns if left is None else left
    JTJ, JTr = np.empty((n, q, q)), np.empty((n, q))
    for i in range(q):
        JTr[:, i] = np.einsum("nm,nm->n", columns[i], residuals)
        for j in range(i + 1):
            JTJ[:, i, j] = JTJ[:, j, i] = np.einsum("nm,nm->n", left[i], columns[j])
    return JTJ, JTr


def normal_terms_of_blocks(
    terms: Callable[[slice], NormalTerms],
    shape: tuple[int, ...],
    blocks: list[slice],
    n_jobs: int | None = None,
) -> NormalTerms:
    """Return the normal terms of inputs of a shape (n, q), computed block by block of rows."""
    n, q = shape
    JTJ, JTr, loss = np.empty((n, q, q)), np.empty((n, q)), np.empty(n)

    def work(rows: slice) -> None:
        JTJ[rows], JTr[rows], loss[rows] = terms(rows)

    map_blocks(work, blocks, n_jobs=n_jobs)
    return JTJ, JTr, loss

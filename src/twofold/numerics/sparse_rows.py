"""Sparse tables: checks, and the sizes up to which they are made dense.

A sparse table of few cells is made dense: the fit is the same as that of the dense array, to the
last bit. A larger one never is. A fit reduces it to its leading subspace
(`twofold.numerics.sparse_subspace`), and other methods take it in this subspace or in blocks of
rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

FEW_CELLS = 2**24
"""Tables of up to this many cells are made dense: 134 MB in double precision."""

FLOATS = [np.float64, np.float32]


def is_large_sparse(X: Any) -> bool:
    """Tell whether X is sparse, with more cells than are made dense."""
    return bool(issparse(X)) and X.ndim == 2 and X.shape[0] * X.shape[1] > FEW_CELLS


def dense_if_few_cells(X: Any) -> Any:
    """Return a sparse table of few cells as an array, everything else as it is.

    Raises
    ------
    TypeError
        If a sparse table has too many cells.
    """
    if not issparse(X):
        return X
    if is_large_sparse(X):
        raise TypeError(
            f"X is a sparse matrix of shape {X.shape}: too large to be made dense here. Pass a "
            "part of its rows or columns, or reduce it by sklearn.decomposition.TruncatedSVD first."
        )
    return X.toarray()


def check_sparse(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Validate a sparse table (n, D) and return it as CSR matrix of floats.

    Sets the feature count of the estimator if ``reset``, else compares with it.
    """
    rows = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=FLOATS,
        ensure_all_finite=False,
        ensure_min_samples=2 if reset else 1,
    )
    if not rows.has_canonical_format:  # several values of one cell are added up
        rows = rows.copy()
        rows.sum_duplicates()
    finite = np.isfinite(rows.data)
    if not finite.all():
        place = int(np.argmin(finite))
        kind = "NaN" if np.isnan(rows.data[place]) else "infinity"
        row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
        raise ValueError(
            f"Input X contains {kind}, first in row {row}, column {rows.indices[place]}. Missing "
            "and infinite values are not supported in large sparse tables: remove those rows."
        )
    return rows


def sparse_blocks(rows: Any, bytes_of_block: int = 64 * 2**20) -> list[slice]:
    """Return slices of the rows of a sparse table (n, D) whose dense form is small."""
    size = max(1, bytes_of_block // (8 * rows.shape[1]))
    return [slice(start, start + size) for start in range(0, rows.shape[0], size)]

"""Kernel values between rows that do not depend on the other rows, to the last bit.

scikit-learn's kernels of inner products are matrix products, which BLAS rounds by the place of a
row; see `twofold.numerics.row_products`. Its other kernels are computed pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from twofold.numerics.linalg import row_norms_sq, sqdist
from twofold.numerics.row_products import row_product
from twofold.protocols import Array

INNER_PRODUCTS = ("linear", "poly", "polynomial", "sigmoid")


def inner_products(
    A: Array, B: Array, gamma: float | None = None, coef0: float | None = None
) -> Array:
    """Return ``gamma a.b + coef0`` for all rows, by scikit-learn's defaults 1 / D and 1."""
    inner = row_product(A, B.T)
    inner *= 1.0 / A.shape[1] if gamma is None else gamma
    inner += 1.0 if coef0 is None else coef0
    return inner


def kernel_values(
    metric: str | Callable[..., Any], A: Array, B: Array, params: dict[str, Any]
) -> Array:
    """Return the kernel of scikit-learn with these parameters between rows, shape (n, m)."""
    gamma, coef0 = params.get("gamma"), params.get("coef0")
    if metric == "linear":
        return row_product(A, B.T)
    if metric in ("poly", "polynomial"):
        values: Array = inner_products(A, B, gamma, coef0) ** params.get("degree", 3)
        return values
    if metric == "sigmoid":
        values = inner_products(A, B, gamma, coef0)
        return np.tanh(values, out=values)
    if metric == "cosine":
        return row_product(_directions(A), _directions(B).T)
    if metric == "rbf":
        values = sqdist(A, B)
        values *= -(1.0 / A.shape[1] if gamma is None else gamma)
        return np.exp(values, out=values)
    return np.asarray(pairwise_kernels(A, B, metric=metric, **params), dtype=np.float64)


def _directions(A: Array) -> Array:
    """Return the rows at length 1, those of length 0 unchanged."""
    lengths = np.sqrt(row_norms_sq(A))
    directions: Array = A / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return directions

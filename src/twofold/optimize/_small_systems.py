r"""Many symmetric positive semi-definite systems of q unknowns, solved at once.

``A p = b`` for each of m rows by elimination without pivoting, ``A = L D L^T``: stable for positive
semi-definite matrices, where the Schur complements stay so. The loops run over the q unknowns and
the arithmetic over the rows, so that a row's result does not depend on the others, and no row that
is singular can stop the rest (as it would in LAPACK's solvers).

Each ``A`` is divided by its trace first. A pivot that is zero to rounding then is one below
``q eps``; its row of the Schur complement is zero too, and its unknown is set to 0: a basic
solution.

References
----------
N. Higham (2002). Accuracy and Stability of Numerical Algorithms, chapter 10. SIAM.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold.optimize._progress import EPS
from twofold.protocols import Array


def damped_steps(
    curvature: Array, descent: Array, damping: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve ``(A + damping trace(A) / q I) p = b`` for every row.

    ``A`` is ``curvature`` (m, q, q), ``b`` is ``descent`` (m, q), ``damping`` has shape (m,).
    Return the solutions (m, q) and a mask (m,). The mask is False, and the solution 0, where the
    terms or the solution are not finite.
    """
    q = descent.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        trace = np.trace(curvature, axis1=1, axis2=2)
        solved = np.isfinite(trace) & np.isfinite(curvature).all(axis=(1, 2))
        solved &= np.isfinite(descent).all(axis=1)
        size = np.where(solved & (trace > 0.0), trace, 1.0)
        A = np.where(solved[:, None, None], curvature, 0.0) / size[:, None, None]
        b = np.where(solved[:, None], descent, 0.0) / size[:, None]
        A[:, range(q), range(q)] += damping[:, None] / max(q, 1)
        steps = _eliminate(A, b)
        solved &= np.isfinite(steps).all(axis=1)
    steps[~solved] = 0.0
    return steps, solved


def _eliminate(A: Array, b: Array) -> Array:
    """Overwrite ``b`` (m, q) with the solutions, and ``A`` (m, q, q) with its factors."""
    q = b.shape[1]
    inverse_pivots = np.zeros_like(b)
    for k in range(q):
        pivot = A[:, k, k]
        np.divide(1.0, pivot, out=inverse_pivots[:, k], where=pivot > q * EPS)
        factors = A[:, k + 1 :, k] * inverse_pivots[:, k, None]
        A[:, k + 1 :, k + 1 :] -= factors[:, :, None] * A[:, None, k, k + 1 :]
        b[:, k + 1 :] -= factors * b[:, k, None]
    for k in reversed(range(q)):
        known = np.einsum("ij,ij->i", A[:, k, k + 1 :], b[:, k + 1 :])
        b[:, k] = (b[:, k] - known) * inverse_pivots[:, k]
    return b

r"""Eigenvectors and real powers of an affinity matrix.

``M^nu`` is applied to a few columns. A whole ``nu`` takes repeated products. Another one is split,
``M^nu = M^a M^b`` with ``a`` whole and ``0 < b < 1``. Of few rows ``M^b = V D^b V^T`` comes from
all eigenvectors. Of many rows it is a polynomial of ``M``, interpolated at Chebyshev nodes between
the smallest eigenvalue and one: again only products. Affinities of neighbors have eigenvalues away
from zero (``(I + M) / 2``, see `twofold.optimize._affinity`), where the interpolation is exact to
rounding; for a user-supplied matrix with eigenvalues at zero its absolute error is about 0.01 for
``nu = 1/2`` and larger for smaller ``nu``.

Powers that are not whole need a positive semi-definite matrix, as the paper says (Memisevic &
Hinton 2005, Eq. 17). Negative eigenvalues raise an error.

References
----------
R. Memisevic, G. Hinton. Improving dimensionality reduction with spectral gradient descent. Neural
Networks 18, 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from twofold.optimize._affinity import Centered, as_operator
from twofold.protocols import Array

_chebinterpolate: Any = chebyshev.chebinterpolate  # its stubs reject arrays

MOST_DENSE = 2_000
"""Rows up to which all eigenvectors are computed."""

DEGREE = 64
ROUNDED = 1e-8
"""Negative eigenvalues above minus this, relative to the largest, are rounding."""

LOOSE = 1e-2
"""Tolerance of the smallest eigenvalue of a large matrix."""

MAX_ITER, N_VECTORS = 20, 40
"""Effort for the smallest eigenvalue; if it is not found, the interpolation starts at zero."""


@dataclass
class Spectrum:
    """Eigenvectors and powers of a symmetric matrix (n, n) with a largest eigenvalue of one."""

    matrix: Any

    def __post_init__(self) -> None:
        self._leading = np.empty((self.matrix.shape[0], 0))

    def vectors(self, n_vectors: int) -> Array:
        """Return eigenvectors (n, k), leading first: all of few rows, else ``n_vectors``."""
        n = self.matrix.shape[0]
        if n <= MOST_DENSE:
            return self._all[1]
        k = min(n_vectors, n - 1)
        if self._leading.shape[1] < k:
            values, vectors = eigsh(as_operator(self.matrix), k=k, which="LA", v0=np.ones(n))
            self._leading = vectors[:, np.argsort(-values)]
        return self._leading

    def power(self, values: Array, exponent: float) -> Array:
        """Return ``M^exponent`` times values (n, q)."""
        whole = int(exponent)
        fraction = exponent - whole
        for _ in range(whole):
            values = self.matrix @ values
        if fraction == 0.0:
            return values
        return self._fraction(values, fraction)

    def _fraction(self, values: Array, exponent: float) -> Array:
        if self.matrix.shape[0] > MOST_DENSE:
            return self._interpolated(values, exponent)
        eigenvalues, vectors = self._all
        _check_positive(float(eigenvalues[-1]), ROUNDED * float(eigenvalues[0]))
        weights = np.maximum(eigenvalues, 0.0) ** exponent
        product: Array = vectors @ (weights[:, None] * (vectors.T @ values))
        return product

    def _interpolated(self, values: Array, exponent: float) -> Array:
        """Evaluate the interpolating polynomial by Clenshaw's recurrence."""
        low = self._least
        half = 0.5 * (1.0 - low)
        coefficients = _chebinterpolate(lambda t: (low + half * (t + 1.0)) ** exponent, DEGREE)
        after, latest = np.zeros_like(values), np.zeros_like(values)
        values = self._within(values)
        for coefficient in coefficients[:0:-1]:
            moved = (self.matrix @ latest - (low + half) * latest) / half
            after, latest = latest, self._within(coefficient * values + 2.0 * moved - after)
        moved = (self.matrix @ latest - (low + half) * latest) / half
        result: Array = coefficients[0] * values + moved - after
        return result

    def _within(self, values: Array) -> Array:
        """Remove the constant vector, whose eigenvalue zero is outside of the interval."""
        return values - values.mean(axis=0) if isinstance(self.matrix, Centered) else values

    @cached_property
    def _all(self) -> tuple[Array, Array]:
        """All eigenvalues and eigenvectors, leading first."""
        values, vectors = linalg.eigh(self.matrix @ np.eye(self.matrix.shape[0]))
        return values[::-1], vectors[:, ::-1]

    @cached_property
    def _least(self) -> float:
        """A lower bound of the eigenvalues, at least zero."""
        # Centering a matrix keeps the eigenvalues on centered columns above its smallest.
        matrix = self.matrix.matrix if isinstance(self.matrix, Centered) else self.matrix
        start = np.random.default_rng(0).standard_normal(matrix.shape[0])
        try:
            found = eigsh(
                matrix,
                k=1,
                which="SA",
                v0=start,
                tol=LOOSE,
                maxiter=MAX_ITER,
                ncv=N_VECTORS,
                return_eigenvectors=False,
            )
        except ArpackNoConvergence:  # many eigenvalues next to zero
            return 0.0
        _check_positive(float(found[0]), LOOSE)
        return max(0.0, float(found[0]) - LOOSE)


def _check_positive(smallest: float, rounded: float) -> None:
    if smallest < -rounded:
        raise ValueError(
            f"affinity has the negative eigenvalue {smallest:.3g}; powers that are not whole need "
            "a positive semi-definite matrix. Use whole levels in the schedule."
        )

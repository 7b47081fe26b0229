r"""The squared loss in a metric of the user's choice.

.. math:: c(x, f(z)) = (x - f(z))^T D^{-1} (x - f(z))

(Smola et al. 2001, Eq. 10, Example 5). With ``x' = D^{-1/2} x`` it is the squared loss of
``x'``, so a fit takes place in these coordinates. Planes (``kernel="linear"``) then diagonalize
``D`` and the covariance of the data at once.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.maps.affine import Affine
from twofold.protocols import AnyArray, Array

SMALLEST = 1e-12
"""Eigenvalues of a metric below this share of the largest count as not positive."""


@dataclass(frozen=True, eq=False)
class Mahalanobis:
    """The loss ``r^T D^{-1} r`` of a residual ``r``, Smola et al. (2001), Eq. (10).

    Pass it as ``loss`` of `PrincipalManifold`. The covariance of the data is
    ``loss="mahalanobis"``.

    Parameters
    ----------
    D : array-like of shape (n_features, n_features)
        Symmetric and positive definite: for example the covariance of the measurement errors. A
        residual is measured in the deviations that ``D`` has in its direction. The smallest
        eigenvalue must be more than 1e-12 of the largest.

    Examples
    --------
    The second column has an error of 10 and is ignored in favor of the first:

    >>> import numpy as np
    >>> from twofold import PrincipalManifold
    >>> from twofold.principal_manifold import Mahalanobis
    >>> X = np.random.default_rng(0).standard_normal((200, 2)) * [1.0, 3.0]
    >>> loss = Mahalanobis(np.diag([1.0, 100.0]))
    >>> line = PrincipalManifold(kernel="linear", alpha=0.0, loss=loss).fit(X)
    >>> ends = line.inverse_transform([[-1.0], [1.0]])
    >>> np.abs(ends[1] - ends[0]).argmax()
    np.int64(0)
    """

    D: Any

    def __post_init__(self) -> None:
        matrix = _real(self.D)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
            raise ValueError(f"D has shape {matrix.shape}; it must be a square matrix.")
        if not np.isfinite(matrix).all():
            raise ValueError("D contains NaN or infinity.")
        if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * np.abs(matrix).max()):
            raise ValueError("D must be symmetric.")
        values = np.linalg.eigvalsh(matrix)
        if not values[0] > SMALLEST * values[-1]:
            raise ValueError(
                f"D must be positive definite: its smallest eigenvalue, {values[0]:.3g}, must be "
                f"more than {SMALLEST:g} times the largest, {values[-1]:.3g}."
            )
        object.__setattr__(self, "D", matrix)


def _real(D: Any) -> Array:
    try:
        given: AnyArray = np.asarray(D)
        if not np.iscomplexobj(given):  # a conversion would drop the imaginary part
            return given.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"D={D!r} must be a square matrix of real numbers.")


def frame_of_metric(D: Array, products: Array, n_rows: int, varying: AnyArray) -> Affine:
    """Return coordinates ``D^{-1/2} x`` in one unit, for centered rows of given products.

    ``varying`` (n_features,) marks the columns that are not constant; the rows have only those.
    """
    if len(D) != len(varying):
        raise ValueError(f"D of loss=Mahalanobis(D) has {len(D)} columns; X has {len(varying)}.")
    matrix = 0.5 * (D + D.T)
    if not varying.all():  # residuals are 0 in the other columns
        matrix = np.linalg.inv(np.linalg.inv(matrix)[np.ix_(varying, varying)])
    values, axes = np.linalg.eigh(matrix)
    deviations = np.sqrt(values)
    forth, backward = axes / deviations, (axes * deviations).T
    variance = float(np.vdot(forth, products @ forth)) / n_rows
    unit = float(np.sqrt(variance / len(products)))
    return Affine(forth, backward).in_units_of(unit)

r"""A quadratic pull added to a row problem: the second half of DRUR's energy.

For every row::

    E_i(z) + |z - c_i|^2

adds ``I`` to ``J^T J`` and ``c - z`` to ``J^T r``, and so makes every Gauss-Newton matrix positive
definite. With ``c_i = F(y_i)`` the full Gauss-Newton step is Carreira-Perpinan & Lu (2010), Eq.
(12).

Notation
--------
``c`` are the ``centers``; the paper's ``x`` is a row of ``Z``.

References
----------
M. Carreira-Perpinan and Z. Lu (2010). Parametric dimensionality reduction by
unsupervised regression. IEEE conference on computer vision and pattern recognition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.optimize.gauss_newton import RowProblem
from twofold.protocols import Array, IntArray, NormalTerms


@dataclass(frozen=True)
class Pull:
    """A row problem with ``|z_i - centers_i|^2`` added.

    Parameters
    ----------
    problem : RowProblem
        The problem to which the pull is added.
    centers : ndarray of shape (n, q)
        The center to which each row is pulled.

    Examples
    --------
    A row is drawn from its nearest point towards a center:

    >>> import numpy as np
    >>> from twofold.optimize import GaussNewton, Pull
    >>> class AtThree:
    ...     def losses(self, Z, rows):
    ...         return (3.0 - Z[:, 0]) ** 2
    ...     def normal_terms(self, Z, rows):
    ...         return np.ones((len(Z), 1, 1)), 3.0 - Z, self.losses(Z, rows)
    >>> pulled = Pull(AtThree(), centers=np.array([[1.0]]))
    >>> GaussNewton().minimize_rows(pulled, np.zeros((1, 1))).Z.round(4)
    array([[2.]])
    >>> rows = np.arange(1)
    >>> pulled.losses(np.array([[2.0]]), rows), pulled.normal_terms(np.array([[2.0]]), rows)[2]
    (array([2.]), array([2.]))
    """

    problem: RowProblem
    centers: Array

    def normal_terms(self, Z: Array, rows: IntArray) -> NormalTerms:
        """Return the problem's terms with those of the pull added (Eq. 8 and 11 of the paper)."""
        curvature, descent, losses = self.problem.normal_terms(Z, rows)
        gaps = self.centers[rows] - Z
        return curvature + np.eye(Z.shape[1]), descent + gaps, losses + np.square(gaps).sum(axis=1)

    def losses(self, Z: Array, rows: IntArray) -> Array:
        """Return the problem's losses (m,) with that of the pull added."""
        pulled: Array = np.square(self.centers[rows] - Z).sum(axis=1)
        return self.problem.losses(Z, rows) + pulled

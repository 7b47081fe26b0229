r"""Penalties on the coefficients ``W`` of an expansion ``f(z) = f_0 + sum_m k(z_m, z) w_m``.

.. math::
   \mathrm{RKHS:}\ \operatorname{tr}(W^T G W) \qquad
   \ell_2:\ \sum_{md} W_{md}^2 \qquad
   \ell_1:\ \sum_{md} |W_{md}|

The first is the norm of ``f`` in the kernel's own space (Smola et al. 2001, Eq. 17; Carreira-Perpinan
& Lu 2010, Eq. 14), with ``G`` the kernel matrix of the nodes; the last gives expansions in few nodes
(Smola et al. 2001, Eq. 22).

Quadratic penalties offer ``matrix``, what they add to the normal equations; all offer the proximal
step ``argmin_V |V - W|^2 / (2 step) + penalty(V)``.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds. JMLR 1, 2001.
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twofold.numerics.linalg import solve_psd
from twofold.protocols import Array

__all__ = ["L1Penalty", "L2Penalty", "Penalty", "QuadraticPenalty", "RKHSPenalty"]


class Penalty(Protocol):
    """A convex, nonnegative function of the coefficients (M, D).

    Examples
    --------
    A penalty of one's own, half of another:

    >>> import numpy as np
    >>> from twofold.principal_manifold.penalties import L1Penalty
    >>> class Half:
    ...     def __init__(self, penalty):
    ...         self.penalty = penalty
    ...     def value(self, weights):
    ...         return 0.5 * self.penalty.value(weights)
    ...     def gradient(self, weights):
    ...         return 0.5 * self.penalty.gradient(weights)
    ...     def proximal(self, weights, step):
    ...         return self.penalty.proximal(weights, 0.5 * step)
    >>> weights = np.array([[3.0], [-1.0]])
    >>> Half(L1Penalty()).value(weights), Half(L1Penalty()).gradient(weights).ravel().tolist()
    (2.0, [0.5, -0.5])
    >>> Half(L1Penalty()).proximal(weights, step=1.0).ravel().tolist()
    [2.5, -0.5]
    """

    def value(self, weights: Array) -> float:
        """Return the penalty."""
        ...

    def gradient(self, weights: Array) -> Array:
        """Return the gradient, or a subgradient, shaped like the weights."""
        ...

    def proximal(self, weights: Array, step: float) -> Array:
        """Return the minimiser of ``|V - weights|^2 / (2 step) + penalty(V)``."""
        ...


class QuadraticPenalty(Penalty, Protocol):
    """A penalty ``tr(W^T A W)``.

    Examples
    --------
    The matrix is all that the normal equations of a ridge regression need:

    >>> import numpy as np
    >>> from twofold.principal_manifold.penalties import L2Penalty
    >>> features, targets = np.array([[1.0], [1.0]]), np.array([[3.0], [5.0]])
    >>> matrix = L2Penalty().matrix(n_weights=1)
    >>> np.linalg.solve(features.T @ features + 2.0 * matrix, features.T @ targets)
    array([[2.]])
    """

    def matrix(self, n_weights: int) -> Array:
        """Return ``A`` (M, M)."""
        ...


@dataclass(frozen=True)
class RKHSPenalty:
    """``tr(W^T G W)``, Smola et al. (2001), Eq. (17).

    Parameters
    ----------
    gram : ndarray of shape (M, M)
        The kernel matrix of the nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.principal_manifold.penalties import RKHSPenalty
    >>> penalty = RKHSPenalty(gram=np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> weights = np.array([[1.0], [2.0]])
    >>> penalty.value(weights)
    7.0
    >>> penalty.gradient(weights).ravel()
    array([4., 5.])
    >>> penalty.matrix(2).shape
    (2, 2)

    The proximal step solves its own equation:

    >>> V = penalty.proximal(weights, step=0.1)
    >>> bool(np.allclose((V - weights) / 0.1 + penalty.gradient(V), 0.0))
    True
    """

    gram: Array

    def value(self, weights: Array) -> float:
        """Return the squared norm in the kernel's space."""
        return float(np.vdot(weights, self.gram @ weights))

    def gradient(self, weights: Array) -> Array:
        """Return ``2 G W``."""
        return 2.0 * (self.gram @ weights)

    def proximal(self, weights: Array, step: float) -> Array:
        """Solve ``(I + 2 step G) V = W``."""
        return solve_psd(np.eye(len(self.gram)) + 2.0 * step * self.gram, weights)

    def matrix(self, n_weights: int) -> Array:
        """Return the kernel matrix of the nodes."""
        if n_weights != len(self.gram):
            raise ValueError(
                f"The penalty's gram matrix is for {len(self.gram)} nodes, not {n_weights}."
            )
        return self.gram


@dataclass(frozen=True)
class L2Penalty:
    """``sum W^2``: weight decay.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.principal_manifold.penalties import L2Penalty
    >>> weights = np.array([[3.0], [-1.0]])
    >>> L2Penalty().value(weights), L2Penalty().gradient(weights).ravel().tolist()
    (10.0, [6.0, -2.0])
    >>> L2Penalty().proximal(weights, step=0.5).ravel()
    array([ 1.5, -0.5])
    >>> L2Penalty().matrix(2)
    array([[1., 0.],
           [0., 1.]])
    """

    def value(self, weights: Array) -> float:
        """Return the sum of squares."""
        return float(np.vdot(weights, weights))

    def gradient(self, weights: Array) -> Array:
        """Return ``2 W``."""
        return 2.0 * weights

    def proximal(self, weights: Array, step: float) -> Array:
        """Shrink by ``1 / (1 + 2 step)``."""
        return weights / (1.0 + 2.0 * step)

    def matrix(self, n_weights: int) -> Array:
        """Return the identity."""
        return np.eye(n_weights)


@dataclass(frozen=True)
class L1Penalty:
    """``sum |W|``, Smola et al. (2001), Eq. (22).

    Examples
    --------
    The proximal step sets small weights to zero: that is how nodes are dropped.

    >>> import numpy as np
    >>> from twofold.principal_manifold.penalties import L1Penalty
    >>> weights = np.array([[3.0], [-0.2]])
    >>> L1Penalty().value(weights)
    3.2
    >>> L1Penalty().gradient(weights).ravel()
    array([ 1., -1.])
    >>> np.abs(L1Penalty().proximal(weights, step=0.5)).ravel()
    array([2.5, 0. ])
    """

    def value(self, weights: Array) -> float:
        """Return the sum of absolute values."""
        return float(np.abs(weights).sum())

    def gradient(self, weights: Array) -> Array:
        """Return the signs, a subgradient."""
        signs: Array = np.sign(weights)
        return signs

    def proximal(self, weights: Array, step: float) -> Array:
        """Move each entry towards zero by ``step``, and not past it."""
        shrunk: Array = np.sign(weights) * np.maximum(np.abs(weights) - step, 0.0)
        return shrunk

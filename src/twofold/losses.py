r"""Losses of residual vectors, with the weights of iteratively reweighted least squares.

A loss ``c`` takes residuals ``R = X - f(Z)``, one row per sample, and gives one value per row
(Smola et al. 2001, Eqs. 3, 7, 8):

.. math::
   c_2(r) = |r|^2, \qquad c_1(r) = \sum_d |r_d|, \qquad c_n(r) = |r|, \qquad
   c_H(r) = \begin{cases} |r|^2 / (2\sigma) & |r| \le \sigma \\
   |r| - \sigma/2 & \text{else.}\end{cases}

Every loss here is a concave function of squares, so at any ``R0`` it lies below the parabola

.. math:: c(r) \le c(r_0) + \sum_d w_d(r_0) (r_d^2 - r_{0,d}^2), \qquad \nabla c = 2 w * r,

and minimizing the parabola never raises the loss. ``weights`` returns these ``w``.

Notation
--------
================  ====================
Smola et al.      here
================  ====================
``x - f(z)``      a row of ``residuals``
``sigma`` (Eq. 8) ``scale``
================  ====================

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds. JMLR 1,
2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twofold.numerics.linalg import row_norms_sq
from twofold.protocols import Array

__all__ = ["L1", "LOSSES", "Huber", "Loss", "Norm", "Squared", "resolve_loss"]

TINY = 1e-12
"""Residuals below this get the weight of this: the weight at zero would be infinite."""


class Loss(Protocol):
    """A loss of residual rows.

    Examples
    --------
    A loss of your own, the mean of the squared and the city-block loss:

    >>> import numpy as np
    >>> from twofold.losses import L1, Loss, Squared, resolve_loss
    >>> class Elastic(Loss):
    ...     def values(self, residuals):
    ...         return 0.5 * (Squared().values(residuals) + L1().values(residuals))
    ...     def gradients(self, residuals):
    ...         return 0.5 * (Squared().gradients(residuals) + L1().gradients(residuals))
    ...     def weights(self, residuals):
    ...         return 0.5 * (Squared().weights(residuals) + L1().weights(residuals))
    >>> resolve_loss(Elastic()).values(np.array([[3.0, -4.0]]))
    array([16.])
    """

    def values(self, residuals: Array) -> Array:
        """Return one loss per row, shape (n,)."""
        ...

    def gradients(self, residuals: Array) -> Array:
        """Return the derivatives with respect to the residuals, shape (n, D)."""
        ...

    def weights(self, residuals: Array) -> Array:
        """Return the weights of the parabola above, shape (n, 1) or (n, D)."""
        ...


@dataclass(frozen=True)
class Squared:
    """``|r|^2``.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.losses import Squared
    >>> loss, residuals = Squared(), np.array([[3.0, -4.0]])
    >>> loss.values(residuals), loss.gradients(residuals), loss.weights(residuals)
    (array([25.]), array([[ 6., -8.]]), array([[1.]]))
    """

    def values(self, residuals: Array) -> Array:
        """Return the squared norms."""
        return row_norms_sq(residuals)

    def gradients(self, residuals: Array) -> Array:
        """Return ``2 r``."""
        return 2.0 * residuals

    def weights(self, residuals: Array) -> Array:
        """Return ones: the parabola is the loss."""
        return np.ones((len(residuals), 1))


@dataclass(frozen=True)
class L1:
    """The city-block norm ``sum_d |r_d|``, Smola et al. (2001), Eq. (7).

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.losses import L1
    >>> loss, residuals = L1(), np.array([[0.5, -1.0]])
    >>> loss.values(residuals), loss.gradients(residuals), loss.weights(residuals)
    (array([1.5]), array([[ 1., -1.]]), array([[1. , 0.5]]))
    """

    def values(self, residuals: Array) -> Array:
        """Return the sums of absolute residuals."""
        sums: Array = np.abs(residuals).sum(axis=1)
        return sums

    def gradients(self, residuals: Array) -> Array:
        """Return the signs."""
        signs: Array = np.sign(residuals)
        return signs

    def weights(self, residuals: Array) -> Array:
        """Return ``1 / (2 |r_d|)``."""
        return 0.5 / np.maximum(np.abs(residuals), TINY)


@dataclass(frozen=True)
class Norm:
    """The Euclidean norm, not squared: robust like `L1`, but independent of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.losses import Norm
    >>> loss, residuals = Norm(), np.array([[3.0, -4.0]])
    >>> loss.values(residuals), loss.gradients(residuals), loss.weights(residuals)
    (array([5.]), array([[ 0.6, -0.8]]), array([[0.1]]))
    """

    def values(self, residuals: Array) -> Array:
        """Return the norms."""
        norms: Array = np.sqrt(row_norms_sq(residuals))
        return norms

    def gradients(self, residuals: Array) -> Array:
        """Return the unit vectors of the residuals; 0 at a residual of 0."""
        return 2.0 * self.weights(residuals) * residuals

    def weights(self, residuals: Array) -> Array:
        """Return ``1 / (2 |r|)``."""
        return 0.5 / np.maximum(self.values(residuals), TINY)[:, None]


@dataclass(frozen=True)
class Huber:
    """Quadratic within ``scale``, linear beyond, Smola et al. (2001), Eq. (8).

    Parameters
    ----------
    scale : float, default=1.0
        The norm at which a residual starts to count as an outlier, positive.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.losses import Huber
    >>> loss, residuals = Huber(scale=1.0), np.array([[30.0, 40.0]])
    >>> loss.values(residuals), loss.gradients(residuals), loss.weights(residuals)
    (array([49.5]), array([[0.6, 0.8]]), array([[0.01]]))
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.scale > 0.0:
            raise ValueError(f"scale={self.scale!r} must be positive.")

    def values(self, residuals: Array) -> Array:
        """Return the losses of Eq. (8)."""
        norms = np.sqrt(row_norms_sq(residuals))
        return np.where(
            norms <= self.scale, 0.5 * np.square(norms) / self.scale, norms - 0.5 * self.scale
        )

    def gradients(self, residuals: Array) -> Array:
        """Return ``r / max(|r|, scale)``."""
        return 2.0 * self.weights(residuals) * residuals

    def weights(self, residuals: Array) -> Array:
        """Return ``1 / (2 max(|r|, scale))``."""
        norms = np.sqrt(row_norms_sq(residuals))
        return 0.5 / np.maximum(norms, self.scale)[:, None]


LOSSES: dict[str, Loss] = {"squared": Squared(), "l1": L1(), "norm": Norm(), "huber": Huber()}


def resolve_loss(loss: str | Loss) -> Loss:
    """Return the loss of a name, or the given loss object.

    Parameters
    ----------
    loss : str or Loss
        A name from ``LOSSES``, or an object with ``values``, ``gradients`` and ``weights``.

    Returns
    -------
    Loss

    Examples
    --------
    >>> from twofold.losses import Huber, resolve_loss
    >>> resolve_loss("l1"), resolve_loss(Huber(scale=0.5))
    (L1(), Huber(scale=0.5))
    """
    if not isinstance(loss, str):
        return loss
    if loss not in LOSSES:
        raise ValueError(
            f"loss={loss!r} is unknown. Use one of {sorted(LOSSES)} or an object with values, "
            "gradients and weights."
        )
    return LOSSES[loss]

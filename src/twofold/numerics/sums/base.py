r"""What a way of computing kernel sums must offer.

For targets ``z_i``, sources ``s_j`` with values ``v_j``, and a kernel ``k`` of the squared distance,

.. math::
   m_i = e^{-c_i} \sum_j k_{ij}, \qquad S_i = e^{-c_i} \sum_j k_{ij} v_j, \qquad
   k_{ij} = k(|z_i - s_j|^2),

where the shift :math:`c_i = \max_j \log k_{ij}` keeps every sum finite and every mass at least one
however far a target lies from all sources. The Nadaraya-Watson estimate is ``S_i / m_i``; the kernel
density is :math:`c_i + \log m_i` up to constants. The reverse pass takes the derivatives of any
function with respect to ``m`` and ``S``, the shift held fixed, back to targets and sources:

.. math::
   E_{ij} = 2 k_{ij} e^{-c_i} (\log k)'_{ij} \, (\bar S_i \cdot v_j + \bar m_i), \qquad
   \bar z_i = \sum_j E_{ij} (z_i - s_j), \qquad \bar s_j = -\sum_i E_{ij} (z_i - s_j).

With targets equal to sources and each point leaving itself out, forward and reverse pass together are
Eqs. (24)-(32) of Meinicke et al. (2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from twofold.protocols import Array, IntArray

__all__ = ["KernelSums", "Sums"]


@dataclass(frozen=True)
class Sums:
    """Shifted kernel sums of some targets.

    Attributes
    ----------
    log_shift : ndarray of shape (n,)
        ``c`` above; ``-inf`` for a target that no source reaches.
    mass : ndarray of shape (n,)
        ``m`` above; at least 1, or 0 for a target that no source reaches.
    weighted : ndarray of shape (n, D)
        ``S`` above.

    Examples
    --------
    However far a target is from the sources, its mass does not vanish, and means are defined:

    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.numerics.sums import DenseSums
    >>> sources, values = np.array([[0.0], [1.0]]), np.array([[5.0], [7.0]])
    >>> sums = DenseSums(Gaussian()).forward(np.array([[0.5], [100.0]]), sources, values)
    >>> sums.mass.round(3), sums.log_shift.shape
    (array([2., 1.]), (2,))
    >>> (sums.weighted / sums.mass[:, None]).round(3).ravel()
    array([6., 7.])
    """

    log_shift: Array
    mass: Array
    weighted: Array


class KernelSums(Protocol):
    """A way of computing kernel sums and their gradients.

    Examples
    --------
    Weighted means and their derivatives, by all pairs or by neighbours:

    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.numerics.sums import DenseSums, NeighbourSums
    >>> rng = np.random.default_rng(0)
    >>> Z, values = rng.normal(size=(50, 2)), rng.normal(size=(50, 3))
    >>> for way in DenseSums(Gaussian()), NeighbourSums(Gaussian()):
    ...     sums = way.forward(Z, Z, values, exclude=np.arange(50))
    ...     ones = np.ones_like(sums.weighted), np.zeros(50)
    ...     at_targets, at_sources = way.backward(Z, Z, values, sums, *ones, exclude=np.arange(50))
    ...     print(sums.weighted.shape, at_targets.shape, at_sources.shape)
    (50, 3) (50, 2) (50, 2)
    (50, 3) (50, 2) (50, 2)
    """

    def forward(
        self, targets: Array, sources: Array, values: Array, *, exclude: IntArray | None = None
    ) -> Sums:
        """Return the sums at the targets.

        Parameters
        ----------
        targets : ndarray of shape (n, q)
            Where to sum.
        sources : ndarray of shape (m, q)
            Where the values sit, in units of the kernel's width.
        values : ndarray of shape (m, D)
            What is summed; D may be 0 when only the mass is wanted.
        exclude : ndarray of int, shape (n,), default=None
            For each target the number of one source to leave out. Leave-one-out is
            ``np.arange(n)`` with targets equal to sources.
        """
        ...

    def backward(
        self,
        targets: Array,
        sources: Array,
        values: Array,
        sums: Sums,
        weighted_bar: Array,
        mass_bar: Array,
        *,
        exclude: IntArray | None = None,
    ) -> tuple[Array, Array]:
        """Return the gradients with respect to targets (n, q) and sources (m, q).

        Parameters
        ----------
        targets : ndarray of shape (n, q)
            Where to sum.
        sources : ndarray of shape (m, q)
            Where the values sit.
        values : ndarray of shape (m, D)
            What is summed.
        sums : Sums
            What `forward` returned.
        weighted_bar : ndarray of shape (n, D)
            Derivatives of a function with respect to the weighted sums.
        mass_bar : ndarray of shape (n,)
            Its derivatives with respect to the masses.
        exclude : ndarray of int, shape (n,), default=None
            As in `forward`.
        """
        ...

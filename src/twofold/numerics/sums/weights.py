r"""Kernel weights among points, each leaving itself out.

.. math:: k_{ij} = k(|z_i - z_j|^2), \quad i \ne j

The protocol here has four implementations. `DenseWeights` is a symmetric matrix, half of which is
computed; it suits wide kernels and any number of features. `PairWeights` lists the pairs within
reach of the kernel. `CellWeights` and `GridWeights` are for many points.

The reverse pass gives the gradient with respect to the points of ``sum_ij k_ij (a_i . v_j + b_i)``
for constant ``a``, ``v``, ``b``: with ``g_ij = 2 k'_ij ((a_i . v_j + b_i) + (a_j . v_i + b_j))`` it
is ``sum_j g_ij (z_i - z_j)``, Meinicke et al. (2005), Eqs. (29)-(32).

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

from typing import Protocol

from twofold.protocols import Array


class SelfWeights(Protocol):
    """Kernel weights among n points."""

    @property
    def mass(self) -> Array:
        """``sum_j k_ij``, shape (n,)."""
        ...

    def mass_and_apply(self, values: Array) -> tuple[Array, Array]:
        """Return ``sum_j k_ij`` (n,) and ``sum_j k_ij v_j`` (n, D)."""
        ...

    def gradient(self, left: Array, right: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""
        ...

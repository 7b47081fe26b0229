r"""Kernel weights among points, each leaving itself out.

.. math:: k_{ij} = k(|z_i - z_j|^2), \quad i \ne j

The protocols here have four implementations. `DenseWeights` is a symmetric matrix, half of which is
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

__all__ = ["GramWeights", "SelfWeights"]


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


class GramWeights(SelfWeights, Protocol):
    """Weights that also serve errors in terms of inner products."""

    def gram_products(self, scale: Array, gram: Array) -> tuple[float, Array, Array]:
        """Return the products of ``C = diag(scale) K - I`` with a Gram matrix ``G`` (n, n).

        They are ``sum_ij C_ij (C G)_ij``; ``sum_j scale_i k_ij (C G)_ij`` (n,); and ``(C G)_ij``
        for the stored pairs, (n, n) or (2, n_pairs), the input of `pull_gradient`.
        """
        ...

    def pull_gradient(self, products: Array, scale: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij scale_i (products_ij + offset_i)``, shape (n, q)."""
        ...

r"""Kernel weights among points, each leaving itself out: what unsupervised kernel regression sums.

.. math:: k_{ij} = k(|z_i - z_j|^2), \quad i \ne j

Two of the ways to hold them (others: `twofold.numerics.sums.cells`, `twofold.numerics.sums.grid`), one signature. `DenseWeights` is a symmetric matrix, of which half is computed;
it serves wide kernels and any D. `PairWeights`, in `twofold.numerics.sums.pairs`, lists the pairs within the
kernel's reach.

The reverse pass gives the gradient with respect to the points of ``sum_ij k_ij (a_i . v_j + b_i)`` for
constant ``a``, ``v``, ``b``: with ``g_ij = 2 k'_ij ((a_i . v_j + b_i) + (a_j . v_i + b_j))`` it is
``sum_j g_ij (z_i - z_j)``, Meinicke et al. (2005), Eqs. (29)-(32).

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twofold.numerics.linalg import sqdist
from twofold.numerics.sums.reach import profile, profile_and_slope
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import Array, IntArray, RadialKernel

__all__ = ["DenseWeights", "GramWeights", "SelfWeights"]

TILE = 256


class SelfWeights(Protocol):
    """Kernel weights among points.

    Examples
    --------
    Four ways to hold the same weights:

    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.numerics.sums import CellWeights, DenseWeights, GridWeights, PairWeights
    >>> Z = np.random.default_rng(0).uniform(0.0, 10.0, (100, 2))
    >>> ways = [
    ...     DenseWeights.of(Z, Gaussian()),
    ...     PairWeights.of(Z, Gaussian()),
    ...     CellWeights.of(Z, Gaussian(), radius=7.0),
    ...     GridWeights(Z),
    ... ]
    >>> [bool(np.allclose(way.mass, ways[0].mass, rtol=1e-3)) for way in ways]
    [True, True, True, True]
    >>> values = np.ones((100, 1))
    >>> [bool(np.allclose(way.apply(values)[:, 0], way.mass, rtol=1e-3)) for way in ways]
    [True, True, True, True]
    >>> [way.mass_and_apply(values)[1].shape for way in ways][0]
    (100, 1)
    >>> [way.gradient(values, values, np.zeros(100)).shape for way in ways][0]
    (100, 2)
    """

    @property
    def mass(self) -> Array:
        """``sum_j k_ij``, shape (n,)."""
        ...

    def apply(self, values: Array) -> Array:
        """Return ``sum_j k_ij v_j``, shape (n, D)."""
        ...

    def mass_and_apply(self, values: Array) -> tuple[Array, Array]:
        """Return both at once, which for some ways costs no more than one."""
        ...

    def gradient(self, left: Array, right: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""
        ...


class GramWeights(SelfWeights, Protocol):
    """Weights that also serve errors in terms of inner products.

    Examples
    --------
    The leave-one-out error from inner products alone:

    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.numerics.sums import DenseWeights
    >>> rng = np.random.default_rng(0)
    >>> Z, X = rng.normal(size=(20, 2)), rng.normal(size=(20, 3))
    >>> weights = DenseWeights.of(Z, Gaussian())
    >>> scale = 1.0 / weights.mass
    >>> error, own, products = weights.gram_products(scale, X @ X.T)
    >>> residuals = scale[:, None] * weights.apply(X) - X
    >>> bool(np.isclose(error, np.square(residuals).sum())), own.shape
    (True, (20,))
    >>> weights.pull_gradient(products, scale, np.zeros(20)).shape
    (20, 2)
    """

    def gram_products(self, scale: Array, gram: Array) -> tuple[float, Array, Array]:
        """Return what the error needs of ``C = diag(scale) K - I`` and a Gram matrix ``G``.

        Parameters
        ----------
        scale : ndarray of shape (n,)
            What rows of the weights are multiplied by.
        gram : ndarray of shape (n, n)
            Inner products.

        Returns
        -------
        error : float
            ``sum_ij C_ij (C G)_ij``.
        own : ndarray of shape (n,)
            ``sum_j scale_i k_ij (C G)_ij``.
        products : ndarray of shape (n, n), or (2, n_pairs) for lists of pairs
            ``(C G)_ij``, for the pairs that are held, to be handed to `pull_gradient`.
        """
        ...

    def pull_gradient(self, products: Array, scale: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij scale_i (products_ij + offset_i)``, shape (n, q)."""
        ...


@dataclass(frozen=True)
class DenseWeights:
    """All weights, as a matrix.

    Attributes
    ----------
    Z : ndarray of shape (n, q)
        The points.
    kernel_matrix : ndarray of shape (n, n)
        ``k_ij``, zero on the diagonal.
    slopes : ndarray of shape (n, n)
        ``k'_ij``, the derivative with respect to the squared distance, over ``slope_unit``.
    slope_unit : float
        For a Gaussian ``k' = -k / 2``, and both matrices are one.
    mass : ndarray of shape (n,)
        Row sums.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.kernels import Compact
    >>> from twofold.numerics.sums import DenseWeights
    >>> weights = DenseWeights.of(np.array([[0.0], [0.5], [5.0]]), Compact())
    >>> weights.kernel_matrix
    array([[0.    , 0.5625, 0.    ],
           [0.5625, 0.    , 0.    ],
           [0.    , 0.    , 0.    ]])
    >>> weights.mass
    array([0.5625, 0.5625, 0.    ])
    >>> weights.apply(np.array([[1.0], [2.0], [3.0]])).ravel()
    array([1.125 , 0.5625, 0.    ])

    Both at once, and the gradient of the sum of all weights, which grows as the first two come together:

    >>> weights.mass_and_apply(np.ones((3, 1)))[1].ravel()
    array([0.5625, 0.5625, 0.    ])
    >>> weights.gradient(np.zeros((3, 1)), np.zeros((3, 1)), np.ones(3)).ravel()
    array([ 3., -3.,  0.])

    Errors from inner products:

    >>> error, own, products = weights.gram_products(np.ones(3), np.eye(3))
    >>> weights.pull_gradient(products, np.ones(3), np.zeros(3)).shape
    (3, 1)
    """

    Z: Array
    kernel_matrix: Array
    slopes: Array
    slope_unit: float
    mass: Array
    n_jobs: int | None = None

    @classmethod
    def of(
        cls,
        Z: Array,
        kernel: RadialKernel,
        *,
        groups: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> DenseWeights:
        """Compute the weights.

        Parameters
        ----------
        Z : ndarray of shape (n, q)
            The points.
        kernel : RadialKernel
            The kernel.
        groups : ndarray of int, shape (n,), default=None
            Points of a group leave each other out; None means every point leaves out itself.
        n_jobs : int or None, default=None
            Threads.

        Returns
        -------
        DenseWeights
        """
        n = len(Z)
        K = np.empty((n, n))
        constant = np.ptp(kernel.dlog_profile(np.array([0.0, 0.25, 0.5]))) == 0.0
        slopes = K if constant else np.empty((n, n))
        unit = float(kernel.dlog_profile(np.zeros(1))[0]) if constant else 1.0
        starts = range(0, n, TILE)
        tiles = [(i, j) for i in starts for j in starts if i <= j]

        def work(tile: tuple[int, int]) -> None:
            rows, columns = (slice(start, min(start + TILE, n)) for start in tile)
            distances = sqdist(Z[rows], Z[columns])
            if constant:
                parts = [(K, profile(kernel, distances))]
            else:
                parts = list(zip((K, slopes), profile_and_slope(kernel, distances), strict=True))
            for matrix, values in parts:
                if groups is not None:
                    values[groups[rows, None] == groups[columns]] = 0.0
                elif rows == columns:
                    np.fill_diagonal(values, 0.0)
                matrix[rows, columns], matrix[columns, rows] = values, values.T

        map_blocks(work, tiles, n_jobs=n_jobs)
        return cls(Z, K, slopes, unit, K.sum(axis=1), n_jobs)

    def apply(self, values: Array) -> Array:
        """Return ``sum_j k_ij v_j``, shape (n, D)."""
        return self.kernel_matrix @ values

    def mass_and_apply(self, values: Array) -> tuple[Array, Array]:
        """Return ``sum_j k_ij`` (n,) and ``sum_j k_ij v_j`` (n, D)."""
        return self.mass, self.apply(values)

    def gradient(self, left: Array, right: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""

        def pull(rows: slice) -> Array:
            block: Array = left[rows] @ right.T
            block += offset[rows, None]
            return block

        return self._gradient(pull)

    def gram_products(self, scale: Array, gram: Array) -> tuple[float, Array, Array]:
        """Return ``C . (C G)``, its part at the weights, and ``C G``; see `SelfWeights`."""
        n = len(self.Z)
        products, error, own = np.empty((n, n)), np.empty(n), np.empty(n)

        def work(rows: slice) -> None:
            weights = self.kernel_matrix[rows] * scale[rows, None]
            block = weights @ gram
            block -= gram[rows]
            own[rows] = np.einsum("ij,ij->i", weights, block)
            error[rows] = own[rows] - block[np.arange(len(block)), np.arange(rows.start, rows.stop)]
            products[rows] = block

        map_blocks(work, row_blocks(n, 3 * 8 * n), n_jobs=self.n_jobs)
        return float(error.sum()), own, products

    def pull_gradient(self, products: Array, scale: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij scale_i (products_ij + offset_i)``, shape (n, q)."""

        def pull(rows: slice) -> Array:
            block = products[rows] + offset[rows, None]
            block *= scale[rows, None]
            return block

        return self._gradient(pull)

    def _gradient(self, pull: object) -> Array:
        """Contract ``Q_ij`` blocks with slopes and differences of points.

        One thin product with ``[Z, 1]`` gives ``sum_j g_ij z_j`` and ``sum_j g_ij`` together.
        """
        n, q = self.Z.shape
        Z1 = np.column_stack([self.Z, np.ones(n)])
        targets = np.empty((n, q + 1))

        def work(rows: slice) -> Array:
            block = pull(rows)  # type: ignore[operator]
            block *= self.slopes[rows]
            targets[rows] = block @ Z1
            sources: Array = block.T @ Z1[rows]
            return sources

        parts = map_blocks(work, row_blocks(n, 2 * 8 * n), n_jobs=self.n_jobs)
        total = targets + np.sum(parts, axis=0)
        gradient: Array = 2.0 * self.slope_unit * (self.Z * total[:, q:] - total[:, :q])
        return gradient

r"""Gaussian kernel sums among many points on a grid: spread, convolve, interpolate.

A grid suits kernels that overlap widely, where lists of neighbors would hold nearly all points.
Values are spread to the nodes of a grid by cubic B-splines ``w``, convolved there by FFT, and
interpolated back by the same splines:

.. math:: \sum_j k(z - z_j) v_j \approx \sum_m w(z - m h) (\tilde k * G)_m, \qquad
          G_m = \sum_j w(z_j - m h) v_j.

The splines blur twice, which the convolution undoes: in frequencies, :math:`\hat{\tilde k} = \hat k
/ \hat w^2` with :math:`\hat w(\omega) = \mathrm{sinc}^4(\omega h / 2)`. The remaining error is
aliasing, frequencies that the grid cannot distinguish:

.. math:: \varepsilon \le \frac{1}{2 \pi} \int_{|\omega| < \pi / h} \hat k(\omega) \Big[ \Big(1 +
          \sum_{l \ne 0} \frac{|\hat w(\omega + 2 \pi l / h)|}{\hat w(\omega)}\Big)^2 - 1 \Big]
          d\omega + \frac{1}{2 \pi} \int_{|\omega| > \pi / h} \hat k(\omega) d\omega,

for one dimension, relative to the kernel's value at zero; ``q`` dimensions give ``(1 + eps)^q -
1``.

The gradient of ``sum_ij k_ij (a_i . v_j + b_i)`` is ``a_i . grad S_v(z_i) + b_i grad S_1(z_i) + v_i
. grad S_a(z_i) + grad S_b(z_i)``, with ``S_u`` the sum of values ``u``; gradients of sums are those
of the interpolating splines. The cost is linear in the points, plus the grid.

`weigh_many` chooses between cells and a grid by their cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.sparse import csr_array

from twofold.kernels import Gaussian
from twofold.numerics.sums.cells import CellWeights
from twofold.numerics.threads import n_threads
from twofold.protocols import AnyArray, Array, RadialKernel

SPACING = 0.3
"""In kernel widths. Errors of kernel values are at most 2e-4 in two dimensions; errors of sums over
many points are much smaller, because aliases cancel."""

REACH = 6.5
"""Kernel widths of empty grid beyond the points: a Gaussian is 7e-10 there."""

MOST_GRID_DIMENSIONS = 3

COSTS_OF_A_COLUMN = (1.7e-10, 1.2e-8, 1.8e-7)
"""Seconds for each column of values: for a pair of a cell, for a point and each node it is spread
to, and for a node. Value and gradient of 20,000 x 50, measured on two cores."""

COSTS_OF_MASSES = (2.0e-8, 1.0e-7, 2.5e-7)
"""The same for masses and their gradient, of 10^4 and 10^5 points in one to three dimensions."""

COLUMNS_AT_ONCE = 16


@dataclass(frozen=True)
class GridWeights:
    """Gaussian weights among points (n, q), q at most 3; see `twofold.numerics.sums.SelfWeights`.

    The spacing of the nodes is in kernel widths.
    """

    Z: Array
    spacing: float = SPACING

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Nodes along each dimension."""
        widths = (self.Z.max(axis=0) - self.Z.min(axis=0) + 2.0 * REACH) / self.spacing
        return tuple(fft.next_fast_len(int(width) + 8, real=True) for width in widths)

    @property
    def n_nodes(self) -> int:
        """Nodes of the whole grid."""
        return math.prod(self.shape)

    @cached_property
    def mass(self) -> Array:
        """``sum_j k_ij``, shape (n,)."""
        return np.maximum(self._sums(np.ones((len(self.Z), 1)))[:, 0] - 1.0, 0.0)

    def mass_and_apply(self, values: AnyArray) -> tuple[Array, AnyArray]:
        """Return ``sum_j k_ij`` (n,) and ``sum_j k_ij v_j`` (n, D)."""
        sums: AnyArray = self._sums(values).astype(values.dtype, copy=False)
        sums -= values
        return self.mass, sums

    def gradient(self, left: AnyArray, right: AnyArray, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""
        # The kernel is at its maximum on the point itself, and has no slope there.
        ones = np.ones((len(self.Z), 1))
        factors = np.hstack([left, offset[:, None], right, ones])
        values = np.hstack([right, ones, left, offset[:, None]])
        gradient = np.zeros(self.Z.shape)
        for start in range(0, values.shape[1], COLUMNS_AT_ONCE):
            some = slice(start, start + COLUMNS_AT_ONCE)
            field = self._convolved(values[:, some])
            for dimension, slopes in enumerate(self._slopes):
                gradient[:, dimension] += np.einsum("nd,nd->n", factors[:, some], slopes @ field)
        return gradient

    def _sums(self, values: AnyArray) -> Array:
        """Return the sums (n, D) over all points, each included in its own."""
        sums = np.empty(values.shape)
        for start in range(0, values.shape[1], COLUMNS_AT_ONCE):
            some = slice(start, start + COLUMNS_AT_ONCE)
            sums[:, some] = self._splines @ self._convolved(values[:, some])
        return sums

    def _convolved(self, values: AnyArray) -> Array:
        """Return the convolved values at the nodes, shape (n_nodes, D)."""
        axes = tuple(range(len(self.shape)))
        spread = (self._splines.T @ values).reshape(*self.shape, -1)
        spectrum = fft.rfftn(spread, axes=axes, workers=n_threads())
        spectrum *= self._transfer[..., None]
        field: Array = fft.irfftn(spectrum, s=self.shape, axes=axes, workers=n_threads())
        return field.reshape(self.n_nodes, -1)

    @cached_property
    def _transfer(self) -> Array:
        """The spectrum of the kernel over the squared spectrum of the splines."""
        transfer = np.ones(())
        for number, size in enumerate(self.shape):
            last = number == len(self.shape) - 1
            cycles = np.fft.rfftfreq(size) if last else np.fft.fftfreq(size)
            omega = 2.0 * np.pi * cycles / self.spacing
            along = np.sqrt(2.0 * np.pi) / self.spacing * np.exp(-0.5 * omega**2)
            along /= np.sinc(cycles) ** 8
            transfer = transfer[..., None] * along
        return transfer

    @cached_property
    def _splines(self) -> csr_array:
        """Weights of the nodes at the points, shape (n, n_nodes)."""
        return self._matrix([values for values, _ in self._along])

    @cached_property
    def _slopes(self) -> list[csr_array]:
        """Derivatives of these weights along each dimension."""
        matrices = []
        for dimension in range(len(self.shape)):
            parts = [
                slopes if number == dimension else values
                for number, (values, slopes) in enumerate(self._along)
            ]
            matrices.append(self._matrix(parts))
        return matrices

    def _matrix(self, parts: list[Array]) -> csr_array:
        """Return the sparse matrix whose rows are outer products of four weights a dimension."""
        n, q = self.Z.shape
        weights = np.ones((n, 1))
        nodes: NDArray[np.int64] = np.zeros((n, 1), dtype=np.int64)
        for number in range(q):
            weights = (weights[:, :, None] * parts[number][:, None, :]).reshape(n, -1)
            four = self._first[:, number, None] + np.arange(4)
            nodes = (nodes[:, :, None] * self.shape[number] + four[:, None, :]).reshape(n, -1)
        pointers = np.arange(0, n * 4**q + 1, 4**q)
        return csr_array((weights.ravel(), nodes.ravel(), pointers), shape=(n, self.n_nodes))

    @cached_property
    def _position(self) -> Array:
        """Coordinates in units of the spacing, from the grid's corner."""
        position: Array = (self.Z - self.Z.min(axis=0) + REACH) / self.spacing + 2.0
        return position

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """The first of the four nodes that a point touches, along each dimension."""
        return np.floor(self._position).astype(np.int64) - 1

    @cached_property
    def _along(self) -> list[tuple[Array, Array]]:
        """Cubic B-spline weights (n, 4) and their derivatives by the coordinate, each dimension."""
        parts = []
        for column in (self._position - np.floor(self._position)).T:
            t, s = column, 1.0 - column
            values = [
                s**3 / 6.0,
                2.0 / 3.0 - t * t + 0.5 * t**3,
                2.0 / 3.0 - s * s + 0.5 * s**3,
                t**3 / 6.0,
            ]
            slopes = [-0.5 * s * s, -2.0 * t + 1.5 * t * t, 2.0 * s - 1.5 * s * s, 0.5 * t * t]
            parts.append((np.stack(values, axis=1), np.stack(slopes, axis=1) / self.spacing))
        return parts


def weigh_many(
    Z: Array,
    kernel: RadialKernel,
    radius: float,
    *,
    masses_alone: bool = False,
    n_jobs: int | None = None,
) -> CellWeights | GridWeights:
    """Return the weights among many points (n, q), by cells or on a grid, whichever costs less.

    Cells cut the kernel at the radius; grids serve Gaussians only. With ``masses_alone`` the costs
    are those of masses without columns of values.
    """
    cells = CellWeights.of(Z, kernel, radius=radius, n_jobs=n_jobs)
    n, q = Z.shape
    if not isinstance(kernel, Gaussian) or q > MOST_GRID_DIMENSIONS:
        return cells
    grid = GridWeights(Z)
    pair, spread, node = COSTS_OF_MASSES if masses_alone else COSTS_OF_A_COLUMN
    grid_cost = n * 4**q * spread + grid.n_nodes * node
    return grid if grid_cost < cells.cells.n_pairs * pair else cells

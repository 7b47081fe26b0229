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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import ModuleType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.sparse import csr_array

from twofold.kernels import Gaussian
from twofold.numerics.sums._compiled import compiled
from twofold.numerics.sums.cells import CellWeights
from twofold.numerics.threads import map_blocks, n_threads
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

STUDENT_SPACING = 0.4
"""In units of the kernel. Sums of single points are off by 1 %, gradients of t-SNE by 2 to 3 %."""

COLUMNS_AT_ONCE = 16
POINTS_AT_ONCE = 8_192


@dataclass(frozen=True)
class GridWeights:
    """Gaussian weights among points (n, q), q at most 3; see `twofold.numerics.sums.SelfWeights`.

    The spacing of the nodes is in kernel widths.
    """

    Z: Array
    spacing: float = SPACING
    n_jobs: int | None = None
    _precision: ClassVar[type] = np.float64

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Nodes along each dimension."""
        widths = (np.ptp(self.Z, axis=0) + 2.0 * REACH) / self.spacing
        return tuple(fft.next_fast_len(int(width) + 8, real=True) for width in widths)

    @property
    def n_nodes(self) -> int:
        """Nodes of the whole grid."""
        return math.prod(self.shape)

    @cached_property
    def mass(self) -> Array:
        """``sum_j k_ij``, shape (n,)."""
        return np.maximum(self._interpolated(self._field_of_ones)[:, 0] - 1.0, 0.0)

    def mass_and_apply(self, values: AnyArray) -> tuple[Array, AnyArray]:
        """Return ``sum_j k_ij`` (n,) and ``sum_j k_ij v_j`` (n, D)."""
        sums: AnyArray = self._sums(values).astype(values.dtype, copy=False)
        sums -= values
        return self.mass, sums

    def gradient(self, left: AnyArray, right: AnyArray, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""
        # The kernel is at its maximum on the point itself, and has no slope there.
        column, gradient = offset[:, None], np.zeros(self.Z.shape)
        self._add_slopes(column, self._field_of_ones, gradient)
        factors = np.hstack([left, right, np.ones_like(column)])
        values = np.hstack([right, left, column])
        for start in range(0, values.shape[1], COLUMNS_AT_ONCE):
            some = slice(start, start + COLUMNS_AT_ONCE)
            self._add_slopes(factors[:, some], self._convolved(values[:, some]), gradient)
        gradient /= self.spacing
        return gradient

    @cached_property
    def _field_of_ones(self) -> Array:
        """The convolved mass at the nodes, shape (n_nodes, 1), for masses and their slopes."""
        return self._convolved(np.ones((len(self.Z), 1)))

    def _sums(self, values: AnyArray) -> Array:
        """Return the sums (n, D) over all points, each included in its own."""
        sums = np.empty(values.shape)
        for start in range(0, values.shape[1], COLUMNS_AT_ONCE):
            some = slice(start, start + COLUMNS_AT_ONCE)
            sums[:, some] = self._interpolated(self._convolved(values[:, some]))
        return sums

    def _convolved(self, values: AnyArray) -> Array:
        """Return the convolved values at the nodes, shape (n_nodes, D)."""
        axes = tuple(range(len(self.shape)))
        spread = self._spread(values).reshape(*self.shape, -1)
        spectrum = fft.rfftn(spread, axes=axes, workers=n_threads(self.n_jobs))
        spectrum *= self._transfer[..., None]
        field: Array = fft.irfftn(spectrum, s=self.shape, axes=axes, workers=n_threads(self.n_jobs))
        return field.reshape(self.n_nodes, -1)

    @cached_property
    def _transfer(self) -> Array:
        """The spectrum of the kernel over the squared spectrum of the splines."""
        transfer = np.ones(())
        for number in range(len(self.shape)):
            cycles = _cycles(number, self.shape)
            omega = 2.0 * np.pi * cycles / self.spacing
            along = np.sqrt(2.0 * np.pi) / self.spacing * np.exp(-0.5 * omega**2)
            along /= np.sinc(cycles) ** 8
            transfer = transfer[..., None] * along
        return transfer

    # Between points and nodes: compiled loops for many points, sparse matrices for few.

    def _spread(self, values: AnyArray) -> Array:
        """Return values (n, D) spread to the nodes, shape (n_nodes, D)."""
        loops = self._loops
        if loops is None:
            return np.asarray(self._splines.T @ values, self._precision)
        grid: Array = np.zeros((self.n_nodes, values.shape[1]), self._precision)
        loops.spread(self._position, self.shape, values, grid)
        return grid

    def _interpolated(self, field: Array) -> Array:
        """Return the values (n, D) of a field (n_nodes, D) at the points."""
        loops = self._loops
        if loops is None:
            return np.asarray(self._splines @ field)
        sums = np.empty((len(self.Z), field.shape[1]))
        self._in_blocks(
            lambda begin, end: loops.interpolate(
                begin, end, self._position, self.shape, field, sums
            )
        )
        return sums

    def _add_slopes(self, factors: AnyArray, field: Array, slopes: Array) -> None:
        """Add the slopes (n, q) of ``factors_i . field(z_i)``, per step of the grid."""
        loops = self._loops
        if loops is None:
            for dimension, matrix in enumerate(self._slopes):
                slopes[:, dimension] += np.einsum("nd,nd->n", factors, matrix @ field)
            return
        self._in_blocks(
            lambda begin, end: loops.add_slopes(
                begin, end, self._position, self.shape, factors, field, slopes
            )
        )

    @property
    def _loops(self) -> ModuleType | None:
        return compiled(len(self.Z) * 4 ** self.Z.shape[1], "_grid_loops")

    def _in_blocks(self, work: Callable[[int, int], None]) -> None:
        """Run a loop over all points, in threads."""
        n = len(self.Z)
        blocks = [(start, min(start + POINTS_AT_ONCE, n)) for start in range(0, n, POINTS_AT_ONCE)]
        map_blocks(lambda block: work(*block), blocks, n_jobs=self.n_jobs)

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
        first = np.floor(self._position).astype(np.int64) - 1
        weights = np.ones((n, 1))
        nodes: NDArray[np.int64] = np.zeros((n, 1), dtype=np.int64)
        for number in range(q):
            weights = (weights[:, :, None] * parts[number][:, None, :]).reshape(n, -1)
            four = first[:, number, None] + np.arange(4)
            nodes = (nodes[:, :, None] * self.shape[number] + four[:, None, :]).reshape(n, -1)
        pointers = np.arange(0, n * 4**q + 1, 4**q)
        return csr_array((weights.ravel(), nodes.ravel(), pointers), shape=(n, self.n_nodes))

    @cached_property
    def _position(self) -> Array:
        """Coordinates in units of the spacing, from the grid's corner."""
        return np.ascontiguousarray((self.Z - self.Z.min(axis=0)) / self.spacing + 2.0)

    @cached_property
    def _along(self) -> list[tuple[Array, Array]]:
        """Cubic B-spline weights (n, 4) and their derivatives by steps, each dimension."""
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
            parts.append((np.stack(values, axis=1), np.stack(slopes, axis=1)))
        return parts


@dataclass(frozen=True)
class StudentField:
    """Sums ``S_i = sum_j 1 / (1 + |z_i - z_j|^2)`` and their slopes, on a grid.

    The kernel of t-SNE reaches everywhere: its grid is twice as wide as the points (n, q), q at
    most 3, so that no point meets the periodic images of others.
    """

    Z: Array
    n_jobs: int | None = None

    def sums_and_slopes(self) -> tuple[Array, Array]:
        """Return the sums (n,), each point included in its own, and their gradients (n, q)."""
        grid = _StudentGrid(self.Z, STUDENT_SPACING, self.n_jobs)
        ones = np.ones((len(self.Z), 1))
        field, slopes = grid._field_of_ones, np.zeros(self.Z.shape)
        grid._add_slopes(ones, field, slopes)
        return grid._interpolated(field)[:, 0], slopes / grid.spacing


class _StudentGrid(GridWeights):
    """A grid for the kernel ``1 / (1 + d^2)``, in single precision."""

    _precision = np.float32

    @cached_property
    def shape(self) -> tuple[int, ...]:
        widths = 2.0 * np.ptp(self.Z, axis=0) / self.spacing
        coarse = 2.0 ** np.ceil(np.log2(widths + 12.0) - 3.0)  # few shapes, for the cache
        return tuple(
            fft.next_fast_len(int(size), True)
            for size in np.ceil((widths + 12.0) / coarse) * coarse
        )

    @property
    def _transfer(self) -> AnyArray:
        return _student_transfer(self.shape, self.spacing)


@lru_cache(maxsize=1)
def _student_transfer(shape: tuple[int, ...], spacing: float) -> AnyArray:
    """Return the spectrum of the kernel ``1 / (1 + d^2)`` over that of the splines, squared."""
    squares, blur = np.zeros(()), np.ones(())
    for number, size in enumerate(shape):
        steps = np.minimum(np.arange(size), size - np.arange(size))
        squares = squares[..., None] + np.square(spacing * steps)
        blur = blur[..., None] * np.sinc(_cycles(number, shape)) ** 8
    transfer: Array = fft.rfftn(1.0 / (1.0 + squares), workers=n_threads()).real / blur
    return transfer.astype(np.float32)


def _cycles(dimension: int, shape: tuple[int, ...]) -> Array:
    """Return the frequencies of a real spectrum along a dimension, in cycles per step."""
    last = dimension == len(shape) - 1
    cycles = np.fft.rfftfreq(shape[-1]) if last else np.fft.fftfreq(shape[dimension])
    return np.asarray(cycles, np.float64)


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
    grid = GridWeights(Z, n_jobs=n_jobs)
    pair, spread, node = COSTS_OF_MASSES if masses_alone else COSTS_OF_A_COLUMN
    grid_cost = n * 4**q * spread + grid.n_nodes * node
    return grid if grid_cost < cells.cells.n_pairs * pair else cells

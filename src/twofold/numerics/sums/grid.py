r"""Gaussian kernel sums among many points on a grid: spread, convolve, interpolate.

For the phases in which kernels overlap widely, so that lists of neighbours would hold nearly everyone. Values
are spread to the nodes of a grid by cubic B-splines ``w``, convolved there by FFT, and interpolated back by the
same splines:

.. math:: \sum_j k(z - z_j) v_j \approx \sum_m w(z - m h) (\tilde k * G)_m, \qquad
          G_m = \sum_j w(z_j - m h) v_j.

The splines blur twice, which the convolution takes back: in frequencies, :math:`\hat{\tilde k} = \hat k / \hat
w^2` with :math:`\hat w(\omega) = \mathrm{sinc}^4(\omega h / 2)`. What is left is aliasing, frequencies that
the grid cannot tell apart; `error_bound` adds it up:

.. math:: \varepsilon \le \frac{1}{2 \pi} \int_{|\omega| < \pi / h} \hat k(\omega) \Big[ \Big(1 + \sum_{l \ne 0}
          \frac{|\hat w(\omega + 2 \pi l / h)|}{\hat w(\omega)}\Big)^2 - 1 \Big] d\omega
          + \frac{1}{2 \pi} \int_{|\omega| > \pi / h} \hat k(\omega) d\omega,

for one dimension, relative to the kernel's value at zero; ``q`` dimensions give ``(1 + eps)^q - 1``.

The gradient of ``sum_ij k_ij (a_i . v_j + b_i)`` is ``a_i . grad S_v(z_i) + b_i grad S_1(z_i) + v_i . grad
S_a(z_i) + grad S_b(z_i)``, with ``S_u`` the sum of values ``u``; gradients of sums are those of the interpolating
splines. Cost: linear in the points, plus the grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.sparse import csr_array

from twofold.numerics.threads import n_threads
from twofold.protocols import AnyArray, Array

__all__ = ["GridWeights", "error_bound"]

SPACING = 0.3
"""In kernel widths: no kernel value is off by more than 2e-4 in two dimensions, sums over many points, whose
aliases cancel, by far less."""

REACH = 6.5
"""Kernel widths of empty grid beyond the points: a Gaussian is 7e-10 there."""

COLUMNS_AT_ONCE = 16


def error_bound(spacing: float, n_components: int) -> float:
    """Return a bound on the error of a kernel value, relative to that at zero.

    Parameters
    ----------
    spacing : float
        Distance of grid nodes in kernel widths.
    n_components : int
        Dimensions.

    Returns
    -------
    float

    Examples
    --------
    >>> from twofold.numerics.sums import error_bound
    >>> error_bound(0.3, 2) < 2e-4
    True
    >>> error_bound(0.6, 2) > 10 * error_bound(0.3, 2)
    True
    """
    edge = np.pi / spacing
    omega = np.linspace(-edge, edge, 4001)
    spectrum = np.sqrt(2.0 * np.pi) * np.exp(-0.5 * omega**2)
    blur = np.sinc(omega * spacing / (2.0 * np.pi)) ** 4
    aliases = sum(
        np.sinc(omega * spacing / (2.0 * np.pi) + shift) ** 4
        for shift in range(-20, 21)
        if shift != 0
    )
    inside = np.trapezoid(spectrum * ((1.0 + aliases / blur) ** 2 - 1.0), omega) / (2.0 * np.pi)
    beyond = np.linspace(edge, edge + 12.0, 2001)
    tail = 2.0 * np.trapezoid(np.sqrt(2.0 * np.pi) * np.exp(-0.5 * beyond**2), beyond)
    return float((1.0 + inside + tail / (2.0 * np.pi)) ** n_components - 1.0)


@dataclass(frozen=True)
class GridWeights:
    """Gaussian weights among points, on a grid; see `twofold.numerics.sums.SelfWeights`.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        The points, q at most 3.
    spacing : float, default=0.3
        Distance of grid nodes in kernel widths.

    Examples
    --------
    A kernel that reaches everyone, in time that is linear in the points:

    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.numerics.sums import DenseWeights, GridWeights
    >>> Z = np.random.default_rng(0).normal(size=(500, 2))
    >>> weights = GridWeights(Z)
    >>> weights.n_nodes == weights.shape[0] * weights.shape[1]
    True
    >>> bool(np.allclose(weights.mass, DenseWeights.of(Z, Gaussian()).mass, rtol=1e-3))
    True
    >>> values = np.ones((500, 1))
    >>> weights.apply(values).shape, weights.mass_and_apply(values)[0].shape
    ((500, 1), (500,))
    >>> weights.gradient(values, values, np.zeros(500)).shape
    (500, 2)
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

    def apply(self, values: AnyArray) -> AnyArray:
        """Return ``sum_j k_ij v_j``, shape (n, D)."""
        sums: AnyArray = self._sums(values).astype(values.dtype, copy=False)
        sums -= values
        return sums

    def mass_and_apply(self, values: AnyArray) -> tuple[Array, AnyArray]:
        """Return ``sum_j k_ij`` (n,) and ``sum_j k_ij v_j`` (n, D)."""
        return self.mass, self.apply(values)

    def gradient(self, left: AnyArray, right: AnyArray, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""
        # A point on itself: a kernel at its maximum, without a slope.
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
        """The spectrum of the kernel, over that of the splines squared, at the FFT's frequencies."""
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

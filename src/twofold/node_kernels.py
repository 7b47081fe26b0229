r"""Kernels on latent domains, each the Green's function of a smoothness penalty.

Where a kernel fits a penalty, ``|P f|^2 = tr(W^T G W)`` for ``f = f_0 + sum_m w_m k(z_m, .)`` (Smola et al. 2001, Eqs. 15-17).
Kernels here are products over dimensions, ``k(z, c) = prod_d k_d(z_d - c_d)`` but for the spline's, so their derivatives are too:

.. math::
   k_G(t) = e^{-t^2 / 2}, \qquad
   k_P(t) = \sum_j e^{-(t - j \tau)^2 / 2}, \qquad
   k_D(t) = e^{-|t|} (\cos |t| + \sin |t|), \qquad
   k_S(z, c) = 1 + \min(z, c) .

* ``k_G``, Eq. (18), penalises all derivatives.
* ``k_P``, Eq. (21), is its periodic form; the Fourier form of Eq. (20) with ``c_j = s_j = e^{-(2 pi j / tau)^2 / 2}`` is
  the same function up to a factor (Poisson's formula), which `fourier_form` computes.
* ``k_D``, the damped oscillator, penalises first and second derivatives alone; its functions are rougher.
* ``k_S`` on ``[-1, 1]`` has the norm ``int |f'|^2`` (Example 7): the squared speed of a curve, whose least value for
  a given image is that of constant speed. One dimension only.

Lengths are in units of the width.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds. JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twofold.protocols import Array

__all__ = [
    "NODE_KERNELS",
    "DampedKernel",
    "GaussianKernel",
    "NodeKernel",
    "PeriodicKernel",
    "SplineKernel",
    "fourier_form",
    "resolve_node_kernel",
]

REACH = 9.0
"""Widths beyond which a Gaussian is negligible."""


class NodeKernel(Protocol):
    """A kernel along one dimension of a domain."""

    def values(self, z: Array, centers: Array, width: float) -> Array:
        """Return ``k(z_i, c_m)`` (n, M)."""
        ...

    def slopes(self, z: Array, centers: Array, width: float) -> Array:
        """Return the derivatives with respect to ``z`` (n, M)."""
        ...


@dataclass(frozen=True)
class GaussianKernel:
    """``exp(-t^2 / 2)``, Eq. (18)."""

    def values(self, z: Array, centers: Array, width: float) -> Array:
        """Return the kernel."""
        t = (z[:, None] - centers) / width
        values: Array = np.exp(-0.5 * np.square(t))
        return values

    def slopes(self, z: Array, centers: Array, width: float) -> Array:
        """Return ``-t k / width``."""
        t = (z[:, None] - centers) / width
        slopes: Array = -t / width * np.exp(-0.5 * np.square(t))
        return slopes


@dataclass(frozen=True)
class PeriodicKernel:
    """The Gaussian wrapped around a circle, Eq. (21).

    Parameters
    ----------
    period : float, default=2.0
        Circumference, ``tau``.
    """

    period: float = 2.0

    def values(self, z: Array, centers: Array, width: float) -> Array:
        """Return the kernel."""
        return self._summed(z, centers, width, GaussianKernel().values)

    def slopes(self, z: Array, centers: Array, width: float) -> Array:
        """Return its derivative."""
        return self._summed(z, centers, width, GaussianKernel().slopes)

    def _summed(
        self, z: Array, centers: Array, width: float, part: Callable[[Array, Array, float], Array]
    ) -> Array:
        around = np.mod(z[:, None] - centers + 0.5 * self.period, self.period) - 0.5 * self.period
        n_turns = int(np.ceil(REACH * width / self.period))
        total = np.zeros(around.shape)
        for turn in range(-n_turns, n_turns + 1):
            shifted = (around + turn * self.period).reshape(-1)
            total += part(shifted, np.zeros(1), width).reshape(around.shape)
        return total


@dataclass(frozen=True)
class DampedKernel:
    """``exp(-|t|) (cos |t| + sin |t|)``: the damped oscillator."""

    def values(self, z: Array, centers: Array, width: float) -> Array:
        """Return the kernel."""
        t = np.abs(z[:, None] - centers) / width
        values: Array = np.exp(-t) * (np.cos(t) + np.sin(t))
        return values

    def slopes(self, z: Array, centers: Array, width: float) -> Array:
        """Return ``-2 sign(t) exp(-|t|) sin |t| / width``."""
        t = (z[:, None] - centers) / width
        size = np.abs(t)
        slopes: Array = -2.0 * np.sign(t) * np.exp(-size) * np.sin(size) / width
        return slopes


@dataclass(frozen=True)
class SplineKernel:
    """``1 + min(z, c)`` on [-1, 1]: the length constraint of Example 7. It has no width."""

    def values(self, z: Array, centers: Array, width: float) -> Array:  # noqa: ARG002 - a protocol
        """Return the kernel."""
        return 1.0 + np.minimum(z[:, None], centers)

    def slopes(self, z: Array, centers: Array, width: float) -> Array:  # noqa: ARG002 - a protocol
        """Return 1 below the centre, 0 above it, a half at it."""
        slopes: Array = 0.5 * (1.0 + np.sign(centers - z[:, None]))
        return slopes


def fourier_form(t: Array, width: float, period: float = 2.0, n_terms: int = 200) -> Array:
    """Return Eq. (20) with the coefficients that make it `PeriodicKernel`, as a function of ``t = z - c``."""
    j = np.arange(1, n_terms + 1)
    frequencies = 2.0 * np.pi * j / period
    coefficients = 2.0 * np.exp(-0.5 * np.square(frequencies * width))
    waves = np.cos(np.multiply.outer(t, frequencies)) @ coefficients
    series: Array = np.sqrt(2.0 * np.pi) * width / period * (1.0 + waves)
    return series


NODE_KERNELS: dict[str, NodeKernel] = {
    "gaussian": GaussianKernel(),
    "periodic": PeriodicKernel(),
    "damped": DampedKernel(),
    "spline": SplineKernel(),
}


def resolve_node_kernel(kernel: str | NodeKernel) -> NodeKernel:
    """Return the kernel of a name, or the given kernel."""
    if not isinstance(kernel, str):
        return kernel
    if kernel not in NODE_KERNELS:
        raise ValueError(
            f"kernel={kernel!r} is unknown. Use one of {sorted(NODE_KERNELS)} or an object with values and slopes."
        )
    return NODE_KERNELS[kernel]

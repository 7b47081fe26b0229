r"""Kernels on latent domains, each the Green's function of a smoothness penalty.

If a kernel belongs to a penalty, ``|P f|^2 = tr(W^T G W)`` for ``f = f_0 + sum_m w_m k(z_m, .)``
(Smola et al. 2001, Eqs. 15-17). Kernels here are products over dimensions, ``k(z, c) = prod_d
k_d(z_d, c_d)`` (the linear one is a sum), and so are their derivatives:

.. math::
   k_G(t) = e^{-t^2 / 2}, \qquad
   k_P(t) = \sum_j e^{-(t - j \tau)^2 / 2}, \qquad
   k_D(t) = \frac{1}{1 + t^2}, \qquad
   k_S(z, c) = 1 + \min(z, c) .

* ``k_G``, Eq. (18), penalizes all derivatives.
* ``k_P``, Eq. (21), is its periodic form; the Fourier form of Eq. (20) with ``c_j = s_j =
  e^{-(2 pi j / tau)^2 / 2}`` is the same function up to a factor (Poisson's formula), which
  `fourier_form` includes.
* ``k_D``, the damped harmonic oscillator: its spectrum falls like ``e^{-|omega|}``, so its
  functions are rougher than a Gaussian's. In several dimensions it is a product here, where the
  paper's is a function of the distance.
* ``k_S`` on ``[-1, 1]`` has the norm ``int |f'|^2`` (Example 7): the squared speed of a curve,
  whose least value for a given image is that of constant speed. One dimension only.
* `LinearKernel`, ``z c``, gives planes (principal components); `DeltaKernel`, 1 where ``z = c``,
  free images of a few points (vector quantization).

Lengths are in units of the bandwidth.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twofold.protocols import Array

REACH = 9.0
"""Bandwidths beyond which a Gaussian is negligible."""

FEW_TERMS = 3
"""Terms of the Fourier form that suffice for kernels wider than the circle."""


class NodeKernel(Protocol):
    """A kernel along one dimension of a domain.

    Examples
    --------
    A user-defined kernel for a principal curve:

    >>> import numpy as np
    >>> from twofold import PrincipalManifold
    >>> class Cubic:
    ...     def values(self, z, centers, width):
    ...         return (1.0 + np.multiply.outer(z, centers)) ** 3
    ...     def slopes(self, z, centers, width):
    ...         return 3.0 * centers * (1.0 + np.multiply.outer(z, centers)) ** 2
    >>> t = np.linspace(-1, 1, 100)
    >>> X = np.column_stack([t, t**2])
    >>> model = PrincipalManifold(kernel=Cubic(), n_nodes=6, alpha=1e-6).fit(X)
    >>> model.score(X) > 0.99
    True
    """

    def values(self, z: Array, centers: Array, width: float) -> Array:
        """Return ``k(z_i, c_m)`` (n, M)."""
        ...

    def slopes(self, z: Array, centers: Array, width: float) -> Array:
        """Return the derivatives with respect to ``z`` (n, M)."""
        ...


@dataclass(frozen=True)
class GaussianKernel:
    """``exp(-t^2 / 2)``, Eq. (18).

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.principal_manifold import GaussianKernel
    >>> GaussianKernel().values(np.array([0.0, 0.5]), np.zeros(1), width=0.5).round(3).ravel()
    array([1.   , 0.607])
    >>> GaussianKernel().slopes(np.array([0.5]), np.zeros(1), width=0.5).round(3)
    array([[-1.213]])
    """

    def values(self, z: Array, centers: Array, width: float) -> Array:
        """Return the kernel."""
        values: Array = np.exp(-0.5 * np.square((z[:, None] - centers) / width))
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

    Examples
    --------
    Both ends of a circle of circumference 2 are one place:

    >>> import numpy as np
    >>> from twofold.principal_manifold import PeriodicKernel
    >>> kernel = PeriodicKernel(period=2.0)
    >>> kernel.values(np.array([-1.0, 1.0]), np.array([0.7]), width=0.3).round(3).ravel()
    array([0.607, 0.607])
    >>> kernel.slopes(np.array([-1.0, 1.0]), np.array([0.7]), width=0.3).round(1).ravel()
    array([-2., -2.])
    """

    period: float = 2.0

    def values(self, z: Array, centers: Array, width: float) -> Array:
        """Return the kernel."""
        if width > self.period:
            return fourier_form(z[:, None] - centers, width, self.period, FEW_TERMS)
        return self._summed(z, centers, width, GaussianKernel().values)

    def slopes(self, z: Array, centers: Array, width: float) -> Array:
        """Return its derivative."""
        if width > self.period:
            return _fourier_slopes(z[:, None] - centers, width, self.period, FEW_TERMS)
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
    """``1 / (1 + t^2)``: the damped harmonic oscillator of Smola et al. (2001), appendix A.3.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.principal_manifold import DampedKernel
    >>> DampedKernel().values(np.array([0.0, 0.5, 1.5]), np.zeros(1), width=0.5).ravel()
    array([1. , 0.5, 0.1])
    >>> DampedKernel().slopes(np.array([0.5]), np.zeros(1), width=0.5)
    array([[-1.]])
    """

    def values(self, z: Array, centers: Array, width: float) -> Array:
        """Return the kernel."""
        t = (z[:, None] - centers) / width
        values: Array = 1.0 / (1.0 + np.square(t))
        return values

    def slopes(self, z: Array, centers: Array, width: float) -> Array:
        """Return ``-2 t k^2 / width``."""
        t = (z[:, None] - centers) / width
        slopes: Array = -2.0 * t / np.square(1.0 + np.square(t)) / width
        return slopes


@dataclass(frozen=True)
class SplineKernel:
    """``1 + min(z, c)`` on [-1, 1]: the length constraint of Example 7. It has no bandwidth.

    Examples
    --------
    Its functions are polygons with corners at the nodes:

    >>> import numpy as np
    >>> from twofold.principal_manifold import SplineKernel
    >>> SplineKernel().values(np.array([-1.0, 0.0, 1.0]), np.array([0.5]), width=1.0).ravel()
    array([0. , 1. , 1.5])
    >>> SplineKernel().slopes(np.array([-1.0, 0.0, 1.0]), np.array([0.5]), width=1.0).ravel()
    array([1., 1., 0.])
    """

    def values(self, z: Array, centers: Array, width: float) -> Array:  # noqa: ARG002 - a protocol
        """Return the kernel."""
        return 1.0 + np.minimum(z[:, None], centers)

    def slopes(self, z: Array, centers: Array, width: float) -> Array:  # noqa: ARG002 - a protocol
        """Return 1 below the center, 0 above it, a half at it."""
        slopes: Array = 0.5 * (1.0 + np.sign(centers - z[:, None]))
        return slopes


@dataclass(frozen=True)
class LinearKernel:
    """``z c``, added over the dimensions. It has no bandwidth.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.principal_manifold import LinearKernel
    >>> LinearKernel().values(np.array([1.0, 3.0]), np.array([0.5, 2.0]), width=1.0)
    array([[0.5, 2. ],
           [1.5, 6. ]])
    >>> LinearKernel().slopes(np.array([1.0]), np.array([0.5, 2.0]), width=1.0)
    array([[0.5, 2. ]])
    """

    is_additive = True

    def values(self, z: Array, centers: Array, width: float) -> Array:  # noqa: ARG002 - a protocol
        """Return the kernel."""
        products: Array = np.multiply.outer(z, centers)
        return products

    def slopes(self, z: Array, centers: Array, width: float) -> Array:  # noqa: ARG002 - a protocol
        """Return the centers."""
        return np.broadcast_to(centers, (len(z), len(centers)))


@dataclass(frozen=True)
class DeltaKernel:
    """1 where ``z = c``, else 0. It has no bandwidth.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.principal_manifold import DeltaKernel
    >>> DeltaKernel().values(np.array([0.0, 2.0]), np.array([0.0, 1.0, 2.0]), width=1.0)
    array([[1., 0., 0.],
           [0., 0., 1.]])
    >>> DeltaKernel().slopes(np.zeros(1), np.zeros(1), width=1.0)
    array([[0.]])
    """

    def values(self, z: Array, centers: Array, width: float) -> Array:  # noqa: ARG002 - a protocol
        """Return the kernel."""
        same: Array = (z[:, None] == centers).astype(np.float64)
        return same

    def slopes(self, z: Array, centers: Array, width: float) -> Array:  # noqa: ARG002 - a protocol
        """Return zeros."""
        return np.zeros((len(z), len(centers)))


def fourier_form(t: Array, width: float, period: float = 2.0, n_terms: int = 200) -> Array:
    """Return Eq. (20), with the coefficients that make it `PeriodicKernel`, of ``t = z - c``."""
    frequencies, coefficients = fourier_coefficients(width, period, n_terms)
    waves = np.cos(np.multiply.outer(t, frequencies)) @ coefficients
    series: Array = np.sqrt(2.0 * np.pi) * width / period * (1.0 + waves)
    return series


def _fourier_slopes(t: Array, width: float, period: float, n_terms: int) -> Array:
    """Return the derivative of `fourier_form`."""
    frequencies, coefficients = fourier_coefficients(width, period, n_terms)
    waves = np.sin(np.multiply.outer(t, frequencies)) @ (coefficients * frequencies)
    slopes: Array = -np.sqrt(2.0 * np.pi) * width / period * waves
    return slopes


def fourier_coefficients(width: float, period: float, n_terms: int) -> tuple[Array, Array]:
    """Return the frequencies and coefficients of the cosines in `fourier_form`, both (n_terms,)."""
    frequencies = np.arange(1.0, n_terms + 1.0) * (2.0 * np.pi / period)
    with np.errstate(under="ignore"):
        coefficients: Array = 2.0 * np.exp(-0.5 * np.square(np.minimum(frequencies * width, 1e100)))
    return frequencies, coefficients


NODE_KERNELS: dict[str, NodeKernel] = {
    "gaussian": GaussianKernel(),
    "periodic": PeriodicKernel(),
    "damped": DampedKernel(),
    "spline": SplineKernel(),
    "linear": LinearKernel(),
    "delta": DeltaKernel(),
}


def resolve_node_kernel(kernel: str | NodeKernel) -> NodeKernel:
    """Return the kernel of a name, or the given kernel."""
    if not isinstance(kernel, str):
        return kernel
    if kernel not in NODE_KERNELS:
        raise ValueError(
            f"kernel={kernel!r} is unknown. Use one of {sorted(NODE_KERNELS)} or an object with "
            "values and slopes."
        )
    return NODE_KERNELS[kernel]

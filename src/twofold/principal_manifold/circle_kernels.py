r"""Kernels on circles: series of waves, and other kernels wrapped around.

Smola et al. (2001), Example 9, gives two families for a circle of circumference ``tau``:

.. math::
   k(z, c) &= \sum_{j \ge 1} c_j \cos(\omega_j z) \cos(\omega_j c)
            + s_j \sin(\omega_j z) \sin(\omega_j c), \qquad \omega_j = 2 \pi j / \tau
            & \text{(20)} \\
   k(z, c) &= \sum_{j = -\infty}^{\infty} \tilde k(z - c - j \tau) & \text{(21)}

`FourierKernel` is the first, with coefficients of your own; `WrappedKernel` the second. Some sums
of Eq. (21) have a closed form, with ``t = z - c``, ``u = (t mod tau) / tau`` and ``a = 2 pi width /
tau``:

* damped: ``(a / 2) sinh(a) / (cosh(a) - cos(2 pi t / tau))``. Its terms fall like ``1 / j^2``, too
  slowly for a truncated sum.
* spline: ``1 + min(z, c)`` is no function of ``t``, and its sum diverges. What it stands for, the
  penalty ``int |f'|^2`` of Example 7, has the kernel ``(tau / 2) (u^2 - u + 1 / 6)`` on a circle:
  Eq. (20) with ``c_j = s_j = (2 / tau) / omega_j^2``. So closed curves can have a length limit.
* linear: the sum of ``z c`` diverges. The smoothest functions on a circle that are not constant
  take its place, Eq. (20) with ``c_1 = s_1 = 1``. They give ellipses, as ``z c`` gives lines.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twofold.numerics.row_products import row_product
from twofold.numerics.validation import check_int, check_methods, check_not_negative, check_real
from twofold.principal_manifold.node_kernels import (
    DampedKernel,
    DeltaKernel,
    GaussianKernel,
    LinearKernel,
    NodeKernel,
    PeriodicKernel,
    SplineKernel,
)
from twofold.protocols import Array

SMALLEST, LARGEST = 1e-8, 1e8
"""Bounds of the largest coefficient of a series."""


@dataclass(frozen=True)
class FourierKernel:
    """A series of waves on a circle, Smola et al. (2001), Eq. (20). It has no bandwidth.

    The penalty of a map is the sum of the squares of its Fourier coefficients over these
    coefficients, so a wave with a small coefficient is penalized most, and a missing one cannot
    occur.

    Parameters
    ----------
    cosines : sequence of float
        ``c_1, c_2, ...``, not negative. The largest of all coefficients must be between 1e-8 and
        1e8: a common factor of them acts as the inverse factor of ``alpha``.
    sines : sequence of float or None, default=None
        ``s_1, s_2, ...``, not negative; None means those of the cosines, so that all places of the
        circle are alike.
    period : float, default=2.0
        Circumference, ``tau``. `PrincipalManifold` needs 2, that of its circles.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold import PrincipalManifold
    >>> from twofold.principal_manifold import FourierKernel
    >>> kernel = FourierKernel(cosines=(1.0, 0.25), sines=(1.0, 0.0))
    >>> kernel.values(np.array([0.0, 0.5]), np.array([0.0, 0.5]), width=1.0)
    array([[ 1.25, -0.25],
           [-0.25,  1.25]])
    >>> kernel.slopes(np.array([0.0]), np.array([0.5]), width=1.0).round(3)
    array([[3.142]])

    With the first wave only, closed curves are ellipses:

    >>> angle = np.linspace(0, 2 * np.pi, 100)
    >>> X = np.column_stack([2 * np.cos(angle), np.sin(angle)])
    >>> model = PrincipalManifold(kernel=FourierKernel((1.0,)), domain="circle", alpha=1e-6).fit(X)
    >>> model.score(X) > 0.999
    True
    """

    cosines: Sequence[float]
    sines: Sequence[float] | None = None
    period: float = 2.0

    def __post_init__(self) -> None:
        check_real("period", self.period)
        for name in ("cosines", "sines"):
            given = getattr(self, name)
            if given is None and name == "sines":
                continue
            if np.ndim(given) != 1 or not len(given):
                raise ValueError(f"{name}={given!r} must be a list of at least one coefficient.")
            checked = tuple(check_not_negative(name, one) for one in given)
            object.__setattr__(self, name, checked)
        largest = max(max(given) for given in self._coefficients)
        if largest == 0.0:
            raise ValueError(
                f"cosines={self.cosines!r}: at least one coefficient must be positive."
            )
        if not SMALLEST <= largest <= LARGEST:
            raise ValueError(
                f"cosines={self.cosines!r}, sines={self.sines!r}: the largest coefficient must be "
                f"between {SMALLEST:g} and {LARGEST:g}. Multiply all coefficients by one factor, "
                "and alpha by the same one."
            )

    @property
    def _coefficients(self) -> tuple[Sequence[float], Sequence[float]]:
        return self.cosines, self.cosines if self.sines is None else self.sines

    def _waves(self, z: Array) -> tuple[Array, Array, Array, Array]:
        """Return cosines and sines (n, J), their coefficients (2, J) and frequencies (J,)."""
        count = max(len(one) for one in self._coefficients)
        coefficients = np.zeros((2, count))
        for row, given in zip(coefficients, self._coefficients, strict=True):
            row[: len(given)] = given
        frequencies = np.arange(1.0, count + 1.0) * (2.0 * np.pi / self.period)
        angles = np.multiply.outer(z, frequencies)
        return np.cos(angles), np.sin(angles), coefficients, frequencies

    def values(self, z: Array, centers: Array, width: float) -> Array:  # noqa: ARG002 - a protocol
        """Return the kernel."""
        cosines, sines, (c, s), _ = self._waves(z)
        at_cosines, at_sines, _, _ = self._waves(centers)
        values: Array = row_product(cosines * c, at_cosines.T)
        values += row_product(sines * s, at_sines.T)
        return values

    def slopes(self, z: Array, centers: Array, width: float) -> Array:  # noqa: ARG002 - a protocol
        """Return its derivative."""
        cosines, sines, (c, s), frequencies = self._waves(z)
        at_cosines, at_sines, _, _ = self._waves(centers)
        slopes: Array = row_product(cosines * (s * frequencies), at_sines.T)
        slopes -= row_product(sines * (c * frequencies), at_cosines.T)
        return slopes


@dataclass(frozen=True)
class WrappedKernel:
    """Another kernel wrapped around a circle, Smola et al. (2001), Eq. (21).

    Domains with circles wrap the named kernels by themselves. Use this class for a kernel of your
    own that is a function of ``z - c`` and falls to 0.

    Parameters
    ----------
    kernel : NodeKernel
        The kernel of a line. The sums of `GaussianKernel` and `DampedKernel` are exact.
        `SplineKernel` becomes the kernel of the same penalty, the squared speed of a closed curve,
        and `LinearKernel` the first wave.
    period : float, default=2.0
        Circumference, ``tau``. `PrincipalManifold` needs 2, that of its circles.
    n_turns : int, default=3
        For other kernels, the number of turns to either side that the sum includes.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.principal_manifold import DampedKernel, WrappedKernel
    >>> kernel = WrappedKernel(DampedKernel())
    >>> kernel.values(np.array([-1.0, 1.0]), np.array([0.7]), width=0.3).round(3).ravel()
    array([0.576, 0.576])
    >>> kernel.slopes(np.array([-1.0, 1.0]), np.array([0.7]), width=0.3).round(3).ravel()
    array([-1.645, -1.645])
    """

    kernel: NodeKernel
    period: float = 2.0
    n_turns: int = 3

    def __post_init__(self) -> None:
        check_methods("kernel", self.kernel, ("values", "slopes"))
        check_real("period", self.period)
        check_int("n_turns", self.n_turns)
        if isinstance(self.kernel, DeltaKernel | PeriodicKernel | FourierKernel | WrappedKernel):
            raise TypeError(f"kernel={self.kernel!r} is not a kernel of a line.")

    @property
    def is_additive(self) -> bool:
        """Whether the kernel is added over the dimensions instead of multiplied.

        Examples
        --------
        >>> from twofold.principal_manifold import LinearKernel, WrappedKernel
        >>> WrappedKernel(LinearKernel()).is_additive
        True
        """
        return bool(getattr(self.kernel, "is_additive", False))

    def values(self, z: Array, centers: Array, width: float) -> Array:
        """Return the kernel."""
        return self._values_and_slopes(z, centers, width)[0]

    def slopes(self, z: Array, centers: Array, width: float) -> Array:
        """Return its derivative."""
        return self._values_and_slopes(z, centers, width)[1]

    def _values_and_slopes(self, z: Array, centers: Array, width: float) -> tuple[Array, Array]:
        tau = self.period
        match self.kernel:
            case GaussianKernel():
                periodic = PeriodicKernel(tau)
                return periodic.values(z, centers, width), periodic.slopes(z, centers, width)
            case DampedKernel():
                return _damped(z[:, None] - centers, width, tau)
            case SplineKernel():
                u = np.mod(z[:, None] - centers, tau) / tau
                return 0.5 * tau * (u * u - u + 1.0 / 6.0), np.where(u > 0.0, u - 0.5, 0.0)
            case LinearKernel():
                wave = FourierKernel((1.0,), period=tau)
                return wave.values(z, centers, width), wave.slopes(z, centers, width)
        around = np.mod(z[:, None] - centers + 0.5 * tau, tau) - 0.5 * tau
        turns = np.arange(-self.n_turns, self.n_turns + 1) * tau
        shifted = np.add.outer(around, turns).reshape(-1)
        shape = (*around.shape, len(turns))
        values = self.kernel.values(shifted, np.zeros(1), width).reshape(shape)
        slopes = self.kernel.slopes(shifted, np.zeros(1), width).reshape(shape)
        return values.sum(axis=2), slopes.sum(axis=2)


def _damped(t: Array, width: float, period: float) -> tuple[Array, Array]:
    """Return the damped kernel around a circle and its derivative."""
    a, angle = 2.0 * np.pi * width / period, 2.0 * np.pi * t / period
    # Both are multiplied by 2 exp(-a), which avoids overflow; the denominator is a sum of squares.
    numerator = -np.expm1(-2.0 * a)
    denominator = np.expm1(-a) ** 2 + 4.0 * np.exp(-a) * np.square(np.sin(0.5 * angle))
    values: Array = 0.5 * a * numerator / denominator
    slopes: Array = -values * (2.0 * np.exp(-a) * np.sin(angle) / denominator)
    return values, slopes * (2.0 * np.pi / period)


def around_circle(kernel: NodeKernel) -> NodeKernel:
    """Return the form of a kernel on a circle of circumference 2; others are used as they are."""
    if isinstance(kernel, GaussianKernel):
        return PeriodicKernel()
    if isinstance(kernel, DampedKernel | SplineKernel | LinearKernel):
        return WrappedKernel(kernel)
    return kernel


def along_line(kernel: NodeKernel) -> NodeKernel:
    """Return the form of a kernel on an interval."""
    if isinstance(kernel, PeriodicKernel):
        return GaussianKernel()
    return kernel.kernel if isinstance(kernel, WrappedKernel) else kernel

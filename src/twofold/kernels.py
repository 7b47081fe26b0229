r"""Radial kernels of unit width, as log-profiles of the squared distance.

Density kernels weigh neighbors in latent space (Meinicke et al. 2005, Eqs. 20, 25, 33, 34):

.. math:: K(u) \propto k(|u|^2), \qquad
          k_G(s) = e^{-s/2}, \qquad k_Q(s) = [1 - s]_+^2, \qquad
          k_T(s) = (1 + s/\nu)^{-(\nu + 1)/2}.

Kernels give ``log k`` and ``d log k / ds``. The paper's elements ``p_rs`` (Eqs. 27, 35, 36) are
``-2 (d log k / ds) k / sum(k)`` for every kernel, and normalized weights come from ``log k``
shifted by the maximum of the row, which cannot be 0/0.

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy.special import gammaln

from twofold.protocols import Array, RadialKernel

__all__ = ["KERNELS", "Compact", "DensityKernel", "Gaussian", "StudentT", "resolve_kernel"]


@runtime_checkable
class DensityKernel(RadialKernel, Protocol):
    """A radial kernel with a finite integral, so that it can carry a density.

    Examples
    --------
    A kernel that is uniform on [-1, 1], in one dimension:

    >>> import numpy as np
    >>> from twofold.kernels import DensityKernel
    >>> class Uniform:
    ...     def log_profile(self, sqdist):
    ...         return np.where(sqdist < 1.0, 0.0, -np.inf)
    ...     def dlog_profile(self, sqdist):
    ...         return np.zeros_like(sqdist)
    ...     def log_integral(self, n_components):
    ...         return np.log(2.0)
    ...     def sample(self, n_samples, n_components, rng):
    ...         return rng.uniform(-1.0, 1.0, (n_samples, n_components))
    >>> isinstance(Uniform(), DensityKernel)
    True
    """

    def log_integral(self, n_components: int) -> float:
        """Return the log of the kernel's integral over latent space."""
        ...

    def sample(self, n_samples: int, n_components: int, rng: np.random.Generator) -> Array:
        """Draw offsets (n_samples, n_components) from the normalized kernel."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """``exp(-r^2 / 2)``, Meinicke et al. (2005), Eq. (33).

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> kernel, sqdist = Gaussian(), np.array([0.0, 1.0, 4.0])
    >>> kernel.log_profile(sqdist) + 0.0, kernel.dlog_profile(sqdist)
    (array([ 0. , -0.5, -2. ]), array([-0.5, -0.5, -0.5]))
    >>> round(kernel.log_integral(2), 3), kernel.sample(5, 2, np.random.default_rng(0)).shape
    (1.838, (5, 2))
    """

    def log_profile(self, sqdist: Array) -> Array:
        """Return ``-r^2 / 2``."""
        return -0.5 * sqdist

    def dlog_profile(self, sqdist: Array) -> Array:
        """Return the constant ``-1/2``."""
        return np.full_like(sqdist, -0.5)

    def log_integral(self, n_components: int) -> float:
        """Return ``(q / 2) log(2 pi)``."""
        return 0.5 * n_components * math.log(2.0 * math.pi)

    def sample(self, n_samples: int, n_components: int, rng: np.random.Generator) -> Array:
        """Draw standard normal offsets."""
        return rng.standard_normal((n_samples, n_components))


@dataclass(frozen=True)
class Compact:
    """``(1 - r^2)^power`` inside the unit ball, zero outside.

    ``power=2`` is the Quartic (biweight) kernel, Meinicke et al. (2005), Eqs. (20) and (34), the
    lowest power with a continuous derivative; 3 is the triweight. These kernels serve weighted
    means and densities. They are not positive definite, so ridge regression cannot use them.

    Parameters
    ----------
    power : float, default=2.0
        At least 2, so that the gradient is continuous.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.kernels import Compact
    >>> quartic, sqdist = Compact(2.0), np.array([0.0, 0.5])
    >>> quartic.profile_and_slope(sqdist)
    (array([1.  , 0.25]), array([-2., -1.]))
    >>> np.exp(quartic.log_profile(sqdist)).round(2), quartic.dlog_profile(sqdist)
    (array([1.  , 0.25]), array([-2., -4.]))
    >>> round(quartic.log_integral(2), 3), quartic.sample(5, 2, np.random.default_rng(0)).shape
    (0.046, (5, 2))
    """

    power: float = 2.0

    positive_definite: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.power >= 2.0:
            raise ValueError(
                f"power={self.power!r} must be at least 2: below, the kernel's derivative jumps at "
                "the edge of its support."
            )

    def log_profile(self, sqdist: Array) -> Array:
        """Return ``power * log(1 - r^2)``, ``-inf`` from ``r = 1`` on."""
        with np.errstate(divide="ignore"):
            return self.power * np.log1p(-np.minimum(sqdist, 1.0))

    def dlog_profile(self, sqdist: Array) -> Array:
        """Return ``-power / (1 - r^2)``, 0 outside the support."""
        inside = sqdist < 1.0
        slope = np.zeros_like(sqdist)
        np.divide(-self.power, 1.0 - sqdist, out=slope, where=inside)
        return slope

    def profile_and_slope(self, sqdist: Array) -> tuple[Array, Array]:
        """Return ``(1 - r^2)^power`` and its derivative by ``r^2``, without logarithms."""
        rest = np.maximum(1.0 - sqdist, 0.0)
        below = rest if self.power == 2.0 else rest ** (self.power - 1.0)
        return below * rest, -self.power * below

    def log_integral(self, n_components: int) -> float:
        """Return the log of ``pi^(q/2) Gamma(p + 1) / Gamma(p + 1 + q/2)``."""
        half = 0.5 * n_components
        integral = half * math.log(math.pi) + gammaln(self.power + 1.0)
        return float(integral - gammaln(self.power + 1.0 + half))

    def sample(self, n_samples: int, n_components: int, rng: np.random.Generator) -> Array:
        """Draw offsets: ``r^2`` follows a Beta law, the direction is uniform."""
        radius = np.sqrt(rng.beta(0.5 * n_components, self.power + 1.0, size=(n_samples, 1)))
        direction = rng.standard_normal((n_samples, n_components))
        offsets: Array = radius * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        return offsets


@dataclass(frozen=True)
class StudentT:
    """``(1 + r^2 / df)^(-(df + 1) / 2)``; ``df=1`` is the latent kernel of t-SNE.

    Its integral is finite in few dimensions only (``q < df + 1``), so it serves regression and
    neighbor embeddings, not densities.

    Parameters
    ----------
    df : float, default=1.0
        Degrees of freedom, positive.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.kernels import StudentT
    >>> kernel, sqdist = StudentT(), np.array([0.0, 1.0, 9.0])
    >>> np.exp(kernel.log_profile(sqdist)).round(2), kernel.dlog_profile(sqdist).round(2)
    (array([1. , 0.5, 0.1]), array([-1. , -0.5, -0.1]))
    """

    df: float = 1.0

    def __post_init__(self) -> None:
        if not self.df > 0.0:
            raise ValueError(f"df={self.df!r} must be positive.")

    def log_profile(self, sqdist: Array) -> Array:
        """Return ``-(df + 1) / 2 * log(1 + r^2 / df)``."""
        return -0.5 * (self.df + 1.0) * np.log1p(sqdist / self.df)

    def dlog_profile(self, sqdist: Array) -> Array:
        """Return ``-(df + 1) / 2 / (df + r^2)``."""
        return -0.5 * (self.df + 1.0) / (self.df + sqdist)


KERNELS: dict[str, RadialKernel] = {
    "gaussian": Gaussian(),
    "quartic": Compact(2.0),
    "triweight": Compact(3.0),
    "student": StudentT(1.0),
}


def resolve_kernel(kernel: str | RadialKernel) -> RadialKernel:
    """Return the kernel of a name, or the given kernel object.

    Parameters
    ----------
    kernel : str or RadialKernel
        A name from ``KERNELS``, or an object with ``log_profile`` and ``dlog_profile``.

    Returns
    -------
    RadialKernel

    Examples
    --------
    >>> from twofold.kernels import Compact, resolve_kernel
    >>> resolve_kernel("quartic"), resolve_kernel(Compact(4.0))
    (Compact(power=2.0), Compact(power=4.0))
    """
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(
                f"kernel={kernel!r} is unknown. Use one of {sorted(KERNELS)} or a kernel object."
            )
        return KERNELS[kernel]
    if isinstance(kernel, Gaussian | Compact | StudentT):  # a protocol check takes 50 microseconds
        return kernel
    if isinstance(kernel, type) or not isinstance(kernel, RadialKernel):
        raise TypeError(
            f"kernel must be a name from {sorted(KERNELS)} or an object with log_profile and "
            f"dlog_profile, got {kernel!r}."
        )
    return kernel

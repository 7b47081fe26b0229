r"""The spatial extent of a manifold of weighted means, and its bounds by the latent density.

With the basis functions ``b(z)`` of Meinicke et al. (2005), Eq. (2), the manifold is
``f(z) = Y b(z)`` over the latent domain :math:`\{z : p(z) \ge \eta K(0)\}`, Eq. (7). Its length
(``q = 1``) or volume and the bounds of Eqs. (5) and (21) are

.. math::
   V = \int \sqrt{\det J_f^T J_f} \, dz \le \int \|J_f\|_2^q \, dz
     \le \|Y\|_2^q \int \|J_b\|_2^q \, dz
     \le \|Y\|_2^q \, \max_z \|J_b\|_2^q \int dz ,

where the Jacobian of the basis functions is Eqs. (6) and (22), here in log form:

.. math:: (J_b)_{jl} = b_j (a_{jl} - \bar a_l), \qquad a_{jl} = \partial_l \log K(z - z_j), \qquad
          \bar a_l = \sum_j b_j a_{jl} .

The basis functions sum to one, so ``Y`` may be centered, which lowers its norm.

The density alone bounds the last product, as the paper argues without a formula. Since ``p``
integrates to one, the domain has a volume of at most :math:`1 / (\eta K(0))`. And since
:math:`\|J_b\|_2 \le \sum_j |\nabla K_j| / (n p) + |\nabla p| / p`,

.. math:: \|J_b\|_2 \le \frac{2 g}{\eta}, \qquad g = \max_u |\nabla K(u)| / K(0), \qquad
          V \le \|Y\|_2^q \Bigl(\frac{2 g}{\eta}\Bigr)^q \frac{1}{\eta K(0)} .

The integrals are sums over the midpoints of a regular lattice.

Notation
--------
=====================  =====================================
Meinicke et al.        here
=====================  =====================================
``x``, ``X_eta``       ``z``, the latent domain
``Y``                  ``targets`` (n, D), transposed
``J_f``, ``J_b``       (D, q) and (n, q) at each latent
=====================  =====================================

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005, section 2 and Appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from twofold.kernels import DensityKernel
from twofold.numerics.linalg import sqdist
from twofold.numerics.threads import row_blocks
from twofold.protocols import Array, RadialKernel

N_SIDE = {1: 4_000, 2: 150, 3: 40}
"""Points of the lattice along each dimension."""

FARTHEST = 1e3
"""Distance in kernel widths beyond which no kernel reaches a threshold."""


@dataclass(frozen=True)
class ManifoldExtent:
    """The extent of a manifold and its bounds; created by `twofold.UKR.extent`.

    All bounds are at least ``volume``, up to the error of the integration, and in the order given
    each is at least the one before.

    Parameters
    ----------
    density_threshold : float
        The latent domain has a density of at least this share of the kernel's maximum, Eq. (7).
    latent_volume : float
        Length, area or volume of the latent domain, in kernel widths.
    volume : float
        Length, area or volume of the manifold in data space, or in feature space.
    jacobian_bound : float
        The integral of the Jacobian's norm, to the power of the dimensions: the first line of Eq.
        (21). For curves it is the length.
    basis_bound : float
        Norm of the data times the integral over the basis functions: the first line of Eq. (5), the
        second of Eq. (21).
    steepest_bound : float
        Norm of the data times the largest derivative times the latent volume, the last line of Eq.
        (5).
    density_bound : float
        The bound that follows from the threshold alone, before any latent is known.

    Examples
    --------
    >>> from twofold import UKR
    >>> from twofold.datasets import make_noisy_spiral
    >>> X, _ = make_noisy_spiral(100, random_state=0)
    >>> model = UKR(1, init="isomap", random_state=0).fit(X)
    >>> wide, narrow = model.extent(0.005), model.extent(0.01)
    >>> narrow.volume <= wide.volume <= wide.basis_bound <= wide.steepest_bound
    True
    >>> narrow.density_bound < wide.density_bound
    True
    """

    density_threshold: float
    latent_volume: float
    volume: float
    jacobian_bound: float
    basis_bound: float
    steepest_bound: float
    density_bound: float


def manifold_extent(
    Z: Array, targets: Array, kernel: RadialKernel, threshold: float, unit: float = 1.0
) -> ManifoldExtent:
    """Measure the manifold of targets (n, D) over latents (n, q), for a kernel of unit width.

    ``unit`` is one unit of length of the targets in the caller's units.
    """
    q = Z.shape[1]
    if not isinstance(kernel, DensityKernel):
        raise TypeError(
            f"kernel={kernel!r} carries no density: its integral is not known to be finite, and no "
            "threshold bounds the manifold. Use 'gaussian', 'quartic' or 'triweight'."
        )
    if q not in N_SIDE:
        raise ValueError(
            f"n_components={q}: the extent is an integral over a lattice, of at most {max(N_SIDE)} "
            "dimensions."
        )
    targets = targets - targets.mean(axis=0)
    points, cell = _lattice(Z, _reach(kernel, threshold))
    latent = volume = jacobians = bases = steepest = 0.0
    for rows in row_blocks(len(points), 8 * len(Z) * (q + 3) + 8 * q * targets.shape[1]):
        inside, basis = _domain_and_basis(points[rows], Z, kernel, threshold)
        if not inside.any():
            continue
        images = np.einsum("mnq,nd->mdq", basis, targets)
        of_images = np.einsum("mdq,mdp->mqp", images, images)
        of_basis = np.einsum("mnq,mnp->mqp", basis, basis)
        basis_norms = _largest(of_basis) ** (0.5 * q)
        latent += len(basis)
        volume += float(np.sqrt(np.maximum(np.linalg.det(of_images), 0.0)).sum())
        jacobians += float((_largest(of_images) ** (0.5 * q)).sum())
        bases += float(basis_norms.sum())
        steepest = max(steepest, float(basis_norms.max()))
    size = _spectral_norm(targets) ** q
    by_density = (2.0 * _steepest_slope(kernel) / threshold) ** q
    by_density *= float(np.exp(kernel.log_integral(q))) / threshold
    bounds = (
        cell * volume,
        cell * jacobians,
        size * cell * bases,
        size * steepest * cell * latent,
        size * by_density,
    )
    return ManifoldExtent(threshold, cell * latent, *_scaled(bounds, unit, q))


def _scaled(values: tuple[float, ...], unit: float, q: int) -> tuple[float, ...]:
    """Return volumes in the caller's units of length, of which ``unit`` is one unit here."""
    with np.errstate(over="ignore", under="ignore"):
        scale = np.float64(unit) ** q
        scaled = tuple(float(scale * value) for value in values)
    if scale < np.finfo(np.float64).tiny or not np.isfinite(scaled).all():
        raise ValueError(
            f"The extent is out of range: it is measured in units of {unit:.3g} to the power of "
            f"n_components={q}. Rescale X before the fit."
        )
    return scaled


def basis_jacobian(points: Array, Z: Array, kernel: DensityKernel) -> tuple[Array, Array]:
    """Return the mean kernel values (m,) and the Jacobians (m, n, q) of the basis functions.

    Meinicke et al. (2005), Eqs. (3), (6) and (22), at points (m, q) for latents (n, q). The mean
    kernel value is the density as a share of the kernel's maximum.
    """
    squares = sqdist(points, Z)
    values = np.exp(kernel.log_profile(squares))
    b = values / values.sum(axis=1, keepdims=True)
    slopes = 2.0 * kernel.dlog_profile(squares)[:, :, None] * (points[:, None] - Z)
    mean = np.einsum("mn,mnq->mq", b, slopes)
    return values.mean(axis=1), b[:, :, None] * (slopes - mean[:, None])


def _domain_and_basis(
    points: Array, Z: Array, kernel: DensityKernel, threshold: float
) -> tuple[Array, Array]:
    """Return which points (m,) are in the domain, and the Jacobians of the basis there."""
    density = np.exp(kernel.log_profile(sqdist(points, Z))).mean(axis=1)
    inside = density >= threshold
    return inside, basis_jacobian(points[inside], Z, kernel)[1]


def _lattice(Z: Array, reach: float) -> tuple[Array, float]:
    """Return the midpoints (m, q) of a lattice over all latents and their reach, and a cell."""
    q = Z.shape[1]
    low, high = Z.min(axis=0) - reach, Z.max(axis=0) + reach
    steps = (high - low) / N_SIDE[q]
    axes = [
        start + step * (np.arange(N_SIDE[q]) + 0.5) for start, step in zip(low, steps, strict=True)
    ]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, q)
    return points, float(np.prod(steps))


def _reach(kernel: DensityKernel, threshold: float) -> float:
    """Return the distance at which one kernel alone has fallen to the threshold."""

    def excess(r: float) -> float:
        return float(np.exp(kernel.log_profile(np.array([r * r]))[0])) - threshold

    return float(optimize.brentq(excess, 0.0, FARTHEST))


def _steepest_slope(kernel: DensityKernel) -> float:
    """Return the largest slope of the kernel's profile, as a share of its maximum."""
    r = np.linspace(0.0, 10.0, 100_001)[:, None]
    slopes = np.exp(kernel.log_profile(r * r)) * 2.0 * kernel.dlog_profile(r * r) * r
    return float(np.abs(slopes).max())


def _largest(grams: Array) -> Array:
    """Return the largest eigenvalue (m,) of each symmetric matrix (m, q, q)."""
    largest: Array = np.maximum(np.linalg.eigvalsh(grams)[:, -1], 0.0)
    return largest


def _spectral_norm(targets: Array) -> float:
    """Return the largest singular value."""
    n, n_features = targets.shape
    gram = targets.T @ targets if n_features <= n else targets @ targets.T
    return float(np.sqrt(max(np.linalg.eigvalsh(gram)[-1], 0.0)))

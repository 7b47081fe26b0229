r"""Candidates for the initial latents of kernel regression, each at its best scale.

Steps 1 to 3 of Meinicke et al. (2005), section 2.3. Each candidate is centered and whitened. The
scale of latents relative to the kernel's unit width sets the complexity of the model, so each
latent dimension gets the factor that minimizes the leave-one-out error: likelihood cross-validation
of a density gives the first guess (their section 4), Nelder and Mead's direct search refines it.
The candidate of the lowest error wins.

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg
from scipy.optimize import minimize

from twofold.kernels import DensityKernel, Gaussian
from twofold.numerics.density import likelihood_cv_bandwidth
from twofold.protocols import Array, RadialKernel

MAX_SEARCH_STEPS = 25
"""Evaluations of the direct search for each latent dimension."""

LOWEST_LOG_SCALE = float(np.log(0.25))
"""Latents of less spread than this, in kernel widths, see each other as one point. If the mean
predicts best, as for uninformative latents, a search without bound would end there, and no gradient
leads out."""


@dataclass(frozen=True)
class Candidate:
    """Latents (n, q) at their best scale.

    ``scales`` (q,) are the factors on the whitened latents, ``error`` is the leave-one-out error.
    """

    name: str
    latents: Array
    scales: Array
    error: float


def whitened(Z: Array) -> Array:
    """Return centered latents (n, q) with uncorrelated columns of unit variance.

    Directions without variance stay zero.
    """
    centered: Array = Z - Z.mean(axis=0)
    scale = float(np.abs(centered).max())
    if scale == 0.0:
        return centered
    centered /= scale
    values, vectors = linalg.eigh(centered.T @ centered / len(Z))
    kept = values > 1e-12 * values[-1]
    white: Array = centered @ (vectors[:, kept] / np.sqrt(values[kept]))
    if not kept.all():
        return np.pad(white, ((0, 0), (0, int((~kept).sum()))))
    # Rotate back to the original axes, as far as whitening allows: users know them.
    return np.asarray(white @ vectors.T)


Error = Callable[[Array], float]
"""An error of latents (n, q)."""


def scaled_candidates(
    starts: dict[str, Array], error: Error, final_error: Error, kernel: RadialKernel
) -> list[Candidate]:
    """Return candidates at the scales that minimize an error, ordered by their final error."""
    scaled = [scaled_candidate(name, Z, error, kernel) for name, Z in starts.items()]
    scaled = [replace(one, error=final_error(one.latents)) for one in scaled]
    return sorted(scaled, key=lambda candidate: candidate.error)


def scaled_candidate(name: str, Z: Array, error: Error, kernel: RadialKernel) -> Candidate:
    """Find the scale of each latent dimension that minimizes the leave-one-out error."""
    white = whitened(Z)
    density_kernel = kernel if isinstance(kernel, DensityKernel) else Gaussian()
    first = 1.0 / likelihood_cv_bandwidth(white, density_kernel)
    q = Z.shape[1]

    def scaled_error(log_scales: Array) -> float:
        return error(white * np.exp(np.maximum(log_scales, LOWEST_LOG_SCALE)))

    start = np.full(q, np.log(first))
    simplex = np.vstack([start, start + 0.5 * np.eye(q)])
    found = minimize(
        scaled_error,
        start,
        method="Nelder-Mead",
        options={
            "initial_simplex": simplex,
            "maxfev": MAX_SEARCH_STEPS * q,
            "xatol": 0.01,
            "fatol": 0.0,
        },
    )
    scales = np.exp(np.maximum(found.x, LOWEST_LOG_SCALE))
    return Candidate(name, white * scales, scales, float(found.fun))

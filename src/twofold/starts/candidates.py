r"""Candidates for the initial latents of kernel regression, each at its best scale.

Steps 1 to 3 of Meinicke et al. (2005), section 2.3. Each candidate is centered and whitened. The
scale of latents relative to the kernel's unit width sets the complexity of the model, so each
latent dimension gets the factor that minimizes the leave-one-out error: likelihood cross-validation
of a density gives the first guess (their section 4), Nelder and Mead's direct search refines it.

Two departures from the paper:

* Isomap and t-SNE give latents whose *distances* mean something. They keep their shape: one factor
  scales all dimensions. Whitened, the sheet of a roll of 90 by 21 would be a square.
* The paper takes the candidate of the lowest error. Here the score of its map decides
  (`twofold.numerics.codebooks`): rows that are held out are decoded from their own latents, and
  from those rounded to few places. A map in pieces can have the lowest error.

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
from scipy.optimize import minimize, minimize_scalar

from twofold.kernels import DensityKernel, Gaussian
from twofold.maps import NadarayaWatson
from twofold.numerics.codebooks import FEW_CODES, score_of_map
from twofold.numerics.density import likelihood_cv_bandwidth
from twofold.numerics.linalg import row_norms_sq
from twofold.protocols import Array, RadialKernel

MAX_SEARCH_STEPS = 25
"""Evaluations of the direct search for each latent dimension."""

MAX_FACTOR_STEPS = 10
"""Evaluations of the search for one factor, within ``FACTOR_RANGE`` of the first guess."""

FACTOR_RANGE = 1.0
"""In logarithms."""

KEEP_SHAPE = ("isomap", "tsne")
"""Methods whose latents keep their shape."""

HELD_OUT_SHARE = 0.2
MOST_HELD_OUT = 1_000
FEWEST_ROWS = 20

LOWEST_LOG_SCALE = float(np.log(0.25))
"""Latents of less spread than this, in kernel widths, see each other as one point. If the mean
predicts best, as for uninformative latents, a search without bound would end there, and no gradient
leads out."""


@dataclass(frozen=True)
class Candidate:
    """Latents (n, q) at their best scale.

    ``scales`` (q,) are the factors on latents of unit variance, ``error`` is the leave-one-out
    error and ``score`` the score of the map, higher is better.
    """

    name: str
    latents: Array
    scales: Array
    error: float
    score: float = -np.inf


def keeps_shape(name: str) -> bool:
    """Tell whether one factor scales all dimensions of the latents of a method."""
    return name.partition(":")[0] in KEEP_SHAPE


def unit_latents(name: str, Z: Array) -> Array:
    """Return the latents (n, q) of a method, centered and whitened, or at unit mean variance."""
    if not keeps_shape(name):
        return whitened(Z)
    centered: Array = Z - Z.mean(axis=0)
    largest = float(np.abs(centered).max()) or 1.0
    centered /= largest
    centered /= float(np.sqrt(row_norms_sq(centered).mean() / Z.shape[1])) or 1.0
    return centered


def score_of_latents(Z: Array, data: Array, kernel: RadialKernel, n_jobs: int | None) -> float:
    """Return the score of the map that latents (n, q) and centered data (n, D) make.

    The errors are relative to the variance of the data. A fifth of the rows is held out, by a fixed
    seed. They have their own latents: nothing is searched for.
    """
    n = len(Z)
    if n < FEWEST_ROWS:
        return -np.inf
    order = np.random.default_rng(0).permutation(n)
    n_held_out = min(int(HELD_OUT_SHARE * n), MOST_HELD_OUT)
    held_out, kept = order[:n_held_out], np.sort(order[n_held_out:])
    decoder = NadarayaWatson(kernel=kernel, bandwidth=1.0, n_jobs=n_jobs)
    decoder.fit(Z[kept], data[kept].astype(np.float64, copy=False))
    variance = float(row_norms_sq(data).mean(dtype=np.float64))
    others = data[held_out]
    return score_of_map(decoder.predict, Z[kept], Z[held_out], others, variance, 0, FEW_CODES)


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
"""An error or a score of latents (n, q)."""


def scaled_candidates(
    starts: dict[str, Array], error: Error, final_error: Error, score: Error, kernel: RadialKernel
) -> list[Candidate]:
    """Return candidates at the scales that minimize an error, of the best score first.

    Candidates of equal score, as for very few rows, are ordered by their final error.
    """
    scaled = [scaled_candidate(name, Z, error, kernel) for name, Z in starts.items()]
    judged = [
        replace(one, error=final_error(one.latents), score=score(one.latents)) for one in scaled
    ]
    return best_first(judged)


def best_first(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates by score; those of equal score by error."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.error))


def scaled_candidate(name: str, Z: Array, error: Error, kernel: RadialKernel) -> Candidate:
    """Find the scale of each latent dimension that minimizes the leave-one-out error."""
    unit = unit_latents(name, Z)
    density_kernel = kernel if isinstance(kernel, DensityKernel) else Gaussian()
    first = float(np.log(1.0 / likelihood_cv_bandwidth(unit, density_kernel)))
    q = Z.shape[1]

    def scaled_error(log_scales: Array) -> float:
        return error(unit * np.exp(np.maximum(log_scales, LOWEST_LOG_SCALE)))

    if keeps_shape(name):
        one = minimize_scalar(
            scaled_error,
            bounds=(first - FACTOR_RANGE, first + FACTOR_RANGE),
            method="bounded",
            options={"maxiter": MAX_FACTOR_STEPS, "xatol": 0.01},
        )
        found, lowest = np.full(q, one.x), one.fun
    else:
        start = np.full(q, first)
        simplex = np.vstack([start, start + 0.5 * np.eye(q)])
        several = minimize(
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
        found, lowest = several.x, several.fun
    scales = np.exp(np.maximum(found, LOWEST_LOG_SCALE))
    return Candidate(name, unit * scales, scales, float(lowest))

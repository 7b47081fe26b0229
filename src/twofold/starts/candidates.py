r"""Candidates for the initial latents of kernel regression, each at its best scale.

Steps 1 to 3 of Meinicke et al. (2005), section 2.3. Each candidate is centered and whitened. The
scale of latents relative to the kernel's unit width sets the complexity of the model, so each
candidate gets the factor of the lowest leave-one-out error.

Departures from the paper:

* One factor scales all dimensions. The paper searches one for each, by hundreds of evaluations over
  all pairs; the descent finds the others. The factors tried are multiples of the one that puts
  three points into a unit of the kernel's volume, a number that depends neither on the rows nor on
  the method. Some rows and their nearest others measure them.
* PCA, Isomap and t-SNE give latents whose *distances* mean something. They keep their shape.
  Whitened, the sheet of a roll of 90 by 21 would be a square.
* The paper takes the candidate of the lowest error. Here the score of its map decides
  (`twofold.numerics.codebooks`): rows that are held out are decoded from their own latents, and
  from those rounded to few places. A map in pieces can have the lowest error.

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gamma, pi
from typing import Any, Protocol

import numpy as np
from scipy import linalg
from scipy.spatial import cKDTree

from twofold.maps import NadarayaWatson
from twofold.numerics.codebooks import FEW_CODES, score_of_map
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.sums.reach import profile
from twofold.numerics.threads import row_blocks, some_rows
from twofold.protocols import Array, IntArray, RadialKernel

POINTS_PER_UNIT = 3.0
N_JUDGED = 1_000
N_IN_REACH = 100
"""Neighbors that measure densities: about those within reach of a kernel. Fewer would measure the
jitter."""

N_NEAREST = 200
"""Others that predict a judged row; kernels are narrow beyond."""

FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6)
WIDE_FACTORS = (0.06, 0.12, 0.25)
"""Around that density; wide kernels, which suit uninformative latents, for few rows only. With many
they would always win there, and twice the points in reach cost twice the time."""

ALIGNED = "aligned"
"""The name of a start in the frame of another model."""

KEEP_SHAPE = ("pca", "isomap", "tsne", ALIGNED)
"""Methods whose latents keep their shape."""

HELD_OUT_SHARE = 0.2
MOST_HELD_OUT = 1_000
FEWEST_ROWS = 20


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


def unit_latents(name: str, Z: Array, *, keep_shape: bool = False) -> Array:
    """Return the latents (n, q) of a method, centered and whitened, or at unit mean variance."""
    if not (keep_shape or keeps_shape(name)):
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


class Regression(Protocol):
    """The kernel regression whose latents are scaled, as `twofold.ukr.regression` has it."""

    @property
    def data(self) -> Array:
        """The centered data (n, D)."""
        ...

    @property
    def kernel(self) -> RadialKernel:
        """The kernel of unit width."""
        ...

    @property
    def pseudo_count(self) -> float:
        """Observations at the mean in each prediction."""
        ...

    def objective(self) -> Any:
        """Return the error that a fit minimizes; its ``value`` is a function of latents (n, q)."""
        ...

    def cv_error(self, Z: Array) -> float:
        """Return the leave-one-out error at latents (n, q) without pseudo-count."""
        ...


def best_first(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates by score; those of equal score, as for very few rows, by error."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.error))


def scaled_candidate(
    name: str, Z: Array, scheme: Regression, *, few: bool, keep_shape: bool = False
) -> Candidate:
    """Find the factor of the lowest leave-one-out error: of few rows over all, else over some.

    The latents of named methods in `KEEP_SHAPE` keep their shape, and others with ``keep_shape``.
    """
    unit = unit_latents(name, Z, keep_shape=keep_shape)
    judged = some_rows(len(unit), N_JUDGED)
    tree = cKDTree(unit)
    middle = _factor_of_density(tree, judged, POINTS_PER_UNIT)
    scales = middle * np.array(WIDE_FACTORS + FACTORS if few else FACTORS)
    if few:
        error = scheme.objective().value
        errors = np.array([error(scale * unit) for scale in scales])
    else:
        errors = errors_of_some(tree, judged, scales, scheme)
    best = int(errors.argmin())
    scale = float(scales[best])
    lowest = scheme.cv_error(scale * unit) if few else float(errors[best])
    return Candidate(name, scale * unit, np.full(unit.shape[1], scale), lowest)


def errors_of_some(tree: cKDTree, judged: IntArray, scales: Array, scheme: Regression) -> Array:
    """Return the leave-one-out errors of some rows at each scale, from their nearest others."""
    Z = np.asarray(tree.data)
    k = min(N_NEAREST, len(Z) - 1)
    errors = np.zeros(len(scales))
    for block in row_blocks(len(judged), 8 * k * (scheme.data.shape[1] + 4)):
        rows = judged[block]
        distances, near = tree.query(Z[rows], k=k + 1)
        others = near != rows[:, None]
        others[others.all(axis=1), -1] = False  # among copies a row may miss itself
        squares = np.square(distances[others]).reshape(-1, k)
        values = scheme.data[near[others]].reshape(len(rows), k, -1)
        for number, scale in enumerate(scales):
            weights = profile(scheme.kernel, scale * scale * squares)
            mass = np.maximum(weights.sum(axis=1) + scheme.pseudo_count, 1e-300)
            means = np.matmul(weights[:, None].astype(values.dtype), values)[:, 0] / mass[:, None]
            errors[number] += float(row_norms_sq(scheme.data[rows] - means).sum()) / len(judged)
    return errors


def _factor_of_density(tree: cKDTree, judged: IntArray, points_per_unit: float) -> float:
    """Return the factor on latents that gives this median number of points in a unit of volume."""
    Z = np.asarray(tree.data)
    q = Z.shape[1]
    k = min(N_IN_REACH, max(1, len(Z) // 4), len(Z) - 1)
    distances = np.asarray(tree.query(Z[judged], k=k + 1)[0])[:, -1]
    radius = float(np.median(distances)) or 1.0
    volume = pi ** (0.5 * q) / gamma(0.5 * q + 1.0) * radius**q
    density = k / volume
    return float((density / points_per_unit) ** (1.0 / q))

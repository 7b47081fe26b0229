"""Candidates for the initial latents of many rows (steps 1 to 3), nearly linear in their number.

A neighborhood graph of the data in their leading principal subspace, a coarse map extended to all
rows (`twofold.starts.coarse_map`; Isomap has landmarks of its own), and its scale. That scale, one
factor for all dimensions, gives the lowest leave-one-out error of some rows, among factors around
three points in a unit of the kernel's volume. The search is bounded because for uninformative
latents wider kernels would always win. Scores of starts decide here: a map of many rows is less
noisy than one of few, and ten iterations of several starts would take long.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gamma, pi

import numpy as np
from scipy.spatial import cKDTree

from twofold.base.problem import Problem
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.neighbors import nearest_neighbors
from twofold.numerics.sums.reach import profile
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import is_auto
from twofold.protocols import Array, IntArray
from twofold.starts.candidates import Candidate, best_first, unit_latents
from twofold.starts.coarse_map import CoarseMap
from twofold.starts.initializers import tsne
from twofold.starts.named import (
    attempt,
    latents_of,
    named_inits,
    unit_variance,
)
from twofold.ukr.regression import KernelRegression

AUTO_MANY = ("tsne", "isomap")
N_NEIGHBORS = 10
TSNE_ITERATIONS = 500
POINTS_PER_UNIT = 3.0
N_JUDGED = 1_000
N_IN_REACH = 100
"""Neighbors that measure densities: about those within reach of a kernel. Fewer would measure the
jitter."""

FACTORS = (1.0, 1.4, 2.0, 2.8)
"""Around that density. An initial map is rough and would favor still wider kernels. Twice the
points in reach cost twice the time, and did not improve a refined map (100,000 rows of a noisy
sheet)."""


def many_candidates(
    init: object, scheme: KernelRegression, coordinates: Array, problem: Problem
) -> list[Candidate]:
    """Return candidates at their best scales, best first.

    Named methods embed some rows of the coordinates (n, rank) in the leading subspace and are
    extended to all.
    """
    auto = is_auto(init)
    rng = problem.rng
    coarse = None
    candidates = []
    for name, one in named_inits(init, AUTO_MANY):
        coarsely = isinstance(one, str) and not one.startswith("isomap")
        if coarsely and coarse is None:
            with problem.progress.phase("neighbors"):
                neighbors = nearest_neighbors(coordinates, N_NEIGHBORS, rng)
                coarse = CoarseMap.of(coordinates, neighbors, rng)

        def embed(one: object, coarse: CoarseMap | None = coarse if coarsely else None) -> Array:
            if isinstance(one, str) and coarse is not None:
                return coarse.extend(_embed(one, problem), rng)
            return latents_of(one, unit_variance(coordinates), problem)

        with problem.progress.phase(f"start {name}"):
            Z = attempt(embed, one, auto)
        if Z is not None:
            candidates.append(_scaled(name, Z, scheme))
    if not candidates:
        raise ValueError("No start succeeded; name one by init, such as init='pca'.")
    return best_first(candidates)


def _embed(name: str, problem: Problem) -> Callable[[Array], Array]:
    """Return the named initializer as a function of data, which it sees at unit variance."""

    def embed(data: Array) -> Array:
        unit = unit_variance(data - data.mean(axis=0))
        if name == "tsne":  # a coarse map needs few digits
            return tsne(unit, problem.n_components, problem.rng, max_iter=TSNE_ITERATIONS)
        return latents_of(name, unit, problem)

    return embed


def _scaled(name: str, Z: Array, scheme: KernelRegression) -> Candidate:
    """Find the factor of the lowest leave-one-out error, judged on some of the rows."""
    Z = unit_latents(name, Z)
    tree = cKDTree(Z)
    judged = some_rows(len(Z), N_JUDGED)
    middle = _factor_of_density(tree, judged, POINTS_PER_UNIT)
    scales = [middle * factor for factor in FACTORS]
    errors = np.zeros(len(scales))
    for row in judged:
        reached = np.asarray(tree.query_ball_point(Z[row], scheme.radius / min(scales)), np.intp)
        others = reached[reached != row]
        values = scheme.data[others].astype(np.float64)
        distances = row_norms_sq(Z[others] - Z[row])
        for number, scale in enumerate(scales):
            weights = profile(scheme.kernel, scale * scale * distances)
            mean = weights @ values / max(weights.sum() + scheme.pseudo_count, 1e-300)
            errors[number] += float(np.square(scheme.data[row] - mean).sum()) / len(judged)
    best = int(errors.argmin())
    scale = scales[best]
    factors = np.full(Z.shape[1], scale)
    return Candidate(name, scale * Z, factors, float(errors[best]), scheme.map_score(scale * Z))


def _factor_of_density(tree: cKDTree, judged: IntArray, points_per_unit: float) -> float:
    """Return the factor on latents that gives this median number of points in a unit of volume."""
    Z = np.asarray(tree.data)
    q = Z.shape[1]
    k = min(N_IN_REACH, len(Z) - 1)
    distances = np.asarray(tree.query(Z[judged], k=k + 1)[0])[:, -1]
    radius = float(np.median(distances)) or 1.0
    volume = pi ** (0.5 * q) / gamma(0.5 * q + 1.0) * radius**q
    density = k / volume
    return float((density / points_per_unit) ** (1.0 / q))

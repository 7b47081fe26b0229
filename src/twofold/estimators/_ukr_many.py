"""First latents and maps of unsupervised kernel regression where rows are many.

All steps are linear in the number of rows, or nearly: the data in their leading principal subspace, a graph of
nearest neighbours, a coarse map extended to everyone (`twofold.coarse_map`), and its scale. That scale,
one factor for all dimensions, is the one of the lowest leave-one-out error of some rows, among factors
around three points in a unit of the kernel's volume; where the latents say nothing about the data, wider
kernels would win without bound, and the search is not asked to go there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gamma, pi
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from twofold._blocks import some_rows
from twofold._linalg import principal_axes, row_norms_sq
from twofold.candidates import Candidate, whitened
from twofold.coarse_map import CoarseMap
from twofold.estimators._ukr_starts import attempt, init_is_auto, latents_of, named_inits
from twofold.estimators.base import Problem
from twofold.initializers import tsne
from twofold.kernel_regression import KernelRegression
from twofold.neighbour_search import nearest_neighbors
from twofold.protocols import Array, IntArray
from twofold.sums.reach import profile

__all__ = ["AUTO_MANY", "LeadingSubspace", "SubspaceEncoder", "many_candidates"]

AUTO_MANY = ("tsne", "isomap:10")
N_NEIGHBORS = 10
TSNE_ITERATIONS = 500
MAX_RANK = 50
VARIANCE_SHARE = 0.99
POINTS_PER_UNIT = 3.0
N_JUDGED = 1_000
N_IN_REACH = 100
"""Neighbours by which densities are measured: about those that a kernel reaches. Fewer would measure the jitter."""
FACTORS = (1.0, 1.4, 2.0, 2.8)
"""Around that density. A first map is rough and would have still wider kernels; twice the points in reach cost
twice the time, and a refined map (100,000 rows of a noisy sheet) was rebuilt no better for it."""


@dataclass(frozen=True)
class LeadingSubspace:
    """The leading principal axes of some data: 99 % of the variance, at most 50 of them.

    Attributes
    ----------
    axes : ndarray of shape (rank, D)
        Orthonormal rows.
    """

    axes: Array

    @classmethod
    def of(cls, data: Array, least: int = 1) -> LeadingSubspace:
        """Find the axes of centred data, not fewer than ``least``."""
        if data.shape[1] <= MAX_RANK:
            return cls(np.eye(data.shape[1]))
        axes, variances = principal_axes(data, MAX_RANK)
        return cls.enough(axes, variances, float(row_norms_sq(data).mean()), least)

    @classmethod
    def enough(cls, axes: Array, variances: Array, total: float, least: int) -> LeadingSubspace:
        """Take as many axes as hold enough of a total variance, not fewer than ``least``."""
        enough = int(np.searchsorted(np.cumsum(variances), VARIANCE_SHARE * total)) + 1
        return cls(axes[: max(enough, least)])

    def into(self, data: Array) -> Array:
        """Return coordinates (n, rank) of data."""
        if len(self.axes) == data.shape[1]:
            return data
        coordinates: Array = data @ self.axes.T
        return coordinates


@dataclass(frozen=True)
class SubspaceEncoder:
    """Data to latents through the leading subspace."""

    subspace: LeadingSubspace
    projection: Any

    def predict(self, data: Array) -> Array:
        """Return the latents (m, q) of data."""
        latents: Array = self.projection.predict(self.subspace.into(data))
        return latents


def many_candidates(
    init: Any, scheme: KernelRegression, coordinates: Array, problem: Problem
) -> list[Candidate]:
    """Return scaled first latents, best first.

    Parameters
    ----------
    init : object
        The parameter of the estimator. Names embed some rows and are extended to all.
    scheme : KernelRegression
        What judges them.
    coordinates : ndarray of shape (n, rank)
        The data in their leading subspace.
    problem : Problem
        The rest of what is needed.
    """
    auto = init_is_auto(init)
    rng = problem.rng
    coarse = None
    candidates = []
    for name, one in named_inits(init, AUTO_MANY):
        if isinstance(one, str) and coarse is None:
            with problem.progress.phase("neighbours"):
                neighbors = nearest_neighbors(coordinates, N_NEIGHBORS, rng)
                coarse = CoarseMap.of(coordinates, neighbors, rng)

        def embed(one: Any, coarse: CoarseMap | None = coarse) -> Array:
            if isinstance(one, str):
                assert coarse is not None
                return coarse.extend(_embed(one, problem), rng)
            return latents_of(one, problem.original.copy(), problem)

        with problem.progress.phase(f"start {name}"):
            Z = attempt(embed, one, auto)
        if Z is not None:
            candidates.append(_scaled(name, Z, scheme))
    if not candidates:
        raise ValueError("No start succeeded; name one by init, such as init='pca'.")
    return sorted(candidates, key=lambda candidate: candidate.error)


def _embed(name: str, problem: Problem) -> Callable[[Array], Array]:
    """Return the named initializer as a function of data alone, which it sees at unit variance."""

    def embed(data: Array) -> Array:
        data = data - data.mean(axis=0)
        unit = data / (float(np.sqrt(row_norms_sq(data).mean())) or 1.0)
        if name == "tsne":  # a coarse map needs no last digits
            return tsne(unit, problem.n_components, problem.rng, max_iter=TSNE_ITERATIONS)
        return latents_of(name, unit, problem)

    return embed


def _scaled(name: str, Z: Array, scheme: KernelRegression) -> Candidate:
    """Find the factor of the lowest leave-one-out error, judged on some of the rows."""
    Z = whitened(Z)
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
    return Candidate(name, scale * Z, np.full(Z.shape[1], scale), float(errors[best]))


def _factor_of_density(tree: cKDTree, judged: IntArray, points_per_unit: float) -> float:
    """Return the factor on latents that gives so many points in a unit of volume, in the median."""
    Z = np.asarray(tree.data)
    q = Z.shape[1]
    k = min(N_IN_REACH, len(Z) - 1)
    distances = np.asarray(tree.query(Z[judged], k=k + 1)[0])[:, -1]
    radius = float(np.median(distances)) or 1.0
    volume = pi ** (0.5 * q) / gamma(0.5 * q + 1.0) * radius**q
    density = k / volume
    return float((density / points_per_unit) ** (1.0 / q))

"""The starts of a principal manifold, and the best of them.

A descent ends in the minimum next to its start. The leading plane (Smola et al. 2001, section 5.3) is the right start
where rows keep their order when they are projected to it; where the data fold over it, shortest paths along the data
(Isomap) keep that order. So both are tried, and the lower functional wins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.base.estimator import Problem
from twofold.maps.affine import Affine
from twofold.numerics.linalg import principal_axes, row_norms_sq, spatial_median, sqdist
from twofold.numerics.threads import some_rows
from twofold.principal_manifold.alpha_path import SMALLEST_ALPHA, Fitted, Fitting
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.node_kernels import DeltaKernel
from twofold.principal_manifold.node_layout import Layout, first_map
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.protocols import Array, IntArray
from twofold.starts.named import attempt, latents_of

__all__ = ["Start", "starts_of"]

FEWEST_ROWS = 10
CORE = 0.95
"""The share of latents of an embedding that fits into the domain; the others begin at its edge."""

TILT = 0.2
ROWS_OF_A_START = 1_000
STARTS_OF_TORI = 4
"""Random starts that "auto" adds where circles and other dimensions may be mixed up."""


@dataclass(frozen=True)
class Start:
    """A named first map, and latents where they are known."""

    name: str
    up: NodeExpansion
    latents: Array | None = None

    def ran(self, fitting: Fitting, data: Array, alpha: float) -> Fitted:
        """Return where a few turns lead."""
        return fitting.shortly().run(data, alpha, self.up, self.latents)


def starts_of(
    init: Any,
    n_init: int,
    fitting: Fitting,
    frame: Affine,
    data: Array,
    alpha: float,
    problem: Problem,
    rows: IntArray,
    *,
    robust: bool,
) -> list[Start]:
    """Return first maps.

    Parameters
    ----------
    init, n_init : object and int
        The parameters of the estimator.
    fitting : Fitting
        Settings.
    frame : Affine
        The coordinates of the data.
    data : ndarray of shape (n, r)
        Rows that take part.
    alpha : float
        Weight of the penalty.
    problem : Problem
        All data as they came.
    rows : ndarray of shape (n,)
        The numbers of the rows that take part.
    robust : bool
        Whether outliers should not count.
    """
    layout = fitting.layout
    plane = _planes(layout, frame, data, robust)
    starts: list[Start] = []
    auto = isinstance(init, str) and init == "auto"
    if isinstance(init, str) and init == "random":
        starts.append(Start("random", plane(alpha, problem.rng)))
    elif isinstance(init, str) and init in ("auto", "pca"):
        up = plane(alpha)
        if not auto:
            starts.append(Start("pca", up))
        elif isinstance(layout.domain, Points):
            starts.append(_codebook(fitting, data, alpha, problem.rng) or Start("pca", up))
        elif data.shape[1] <= layout.domain.n_components:
            starts.append(_identity(fitting, data, alpha))
        else:
            some = data[some_rows(len(data), ROWS_OF_A_START)]
            starts.append(Start("grown", fitting.grown(some, alpha, up).up))
    names = [] if isinstance(init, str) and init in ("pca", "random") else [init]
    if auto:
        unrolls = len(data) >= FEWEST_ROWS and not any(layout.domain.wrapped)
        unrolls = unrolls and data.shape[1] > layout.domain.n_components
        names = ["isomap"] if unrolls and not layout.domain.is_discrete else []
        if any(layout.domain.wrapped) and layout.domain.n_components > 1:
            n_init += STARTS_OF_TORI
    few = some_rows(len(data), ROWS_OF_A_START) if auto else np.arange(len(data))
    for one in names:
        latents = attempt(lambda one: _latents(one, layout.domain, problem, rows[few]), one, auto)
        if latents is not None:
            name = one if isinstance(one, str) else "given"
            up = fitting.at_latents(data[few], alpha, latents)
            starts.append(Start(name, up, None if auto else latents))
    starts += [Start("random", plane(alpha, problem.rng)) for _ in range(n_init - 1)]
    return starts


def _identity(fitting: Fitting, data: Array, alpha: float) -> Start:
    """Return latents that are the data themselves, scaled to the domain: there is nothing to unfold."""
    q = fitting.layout.domain.n_components
    axes, _ = principal_axes(data - data.mean(axis=0), min(q, *data.shape))
    latents = np.zeros((len(data), q))
    latents[:, : len(axes)] = (data - data.mean(axis=0)) @ axes.T
    latents /= np.maximum(np.abs(latents).max(axis=0), 1e-300)
    return Start("identity", fitting.at_latents(data, alpha, latents), latents)


def _codebook(
    fitting: Fitting, data: Array, alpha: float, rng: np.random.Generator
) -> Start | None:
    """Return codes that are rows far from each other (k-means++), for codes that do not smooth each other."""
    from sklearn.cluster import kmeans_plusplus  # slow to import

    domain = fitting.layout.domain
    assert isinstance(domain, Points)
    if not all(isinstance(kernel, DeltaKernel) for kernel in fitting.layout.kernels):
        return None
    if domain.n_points > len(data):
        raise ValueError(f"domain={domain!r} has more points than the data have rows, {len(data)}.")
    seed = int(rng.integers(2**31))
    centers, _ = kmeans_plusplus(data, domain.n_points, random_state=seed)
    nearest = sqdist(data, centers).argmin(axis=1).astype(np.float64)[:, None]
    return Start("kmeans++", fitting.at_latents(data, alpha, nearest), nearest)


def _latents(init: Any, domain: Domain | Points, problem: Problem, rows: IntArray) -> Array:
    """Return latents of some rows within the domain; those that are not are centred and scaled to fit."""
    named = isinstance(init, str)
    if named:
        latents = latents_of(init, problem.data[rows], problem)
    else:
        latents = latents_of(init, problem.original.copy(), problem)[rows]
    if np.array_equal(domain.into(latents), latents) and not named:
        return latents
    if isinstance(domain, Points):
        low, length = latents.min(axis=0), np.maximum(np.ptp(latents, axis=0), 1e-300)
        return domain.into((latents - low) / length * (domain.n_points - 1.0))
    middle = np.median(latents, axis=0)
    half = np.quantile(np.abs(latents - middle), CORE, axis=0)
    if not named:
        middle = 0.5 * (latents.max(axis=0) + latents.min(axis=0))
        half = 0.5 * np.ptp(latents, axis=0)
    return domain.into(np.clip((latents - middle) / np.maximum(half, 1e-300), -0.999, 0.999))


def _planes(
    layout: Layout, frame: Affine, data: Array, robust: bool
) -> Callable[..., NodeExpansion]:
    """Return the function that makes a first map for a weight; turned and tilted by chance where it gets a generator."""
    k = min(layout.domain.n_components + sum(layout.domain.wrapped), *data.shape)
    if robust:
        axes, center = _robust_axes(data, k)
    else:
        center = data.mean(axis=0)
        # Whitened data have no leading directions: take those of the data as they were.
        found, variances = principal_axes(frame.back(data - center), k)
        axes = frame.into(found * np.sqrt(variances)[:, None])

    def plane(alpha: float, rng: np.random.Generator | None = None) -> NodeExpansion:
        turned = axes
        if rng is not None:
            turn, _ = np.linalg.qr(rng.standard_normal((k, k)))
            size = np.sqrt(row_norms_sq(axes).mean())
            turned = turn @ axes + TILT * size * rng.standard_normal(axes.shape)
        return first_map(layout, turned, center, max(alpha, SMALLEST_ALPHA))

    return plane


def _robust_axes(data: Array, n_axes: int) -> tuple[Array, Array]:
    """Return axes, as long as the deviations along them, and a centre that gross outliers do not move.

    The directions are those of the rows seen from their spatial median (spherical components), the deviations median ones.

    References
    ----------
    N. Locantore et al. Robust principal component analysis for functional data. Test 8, 1999.
    """
    center = spatial_median(data)
    offsets = data - center
    lengths = np.sqrt(row_norms_sq(offsets))
    seen = lengths > 0.0
    axes, _ = principal_axes(offsets[seen] / lengths[seen, None], min(n_axes, int(seen.sum())))
    deviations = 1.4826 * np.median(
        np.abs(offsets[lengths > 1e-3 * lengths.max()] @ axes.T), axis=0
    )
    return axes * deviations[:, None], center

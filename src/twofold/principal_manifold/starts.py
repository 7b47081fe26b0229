"""The starts of a principal manifold, and the best of them.

A descent ends in the minimum next to its start. The leading plane (Smola et al. 2001, section 5.3)
is a good start if rows keep their order when they are projected to it; if the data fold over it,
shortest paths along the data (Isomap) keep that order. So both are tried.

**Score.** A folded manifold can be as close to all rows as a right one, so the functional does not
tell them apart. On boxes, with the squared loss and without noise of latents, automatic starts
descend on four fifths of the rows, and the highest score of the map (`twofold.numerics.codebooks`)
on the others wins. Elsewhere the lowest functional does.

**Sides.** A square domain for a long sheet stretches the latents, and its nodes are too far apart
in one direction. An Isomap start knows the sides of the sheet. With ``n_nodes="auto"`` its domain
has the same proportions, and as many nodes as the square, equally far apart in all directions.

The plane is the map that is fitted to ``sum_d z_md sqrt(v_d) a_d`` at node ``z_m``, with axes
``a_d`` and variances ``v_d`` (Eq. 35, whose ``V`` needs these roots, as in the generative
topographic map; and the system printed below it lacks the number of nodes, ``lambda M / 2 + K_z``
follows from Eq. 35). A wrapped dimension takes two axes, ``cos`` and ``sin`` of its angle times
``sqrt(2 v)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twofold.base.problem import Problem
from twofold.losses import Squared
from twofold.maps.affine import Affine
from twofold.numerics.codebooks import score_of_map
from twofold.numerics.linalg import principal_axes, row_norms_sq, spatial_median, sqdist
from twofold.numerics.threads import some_rows
from twofold.principal_manifold.descent import SMALLEST_ALPHA, DescentSettings, Fitted
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.metric import Mahalanobis
from twofold.principal_manifold.node_kernels import DeltaKernel
from twofold.principal_manifold.node_layout import MOST_ON_A_GRID, Layout, layout_of
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.settings import ROWS_OF_A_START, ManifoldSettings
from twofold.protocols import AnyArray, Array, IntArray
from twofold.starts.named import attempt, latents_of

FEWEST_ROWS = 10
HELD_OUT = 5
"""One of so many rows judges automatic starts."""

SHORTEST_SIDE = 0.1
"""The shortest side of a box, relative to the longest."""

CORE = 0.95
"""The share of an embedding's latents that is scaled into the domain; others begin at its edge."""

TILT = 0.2
STARTS_OF_TORI = 4
"""Random starts that "auto" adds if circles and other dimensions may be confused."""


@dataclass(frozen=True)
class Start:
    """A named first map, latents if they are known, and the settings of its descent."""

    name: str
    up: NodeExpansion
    descent: DescentSettings
    latents: Array | None = None


Chosen = tuple[DescentSettings, Fitted, list[dict[str, Any]]]
"""The settings and the result of the best start, and all candidates, best first."""


def best_start(
    starts: list[Start],
    data: Array,
    alpha: float,
    rng: np.random.Generator,
    *,
    auto: bool,
    final: bool,
) -> Chosen:
    """Return the best start after a few turns.

    Starts that are ``auto`` are compared by the map's score if it applies. A single start takes no
    turns if the functional is ``final``, that is, the same as that of the turns that follow.
    """
    descent, n_rows = starts[0].descent, len(data)
    domain = descent.layout.domain
    is_box = isinstance(domain, Domain) and not any(domain.wrapped)
    plain = isinstance(descent.loss, Squared) and not descent.latent_noise
    if auto and is_box and plain and len(starts) > 1 and n_rows >= FEWEST_ROWS:
        return _best_map(starts, data, alpha, rng.permutation(n_rows) < n_rows // HELD_OUT)
    if len(starts) == 1 and final:
        up = starts[0].up
        latents = descent.functional(data, alpha).project(up, starts[0].latents)
        ran = [Fitted(up, latents, np.empty(0), 0)]
    else:
        ran = [one.descent.short().run(data, alpha, one.up, one.latents) for one in starts]
    # Values without a temperature: soft fits end at different ones.
    values = [
        start.descent.functional(data, alpha).value(one.up, one.latents)
        for start, one in zip(starts, ran, strict=True)
    ]
    order = np.argsort(values, kind="stable")
    return (
        starts[order[0]].descent,
        ran[order[0]],
        [{"name": starts[i].name, "value": values[i], "map_score": np.nan} for i in order],
    )


def _best_map(starts: list[Start], data: Array, alpha: float, held_out: AnyArray) -> Chosen:
    """Return the start with the best map of held-out rows, after a few turns on the others."""
    seen, others = data[~held_out], data[held_out]
    variance = float(row_norms_sq(data - data.mean(axis=0)).mean())
    ran: list[NodeExpansion] = []
    candidates: list[dict[str, Any]] = []
    for start in starts:
        found = start.descent.short().run(seen, alpha, start.up, None)
        functional = start.descent.functional(seen, alpha)
        latents = functional.projection(found.up).predict(others)
        score = score_of_map(found.up.predict, found.latents, latents, others, variance, 0)
        value = functional.value(found.up, found.latents)
        ran.append(found.up)
        candidates.append({"name": start.name, "value": value, "map_score": score})
    order = np.argsort([-one["map_score"] for one in candidates], kind="stable")
    descent, up = starts[order[0]].descent, ran[order[0]]
    latents = descent.functional(data, alpha).project(up, None)
    return descent, Fitted(up, latents, np.empty(0), 0), [candidates[i] for i in order]


def starts_of(
    settings: ManifoldSettings,
    descent: DescentSettings,
    frame: Affine,
    data: Array,
    alpha: float,
    problem: Problem,
    rows: IntArray,
) -> list[Start]:
    """Return first maps for rows ``data`` (n, r) in the coordinates of the frame.

    ``rows`` (n,) are their numbers in the problem, which has all data in the caller's units.
    """
    init, n_random = settings.init, settings.n_init - 1
    layout, domain = descent.layout, descent.layout.domain
    # In a given metric the leading directions are those of the coordinates.
    original = Affine() if isinstance(settings.loss, Mahalanobis) else frame
    plane = _planes(layout, original, data, robust=settings.is_robust)
    starts: list[Start] = []
    name = init if isinstance(init, str) else ""
    auto = name == "auto"
    flat = data.shape[1] <= domain.n_components
    if name == "random":
        starts.append(Start("random", plane(alpha, problem.rng), descent))
    elif name in ("auto", "pca"):
        up = plane(alpha)
        if not auto:
            starts.append(Start("pca", up, descent))
        elif isinstance(domain, Points):
            codebook = _codebook(descent, data, alpha, problem.rng)
            starts.append(codebook or Start("pca", up, descent))
        elif flat:
            starts.append(_identity(descent, data, alpha))
        else:
            some = data[some_rows(len(data), ROWS_OF_A_START)]
            starts.append(Start("grown", descent.grown(some, alpha, up), descent))
    inits: list[object] = [] if name in ("pca", "random") else [init]
    few = np.arange(len(data))
    if auto:
        few = some_rows(len(data), ROWS_OF_A_START)
        unrolls = len(data) >= FEWEST_ROWS and not any(domain.wrapped) and not flat
        inits = ["isomap"] if unrolls and not domain.is_discrete else []
        if any(domain.wrapped) and domain.n_components > 1:
            n_random += STARTS_OF_TORI
    free = isinstance(domain, Domain) and domain.sides is None and settings.n_nodes == "auto"
    boxed = auto and free and 1 < domain.n_components <= MOST_ON_A_GRID
    for one in inits:
        found = attempt(
            lambda one: latents_of(one, problem.data[rows[few]], problem, rows[few]), one, auto
        )
        if found is None:
            continue
        latents, half = _scaled(found, domain, named=isinstance(one, str))
        own = descent
        if boxed:
            sides = np.maximum(half / half.max(), SHORTEST_SIDE)
            own, latents = _in_box(settings, descent, data, sides), latents * sides
        up = own.at_latents(data[few], alpha, latents)
        given = one if isinstance(one, str) else "given"
        starts.append(Start(given, up, own, None if auto else latents))
    return starts + [Start("random", plane(alpha, problem.rng), descent) for _ in range(n_random)]


def _in_box(
    settings: ManifoldSettings, descent: DescentSettings, data: Array, sides: Array
) -> DescentSettings:
    """Return a descent whose domain has these sides (q,)."""
    domain = Domain(settings.domain.wrapped, tuple(sides.tolist()))
    layout = layout_of(replace(settings, domain=domain), data[:0], np.random.default_rng(0))
    return replace(descent, layout=layout)


def _identity(descent: DescentSettings, data: Array, alpha: float) -> Start:
    """Return the data, scaled to the domain, as latents: there is nothing to unfold."""
    q = descent.layout.domain.n_components
    centered = data - data.mean(axis=0)
    axes, _ = principal_axes(centered, q)
    latents = centered @ axes.T
    latents *= descent.layout.domain.ends / np.maximum(np.abs(latents).max(axis=0), 1e-300)
    return Start("identity", descent.at_latents(data, alpha, latents), descent, latents)


def _codebook(
    descent: DescentSettings, data: Array, alpha: float, rng: np.random.Generator
) -> Start | None:
    """Return rows that are far from each other (k-means++), if codes do not smooth each other."""
    from sklearn.cluster import kmeans_plusplus  # slow to import

    domain = descent.layout.domain
    assert isinstance(domain, Points)
    if not all(isinstance(kernel, DeltaKernel) for kernel in descent.layout.kernels):
        return None
    if domain.n_points > len(data):
        raise ValueError(f"domain={domain!r} has more points than the data have rows, {len(data)}.")
    seed = int(rng.integers(2**31))
    centers, _ = kmeans_plusplus(data, domain.n_points, random_state=seed)
    nearest = sqdist(data, centers).argmin(axis=1).astype(np.float64)[:, None]
    return Start("kmeans++", descent.at_latents(data, alpha, nearest), descent, nearest)


def _scaled(latents: Array, domain: Domain | Points, *, named: bool) -> tuple[Array, Array]:
    """Return latents (n, q), centered and scaled to the domain unless given ones lie within it.

    Also returns half of their extent (q,) before.
    """
    if not named and np.array_equal(domain.into(latents), latents):
        return latents, np.ones(latents.shape[1])
    if isinstance(domain, Points):
        low, length = latents.min(axis=0), np.maximum(np.ptp(latents, axis=0), 1e-300)
        return domain.into((latents - low) / length * (domain.n_points - 1.0)), 0.5 * length
    middle = np.median(latents, axis=0)
    half = np.quantile(np.abs(latents - middle), CORE, axis=0)
    if not named:
        middle = 0.5 * (latents.max(axis=0) + latents.min(axis=0))
        half = 0.5 * np.ptp(latents, axis=0)
    half = np.maximum(half, 1e-300)
    return domain.into(domain.ends * np.clip((latents - middle) / half, -0.999, 0.999)), half


def _planes(
    layout: Layout, frame: Affine, data: Array, *, robust: bool
) -> Callable[..., NodeExpansion]:
    """Return a function of alpha that makes the plane; with a generator, turned and tilted."""
    k = min(layout.domain.n_components + sum(layout.domain.wrapped), *data.shape)
    if robust:
        axes, center = _robust_axes(data, k)
    else:
        center = data.mean(axis=0)
        # Whitened data have no leading directions: use those of the original data.
        found, variances = principal_axes(frame.back(data - center), k)
        axes = frame.into(found * np.sqrt(variances)[:, None])

    def plane(alpha: float, rng: np.random.Generator | None = None) -> NodeExpansion:
        turned = axes
        if rng is not None:
            turn, _ = np.linalg.qr(rng.standard_normal((k, k)))
            size = np.sqrt(row_norms_sq(axes).mean())
            turned = turn @ axes + TILT * size * rng.standard_normal(axes.shape)
        return _plane(layout, turned, center, max(alpha, SMALLEST_ALPHA))

    return plane


def _plane(layout: Layout, axes: Array, center: Array, alpha: float) -> NodeExpansion:
    """Return the map of Eq. (35) through ``center`` (r,).

    The axes (k, r) are as long as the deviations of the data along them, leading first. The map
    uses one for each dimension, and one more for each circle, as far as there are enough.
    """
    places = layout.nodes
    if isinstance(layout.domain, Points):
        places = places - places.mean(axis=0)
        places = places / max(float(np.abs(places).max()), 1.0)
    else:
        places = places / layout.domain.ends
    waves: list[Array] = []
    for column, wrapped in enumerate(layout.domain.wrapped):
        angle = np.pi * places[:, column]
        circle = [np.sqrt(2.0) * np.cos(angle), np.sqrt(2.0) * np.sin(angle)]
        waves += circle if wrapped else [places[:, column]]
    n_waves = min(len(waves), len(axes))
    targets = center + np.stack(waves[:n_waves], axis=1) @ axes[:n_waves]
    return layout.expansion(alpha).fit(layout.nodes, targets)


def _robust_axes(data: Array, n_axes: int) -> tuple[Array, Array]:
    """Return axes, as long as the deviations along them, and a center, all robust to outliers.

    The directions are those of the rows seen from their spatial median (spherical components), the
    deviations median ones.

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

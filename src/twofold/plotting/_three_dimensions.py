"""Three dimensions: axes in space, and densities two by two on the walls of a box."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from twofold.numerics.threads import some_rows
from twofold.plotting._density import DensityMap, border_style
from twofold.plotting._latent_space import MARGIN, LatentGrid
from twofold.principal_manifold.domains import Domain
from twofold.protocols import Array

N_GRID = 60
MOST_JUDGED = 2_000
MOST_UNEQUAL = 10.0  # ratio of ranges above which axes do not share a scale
WALLS = (("z", 0, 1), ("y", 0, 2), ("x", 1, 2))
"""The axis along which a wall is seen, and the dimensions that it shows."""


def draw_walls(
    ax: Any, latents: Array, domain: Domain | None, show_density: bool
) -> tuple[list[Any], list[Any]]:
    """Draw the walls behind latents (n, 3); return the densities and the edges of the domain."""
    low, high = latents.min(axis=0), latents.max(axis=0)
    size = np.where(high > low, high - low, 1.0)
    bounds = np.stack([0.5 * (low + high - (1.0 + 2.0 * MARGIN) * size)] * 2, axis=1)
    bounds[:, 1] += (1.0 + 2.0 * MARGIN) * size
    if domain is not None:
        bounds = np.stack([-domain.ends, domain.ends], axis=1)
    set_box(ax, bounds)
    bands = []
    if show_density:
        ax.grid(False)
        some = latents[some_rows(len(latents), MOST_JUDGED)]
        for along, *pair in WALLS:
            grid = LatentGrid.over(bounds[pair], N_GRID)
            # The wall behind the points, as matplotlib looks at them.
            offset = bounds["xyz".index(along), 1 if along == "y" else 0]
            wall = DensityMap.of_latents(some[:, pair], grid).fill(ax, zdir=along, offset=offset)
            bands += [] if wall is None else [wall]
    return bands, [] if domain is None else _draw_box(ax, domain.ends)


def set_box(ax: Any, bounds: Array) -> None:
    """Set limits (3, 2) and proportions of a box, equal to its sides unless they differ tenfold."""
    size = bounds[:, 1] - bounds[:, 0]
    ax.set(xlim=bounds[0], ylim=bounds[1], zlim=bounds[2])
    unequal = size.max() > MOST_UNEQUAL * size.min()
    ax.set_box_aspect(np.ones(3) if unequal else size / size.max())
    style_axes(ax)


def style_axes(ax: Any) -> None:
    """Make tick labels in space few and small, so that they do not overlap."""
    ax.locator_params(nbins=5)
    ax.tick_params(labelsize=8, pad=1)


def _draw_box(ax: Any, ends: Array) -> list[Any]:
    """Draw the edges of the box from ``-ends`` to ``ends`` (3,)."""
    a, b, c = ends
    corners = [(-a, -b), (-a, b), (a, b), (a, -b), (-a, -b)]
    style = {**border_style(), "color": "0.75"}
    lines = []
    for level in (-c, c):
        lines += ax.plot(*np.array(corners).T, level, **style)
    for (x, y), _ in pairwise(corners):
        lines += ax.plot([x, x], [y, y], [-c, c], **style)
    return lines

"""Three latent dimensions: their densities two by two on the walls of a box."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from twofold.numerics.density import LatentDensity
from twofold.numerics.threads import some_rows
from twofold.plotting._density import GREYS, SHARES, border_style
from twofold.plotting._figures import rasterize
from twofold.plotting._latent_space import MARGIN, LatentGrid
from twofold.principal_manifold.domains import Domain
from twofold.protocols import Array

__all__ = ["box_aspect", "draw_walls", "style_space"]

N_GRID = 60
MOST_JUDGED = 2_000
MOST_UNEQUAL = 10.0
WALLS = (("z", 0, 1), ("y", 0, 2), ("x", 1, 2))
"""Along which axis a wall is seen, and which dimensions it shows."""


def draw_walls(
    ax: Any, latents: Array, domain: Domain | None, show_density: bool
) -> tuple[list[Any], list[Any]]:
    """Draw the walls behind points in space, and return the densities and the edges of the domain.

    Parameters
    ----------
    ax : matplotlib Axes3D
        Where to draw.
    latents : ndarray of shape (n, 3)
        The points.
    domain : Domain or None
        The cube they lie in.
    show_density : bool
        Whether the walls show densities.
    """
    low, high = latents.min(axis=0), latents.max(axis=0)
    size = np.where(high > low, high - low, 1.0)
    bounds = np.stack([0.5 * (low + high - (1.0 + 2.0 * MARGIN) * size)] * 2, axis=1)
    bounds[:, 1] += (1.0 + 2.0 * MARGIN) * size
    if domain is not None:
        bounds[:] = (-1.0, 1.0)
    ax.set(xlim=bounds[0], ylim=bounds[1], zlim=bounds[2])
    ax.set_box_aspect(box_aspect(bounds))
    style_space(ax)
    bands = []
    if show_density:
        ax.grid(False)
        shadows = latents[some_rows(len(latents), MOST_JUDGED)]
        bands = [_wall(ax, shadows, bounds, *wall) for wall in WALLS]
    edges = [] if domain is None else _cube(ax)
    return [band for band in bands if band is not None], edges


def style_space(ax: Any) -> None:
    """Keep numbers along axes in space few and small, so that they do not run into each other."""
    ax.locator_params(nbins=5)
    ax.tick_params(labelsize=8, pad=1)


def box_aspect(bounds: Array) -> Array:
    """Return the proportions of a box in space: those of its sides, unless these differ tenfold."""
    size = bounds[:, 1] - bounds[:, 0]
    return np.ones(3) if size.max() > MOST_UNEQUAL * size.min() else np.asarray(size / size.max())


def _wall(ax: Any, shadows: Array, bounds: Array, along: str, first: int, second: int) -> Any:
    pair = [first, second]
    grid = LatentGrid.over(bounds[pair], N_GRID)
    density = LatentDensity().fit(shadows[:, pair])
    log_density = density.log_density(grid.points).reshape(grid.shape)
    levels = np.unique(np.quantile(density.log_densities_, 1.0 - np.array(SHARES)))
    levels = levels[levels < log_density.max()]
    if not len(levels):
        return None
    # The wall behind the points, as matplotlib looks at them.
    column = "xyz".index(along)
    offset = bounds[column, 1 if along == "y" else 0]
    mesh: list[Any] = list(np.meshgrid(grid.horizontal, grid.vertical))
    mesh.insert(column, log_density)
    greys = [str(grey) for grey in np.linspace(*GREYS, len(levels))]
    bands = ax.contourf(
        *mesh,
        levels=[*levels, log_density.max()],
        zdir=along,
        offset=offset,
        colors=greys,
        zorder=0,
    )
    rasterize(bands)
    return bands


def _cube(ax: Any) -> list[Any]:
    """Draw the edges of the cube ``[-1, 1]^3``."""
    corners = [(-1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)]
    style = {**border_style(), "color": "0.75"}
    lines = []
    for level in (-1.0, 1.0):
        lines += ax.plot(*np.array(corners).T, level, **style)
    for (x, y), _ in pairwise(corners):
        lines += ax.plot([x, x], [y, y], [-1.0, 1.0], **style)
    return lines

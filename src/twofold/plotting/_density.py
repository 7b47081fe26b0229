"""The density of latents behind a picture, and the border of their domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.numerics.density import LatentDensity
from twofold.numerics.threads import some_rows
from twofold.plotting._figures import Extent, extent_of, rasterize
from twofold.plotting._latent_space import MOST_JUDGED, LatentGrid, LatentSpace
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import Array

SHARES = (0.95, 0.8, 0.6, 0.4, 0.2)  # shares of the training latents that lie within each contour
GREYS = (0.95, 0.78)  # the greys of the outermost and the innermost band
FAR_BELOW = 10.0  # log density below all levels, outside the support of the map
BORDER_COLOR = "#777777"


@dataclass(frozen=True)
class DensityMap:
    """Log densities on a grid: a `LatentGrid`, or places (m,) along one latent dimension.

    The levels (k,) are the log densities that 95, 80, 60, 40 and 20 % of the training latents
    reach. ``log_border`` is None if density does not bound the domain. If the densities are per
    unit of the manifold, ``log_of_border`` are those per unit of the map, which bound it.
    """

    grid: Any
    log_density: Array
    levels: Array
    log_border: float | None = None
    log_of_border: Array | None = None

    @classmethod
    def of(
        cls,
        space: LatentSpace,
        columns: tuple[int, ...],
        n_grid: int,
        more: Array | None = None,
        per: str = "latent",
    ) -> DensityMap:
        """Return the density of a latent space along one or two of its dimensions.

        ``n_grid`` is the number of places along the longer side. The picture also covers the
        latents ``more`` (n, q). ``per`` is that of ``log_density``; all dimensions have to be drawn
        unless it is "latent".
        """
        whole = columns == tuple(range(space.n_components))
        grid: Any
        if len(columns) == 1:
            low, high = space.limits(columns, more)[0]
            room = 0.04 * (high - low) if space.domain is None else 0.0
            grid = np.linspace(low - room, high + room, n_grid)
        elif whole:
            grid = LatentGrid.around_support(space, n_grid, more)
        else:
            grid = LatentGrid.over(space.limits(columns, more), n_grid)
        if not whole:
            # The marginal of a kernel density is the kernel density of the projected latents.
            latents = space.latents[some_rows(len(space.latents), MOST_JUDGED)]
            return cls.of_latents(latents[:, columns], grid)
        one = len(columns) == 1
        spacing = float(grid[1] - grid[0]) if one else grid.spacing
        at_places = space.log_density_near(grid[:, None] if one else grid.points, spacing)
        border = None if space.domain is not None else space.log_border
        found = cls(grid, at_places.reshape(grid.shape), _levels(space.log_densities), border)
        return found if per == "latent" else found._per_area(space)

    def _per_area(self, space: LatentSpace) -> DensityMap:
        """Return the density per unit of the manifold, where the map has support."""
        grid = self.grid
        places = grid.points if isinstance(grid, LatentGrid) else grid[:, None]
        log_latent = self.log_density.ravel()
        lowest = space.log_border if space.domain is None else -np.inf
        held = log_latent >= lowest
        some = space.latents[some_rows(len(space.latents), MOST_JUDGED)]
        levels = _levels(space.log_density(some, "manifold"))
        # Outside, decoders are flat, and areas do not mean anything.
        log_density = np.full(len(places), float(levels[0]) - FAR_BELOW)
        if held.any():
            log_density[held] = space.log_density(places[held], "manifold")
        shown = log_density.reshape(self.log_density.shape)
        return DensityMap(grid, shown, levels, self.log_border, self.log_density)

    @classmethod
    def of_latents(cls, latents: Array, grid: Any) -> DensityMap:
        """Return the density of latents (n, 1 or 2) on a grid."""
        density = LatentDensity().fit(latents)
        places = grid.points if isinstance(grid, LatentGrid) else grid[:, None]
        at_places = density.log_density(places).reshape(grid.shape)
        return cls(grid, at_places, _levels(density.log_densities_))

    @property
    def log_bounding(self) -> Array:
        """The log densities that ``log_border`` bounds."""
        return self.log_density if self.log_of_border is None else self.log_of_border

    def extent(self, domain: Domain | Points | None = None) -> Extent:
        """Return the extent of the grid, with room for the sides of a domain."""
        room = 0.0 if domain is None else 0.02
        (left, right), (bottom, top) = (
            (float(a[0] - room * (a[-1] - a[0])), float(a[-1] + room * (a[-1] - a[0])))
            for a in (self.grid.horizontal, self.grid.vertical)
        )
        return left, right, bottom, top

    def fill(self, ax: Any, **wall: Any) -> Any:
        """Draw gray bands, darker where more latents lie, and return them, None if there are none.

        On a wall of three-dimensional axes, ``wall`` holds its ``zdir`` and ``offset``.
        """
        highest = float(self.log_density.max())
        levels = self.levels[self.levels < highest]
        if not len(levels):
            return None
        mesh: list[Any] = list(np.meshgrid(self.grid.horizontal, self.grid.vertical))
        mesh.insert("xyz".index(wall.get("zdir", "z")), self.log_density)
        greys = [str(gray) for gray in np.linspace(*GREYS, len(levels))]
        bands = ax.contourf(*mesh, levels=[*levels, highest], colors=greys, zorder=0, **wall)
        rasterize(bands)  # it has thousands of corners
        return bands

    def outline(self, ax: Any, **contour_kwargs: Any) -> Any:
        """Draw the border if density bounds the domain, and return it."""
        logs = self.log_bounding
        if self.log_border is None or not logs.min() < self.log_border < logs.max():
            return None
        style = {**border_style("colors", "linewidths", "linestyles"), **contour_kwargs}
        places = (self.grid.horizontal, self.grid.vertical)
        return ax.contour(*places, logs, [self.log_border], **style)


def map_extent(
    latents: Array, density: DensityMap | None, domain: Domain | Points | None
) -> Extent:
    """Return the extent of a map: that of the density, or that of the latents (n, 2)."""
    return extent_of(latents) if density is None else density.extent(domain)


def border_style(color: str = "color", width: str = "linewidth", style: str = "linestyle") -> Any:
    """Return the style of borders, under the names that an artist uses."""
    return {color: BORDER_COLOR, width: 0.7, style: "-", "zorder": 1}


def draw_border(
    ax: Any, density: DensityMap | None, domain: Domain | Points | None, **contour_kwargs: Any
) -> list[Any]:
    """Draw the border of a map and return its artists.

    The sides of a domain are solid where it ends and dotted where it is circular. Without a domain
    the border is a contour of the density.
    """
    if not isinstance(domain, Domain):
        outline = None if density is None else density.outline(ax, **contour_kwargs)
        return [] if outline is None else [outline]
    lines = []
    for column, is_circular in enumerate(domain.wrapped):
        across = float(domain.ends[1 - column])
        for end in (-float(domain.ends[column]), float(domain.ends[column])):
            side = [[end, end], [-across, across]]
            style = {**border_style(), "linestyle": ":" if is_circular else "-"}
            lines += ax.plot(*(side if column == 0 else side[::-1]), **style)
    return lines


def _levels(log_densities: Array) -> Array:
    """Return the levels (k,) that the shares of the latents reach."""
    return np.unique(np.quantile(log_densities, 1.0 - np.array(SHARES)))

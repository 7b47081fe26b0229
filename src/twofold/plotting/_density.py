"""The density of latents behind a picture, and the border of their domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.numerics.density import LatentDensity
from twofold.numerics.threads import some_rows
from twofold.plotting._figures import rasterize
from twofold.plotting._latent_space import MOST_JUDGED, LatentGrid, LatentSpace
from twofold.protocols import Array

__all__ = ["DensityMap", "border_style", "draw_box"]

SHARES = (0.95, 0.8, 0.6, 0.4, 0.2)
"""Of the training latents, the share that lies within each contour."""

GREYS = (0.95, 0.78)
"""Of the outermost and the innermost band."""

BORDER_COLOR = "#777777"


@dataclass(frozen=True)
class DensityMap:
    """Log densities over places of one or two latent dimensions.

    Attributes
    ----------
    grid : LatentGrid or ndarray of shape (m,)
        The places.
    log_density : ndarray of shape (n_rows, n_columns) or (m,)
        The log densities there.
    levels : ndarray of shape (k,)
        The log densities that 95, 80, 60, 40 and 20 % of the training latents reach, ascending.
    log_border : float or None
        The log density at the border of the domain; None where density does not bound it.
    """

    grid: Any
    log_density: Array
    levels: Array
    log_border: float | None

    @classmethod
    def of(
        cls, space: LatentSpace, columns: tuple[int, ...], n_grid: int, more: Array | None = None
    ) -> DensityMap:
        """Return the density of a latent space, or of its shadow on some of its dimensions.

        Parameters
        ----------
        space : LatentSpace
            The latent space.
        columns : tuple of int
            One or two dimensions.
        n_grid : int
            Places along each, or along the longer one.
        more : ndarray of shape (n, q), default=None
            Latents that the picture must hold besides those of the training rows.
        """
        whole = columns == tuple(range(space.n_components))
        grid: Any
        if len(columns) == 1:
            low, high = _widened(space, columns, more)
            grid = np.linspace(low, high, n_grid)
            places = grid[:, None]
        else:
            bounds = space.limits(columns, more)
            grid = LatentGrid.over(bounds, n_grid)
            if whole:
                grid = LatentGrid.around_support(space, n_grid, more)
            places = grid.points
        shape = grid.shape
        if whole:
            spacing = float(grid[1] - grid[0]) if len(columns) == 1 else grid.spacing
            at_places, at_latents = space.log_density_near(places, spacing), space.log_densities
            border = None if space.domain is not None else space.log_border
        else:
            # The shadow of a kernel density is the kernel density of the shadows.
            shadows = space.latents[some_rows(len(space.latents), MOST_JUDGED)][:, columns]
            density = LatentDensity().fit(shadows)
            at_places, at_latents = density.log_density(places), density.log_densities_
            border = None
        levels = np.unique(np.quantile(at_latents, 1.0 - np.array(SHARES)))
        return cls(grid, at_places.reshape(shape), levels, border)

    def extent(self, domain: Any = None) -> tuple[float, float, float, float]:
        """Return the left, right, bottom and top of a map: those of its grid, and a little more where a domain has sides to show."""
        axes = (self.grid.horizontal, self.grid.vertical)
        room = 0.0 if domain is None else 0.02
        (left, right), (bottom, top) = (
            (float(a[0] - room * (a[-1] - a[0])), float(a[-1] + room * (a[-1] - a[0])))
            for a in axes
        )
        return left, right, bottom, top

    def fill(self, ax: Any, **contourf_kwargs: Any) -> Any:
        """Draw bands of grey, darker where more of the latents lie; return them."""
        highest = float(self.log_density.max())
        levels = self.levels[self.levels < highest]
        if not len(levels):
            return None
        greys = [str(grey) for grey in np.linspace(*GREYS, len(levels))]
        style = {"colors": greys, "zorder": 0, **contourf_kwargs}
        bands = ax.contourf(
            self.grid.horizontal, self.grid.vertical, self.log_density, [*levels, highest], **style
        )
        rasterize(bands)  # thousands of corners otherwise
        return bands

    def outline(self, ax: Any, **contour_kwargs: Any) -> Any:
        """Draw the border of the domain where density bounds it; return it."""
        low, high = self.log_density.min(), self.log_density.max()
        if self.log_border is None or not low < self.log_border < high:
            return None
        style = {**border_style("colors", "linewidths", "linestyles"), **contour_kwargs}
        return ax.contour(
            self.grid.horizontal, self.grid.vertical, self.log_density, [self.log_border], **style
        )


def border_style(color: str = "color", width: str = "linewidth", style: str = "linestyle") -> Any:
    """Return how the border of a domain is drawn, under the names that an artist has for it."""
    return {color: BORDER_COLOR, width: 0.7, style: "-", "zorder": 1}


def draw_box(ax: Any, wrapped: tuple[bool, ...]) -> list[Any]:
    """Draw the sides of a square domain: solid where it ends, dotted where it goes on at the opposite side."""
    lines = []
    for column, goes_on in enumerate(wrapped):
        for end in (-1.0, 1.0):
            side = [[end, end], [-1.0, 1.0]]
            style = {**border_style(), "linestyle": ":" if goes_on else "-"}
            lines += ax.plot(*(side if column == 0 else side[::-1]), **style)
    return lines


def _widened(space: LatentSpace, columns: tuple[int, ...], more: Array | None) -> Array:
    """Return the bounds of one dimension, with room for the density to fall."""
    low, high = space.limits(columns, more)[0]
    if space.domain is None:
        low, high = low - 0.04 * (high - low), high + 0.04 * (high - low)
    return np.array([low, high])

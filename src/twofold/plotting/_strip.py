"""One latent dimension: a density above a strip of points, straight or bent to a ring.

Points have one coordinate; the other is chance, so that they do not lie on top of each other. Classes lie in lanes of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.plotting._density import DensityMap, border_style
from twofold.plotting._figures import plain
from twofold.plotting._labels import Classes, Values
from twofold.plotting._points import draw_points
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import Array

__all__ = ["Strip", "draw_strip"]

MOST_LANES = 12
LANE_FILL = 0.7
"""Share of a lane that its points take."""

INNER_RADIUS = 0.35
"""Of a ring, where its innermost lane ends; the domain is the unit circle."""

TOP_RADIUS = 1.5
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
TICKS = (-0.5, 0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Strip:
    """Where a latent and a height are drawn.

    Attributes
    ----------
    n_lanes : int
        Lanes of points; they lie below height 0, one unit each.
    ring : bool
        Whether the ends of the latent dimension meet.
    """

    n_lanes: int
    ring: bool

    def place(self, latents: Array, heights: Array) -> Array:
        """Return where latents (n,) at heights (n,) lie, shape (n, 2): 0 to 1 is above the domain, lanes are below."""
        if not self.ring:
            lanes = heights / self.n_lanes
            return np.stack([latents, np.where(heights > 0.0, heights, lanes)], axis=-1)
        inward = (0.95 - INNER_RADIUS) / self.n_lanes
        radius = np.where(
            heights > 0.0, 1.0 + (TOP_RADIUS - 1.0) * heights, 0.97 + inward * heights
        )
        angles = np.pi * latents
        return np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=-1)


def lanes_of(coloring: Classes | Values | None) -> tuple[list[int], Array | None]:
    """Return the classes that have lanes, and the lane of each row; None where there is one lane for all."""
    if not isinstance(coloring, Classes):
        return [], None
    there = np.unique(coloring.codes)
    if not 2 <= len(there) <= MOST_LANES:
        return [], None
    numbers = [int(k) for k in there if k >= 0] + [-1] * bool((there < 0).any())
    lane = {number: place for place, number in enumerate(numbers)}
    return numbers, np.array([lane[int(k)] for k in there])[np.searchsorted(there, coloring.codes)]


def draw_strip(
    ax: Any,
    latents: Array,
    coloring: Classes | Values | None,
    density: DensityMap | None,
    domain: Domain | Points | None,
    *,
    scale: Any = None,
    show_border: bool = True,
    **scatter_kwargs: Any,
) -> tuple[list[Any], Any, list[Any], bool]:
    """Draw latents (n,) and return the points, the filled density, the border, and whether lanes have names.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    latents : ndarray of shape (n,)
        The latents.
    coloring : Classes, Values or None
        What colours say.
    density : DensityMap or None
        Their density, along the one dimension.
    domain : Domain, Points or None
        The shape of the latent space.
    scale : ScalarMappable, default=None
        The colours of values.
    show_border : bool, default=True
        Whether to draw where the domain ends.
    **scatter_kwargs
        For ``Axes.scatter``.
    """
    numbers, lanes = lanes_of(coloring)
    ring = isinstance(domain, Domain) and domain.wrapped == (True,)
    strip = Strip(max(1, len(numbers)), ring)
    jitter = 0.5 + LANE_FILL * (_spread(latents) - 0.5)
    heights = -jitter - (0.0 if lanes is None else lanes)
    points = draw_points(ax, strip.place(latents, heights), coloring, scale=scale, **scatter_kwargs)
    filled = None if density is None else _fill(ax, strip, density)
    border = _border(ax, strip, density, domain) if show_border else []
    names = [] if isinstance(coloring, Values) or coloring is None else list(coloring.names)
    _finish(ax, strip, [names[k] if k >= 0 else "no label" for k in numbers])
    return points, filled, border, bool(numbers) and not ring


def _spread(latents: Array) -> Array:
    """Return numbers in [0, 1) of which neighbours have different ones: multiples of the golden ratio, by rank."""
    ranks = np.empty(len(latents))
    ranks[np.argsort(latents, kind="stable")] = np.arange(len(latents))
    spread: Array = np.mod(ranks * GOLDEN, 1.0)
    return spread


def _fill(ax: Any, strip: Strip, density: DensityMap) -> Any:
    from matplotlib.patches import Polygon

    heights = np.exp(density.log_density - density.log_density.max())
    upper = strip.place(density.grid, np.maximum(heights, 1e-9))
    lower = strip.place(density.grid, np.full(len(heights), 1e-9))
    shape = Polygon(np.vstack([upper, lower[::-1]]), closed=True, fc="0.85", ec="none", zorder=0)
    ax.add_patch(shape)
    ax.plot(*upper.T, color="0.35", linewidth=1.0, zorder=1)
    return shape


def _border(
    ax: Any, strip: Strip, density: DensityMap | None, domain: Domain | Points | None
) -> list[Any]:
    """Draw the circle of a ring, the ends of an interval, or where the density falls below its threshold."""
    if strip.ring:
        circle = strip.place(np.linspace(-1.0, 1.0, 400), np.full(400, 1e-9))
        return list(ax.plot(*circle.T, **border_style()))
    if isinstance(domain, Domain):
        return [ax.axvline(end, **border_style()) for end in (-1.0, 1.0)]
    if density is None or density.log_border is None:
        return []
    return [ax.axvline(end, **{**border_style(), "linestyle": "--"}) for end in crossings(density)]


def crossings(density: DensityMap) -> Array:
    """Return where the density along one dimension crosses the border, by straight lines between places."""
    assert density.log_border is not None
    above = density.log_density - density.log_border
    left = np.flatnonzero((above[:-1] >= 0.0) != (above[1:] >= 0.0))
    share = above[left] / (above[left] - above[left + 1])
    found: Array = density.grid[left] + share * (density.grid[left + 1] - density.grid[left])
    return found


def _finish(ax: Any, strip: Strip, names: list[str]) -> None:
    if strip.ring:
        ax.set(aspect="equal", xlim=(-1.75, 1.75), ylim=(-1.75, 1.75))
        ax.axis("off")
        for tick in TICKS:
            x, y = 1.64 * np.cos(np.pi * tick), 1.64 * np.sin(np.pi * tick)
            text = "±1" if tick == 1.0 else f"{tick:g}"
            ax.text(x, y, text, ha="center", va="center", fontsize=9)
        ax.text(0.0, 0.0, "latent 1", ha="center", va="center")
        return
    ax.set(xlabel="latent 1", ylim=(-1.03, 1.08))
    ax.spines[["left", "top", "right"]].set_visible(False)
    centers = -(np.arange(len(names)) + 0.5) / strip.n_lanes
    ax.set_yticks(centers, [plain(name) for name in names])
    ax.tick_params(axis="y", length=0)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.axhline(0.0, color="0.35", linewidth=0.8, zorder=1)

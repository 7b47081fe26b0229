"""One latent dimension: a density above a strip of points, straight or bent to a ring.

Points have one coordinate. The other is pseudo-random, so that they do not cover each other. Each
class has its own lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.plotting._density import DensityMap, border_style
from twofold.plotting._figures import plain, plain_texts
from twofold.plotting._labels import Classes, Values
from twofold.plotting._marks import Marks
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import Array

MOST_LANES = 12
LANE_FILL = 0.7  # share of a lane that its points take
INNER_RADIUS = 0.35  # the radius of a ring's innermost lane; the domain is the unit circle
TOP_RADIUS = 1.5
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
TICKS = (-0.5, 0.0, 0.5, 1.0)
ON_BORDER = 1e-9


def is_ring(domain: Domain | Points | None) -> bool:
    """Return whether a domain is a circle."""
    return isinstance(domain, Domain) and domain.wrapped == (True,)


@dataclass(frozen=True)
class _Strip:
    """The positions of latents and heights: densities in 0 to 1, lanes one unit each below 0."""

    n_lanes: int
    ring: bool

    def place(self, latents: Array, heights: Array) -> Array:
        """Return the positions (n, 2) of latents (n,) at heights (n,)."""
        if not self.ring:
            lanes = heights / self.n_lanes
            return np.stack([latents, np.where(heights > 0.0, heights, lanes)], axis=-1)
        inward = (0.95 - INNER_RADIUS) / self.n_lanes
        above, below = 1.0 + (TOP_RADIUS - 1.0) * heights, 0.97 + inward * heights
        radius = np.where(heights > 0.0, above, below)
        angles = np.pi * latents
        return np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=-1)


def draw_strip(
    ax: Any,
    latents: Array,
    marks: Marks,
    density: DensityMap | None,
    domain: Domain | Points | None,
    *,
    show_border: bool,
) -> tuple[list[Any], Any, list[Any], bool]:
    """Draw latents (n,); return points, density, border, and whether the lanes have names."""
    coloring = marks.coloring
    codes, lanes = _lanes(coloring)
    strip = _Strip(max(1, len(codes)), is_ring(domain))
    jitter = 0.5 + LANE_FILL * (_jitter(latents) - 0.5)
    heights = -jitter - (0.0 if lanes is None else lanes)
    points = marks.draw(ax, strip.place(latents, heights))
    filled = None if density is None else _fill(ax, strip, density)
    border = _border(ax, strip, density, domain) if show_border else []
    names = [coloring.name(code) for code in codes] if isinstance(coloring, Classes) else []
    _label_axes(ax, strip, names)
    return points, filled, border, bool(codes) and not strip.ring


def _lanes(coloring: Classes | Values | None) -> tuple[list[int], Array | None]:
    """Return the classes that have lanes, and the lane (n,) of each row; None for a single lane."""
    if not isinstance(coloring, Classes):
        return [], None
    there = np.unique(coloring.codes)
    if not 2 <= len(there) <= MOST_LANES:
        return [], None
    codes = [int(k) for k in there if k >= 0] + [-1] * bool((there < 0).any())
    lane = {code: place for place, code in enumerate(codes)}
    return codes, np.array([lane[int(k)] for k in there])[np.searchsorted(there, coloring.codes)]


def _jitter(latents: Array) -> Array:
    """Return numbers (n,) in [0, 1) that differ for neighbors: golden ratios by rank."""
    ranks = np.empty(len(latents))
    ranks[np.argsort(latents, kind="stable")] = np.arange(len(latents))
    return np.asarray(np.mod(ranks * GOLDEN, 1.0))


def _fill(ax: Any, strip: _Strip, density: DensityMap) -> Any:
    from matplotlib.patches import Polygon

    heights = np.exp(density.log_density - density.log_density.max())
    upper = strip.place(density.grid, np.maximum(heights, ON_BORDER))
    lower = strip.place(density.grid, np.full(len(heights), ON_BORDER))
    shape = Polygon(np.vstack([upper, lower[::-1]]), closed=True, fc="0.85", ec="none", zorder=0)
    ax.add_patch(shape)
    ax.plot(*upper.T, color="0.35", linewidth=1.0, zorder=1)
    return shape


def _border(
    ax: Any, strip: _Strip, density: DensityMap | None, domain: Domain | Points | None
) -> list[Any]:
    """Draw the circle of a ring, the ends of an interval, or the threshold of the density."""
    style = border_style()
    if strip.ring:
        circle = strip.place(np.linspace(-1.0, 1.0, 400), np.full(400, ON_BORDER))
        return list(ax.plot(*circle.T, **style))
    if isinstance(domain, Domain):
        return [ax.axvline(end, **style) for end in (-1.0, 1.0)]
    if density is None or density.log_border is None:
        return []
    # The density crosses the threshold on straight lines between places.
    above = density.log_bounding - density.log_border
    left = np.flatnonzero((above[:-1] >= 0.0) != (above[1:] >= 0.0))
    share = above[left] / (above[left] - above[left + 1])
    ends = density.grid[left] + share * (density.grid[left + 1] - density.grid[left])
    return [ax.axvline(end, **{**style, "linestyle": "--"}) for end in ends]


def _label_axes(ax: Any, strip: _Strip, names: list[str]) -> None:
    if strip.ring:
        ax.set(aspect="equal", xlim=(-1.75, 1.75), ylim=(-1.75, 1.75))
        ax.axis("off")
        for tick in TICKS:
            x, y = 1.64 * np.cos(np.pi * tick), 1.64 * np.sin(np.pi * tick)
            text = "±1" if tick == 1.0 else f"{tick:g}"
            ax.text(x, y, text, ha="center", va="center", fontsize=9)
        ax.text(0.0, 0.0, "latent 1", ha="center", va="center")
        return
    ax.set(ylim=(-1.03, 1.08))
    ax.spines[["left", "top", "right"]].set_visible(False)
    centers = -(np.arange(len(names)) + 0.5) / strip.n_lanes
    ax.set_yticks(centers, [plain(name) for name in names])
    ax.tick_params(axis="y", length=0)
    plain_texts(ax.get_yticklabels())
    ax.axhline(0.0, color="0.35", linewidth=0.8, zorder=1)

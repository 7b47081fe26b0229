"""Points, readable with ten of them and with a million.

Marks shrink and fade as points grow in number, and beyond 50,000 there is an image of their density instead. Points are drawn in an
order that has nothing to do with their classes, so that none lies on top of the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from twofold.numerics.threads import some_rows
from twofold.plotting._colors import DARK, MISSING, SEQUENTIAL, class_color, class_marker
from twofold.plotting._figures import is_three_d
from twofold.plotting._labels import Classes, Values
from twofold.plotting._raster import Extent, density_image, image_shape_of
from twofold.protocols import Array, IntArray

__all__ = [
    "MOST_MARKS",
    "class_handles",
    "color_scale",
    "draw_points",
    "extent_of",
    "mark_style",
    "points_across",
]

MOST_MARKS = 50_000
"""Points that are still drawn one by one."""

MOST_VECTOR_MARKS = 3_000
"""Points beyond which marks are rasterised: a vector file would hold each of them."""

COVERED = 0.08
"""Share of the axes that marks may cover."""

SMALLEST, LARGEST = 1.0, 40.0
FAINTEST = 0.5


def mark_style(n_points: int, ax: Any) -> dict[str, Any]:
    """Return size, opacity and edges of marks for so many points."""
    width, height = points_across(ax)
    size = float(np.clip(COVERED * width * height / max(n_points, 1), SMALLEST, LARGEST))
    crowd = np.clip(np.log10(max(n_points, 1) / 1e3) / np.log10(MOST_MARKS / 1e3), 0.0, 1.0)
    edges = {"linewidths": 0.5, "edgecolors": "white"} if n_points <= 300 else {"linewidths": 0}
    return {
        "s": size,
        "alpha": float(1.0 - (1.0 - FAINTEST) * crowd),
        "rasterized": n_points > MOST_VECTOR_MARKS,
        **edges,
    }


def points_across(ax: Any) -> Array:
    """Return the width and height of axes, in 72ths of an inch."""
    return np.asarray(ax.bbox.size * 72.0 / ax.figure.figure.dpi)


def color_scale(values: Values, cmap: Any = None, norm: Any = None) -> Any:
    """Return what takes values to colours, and can be explained by a colour bar."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(
        norm=Normalize(*values.limits) if norm is None else norm,
        cmap=SEQUENTIAL if cmap is None else cmap,
    )
    scale.set_array([])
    return scale


def extent_of(xy: Array, margin: float = 0.04) -> Extent:
    """Return the left, right, bottom and top of points, with a margin to each side."""
    low, high = (xy.min(axis=0), xy.max(axis=0)) if len(xy) else (np.zeros(2), np.ones(2))
    size = np.where(high > low, high - low, 1.0)
    middle, half = 0.5 * low + 0.5 * high, (0.5 + margin) * size
    left, bottom = (middle - half)[:2].tolist()
    right, top = (middle + half)[:2].tolist()
    return left, right, bottom, top


def draw_points(
    ax: Any,
    points: Array,
    coloring: Classes | Values | None,
    *,
    scale: Any = None,
    color: str = DARK,
    extent: Extent | None = None,
    order: IntArray | None = None,
    **scatter_kwargs: Any,
) -> list[Any]:
    """Draw points (n, 2) or (n, 3) and return the artists: marks, or one image.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    points : ndarray of shape (n, 2) or (n, 3)
        Where they lie. In space, where there are no images, of more than 50,000 so many are drawn.
    coloring : Classes, Values or None
        What their colours say.
    scale : ScalarMappable, default=None
        The colours of values.
    color : str
        The colour of points without labels.
    extent : tuple of float, default=None
        What an image covers; None means the points and a margin.
    order : ndarray of int, default=None
        In which order marks are drawn; None means a random one.
    **scatter_kwargs
        For ``Axes.scatter``.
    """
    many = len(points) > MOST_MARKS
    if many and not is_three_d(ax):
        extent = extent_of(points) if extent is None else extent
        shape = image_shape_of(len(points), extent)
        to_rgba = None if scale is None else scale.to_rgba
        image = density_image(points, coloring, extent, shape, color=color, to_rgba=to_rgba)
        return [
            ax.imshow(
                image,
                extent=extent,
                origin="lower",
                aspect="auto",
                interpolation="bilinear",
                zorder=2,
            )
        ]
    if order is None:
        rows = some_rows(len(points), MOST_MARKS)
        order = np.random.default_rng(0).permutation(rows)
    style = {**mark_style(len(order), ax), "zorder": 2, **scatter_kwargs}
    artists = []
    colors = _colors_of(coloring, order, scale, color)
    for marker, group in _by_marker(coloring, order):
        own = {"marker": marker, **style}
        if not {"c", "color", "facecolors", "facecolor"} & set(scatter_kwargs):
            own["c"] = colors[group]
        artists.append(ax.scatter(*points[order[group]].T, **own))
    return artists


def class_handles(numbers: Iterable[int]) -> list[Any]:
    """Return the marks of classes by their numbers, for a legend."""
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=class_marker(number),
            color=class_color(number),
            markersize=6.0,
            markeredgewidth=0.0,
        )
        for number in numbers
    ]


def _colors_of(coloring: Classes | Values | None, order: IntArray, scale: Any, color: str) -> Array:
    from matplotlib.colors import to_rgba, to_rgba_array

    if isinstance(coloring, Classes):
        palette = to_rgba_array([class_color(k) for k in range(-1, len(coloring.names))])
        return np.asarray(palette[coloring.codes[order] + 1])
    if isinstance(coloring, Values):
        values = coloring.values[order]
        colors = np.array(scale.to_rgba(values), dtype=np.float64)
        colors[~np.isfinite(values)] = to_rgba(MISSING)
        return colors
    return np.tile(to_rgba(color), (len(order), 1))


def _by_marker(coloring: Classes | Values | None, order: IntArray) -> list[tuple[str, IntArray]]:
    """Return the places within ``order`` that each mark has."""
    if not isinstance(coloring, Classes):
        return [("o", np.arange(len(order)))]
    markers = np.array([class_marker(k) for k in range(-1, len(coloring.names))])
    own = markers[coloring.codes[order] + 1]
    found = dict.fromkeys(markers.tolist())
    return [(marker, np.flatnonzero(own == marker)) for marker in found if (own == marker).any()]

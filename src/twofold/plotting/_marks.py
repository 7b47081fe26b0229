"""Points, readable for ten rows and for a million.

Markers shrink and fade as the number of points grows. They are drawn in random order, so that no
class covers the others. More than 50,000 points are drawn as an image: points are counted in
pixels, each as a small spot. A pixel has the color of its most frequent class, or of the mean of
its values. Its opacity grows with the logarithm of its count, so that a single point stays visible
beside thousands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.ndimage import gaussian_filter

from twofold.numerics.threads import some_rows
from twofold.plotting._figures import Extent, extent_of, is_three_d
from twofold.plotting._labels import (
    DARK,
    MISSING,
    SEQUENTIAL,
    Classes,
    Values,
    class_color,
    class_marker,
)
from twofold.protocols import Array, IntArray

MOST_MARKS = 50_000  # more points than this are drawn as an image
MOST_VECTOR_MARKS = 3_000
"""More markers than this are rasterized: a vector file would hold each of them."""

COVERED = 0.08  # share of the axes that markers may cover
SMALLEST, LARGEST = 1.0, 40.0
FAINTEST_MARK = 0.5

BLUR = 1.0  # standard deviation, in pixels, of the spot of a point
PEAK = 1.0 / (2.0 * np.pi * BLUR**2)  # the count of a single point at the middle of its spot
FAINTEST_SPOT = 0.35  # the opacity there
FULL_QUANTILE = 0.99  # the share of the pixels with points that are not fully opaque
FEWEST_PIXELS, MOST_PIXELS = 350, 800


@dataclass(frozen=True)
class Marks:
    """How points are drawn: by their labels, in colors of a scale, with options of ``scatter``."""

    coloring: Classes | Values | None = None
    scale: Any = None
    color: str = DARK
    scatter_kwargs: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        coloring: Classes | Values | None,
        scatter_kwargs: dict[str, Any] | None,
        *,
        cmap: Any = None,
        norm: Any = None,
        color: str = DARK,
    ) -> Self:
        """Build the marks of labels; values get a color scale."""
        scale = None
        if isinstance(coloring, Values):
            from matplotlib.cm import ScalarMappable
            from matplotlib.colors import Normalize

            norm = Normalize(*coloring.limits) if norm is None else norm
            scale = ScalarMappable(norm=norm, cmap=SEQUENTIAL if cmap is None else cmap)
            scale.set_array([])
        return cls(coloring, scale, color, scatter_kwargs or {})

    def draw(
        self, ax: Any, points: Array, extent: Extent | None = None, order: IntArray | None = None
    ) -> list[Any]:
        """Draw points (n, 2) or (n, 3) and return the artists: markers, or one image.

        The image covers ``extent``. In space there are no images, and at most 50,000 points are
        drawn. ``order`` (n,) sets the order of the markers; None is random.
        """
        if len(points) > MOST_MARKS and not is_three_d(ax):
            extent = extent_of(points) if extent is None else extent
            image = density_image(points, self, extent, _image_shape(len(points), extent))
            style = {"origin": "lower", "aspect": "auto", "interpolation": "bilinear", "zorder": 2}
            return [ax.imshow(image, extent=extent, **style)]
        if order is None:
            order = np.random.default_rng(0).permutation(some_rows(len(points), MOST_MARKS))
        style = {**mark_style(len(order), ax), "zorder": 2, **self.scatter_kwargs}
        colors = self._colors(order)
        artists = []
        for marker, group in self._by_marker(order):
            own = {"marker": marker, **style}
            if not {"c", "color", "facecolors", "facecolor"} & set(self.scatter_kwargs):
                own["c"] = colors[group]
            artists.append(ax.scatter(*points[order[group]].T, **own))
        return artists

    def _colors(self, rows: IntArray) -> Array:
        """Return the colors (m, 4) of some rows."""
        from matplotlib.colors import to_rgba, to_rgba_array

        if isinstance(self.coloring, Classes):
            palette = to_rgba_array([class_color(k) for k in range(-1, len(self.coloring.names))])
            return np.asarray(palette[self.coloring.codes[rows] + 1])
        if isinstance(self.coloring, Values):
            values = self.coloring.values[rows]
            colors = np.array(self.scale.to_rgba(values), dtype=np.float64)
            colors[~np.isfinite(values)] = to_rgba(MISSING)
            return colors
        return np.tile(to_rgba(self.color), (len(rows), 1))

    def _by_marker(self, order: IntArray) -> list[tuple[str, IntArray]]:
        """Return the positions within ``order`` that have each marker."""
        if not isinstance(self.coloring, Classes):
            return [("o", np.arange(len(order)))]
        markers = np.array([class_marker(k) for k in range(-1, len(self.coloring.names))])
        own = markers[self.coloring.codes[order] + 1]
        kinds = dict.fromkeys(markers.tolist())
        return [(kind, np.flatnonzero(own == kind)) for kind in kinds if (own == kind).any()]


def mark_style(n_points: int, ax: Any) -> dict[str, Any]:
    """Return size, opacity and edges of markers by the number of points."""
    width, height = points_across(ax)
    size = float(np.clip(COVERED * width * height / max(n_points, 1), SMALLEST, LARGEST))
    crowd = np.clip(np.log10(max(n_points, 1) / 1e3) / np.log10(MOST_MARKS / 1e3), 0.0, 1.0)
    edges = {"linewidths": 0.5, "edgecolors": "white"} if n_points <= 300 else {"linewidths": 0}
    opacity = float(1.0 - (1.0 - FAINTEST_MARK) * crowd)
    return {"s": size, "alpha": opacity, "rasterized": n_points > MOST_VECTOR_MARKS, **edges}


def points_across(ax: Any) -> Array:
    """Return the width and height of axes, in points of 1/72 inch."""
    return np.asarray(ax.bbox.size * 72.0 / ax.figure.figure.dpi)


def class_handles(numbers: Iterable[int]) -> list[Any]:
    """Return legend handles of classes by their numbers."""
    from matplotlib.lines import Line2D

    style: Any = {"linestyle": "none", "markersize": 6.0, "markeredgewidth": 0.0}
    return [
        Line2D([], [], marker=class_marker(number), color=class_color(number), **style)
        for number in numbers
    ]


def _image_shape(n_points: int, extent: Extent) -> tuple[int, int]:
    """Return the height and width in pixels of an image."""
    longer = float(np.clip(np.sqrt(n_points), FEWEST_PIXELS, MOST_PIXELS))
    sides = np.array([extent[3] - extent[2], extent[1] - extent[0]])
    height, width = np.maximum(8, np.rint(longer * sides / sides.max())).astype(int)
    return int(height), int(width)


def density_image(xy: Array, marks: Marks, extent: Extent, shape: tuple[int, int]) -> Array:
    """Return an image (height, width, 4) of points (n, 2), its first row at the bottom.

    Points outside ``extent`` are left out.
    """
    from matplotlib.colors import to_rgb

    low, size = np.array(extent[::2]), np.array([extent[1] - extent[0], extent[3] - extent[2]])
    sides = np.array(shape[::-1])
    scaled = (xy - low) / size * sides
    inside = ((scaled >= 0.0) & (scaled <= sides)).all(axis=1)
    cells = np.minimum(scaled[inside].astype(np.intp), sides - 1)
    pixels = cells[:, 1] * shape[1] + cells[:, 0]
    image = np.empty((*shape, 4))
    if isinstance(marks.coloring, Classes):
        image[..., :3] = _colors_of_classes(pixels, marks.coloring.codes[inside], shape)
    elif isinstance(marks.coloring, Values):
        values = marks.coloring.values[inside]
        image[..., :3] = _colors_of_values(pixels, values, shape, marks.scale)
    else:
        image[..., :3] = to_rgb(marks.color)
    image[..., 3] = _opacities(_spots(pixels, shape))
    return image


def _spots(pixels: IntArray, shape: tuple[int, int], weights: Array | None = None) -> Array:
    """Return the counts of points in each pixel, each point spread over a spot."""
    counts = np.bincount(pixels, weights, minlength=shape[0] * shape[1]).reshape(shape)
    blurred: Array = gaussian_filter(counts.astype(np.float64), BLUR, mode="constant")
    return blurred


def _colors_of_classes(pixels: IntArray, codes: IntArray, shape: tuple[int, int]) -> Array:
    """Return the colors (height, width, 3) of the most frequent classes."""
    from matplotlib.colors import to_rgb

    most, colors = np.zeros(shape), np.ones((*shape, 3))
    for code in np.unique(codes):
        spots = _spots(pixels[codes == code], shape)
        if code < 0:  # missing labels count only where there are no others
            spots *= 1e-9
        more = spots > most
        most[more], colors[more] = spots[more], to_rgb(class_color(int(code)))
    return colors


def _colors_of_values(pixels: IntArray, values: Array, shape: tuple[int, int], scale: Any) -> Array:
    """Return the colors (height, width, 3) of the mean values."""
    from matplotlib.colors import to_rgb

    known = np.isfinite(values)
    spots = _spots(pixels[known], shape)
    sums = _spots(pixels[known], shape, values[known])
    colors = np.tile(to_rgb(MISSING), (*shape, 1))
    some = spots > 1e-3 * PEAK
    colors[some] = scale.to_rgba(sums[some] / spots[some])[:, :3]
    return colors


def _opacities(spots: Array) -> Array:
    """Return the opacities of pixels: faint for one point, growing with the log of the count."""
    counts = spots / PEAK
    filled = counts[counts >= 0.5]
    full = max(float(np.quantile(filled, FULL_QUANTILE)), 2.0) if len(filled) else 2.0
    grown = np.log(np.maximum(counts, 1.0)) / np.log(full)
    opacity = np.clip(FAINTEST_SPOT + (1.0 - FAINTEST_SPOT) * grown, 0.0, 1.0)
    return np.asarray(np.minimum(counts, 1.0) * opacity)

"""Points too many for marks, as an image: colour says what they are, opacity how many they are.

Points are counted in pixels, each as a small spot. A pixel has the colour of its most frequent class, or of the mean of its values, and
grows opaque with the logarithm of its count, so that a single point stays visible beside thousands.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from twofold.plotting._colors import DARK, MISSING, class_color
from twofold.plotting._labels import Classes, Values
from twofold.protocols import Array, IntArray

__all__ = ["Extent", "density_image", "image_shape_of"]

Extent = tuple[float, float, float, float]
"""Left, right, bottom and top."""

BLUR = 1.0
"""Standard deviation in pixels of the spot that a point leaves."""

PEAK = 1.0 / (2.0 * np.pi * BLUR**2)
"""What a single point counts at the middle of its spot."""

FAINTEST = 0.35
"""Opacity there."""

FULL_QUANTILE = 0.99
"""Of the pixels with points, this share is not yet opaque."""

FEWEST_PIXELS, MOST_PIXELS = 350, 800


def image_shape_of(n_points: int, extent: Extent) -> tuple[int, int]:
    """Return the height and width in pixels of an image of so many points."""
    longer = float(np.clip(np.sqrt(n_points), FEWEST_PIXELS, MOST_PIXELS))
    sides = np.array([extent[3] - extent[2], extent[1] - extent[0]])
    height, width = np.maximum(8, np.rint(longer * sides / sides.max())).astype(int)
    return int(height), int(width)


def density_image(
    xy: Array,
    coloring: Classes | Values | None,
    extent: Extent,
    shape: tuple[int, int],
    *,
    color: str = DARK,
    to_rgba: Any = None,
) -> Array:
    """Return an image (height, width, 4) of points, its first row at the bottom.

    Parameters
    ----------
    xy : ndarray of shape (n, 2)
        The points; those outside are left out.
    coloring : Classes, Values or None
        What their colours say.
    extent : tuple of float
        Left, right, bottom and top.
    shape : (int, int)
        Height and width in pixels.
    color : str
        The colour of points without a class.
    to_rgba : callable, default=None
        Takes values to colours, where the points have values.
    """
    from matplotlib.colors import to_rgb

    pixels, inside = _pixels_of(xy, extent, shape)
    spots = _spots(pixels, shape)
    image = np.empty((*shape, 4))
    if isinstance(coloring, Classes):
        image[..., :3] = _colors_of_classes(pixels, coloring.codes[inside], shape)
    elif isinstance(coloring, Values):
        image[..., :3] = _colors_of_values(pixels, coloring.values[inside], shape, to_rgba)
    else:
        image[..., :3] = to_rgb(color)
    image[..., 3] = _opacities(spots)
    return image


def _pixels_of(xy: Array, extent: Extent, shape: tuple[int, int]) -> tuple[IntArray, Any]:
    """Return the pixel of each point inside, row by row upwards, and which points these are."""
    low, size = np.array(extent[::2]), np.array([extent[1] - extent[0], extent[3] - extent[2]])
    sides = np.array(shape[::-1])
    scaled = (xy - low) / size * sides
    inside = ((scaled >= 0.0) & (scaled <= sides)).all(axis=1)
    cells = np.minimum(scaled[inside].astype(np.intp), sides - 1)
    return cells[:, 1] * shape[1] + cells[:, 0], inside


def _spots(pixels: IntArray, shape: tuple[int, int], weights: Array | None = None) -> Array:
    """Return how much points count in each pixel, each spread over a spot."""
    counts = np.bincount(pixels, weights, minlength=shape[0] * shape[1]).reshape(shape)
    blurred: Array = gaussian_filter(counts.astype(np.float64), BLUR, mode="constant")
    return blurred


def _colors_of_classes(pixels: IntArray, codes: IntArray, shape: tuple[int, int]) -> Array:
    """Return the colours (height, width, 3) of the most frequent classes; missing labels count where there are no others."""
    from matplotlib.colors import to_rgb

    most, colors = np.zeros(shape), np.ones((*shape, 3))
    for code in np.unique(codes):
        spots = _spots(pixels[codes == code], shape)
        if code < 0:
            spots *= 1e-9
        more = spots > most
        most[more], colors[more] = spots[more], to_rgb(class_color(int(code)))
    return colors


def _colors_of_values(
    pixels: IntArray, values: Array, shape: tuple[int, int], to_rgba: Any
) -> Array:
    """Return the colours (height, width, 3) of the mean values."""
    from matplotlib.colors import to_rgb

    known = np.isfinite(values)
    spots = _spots(pixels[known], shape)
    sums = _spots(pixels[known], shape, values[known])
    colors = np.tile(to_rgb(MISSING), (*shape, 1))
    some = spots > 1e-3 * PEAK
    colors[some] = to_rgba(sums[some] / spots[some])[:, :3]
    return colors


def _opacities(spots: Array) -> Array:
    """Return the opacities of pixels: faint for one point, growing with the logarithm of their number."""
    counts = spots / PEAK
    filled = counts[counts >= 0.5]
    full = max(float(np.quantile(filled, FULL_QUANTILE)), 2.0) if len(filled) else 2.0
    grown = np.log(np.maximum(counts, 1.0)) / np.log(full)
    opacities: Array = np.minimum(counts, 1.0) * np.clip(
        FAINTEST + (1.0 - FAINTEST) * grown, 0.0, 1.0
    )
    return opacities

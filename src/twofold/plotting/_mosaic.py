"""Many small images, or curves, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.protocols import AnyArray, Array

__all__ = [
    "cell_corners",
    "check_image_shape",
    "curve_segments",
    "mosaic_of",
    "pooled",
    "unit_range",
]

INNER = 0.84
"""Share of a cell's sides that a curve takes."""


def check_image_shape(image_shape: Any, n_features: int) -> tuple[int, ...] | None:
    """Return the height and width of images, and 3 where they are in colour; None for curves."""
    if image_shape is None:
        return None
    shape = tuple(int(side) for side in np.ravel(image_shape))
    if len(shape) == 3 and shape[2] == 1:
        shape = shape[:2]
    if len(shape) not in (2, 3) or min(shape) < 1 or (len(shape) == 3 and shape[2] != 3):
        raise ValueError(
            f"image_shape={image_shape!r} must be (height, width), or (height, width, 3) for images in colour."
        )
    if int(np.prod(shape)) != n_features:
        what = "pixels" if len(shape) == 2 else "numbers"
        raise ValueError(
            f"image_shape={shape} has {int(np.prod(shape))} {what}; the data have {n_features} features."
        )
    return shape


def pooled(values: Array, axis: int, most: int) -> Array:
    """Return means over neighbours along an axis, of which at most so many are left."""
    length = values.shape[axis]
    if length <= most:
        return values
    starts = np.linspace(0, length, most, endpoint=False).astype(int)
    sizes = np.diff(starts, append=length)
    shape = [1] * values.ndim
    shape[axis] = most
    means: Array = np.add.reduceat(values, starts, axis=axis) / sizes.reshape(shape)
    return means


def unit_range(values: Array, value_range: Any) -> Array:
    """Return values scaled so that a range, None for their own, becomes [0, 1]; NaN stays."""
    if value_range is None:
        there = np.isfinite(values)
        low, high = (values[there].min(), values[there].max()) if there.any() else (0.0, 1.0)
    else:
        low, high = (float(end) for end in value_range)
        if not low < high:
            raise ValueError(f"value_range={value_range!r} must be (low, high) with low < high.")
    scaled: Array = np.clip((values - low) / (high - low if high > low else 1.0), 0.0, 1.0)
    return scaled


def mosaic_of(values: Array, weights: Array, image_shape: tuple[int, ...], cmap: Any) -> Array:
    """Return images on white paper, faded by weights, as one image in colour, its first row at the top.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns, n_features)
        The images in [0, 1], the first row of them at the bottom.
    weights : ndarray of shape (n_rows, n_columns)
        1 for what is drawn in full, 0 for white.
    image_shape : tuple of int
        (height, width) or (height, width, 3).
    cmap : Colormap
        Takes grey values to colours.
    """
    n_rows, n_columns = weights.shape
    height, width = image_shape[:2]
    images = np.nan_to_num(values).reshape(n_rows, n_columns, *image_shape)
    if len(image_shape) == 2:
        images = cmap(images)[..., :3]
    faded = 1.0 - weights[:, :, None, None, None] * (1.0 - images)
    # A pixel between images keeps neighbours apart.
    framed = np.pad(faded, ((0, 0), (0, 0), (0, 1), (0, 1), (0, 0)), constant_values=1.0)
    # Rows of the grid run upwards, rows of the picture downwards.
    upright = framed[::-1].transpose(0, 2, 1, 3, 4)
    return np.asarray(upright.reshape(n_rows * (height + 1), n_columns * (width + 1), 3))


def curve_segments(values: Array, centers: AnyArray, cell: tuple[float, float]) -> Array:
    """Return the curves (n, n_features, 2) of rows, each within the cell around its center.

    Parameters
    ----------
    values : ndarray of shape (n, n_features)
        The rows in [0, 1].
    centers : ndarray of shape (n, 2)
        Where the cells lie.
    cell : (float, float)
        Their width and height.
    """
    if values.shape[1] == 1:  # a single number is drawn as a line at its height
        values = np.repeat(values, 2, axis=1)
    steps = np.linspace(-0.5, 0.5, values.shape[1]) * INNER * cell[0]
    x = centers[:, :1] + steps
    y = centers[:, 1:] + (values - 0.5) * INNER * cell[1]
    return np.stack([x, y], axis=-1)


def cell_corners(centers: AnyArray, cell: tuple[float, float]) -> Array:
    """Return the corners (n, 4, 2) of the cells around centers, a little smaller than these."""
    around = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    return np.asarray(centers[:, None] + 0.5 * (1.0 + INNER) * around * np.array(cell))

"""Decoded images or curves, each in a cell of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.protocols import AnyArray, Array

INNER = 0.84  # share of a cell's sides that a curve takes


def check_image_shape(image_shape: Any, n_features: int) -> tuple[int, ...] | None:
    """Return the height and width of images, and 3 for color images; None for curves."""
    if image_shape is None:
        return None
    shape = tuple(int(side) for side in np.ravel(image_shape))
    if len(shape) == 3 and shape[2] == 1:
        shape = shape[:2]
    if len(shape) not in (2, 3) or min(shape) < 1 or (len(shape) == 3 and shape[2] != 3):
        raise ValueError(
            f"image_shape={image_shape!r} must be (height, width), or (height, width, 3) for "
            "color images."
        )
    if int(np.prod(shape)) != n_features:
        what = "pixels" if len(shape) == 2 else "numbers"
        raise ValueError(
            f"image_shape={shape} has {int(np.prod(shape))} {what}; the data have {n_features} "
            "features."
        )
    return shape


def pooled(values: Array, axis: int, most: int) -> Array:
    """Return means over neighbors along an axis, of which at most ``most`` are left."""
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
    """Scale values so that a range becomes [0, 1]; None is their own range. NaN stays."""
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
    """Return one color image of many images, each faded to white by its weight.

    ``values`` (n_rows, n_columns, n_features) are images in [0, 1], their first row at the bottom.
    ``weights`` (n_rows, n_columns) are 1 for opaque and 0 for white images. ``cmap`` maps gray
    values to colors. The first row of the result is at the top.
    """
    n_rows, n_columns = weights.shape
    height, width = image_shape[:2]
    images = np.nan_to_num(values).reshape(n_rows, n_columns, *image_shape)
    if len(image_shape) == 2:
        images = cmap(images)[..., :3]
    faded = 1.0 - weights[:, :, None, None, None] * (1.0 - images)
    # A pixel between images keeps neighbors apart.
    framed = np.pad(faded, ((0, 0), (0, 0), (0, 1), (0, 1), (0, 0)), constant_values=1.0)
    # Rows of the grid run upwards, rows of the picture downwards.
    upright = framed[::-1].transpose(0, 2, 1, 3, 4)
    return np.asarray(upright.reshape(n_rows * (height + 1), n_columns * (width + 1), 3))


def curve_segments(values: Array, centers: AnyArray, cell: tuple[float, float]) -> Array:
    """Return curves (n, n_features, 2) of values (n, n_features) in [0, 1], each in its cell.

    The cells lie around ``centers`` (n, 2); ``cell`` is their width and height.
    """
    if values.shape[1] == 1:  # a single number is drawn as a line at its height
        values = np.repeat(values, 2, axis=1)
    steps = np.linspace(-0.5, 0.5, values.shape[1]) * INNER * cell[0]
    x = centers[:, :1] + steps
    y = centers[:, 1:] + (values - 0.5) * INNER * cell[1]
    return np.stack([x, y], axis=-1)


def cell_corners(centers: AnyArray, cell: tuple[float, float]) -> Array:
    """Return the corners (n, 4, 2) of cells around centers (n, 2), a little smaller than these."""
    around = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    return np.asarray(centers[:, None] + 0.5 * (1.0 + INNER) * around * np.array(cell))

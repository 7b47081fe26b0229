"""How a row is shown: as an image, a curve or a table.

Rows of images and curves are smooth: neighboring columns, and in images also those one line apart,
correlate far more than random columns. `appearance` looks for this if the kind is not given.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from twofold.numerics.threads import some_rows
from twofold.numerics.validation import check_choice
from twofold.protocols import AnyArray, Array, IntArray

KINDS = ("auto", "image", "curve", "table")
FEWEST_PIXELS = 36
FEWEST_OF_A_CURVE = 16
IN_IMAGES = 0.75
IN_CURVES = 0.5
"""The largest 1 - correlation of neighboring columns, as a share of that of random columns."""


def appearance(X: Array, kind: str, image_shape: Any) -> dict[str, Any]:
    """Return the kind of rows X (n, D), and height, width and channels of an image."""
    check_choice("kind", kind, KINDS)
    n_features = X.shape[1]
    if image_shape is not None:
        if kind not in ("auto", "image"):
            raise ValueError(f"image_shape={image_shape!r} is for kind='image', not kind={kind!r}.")
        return _image(_checked_shape(image_shape, n_features))
    side = math.isqrt(n_features)
    is_square = side * side == n_features
    if kind == "image":
        if not is_square:
            raise ValueError(
                f"kind='image' needs image_shape=(height, width): {n_features} features are not a "
                "square."
            )
        return _image((side, side, 1))
    if kind == "auto":
        kind = _found_kind(X, side if is_square else None)
    return _image((side, side, 1)) if kind == "image" else {"kind": kind}


def _image(shape: tuple[int, int, int]) -> dict[str, Any]:
    return {"kind": "image", "height": shape[0], "width": shape[1], "channels": shape[2]}


def _checked_shape(image_shape: Any, n_features: int) -> tuple[int, int, int]:
    shape = tuple(int(side) for side in image_shape)
    if len(shape) == 2:
        shape = (*shape, 1)
    if len(shape) != 3 or min(shape) < 1 or shape[2] not in (1, 3):
        raise ValueError(
            f"image_shape={image_shape!r} must be (height, width), or (height, width, 3) in color."
        )
    if math.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} has {math.prod(shape)} values; the data have "
            f"{n_features} features."
        )
    return shape[0], shape[1], shape[2]


def _found_kind(X: Array, side: int | None) -> str:
    n_features = X.shape[1]
    rows = X[some_rows(len(X), 1_000)]
    if len(rows) < 8 or n_features < FEWEST_OF_A_CURVE:
        return "table"
    centered = rows - rows.mean(axis=0)
    deviations = centered.std(axis=0)
    varying = deviations > 1e-9 * max(float(deviations.max()), 1e-300)
    normed = np.where(varying, centered / np.where(varying, deviations, 1.0), 0.0)
    numbers = np.arange(n_features)
    rng = np.random.default_rng(0)
    by_chance = _alike(normed, varying, numbers, rng.permutation(n_features))
    beside = _alike(normed, varying, numbers[:-1], numbers[1:])
    lacking = 1.0 - by_chance
    if side is not None and n_features >= FEWEST_PIXELS:
        below = _alike(normed, varying, numbers[:-side], numbers[side:])
        half = _alike(normed, varying, numbers[: -(side // 2)], numbers[side // 2 :])
        # In a curve half a line away is nearer than a whole line; in an image it is further.
        if 1.0 - min(beside, below) < IN_IMAGES * lacking and below > half:
            return "image"
    return "curve" if 1.0 - beside < IN_CURVES * lacking else "table"


def _alike(normed: Array, varying: AnyArray, left: IntArray, right: IntArray) -> float:
    """Return the median correlation of pairs of columns, without constant columns."""
    pairs = varying[left] & varying[right] & (left != right)
    if not pairs.any():
        return 0.0
    products = np.einsum("nd,nd->d", normed[:, left[pairs]], normed[:, right[pairs]])
    return float(np.median(products) / len(normed))

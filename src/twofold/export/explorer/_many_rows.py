"""Pages of very many rows: about seven bytes a row, without the rows' values.

A row has its place in two bytes for each latent dimension, and one byte for each column to color
by: its class, or one of 256 levels of a number. Names are a prefix with numbers, or one text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from twofold.export.explorer._packing import Packer
from twofold.numerics.validation import warn_user
from twofold.protocols import Array

MOST_POINTS = 1_000_000
"""Rows on a page, unless ``max_points`` says otherwise."""

MOST_WITH_VALUES = 100_000
"""With more rows the page leaves out their values."""

N_LEVELS = 256
OUTSIDE = 0.005  # share of values at each end that share the outermost level
PLACES = 65_535

NUMBERED = re.compile(r"(.*?)(0|[1-9]\d{0,14})")


def levels_of(values: Array) -> tuple[Array, Array]:
    """Return a level for each value (n,), and the values of the levels, at most 256.

    The levels are equally far apart over all but the outermost values. A level stands for the mean
    of its values.
    """
    found, codes = np.unique(values, return_inverse=True)
    if len(found) <= N_LEVELS:
        return codes.astype(np.uint8), found
    low, high = np.quantile(values, [OUTSIDE, 1.0 - OUTSIDE])
    width = (high - low) / (N_LEVELS - 2)
    inner = 1.0 + np.floor((values - low) / (width if width > 0.0 else 1.0))
    codes = np.clip(inner, 0, N_LEVELS - 1).astype(np.uint8)
    counts = np.bincount(codes, minlength=N_LEVELS)
    sums = np.bincount(codes, weights=values - low, minlength=N_LEVELS)
    return codes, low + sums / np.maximum(1, counts)


def as_levels(column: dict[str, Any], values: Array, packer: Packer) -> dict[str, Any]:
    """Return a column of numbers (n,) with one byte for each row."""
    codes, table = levels_of(values)
    return column | {"values": packer.pack(codes), "table": table.tolist()}


def places(latents: Array, packer: Packer) -> dict[str, Any]:
    """Return latents (n, q) packed in two bytes for each dimension."""
    low = latents.min(axis=0)
    extent = np.ptp(latents, axis=0)
    step = np.where(extent > 0.0, extent, 1.0) / PLACES
    codes = np.rint((latents - low) / step).astype(np.uint16)
    return packer.pack_codes(codes, step.tolist(), low.tolist())


def row_names_of(texts: Sequence[str] | None, packer: Packer) -> dict[str, Any] | None:
    """Return packed names of rows; None for the row numbers 0, 1, ...

    Names such as "row 17" with ascending numbers take less than a bit each.
    """
    if texts is None:
        return None
    parts = [NUMBERED.fullmatch(text) for text in texts]
    if len({part and part[1] for part in parts}) == 1 and (first := parts[0]) is not None:
        numbers = np.array([int(part[2]) for part in parts if part is not None], dtype=np.int64)
        steps = np.diff(numbers, prepend=0)
        return {"prefix": first[1], "steps": packer.pack(steps)}
    joined = "\n".join(" ".join(text.splitlines()) for text in texts)
    codes = np.frombuffer(joined.encode("utf-8", errors="replace"), dtype=np.uint8)
    return {"text": packer.pack_codes(codes, 1.0, 0.0)}


def warn_of_less(n_rows: int, n_shown: int, *, is_asked: bool) -> None:
    """Warn of rows, or their values, that are not on the page."""
    if n_shown < n_rows and not is_asked:
        warn_user(
            f"The page shows {n_shown:,} of {n_rows:,} rows, a random sample; max_points sets "
            "their number.",
            UserWarning,
        )
    if n_shown > MOST_WITH_VALUES:
        warn_user(
            f"The page has the places and colors of {n_shown:,} rows but not their values: it "
            "shows decoded values only and cannot color by features. "
            f"max_points={MOST_WITH_VALUES:_} keeps the values of a sample of the rows.",
            UserWarning,
        )

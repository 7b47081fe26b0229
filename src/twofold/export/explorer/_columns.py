"""Columns that color the points: labels, numbers, and properties of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.export.explorer._many_rows import MOST_WITH_VALUES, as_levels
from twofold.export.explorer._packing import Packer
from twofold.protocols import AnyArray

MOST_CLASSES = 64  # different whole numbers up to which they count as classes


def column(name: str, values: Any, packer: Packer, *, labels: bool = False) -> dict[str, Any]:
    """Return a column as plain data: codes and names of classes, or numbers.

    ``values`` (n,) are text, numbers or truth values; None and NaN are gaps. With ``labels``, few
    different whole numbers are classes.
    """
    array = np.asarray(values)
    if array.dtype.kind in "biuf" and not (labels and _few_whole(array)) and array.dtype != bool:
        numbers = array.astype(np.float64)
        gaps = ~np.isfinite(numbers)
        filled = np.where(gaps, 0, numbers)
        found: dict[str, Any] = {"name": name, "kind": "number"}
        if len(array) > MOST_WITH_VALUES:
            found = as_levels(found, filled, packer)
        else:
            found["values"] = packer.pack(filled)
        if gaps.any():
            found["gaps"] = packer.pack(gaps)
        return found
    texts = [_text(value) for value in array.tolist()]
    names = sorted({text for text in texts if text is not None}, key=_natural)
    codes = {text: number + 1 for number, text in enumerate(names)}
    numbered = [0 if text is None else codes[text] for text in texts]
    return {"name": name, "kind": "class", "names": names, "values": packer.pack(numbered)}


def _few_whole(array: AnyArray) -> bool:
    present = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    whole = bool((present == np.rint(present)).all()) if array.dtype.kind == "f" else True
    return whole and len(np.unique(present)) <= MOST_CLASSES


def _text(value: Any) -> str | None:
    """Return a label as text; None for a gap."""
    try:
        if value is None or value != value:  # NaN and NaT are not equal to themselves
            return None
    except TypeError:  # pandas' NA is neither equal nor unequal
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _natural(text: str) -> tuple[int, float, str]:
    """Return a key that sorts 2 before 10, and numbers before words."""
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)

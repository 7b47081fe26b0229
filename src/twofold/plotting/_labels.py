"""Labels and their colors: classes with names, or numbers on a scale.

Color-blind readers can distinguish the colors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.validation import check_choice
from twofold.protocols import AnyArray, Array, IntArray

# Paul Tol's muted scheme, and black: some readers would confuse a gray with another color. From the
# eleventh class on the colors repeat, with another marker.
_TOL = "#CC6677 #332288 #DDCC77 #117733 #88CCEE #882255 #44AA99 #999933 #AA4499 #111111"
COLORS = tuple(_TOL.split())
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "<", ">")

# The colors that are dark enough for a thin line on white.
_TOL_DARK = "#332288 #CC6677 #117733 #882255 #44AA99 #AA4499 #999933 #111111"
LINE_COLORS = tuple(_TOL_DARK.split())
LINE_STYLES = ("-", "--", "-.", ":")

DARK = "#332288"  # the color of points without labels
MISSING = "#BBBBBB"  # the color of rows whose label is missing
SEQUENTIAL = "viridis"
MOST_NUMBERED_CLASSES = 30  # more distinct numbers than this are values, not classes


def class_color(number: int) -> str:
    """Return the color of a class by its number; -1 is a missing label."""
    return MISSING if number < 0 else COLORS[number % len(COLORS)]


def class_marker(number: int) -> str:
    """Return the marker of a class by its number; it changes every ten classes."""
    return MARKERS[0] if number < 0 else MARKERS[number // len(COLORS) % len(MARKERS)]


def dark_enough(color: str) -> str:
    """Darken a light color until it can be read on white."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    lightness = (0.299 * red + 0.587 * green + 0.114 * blue) / 255.0
    factor = min(1.0, 0.32 / max(lightness, 1e-9))
    return "#{:02X}{:02X}{:02X}".format(*(int(factor * part) for part in (red, green, blue)))


@dataclass(frozen=True)
class Classes:
    """Labels that are names: ``codes`` (n,) are positions in ``names``, -1 for missing labels."""

    names: tuple[str, ...]
    codes: IntArray

    def name(self, code: int) -> str:
        """Return the name of a class by its code."""
        return self.names[code] if code >= 0 else "no label"


@dataclass(frozen=True)
class Values:
    """Labels that are numbers (n,), NaN if missing."""

    values: Array

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest number, (0, 1) if there is none."""
        there = self.values[np.isfinite(self.values)]
        return (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)


def read_labels(labels: Any, n_rows: int, kind: str = "auto") -> Classes | Values | None:
    """Read labels of any type as classes or values; None, NaN and pandas' NA are missing.

    With ``kind="auto"``, numbers are classes if they are whole and at most 30 different ones, else
    values. All other labels are classes.
    """
    check_choice("label_kind", kind, ("auto", "classes", "values"))
    if labels is None:
        return None
    categories = getattr(getattr(labels, "dtype", None), "categories", None)  # of pandas
    column = np.asarray(as_numpy(labels, "labels"))
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(f"labels has shape {column.shape}: pass a column with one label per row.")
    if len(column) != n_rows:
        raise ValueError(f"labels has {len(column)} entries for {n_rows} rows: pass one per row.")
    missing = _missing(column)
    numbers = _numbers(column, missing)
    if kind == "values":
        if numbers is None:
            raise ValueError(
                "label_kind='values' needs numbers, but labels hold other values: convert them, "
                "or use 'classes'."
            )
        return Values(numbers)
    if kind == "auto" and categories is None and numbers is not None and _are_values(numbers):
        return Values(numbers)
    return _classes(column, missing, categories)


def _missing(column: AnyArray) -> AnyArray:
    """Return a mask (n,) of missing labels."""
    if column.dtype.kind in "fc":
        return ~np.isfinite(column)
    if column.dtype.kind in "mM":
        return np.isnat(column)
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    return np.array([_is_missing(label) for label in column], dtype=bool)


def _is_missing(label: Any) -> bool:
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | np.floating) and not np.isfinite(label)


def _numbers(column: AnyArray, missing: AnyArray) -> Array | None:
    """Return the labels as numbers, NaN if missing, or None if some are not numbers."""
    there = column[~missing]
    if column.dtype.kind == "O":
        kinds = (int, float, np.integer, np.floating)
        if not all(isinstance(one, kinds) and not isinstance(one, bool) for one in there):
            return None
    elif column.dtype.kind not in "iuf":
        return None
    numbers = np.full(len(column), np.nan)
    numbers[~missing] = there.astype(np.float64)
    return numbers


def _are_values(numbers: Array) -> bool:
    there = numbers[np.isfinite(numbers)]
    whole = bool((there == np.rint(there)).all())
    return not whole or len(np.unique(there)) > MOST_NUMBERED_CLASSES


def _classes(column: AnyArray, missing: AnyArray, categories: Any) -> Classes:
    there = column[~missing].tolist()
    if categories is not None:
        found: list[Any] = list(categories)
    elif column.dtype.kind in "OU":
        found = list(dict.fromkeys(there))
        try:
            found.sort(key=_natural_order if all(isinstance(one, str) for one in found) else None)
        except TypeError:  # text and numbers have no common order
            found.sort(key=str)
    else:
        found = np.unique(column[~missing]).tolist()
    number = {label: place for place, label in enumerate(found)}
    codes = np.full(len(column), -1)
    codes[~missing] = [number[label] for label in there]
    return Classes(tuple(_name(one) for one in found), codes)


def _natural_order(name: str) -> list[tuple[bool, int, str]]:
    """Return a sort key that compares numbers within text by size, so that 9 is before 10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", name)
    whole = [part[0] in "0123456789" for part in parts]
    return [
        (not number, int(part) if number else 0, part)
        for part, number in zip(parts, whole, strict=True)
    ]


def _name(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)

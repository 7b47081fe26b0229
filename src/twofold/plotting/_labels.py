"""What labels are: classes with names, or numbers on a scale."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.numerics.validation import check_choice
from twofold.protocols import AnyArray, Array, IntArray

__all__ = ["KINDS", "Classes", "Values", "read_labels"]

KINDS = ("auto", "classes", "values")

MOST_NUMBERED_CLASSES = 30
"""Different numbers beyond which they are values, not classes, unless you say otherwise."""


@dataclass(frozen=True)
class Classes:
    """Labels that are names.

    Attributes
    ----------
    names : tuple of str
        The classes, in order.
    codes : ndarray of int of shape (n,)
        The class of each row by its number; -1 where the label is missing.
    """

    names: tuple[str, ...]
    codes: IntArray

    def take(self, rows: Any) -> Classes:
        """Return the labels of some rows."""
        return Classes(self.names, self.codes[rows])


@dataclass(frozen=True)
class Values:
    """Labels that are numbers.

    Attributes
    ----------
    values : ndarray of shape (n,)
        The numbers; NaN where one is missing.
    """

    values: Array

    def take(self, rows: Any) -> Values:
        """Return the labels of some rows."""
        return Values(self.values[rows])

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest number, (0, 1) where there is none."""
        there = self.values[np.isfinite(self.values)]
        return (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)


def read_labels(labels: Any, n_rows: int, kind: str = "auto") -> Classes | Values | None:
    """Return what labels are, or None where there are none.

    Parameters
    ----------
    labels : array-like of shape (n_rows,) or None
        Text, numbers, or anything else that can be told apart; None, NaN and the missing values of pandas are missing.
    n_rows : int
        How many there must be.
    kind : {"auto", "classes", "values"}, default="auto"
        What they are. "auto" takes whole numbers for classes while there are at most 30 different ones, other numbers for values, and all
        else for classes.
    """
    check_choice("label_kind", kind, KINDS)
    if labels is None:
        return None
    categories = getattr(getattr(labels, "dtype", None), "categories", None)  # of pandas
    column = np.asarray(labels)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(
            f"labels has shape {column.shape}: one label for each row is drawn, a column."
        )
    if len(column) != n_rows:
        raise ValueError(f"labels has {len(column)} entries for {n_rows} rows: give one for each.")
    missing = _missing(column)
    numbers = _numbers(column, missing)
    if kind == "values":
        if numbers is None:
            raise ValueError(
                "label_kind='values' needs numbers, and labels hold something else: convert them, or use 'classes'."
            )
        return Values(numbers)
    if kind == "auto" and categories is None and numbers is not None and _are_values(numbers):
        return Values(numbers)
    return _classes(column, missing, categories)


def _missing(column: AnyArray) -> AnyArray:
    """Tell where a label is missing, shape (n,)."""
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
    """Return the labels as numbers with NaN for the missing ones, or None where they are no numbers."""
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
    if (there != np.rint(there)).any():
        return True
    return len(np.unique(there)) > MOST_NUMBERED_CLASSES


def _classes(column: AnyArray, missing: AnyArray, categories: Any) -> Classes:
    there = column[~missing]
    codes = np.full(len(column), -1)
    if categories is not None:
        found: list[Any] = list(categories)
    elif column.dtype.kind in "OU":
        found = list(dict.fromkeys(there.tolist()))
        try:
            found.sort(key=_in_order if all(isinstance(one, str) for one in found) else None)
        except TypeError:  # text and numbers have no common order
            found.sort(key=str)
    else:
        unique, inverse = np.unique(there, return_inverse=True)
        codes[~missing] = inverse
        return Classes(tuple(_name(one) for one in unique.tolist()), codes)
    number = {label: place for place, label in enumerate(found)}
    codes[~missing] = [number[label] for label in there.tolist()]
    return Classes(tuple(_name(one) for one in found), codes)


def _in_order(name: str) -> list[tuple[bool, int, str]]:
    """Return what text is sorted by: numbers within it by their size, so that 9 comes before 10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", name)
    whole = [part[0] in "0123456789" for part in parts]
    return [
        (not number, int(part) if number else 0, part)
        for part, number in zip(parts, whole, strict=True)
    ]


def _name(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)

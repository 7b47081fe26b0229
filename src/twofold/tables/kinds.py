"""The kind of each column: by its data type, or as the user says."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from twofold.numerics.validation import warn_user
from twofold.tables.cells import Cells, Level, plain_level

KINDS = ("number", "log", "category", "ordered", "boolean", "date", "drop")
"""What users may say of a column. A sequence of levels means "ordered" in that order."""

FEW_LEVELS = 10
"""Text with so few levels is a category in tables of any length."""

MOST_LEVELS = 1_000
"""Categories with more levels are left out, unless the user asks for them."""

Kind = str | tuple[Level, ...]


def check_kinds(kinds: Any, names: list[str]) -> dict[str, Kind]:
    """Return the kinds that the user has given, by name of the column."""
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise TypeError(f"kinds={kinds!r} must be None or a mapping of names to kinds.")
    found: dict[str, Kind] = {}
    for name, kind in kinds.items():
        if str(name) not in names:
            near = get_close_matches(str(name), names, n=1, cutoff=0.0)
            raise ValueError(
                f"kinds: X has no column {name!r}; the nearest name is {near[0]!r}. All columns: "
                f"{_listed(names)}."
            )
        found[str(name)] = _check_kind(str(name), kind)
    return found


def _check_kind(name: str, kind: Any) -> Kind:
    if isinstance(kind, list | tuple):
        if len(kind) < 2:
            raise ValueError(f"kinds[{name!r}]={kind!r}: a list of levels needs at least two.")
        levels = tuple(plain_level(level) for level in kind)
        twice = [level for place, level in enumerate(levels) if level in levels[:place]]
        if twice:
            raise ValueError(f"kinds[{name!r}]={kind!r} has the level {twice[0]!r} twice.")
        return levels
    if kind not in KINDS:
        near = get_close_matches(str(kind), KINDS, n=1, cutoff=0.0)
        raise ValueError(
            f"kinds[{name!r}]={kind!r} must be one of {list(KINDS)}, or the list of levels in "
            f"order; the nearest is {near[0]!r}."
        )
    return str(kind)


def _listed(names: list[str], most: int = 20) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def natural_kind(cells: Cells) -> str:
    """Return the kind that a column has by its data type."""
    return {"text": "category", "duration": "number"}.get(cells.kind, cells.kind)


def is_identifier(name: str, cells: Cells) -> bool:
    """Return whether to leave out a column with too many levels, with a warning."""
    if cells.kind not in ("text", "category"):
        return False
    observed = cells.plain[~cells.missing]
    n_levels = len(np.unique(observed))
    remedy = (
        f"Pass kinds={{{name!r}: 'drop'}} to leave it out without this warning, or "
        f"kinds={{{name!r}: 'category'}} to use it."
    )
    if cells.kind == "text" and n_levels > max(FEW_LEVELS, len(observed) / 2):
        warn_user(
            f"Column {name!r} is left out: it has {n_levels:,} different texts in "
            f"{len(observed):,} rows, such as an id or free text. {remedy}",
            UserWarning,
        )
        return True
    if n_levels > MOST_LEVELS:
        warn_user(
            f"Column {name!r} is left out: it has {n_levels:,} levels, more than {MOST_LEVELS:,}. "
            f"Join rare levels into one. {remedy}",
            UserWarning,
        )
        return True
    return False

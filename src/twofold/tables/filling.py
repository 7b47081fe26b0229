"""Gaps of a frame filled by decoded values, and how uncertain these are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from twofold.protocols import AnyArray, Array
from twofold.tables.cells import WITH_LEVELS, Cells
from twofold.tables.frames import Frame, filled, joined
from twofold.tables.layout import TableLayout


def fill(layout: TableLayout, frame: Frame, encoded: Array) -> Any:
    """Return a copy of a frame with gaps replaced by decoded values (n, width)."""
    replaced: dict[str, tuple[AnyArray, Cells]] = {}
    for column, block in layout.blocks(encoded):
        decoded = layout.cells(column, column.decode(block))
        for name, new in decoded.items():
            place = layout.name_in(frame, name)
            old = frame.cells(place)
            if old.missing.any():
                replaced[place] = old.missing, _like(new, old)
    return filled(frame, replaced)


def _like(new: Cells, old: Cells) -> Cells:
    """Return decoded cells as the frame stores them, if it can store them."""
    storage = old.storage
    if old.kind == "empty":  # a column without values: it may have no type of its own
        same = new.storage.library == storage.library
        return new if same else replace(new, kind="empty", storage=storage)
    if storage.levels and not {*_used(new)} <= {*storage.levels}:
        return new  # levels that the frame's type does not declare
    if (new.kind in WITH_LEVELS) != (old.kind in WITH_LEVELS):
        return new
    return replace(new, storage=storage)


def _used(cells: Cells) -> list[Any]:
    codes = np.unique(cells.plain[~cells.missing]).astype(np.int64)
    return [cells.levels[code] for code in codes]


def deviations(layout: TableLayout, frame: Frame, encoded: Array, spread: Array) -> Any:
    """Return a frame of the uncertainty of each filled cell; observed cells have 0."""
    columns: dict[str, Array] = {}
    start = 0
    for column, block in layout.blocks(encoded):
        found = column.deviations(block, spread[:, start : start + column.width])
        start += column.width
        for name in column.members or (column.name,):
            gaps = frame.cells(layout.name_in(frame, name)).missing
            columns[name] = np.where(gaps, found, 0.0)
    ordered = {name: columns[str(name)] for name in layout.names if str(name) in columns}
    index = frame.table.index if frame.library == "pandas" else None
    return joined(frame.library, ordered, frame.n_rows, index)


def decoded_deviations(layout: TableLayout, encoded: Array, spread: Array) -> Any:
    """Return a frame of the uncertainty of decoded values (n, width) with this spread."""
    columns: dict[str, Array] = {}
    start = 0
    for column, block in layout.blocks(encoded):
        found = column.deviations(block, spread[:, start : start + column.width])
        start += column.width
        columns |= dict.fromkeys(column.members or (column.name,), found)
    ordered = {name: columns[str(name)] for name in layout.names if str(name) in columns}
    return joined(layout.library, ordered, len(encoded))

"""From a frame to the encoding of its columns: kinds, units, levels and groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from twofold.protocols import Array
from twofold.tables.cells import WITH_LEVELS, Cells, Level
from twofold.tables.columns import (
    CategoryColumn,
    Column,
    FixedColumn,
    NumberColumn,
    OrderedColumn,
)
from twofold.tables.dates import coarsest_step, parsed
from twofold.tables.frames import Frame
from twofold.tables.kinds import Kind, check_kinds, is_identifier, natural_kind
from twofold.tables.layout import TableLayout
from twofold.tables.numbers import center_and_unit, forced_offset, log_offset
from twofold.tables.one_hot import one_hot_groups, one_hot_values

TINY = float(np.finfo(np.float64).tiny)


def measure(frame: Frame, kinds: Any = None) -> TableLayout:
    """Return the layout of a frame, with the kinds that the user has given."""
    names = frame.names
    given = check_kinds(kinds, names)
    dropped = [name for name in names if given.get(name) == "drop"]
    cells = {name: frame.cells(name) for name in names if name not in dropped}
    groups = one_hot_groups({name: one for name, one in cells.items() if name not in given})
    group_of = {member: title for title, members in groups.items() for member in members}
    columns: list[Column] = []
    for name, one in cells.items():
        if name in group_of:
            title = group_of[name]
            if name == groups[title][0]:
                columns.append(_one_hot(title, {m: cells[m] for m in groups[title]}))
        elif name not in given and is_identifier(name, one):
            dropped.append(name)
        else:
            columns.append(_column(name, one, given.get(name)))
    dropped = [name for name in names if name in set(dropped)]
    _check_some_vary(columns, dropped)
    # The order of the columns in the frame has no effect on the map, not even by rounding.
    columns.sort(key=lambda column: column.name)
    return TableLayout(tuple(columns), tuple(frame.given_names), tuple(dropped), frame.library)


def _check_some_vary(columns: list[Column], dropped: list[str]) -> None:
    if any(column.width for column in columns):
        return
    fixed = ", ".join(repr(column.name) for column in columns)
    reasons = [f"{fixed} never change" * bool(fixed), f"{dropped} are left out" * bool(dropped)]
    raise ValueError(
        f"X has no column that varies: {' and '.join(filter(None, reasons))}. A map needs at "
        "least one."
    )


def _column(name: str, cells: Cells, kind: Kind | None) -> Column:
    """Return a column of this kind; None means the kind of its data type."""
    if isinstance(kind, tuple):
        return _ordered(name, cells, kind)
    chosen = natural_kind(cells) if kind is None else kind
    dates_in_text = chosen == "date" and cells.kind == "text"
    if not dates_in_text:
        _check_fits(name, cells, chosen)
    observed = cells.plain[~cells.missing]
    if len(observed) == 0 or observed.min() == observed.max():
        return _fixed(name, cells, observed)
    if dates_in_text:
        cells = parsed(name, cells)
        dates = _number(name, cells, chosen, cells.plain[~cells.missing], may_log=False)
        return replace(dates, in_text=True)
    if chosen in ("number", "log", "date"):
        return _number(name, cells, chosen, observed, may_log=kind is None)
    return _ordered(name, cells) if chosen == "ordered" else _category(name, cells, chosen)


def _check_fits(name: str, cells: Cells, kind: str) -> None:
    """Raise an error if a column cannot be of a kind."""
    given = f"kinds[{name!r}]={kind!r}"
    if kind in ("number", "log") and cells.kind in (*WITH_LEVELS, "date"):
        raise ValueError(f"{given} needs a column of numbers, but its cells are {cells.kind}.")
    if kind == "date" and cells.kind not in ("date", "empty"):
        raise ValueError(
            f"{given} needs a column of dates, but its cells are {cells.kind}. Convert it first, "
            "for example with pandas.to_datetime."
        )
    observed = cells.plain[~cells.missing]
    if kind == "boolean" and len(np.unique(observed)) > 2:
        raise ValueError(
            f"{given} needs a column of at most two values, but it has "
            f"{len(np.unique(observed))}. Use 'category'."
        )
    if kind == "log" and len(observed) and (observed.min() < 0.0 or observed.max() == 0.0):
        row = int(np.flatnonzero(cells.plain <= 0.0)[0])
        raise ValueError(
            f"{given} needs numbers of at least 0, but row {row} has {cells.plain[row]:g}. Use "
            "'number'."
        )
    if kind == "ordered" and cells.kind == "text":
        raise ValueError(
            f"{given}: text has no order of its own. Pass the levels in order, such as "
            f"kinds={{{name!r}: ['low', 'middle', 'high']}}."
        )


def _shared(name: str, cells: Cells, kind: str) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "native": cells.kind,
        "storage": cells.storage,
        "cell_levels": cells.levels,
    }


def _fixed(name: str, cells: Cells, observed: Array) -> FixedColumn:
    if len(observed) == 0:
        return FixedColumn(**_shared(name, cells, "empty"))
    return FixedColumn(**_shared(name, cells, "constant"), value=float(observed[0]))


def _number(name: str, cells: Cells, kind: str, observed: Array, *, may_log: bool) -> NumberColumn:
    offset = None
    if kind == "log":
        offset = forced_offset(observed)
    elif kind == "number" and may_log:
        offset = log_offset(observed)
    log = offset is not None
    shift = offset or 0.0
    # New numbers may be smaller than those of the fit: a factor of two, no more.
    floor = max(float(observed.min() + shift) / 2.0, TINY) if log else 0.0
    center, scale = center_and_unit(np.log(observed + shift) if log else observed)
    if scale == 0.0:  # different numbers with equal logarithms
        return _number(name, cells, "number", observed, may_log=False)
    return NumberColumn(
        **_shared(name, cells, "log" if log else kind),
        center=center,
        scale=scale,
        log=log,
        offset=shift,
        floor=floor,
        step=coarsest_step(observed) if cells.kind in ("date", "duration") else 0.0,
    )


def _levels_of(cells: Cells, points: Array) -> tuple[Level, ...]:
    """Return the levels for plain values."""
    if cells.kind in WITH_LEVELS:
        return tuple(cells.levels[int(point)] for point in points)
    if cells.kind == "boolean":
        return tuple(bool(point) for point in points)
    if cells.kind in ("date", "duration"):
        unit = "datetime64[s]" if cells.kind == "date" else "timedelta64[s]"
        from_epoch = (points * 86_400).astype(np.int64).astype(unit)
        return tuple(str(one) for one in from_epoch)
    return tuple(int(point) if point == int(point) else float(point) for point in points)


def _category(name: str, cells: Cells, kind: str) -> CategoryColumn:
    points, counts = np.unique(cells.plain[~cells.missing], return_counts=True)
    shares = counts / counts.sum()
    return CategoryColumn(
        **_shared(name, cells, kind),
        levels=_levels_of(cells, points),
        points=points,
        shares=shares,
        scale=float(np.sqrt((shares * (1.0 - shares)).sum())),
    )


def _one_hot(title: str, members: dict[str, Cells]) -> CategoryColumn:
    """Return one category for a group of one-hot columns."""
    prefix = _common_prefix(list(members))
    levels = tuple(name[len(prefix) :] for name in members)
    values = one_hot_values([one.plain for one in members.values()])
    storage = next(iter(members.values())).storage
    whole = _category(title, Cells("category", values, storage, levels), "category")
    return replace(
        whole,
        members=tuple(members),
        member_storages=tuple(one.storage for one in members.values()),
    )


def _common_prefix(names: list[str]) -> str:
    shortest, longest = min(names), max(names)
    length = next(
        (n for n, pair in enumerate(zip(shortest, longest, strict=False)) if pair[0] != pair[1]),
        len(shortest),
    )
    return shortest[:length]


def _ordered(name: str, cells: Cells, order: tuple[Level, ...] | None = None) -> Column:
    """Return an ordered column, with the levels in this order or in that of the cells."""
    if order is None:
        with_levels = cells.kind in WITH_LEVELS
        points = np.arange(len(cells.levels)) if with_levels else np.unique(cells.plain)
        points = points[~np.isnan(points)].astype(np.float64)
        order = _levels_of(cells, points)
    else:
        cells, points = _in_order(name, cells, order)
    observed = cells.plain[~cells.missing]
    if len(np.unique(observed)) < 2:
        return _fixed(name, cells, observed)
    counts = (observed[:, None] == points).sum(axis=0)
    shares = counts / counts.sum()
    scores = np.cumsum(shares) - shares / 2.0
    center = float(shares @ scores)
    return OrderedColumn(
        **_shared(name, cells, "ordered"),
        levels=order,
        points=points,
        scores=scores,
        seen=counts > 0,
        center=center,
        scale=float(np.sqrt(shares @ np.square(scores - center))),
    )


def _in_order(name: str, cells: Cells, order: tuple[Level, ...]) -> tuple[Cells, Array]:
    """Return cells and the plain values of levels in the order that the user has given."""
    observed = np.unique(cells.plain[~cells.missing])
    present = dict(zip(_levels_of(cells, observed), observed, strict=True))
    unlisted = [level for level in present if level not in order]
    if unlisted:
        raise ValueError(
            f"kinds[{name!r}]={list(order)!r} lacks the level {unlisted[0]!r}, which the column "
            "has. List all levels in order."
        )
    if cells.kind in WITH_LEVELS:
        table = np.array([order.index(level) if level in order else -1 for level in cells.levels])
        values = np.full(len(cells.plain), np.nan)
        values[~cells.missing] = table[cells.plain[~cells.missing].astype(np.int64)]
        return replace(cells, plain=values, levels=order), np.arange(len(order), dtype=np.float64)
    points = [present.get(level, level) for level in order]
    return cells, np.array(points, dtype=np.float64)

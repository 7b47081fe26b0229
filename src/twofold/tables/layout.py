"""The encoding of a whole table: the columns of a frame, side by side, each in one unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from twofold.numerics.caches import ComputedAgain
from twofold.numerics.validation import warn_user
from twofold.protocols import AnyArray, Array
from twofold.tables.cells import WITH_LEVELS, Cells, Level, level_label
from twofold.tables.columns import (
    LARGEST_LOG,
    CategoryColumn,
    Column,
    NumberColumn,
    OrderedColumn,
    normalized,
)
from twofold.tables.dates import as_text, parsed
from twofold.tables.frames import Frame, as_frame, joined, native
from twofold.tables.one_hot import one_hot_values


@dataclass(frozen=True)
class TableLayout(ComputedAgain):
    """Encodes frames as arrays of numbers, and decodes them.

    `twofold.tables.measuring.measure` makes the layout of a frame. With ``value = encoded * scale +
    center`` for each encoded column, the numbers that people read are: ``value`` itself; where
    ``log``, ``max(exp(value) - offset, 0)``; and where ``group >= 0``, ``max(value, 0)`` over the
    sum of these in the group, which are probabilities. The value of an ordered category is the
    mid-rank of its level, between 0 and 1.

    Attributes
    ----------
    columns : tuple of Column
        One for each column of the frame that is not left out, or group of one-hot columns, in the
        order of their names.
    names : tuple
        The names of all columns of the frame, in their order.
    dropped : tuple of str
        The names of the columns that are left out.
    library : {"pandas", "polars", "numpy"}
        The library of the frames that `back` returns.
    """

    columns: tuple[Column, ...]
    names: tuple[Any, ...]
    dropped: tuple[str, ...]
    library: str

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each column of the frame, in order."""
        found = dict.fromkeys(self.dropped, "drop")
        for column in self.columns:
            found |= dict.fromkeys(column.members, "one-hot") or {column.name: column.kind}
        return {str(name): found[str(name)] for name in self.names}

    @property
    def width(self) -> int:
        """The number of encoded columns."""
        return len(self.flat_names)

    @cached_property
    def flat_names(self) -> list[str]:
        """The names of the encoded columns."""
        return [name for column in self.columns for name in column.flat_names]

    @cached_property
    def scale(self) -> Array:
        """The unit of each encoded column, of shape (width,)."""
        return self._each(lambda column: getattr(column, "scale", 1.0))

    @cached_property
    def center(self) -> Array:
        """The value of each encoded column at 0, of shape (width,)."""
        return self._each(
            lambda column: (
                column.shares
                if isinstance(column, CategoryColumn)
                else getattr(column, "center", 0.0)
            )
        )

    @cached_property
    def offset(self) -> Array:
        """What is subtracted after the exponential, of shape (width,)."""
        return self._each(lambda column: getattr(column, "offset", 0.0))

    @cached_property
    def log(self) -> AnyArray:
        """Whether each encoded column is on a log scale, of shape (width,)."""
        return self._each(lambda column: getattr(column, "log", False)).astype(bool)

    @cached_property
    def group(self) -> AnyArray:
        """The number of the category of each encoded column, or -1, of shape (width,)."""
        categories = [one for one in self.columns if isinstance(one, CategoryColumn)]
        numbers = {one.name: number for number, one in enumerate(categories)}
        return self._each(lambda column: numbers.get(column.name, -1)).astype(np.intp)

    def _each(self, value: Callable[[Column], Any]) -> Array:
        parts = [np.broadcast_to(value(column), column.width) for column in self.columns]
        return np.concatenate(parts).astype(np.float64)

    def blocks(self, encoded: Array) -> Iterator[tuple[Column, Array]]:
        """Yield each column with its part of the encoded columns."""
        start = 0
        for column in self.columns:
            yield column, encoded[:, start : start + column.width]
            start += column.width

    def into(self, X: Any) -> Array:
        """Return a frame as encoded columns of shape (n_samples, width), NaN for gaps."""
        frame = as_frame(X)
        self._check_names(frame)
        encoded = np.empty((frame.n_rows, self.width))
        unknown: dict[str, list[str]] = {}
        for column, block in self.blocks(encoded):
            if column.width:
                values, new = self._values(frame, column)
                block[:] = column.encode(values)
                unknown |= {column.name: new} if new else {}
        for name, new in unknown.items():
            _warn_of_levels(name, new)
        return encoded

    def back(self, encoded: Array, index: Any = None) -> Any:
        """Return encoded columns as a frame of the library and data types of the fit."""
        columns: dict[str, Any] = {}
        for column, block in self.blocks(encoded):
            decoded = self.cells(column, column.decode(block))
            columns |= {name: native(cells) for name, cells in decoded.items()}
        kept = [name for name in self.names if str(name) in columns]
        return joined(
            self.library, {name: columns[str(name)] for name in kept}, len(encoded), index
        )

    def numbers(self, encoded: Array) -> Array:
        """Return encoded columns as the numbers that people read, of the same shape.

        Numbers are in their own units, dates in days since 1970, categories are probabilities.
        """
        values = encoded * self.scale + self.center
        exponents = np.clip(values[:, self.log], -LARGEST_LOG, LARGEST_LOG)
        values[:, self.log] = np.maximum(np.exp(exponents) - self.offset[self.log], 0.0)
        for number in range(self.group.max(initial=-1) + 1):
            own = self.group == number
            values[:, own] = normalized(values[:, own], self.center[own])
        return values

    def probabilities(self, encoded: Array) -> dict[str, tuple[tuple[Level, ...], Array]]:
        """Return the levels and their probabilities (n, n_levels) for each category, by name."""
        return {
            column.name: (column.levels, column.probabilities(block))
            for column, block in self.blocks(encoded)
            if isinstance(column, CategoryColumn | OrderedColumn)
        }

    @staticmethod
    def cells(column: Column, values: Array) -> dict[str, Cells]:
        """Return plain values of a column as the cells of its columns in the frame."""
        if column.members:
            storages = zip(column.members, column.member_storages, strict=True)
            gaps = np.isnan(values)
            return {
                name: Cells("number", np.where(gaps, np.nan, values == number), storage)
                for number, (name, storage) in enumerate(storages)
            }
        cells = Cells(column.native, values, column.storage, column.cell_levels)
        return {column.name: as_text(cells) if _is_date_in_text(column) else cells}

    def _values(self, frame: Frame, column: Column) -> tuple[Array, list[str]]:
        """Return the plain values of a column, and levels that the fit has not seen."""
        if column.members:
            members = [frame.cells(self.name_in(frame, name)) for name in column.members]
            values = one_hot_values([one.plain for one in members])
            complete = ~np.any([one.missing for one in members], axis=0)
            new = ["(no single 1)"] if np.isnan(values[complete]).any() else []
            unseen = ~column.known(values)
            new += sorted({column.members[int(one)] for one in values[unseen]})
            return np.where(unseen, np.nan, values), new
        cells = frame.cells(self.name_in(frame, column.name))
        if cells.kind == "text" and _is_date_in_text(column):
            cells = parsed(column.name, cells)
        _check_same_kind(column, cells)
        values, new = _aligned(cells, column)
        unseen = ~column.known(values)
        if unseen.any():
            new += [_label(column, one) for one in np.unique(values[unseen])]
        return np.where(unseen, np.nan, values), sorted(set(new))

    def name_in(self, frame: Frame, name: str) -> str:
        """Return the name of a column in a frame; arrays have the names of their positions."""
        if "numpy" in (frame.library, self.library) and frame.library != self.library:
            return frame.names[self._places[name]]
        return name

    @cached_property
    def _places(self) -> dict[str, int]:
        return {str(name): place for place, name in enumerate(self.names)}

    def _check_names(self, frame: Frame) -> None:
        names = [str(name) for name in self.names]
        if "numpy" in (frame.library, self.library):
            if len(frame.names) != len(names):
                raise ValueError(
                    f"X has {len(frame.names)} features, but TableMap is expecting {len(names)} "
                    "features as input."
                )
            return
        known, here = set(names), {*frame.names, *self.dropped}
        missing = [name for name in names if name not in here]
        extra = [name for name in frame.names if name not in known]
        if missing or extra:
            raise ValueError(
                "The feature names should match those that were passed during fit."
                + _bulleted("Feature names unseen at fit time", extra)
                + _bulleted("Feature names seen at fit time, yet now missing", missing)
            )


def _bulleted(title: str, names: list[str]) -> str:
    return f"\n{title}:\n" + "\n".join(f"- {name}" for name in names) if names else ""


def _is_date_in_text(column: Column) -> bool:
    return isinstance(column, NumberColumn) and column.in_text


def _check_same_kind(column: Column, cells: Cells) -> None:
    if cells.kind == "empty" or isinstance(column, CategoryColumn | OrderedColumn):
        return
    numeric = ("number", "boolean")
    if cells.kind != column.native and not (cells.kind in numeric and column.native in numeric):
        raise ValueError(
            f"Column {column.name!r} has cells of kind {cells.kind} ({cells.storage.dtype}), but "
            f"{column.native} ({column.storage.dtype}) in the fit. Convert it."
        )


def _aligned(cells: Cells, column: Column) -> tuple[Array, list[str]]:
    """Return the plain values of cells as the fit counts them, and levels it does not know."""
    if column.native not in WITH_LEVELS or cells.kind == "empty":
        if cells.kind not in WITH_LEVELS:
            return cells.plain, []
        place: dict[Any, float] = {}
        if isinstance(column, CategoryColumn | OrderedColumn):
            place = dict(zip(column.levels, column.points, strict=True))
    else:
        place = {level: float(number) for number, level in enumerate(column.cell_levels)}
    if cells.kind in WITH_LEVELS:
        levels, codes = cells.levels, cells.plain
        if levels == column.cell_levels:
            return codes, []
    else:
        points, inverse = np.unique(cells.plain[~cells.missing], return_inverse=True)
        levels = tuple(bool(p) if cells.kind == "boolean" else _number(p) for p in points)
        codes = np.full(len(cells.plain), np.nan)
        codes[~cells.missing] = inverse
    table = np.array([place.get(level, np.nan) for level in levels] + [np.nan])
    observed = ~np.isnan(codes)
    values = np.full(len(codes), np.nan)
    values[observed] = table[codes[observed].astype(np.int64)]
    new = np.unique(codes[observed & np.isnan(values)]).astype(np.int64)
    return values, [level_label(levels[code]) for code in new]


def _number(point: float) -> Level:
    return int(point) if float(point).is_integer() else float(point)


def _label(column: Column, value: float) -> str:
    if column.native in WITH_LEVELS:
        return level_label(column.cell_levels[int(value)])
    return f"{value:g}"


def _warn_of_levels(name: str, levels: list[str], most: int = 10) -> None:
    shown = ", ".join(repr(level) for level in levels[:most])
    more = f" and {len(levels) - most} more" if len(levels) > most else ""
    warn_user(
        f"Column {name!r} has levels that the fit has not seen: {shown}{more}. They are treated as "
        "missing values.",
        UserWarning,
    )


def check_rows(encoded: Array) -> None:
    """Raise an error if a row has nothing observed."""
    bare = np.flatnonzero(np.isnan(encoded).all(axis=1))
    if len(bare):
        raise ValueError(
            f"Row {bare[0]} has no observed value in a column that varies, as {len(bare)} of "
            f"{len(encoded)} rows. Remove such rows."
        )

"""Rows on a cluster as a `twofold.numerics.tree_sums.RowSource`: sums along the tree of leaves, wherever the blocks begin and end.

A leaf that lies within a block is summed where the block is. A leaf that a border cuts is put together from its pieces, at most a few
thousand rows that travel. The sums of subtrees then meet in groups of eight neighbours. Nothing depends on which worker did what, or when: a block
that is worked on again gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np

from twofold.dask._blocks import Blocks, as_numbers
from twofold.dask._cluster import Cluster, Task
from twofold.dask._freed_memory import keeping_freed_memory
from twofold.dask._shared import Shared, shared
from twofold.numerics.threads import single_threaded_blas, using_threads
from twofold.numerics.tree_sums import LEAF_ROWS, LeafKernel, Nodes, TreeSum
from twofold.numerics.units import CentredUnits, ColumnRange
from twofold.numerics.validation import check_finite
from twofold.protocols import Array, IntArray

__all__ = ["DistributedRows", "first_look", "guarded"]

FAN_IN = 8


@dataclass(frozen=True)
class DistributedRows:
    """Rows in blocks, in centred units where those are known.

    Attributes
    ----------
    blocks : Blocks
        The table.
    sizes : list of int
        Rows of each block.
    cluster : Cluster
        Where the work is done.
    units : CentredUnits or None
        What rows are taken to; None means that they stay as they are.
    told : callable
        Called with the phase, tasks done and all tasks.
    """

    blocks: Blocks
    sizes: list[int]
    cluster: Cluster
    units: CentredUnits | None = None
    told: Callable[[str, int, int], None] = field(default=lambda *_: None)

    @property
    def n_rows(self) -> int:
        """How many."""
        return sum(self.sizes)

    @property
    def n_columns(self) -> int:
        """Their length."""
        return self.blocks.n_columns if self.units is None else int(self.units.varying.sum())

    @property
    def offsets(self) -> list[int]:
        """The number of each block's first row, and that of all rows."""
        return [0, *np.cumsum(self.sizes).tolist()]

    def total(self, kernel: LeafKernel, phase: str) -> Any:
        """Return the sum of a kernel over all leaves."""
        from dask import delayed

        token, name = uuid4().hex, self._name(phase)
        work = shared(_Work(kernel, self.units), f"{name}-kernel-{token}")
        offsets, whole = self.offsets, self._whole_leaves()
        watched: list[Task] = []
        summed: list[Any] = []
        pieces: dict[int, list[Any]] = {}
        for number, (task, (begin, end)) in enumerate(zip(self.blocks.tasks, whole, strict=True)):
            first, last = offsets[number], offsets[number + 1]
            if begin < end:
                part = delayed(_sum_block)(
                    work,
                    task,
                    begin - first,
                    end - first,
                    begin,
                    number,
                    dask_key_name=f"{name}-{token}-{number}",
                )
                watched.append(Task(part, number))
                summed.append(part)
            for start, stop in _cut_by_leaves(first, last, begin, end):
                piece = delayed(_piece)(
                    task,
                    start - first,
                    stop - first,
                    number,
                    dask_key_name=f"{name}-edge-{token}-{number}-{start}",
                )
                watched.append(
                    Task(piece, number)
                )  # or a failure would be told of the leaf's first block
                pieces.setdefault(start // LEAF_ROWS, []).append(piece)
        for leaf, parts in pieces.items():
            number = int(np.searchsorted(offsets, leaf * LEAF_ROWS, side="right")) - 1
            joined = delayed(_sum_pieces)(
                work, parts, leaf, number, dask_key_name=f"{name}-border-{token}-{leaf}"
            )
            watched.append(Task(joined, number))
            summed.append(joined)
        top = self._merged(summed, f"{name}-merge-{token}")
        # The sums come home as they were there, too.
        (found,) = self._run(
            watched, [Task(delayed(Shared)(top, dask_key_name=f"{name}-sum-{token}"))], phase
        )
        tree = TreeSum()
        tree.merge(found.content)
        return tree.total()

    def _whole_leaves(self) -> list[tuple[int, int]]:
        """Return for each block the rows, by number, that make up whole leaves; the end of all rows ends a leaf."""
        n_rows = self.n_rows
        found = []
        for first, size in zip(self.offsets, self.sizes, strict=False):
            last = first + size
            begin = -(-first // LEAF_ROWS) * LEAF_ROWS
            end = last if last == n_rows else last // LEAF_ROWS * LEAF_ROWS
            found.append((begin, max(begin, end)))
        return found

    @staticmethod
    def _merged(parts: list[Any], name: str) -> Any:
        from dask import delayed

        level = 0
        while len(parts) > 1 or level == 0:
            parts = [
                delayed(_merge)(
                    parts[start : start + FAN_IN], dask_key_name=f"{name}-{level}-{start}"
                )
                for start in range(0, len(parts), FAN_IN)
            ]
            level += 1
        return parts[0]

    def rows(self, numbers: IntArray, phase: str) -> Array:
        """Return some rows, by ascending numbers."""
        from dask import delayed

        token, name = uuid4().hex, self._name(phase)
        cuts = np.searchsorted(numbers, self.offsets)
        wanted = []
        for number, first in enumerate(self.offsets[:-1]):
            local = numbers[cuts[number] : cuts[number + 1]] - first
            if len(local):
                taken = delayed(_take)(
                    self.blocks.tasks[number],
                    local,
                    number,
                    dask_key_name=f"{name}-{token}-{number}",
                )
                wanted.append(Task(taken, number))
        rows = np.concatenate(self._run([], wanted, phase))
        return rows if self.units is None else self.units.into(rows)

    def _run(self, watched: list[Task], wanted: list[Task], phase: str) -> list[Any]:
        return self.cluster.run(
            watched, wanted, phase, self.where, lambda *counts: self.told(phase, *counts)
        )

    def _name(self, phase: str) -> str:
        return f"{self.cluster.name}-{phase}".lower().replace(" ", "-")

    def where(self, number: int) -> str:
        """Describe a block."""
        first, last = self.offsets[number], self.offsets[number + 1] - 1
        return f"block {number} of {len(self.sizes)} (rows {first} to {last})"


def _cut_by_leaves(first: int, last: int, begin: int, end: int) -> list[tuple[int, int]]:
    """Return the pieces of leaves that a block of rows has outside its whole leaves, from ``begin`` to ``end``."""
    outside = [(first, begin), (end, last)] if begin < end else [(first, last)]
    pieces = []
    for start, stop in outside:
        borders = range((start // LEAF_ROWS + 1) * LEAF_ROWS, stop, LEAF_ROWS)
        pieces += list(pairwise([start, *borders, stop])) if start < stop else []
    return pieces


def first_look(
    blocks: Blocks, cluster: Cluster, *, marked: bool = False
) -> tuple[list[int], ColumnRange, str]:
    """Count the rows of all blocks and refuse what is not finite.

    Parameters
    ----------
    blocks : Blocks
        The table.
    cluster : Cluster
        Where the work is done.
    marked : bool, default=False
        Whether to tell the data from others.

    Returns
    -------
    sizes : list of int
        Rows of each block.
    extent : ColumnRange
        The columns' ranges.
    mark : str
        A digest of all rows in their order that does not depend on the blocks; empty if it is not asked for.
    """
    from dask import delayed

    token, name = uuid4().hex, f"{cluster.name}-first-look".lower()
    tasks = [
        Task(
            delayed(_look)(
                task,
                blocks.n_columns,
                None if blocks.sizes is None else blocks.sizes[number],
                marked,
                number,
                dask_key_name=f"{name}-{token}-{number}",
            ),
            number,
        )
        for number, task in enumerate(blocks.tasks)
    ]
    n_blocks = len(tasks)
    found = cluster.run([], tasks, "first look", lambda number: f"block {number} of {n_blocks}")
    sizes = [one.size for one in found]
    ranges = [one.extent for one in found if one.extent is not None]
    if sum(sizes) < 2:
        raise ValueError(
            f"Found {sum(sizes)} sample(s) in X, where at least 2 are needed: 1 sample has no manifold."
        )
    total = ranges[0]
    for extent in ranges[1:]:
        total = total + extent
    return sizes, total, joined_mark(found) if marked else ""


@dataclass(frozen=True)
class _Seen:
    """What is known of a block after the first look."""

    size: int
    extent: ColumnRange | None = None
    mark: tuple[int, int] = (0, 0)


def row_marks(rows: Array) -> tuple[int, int]:
    """Return the sums, modulo 2^64, of a hash of each row and of the hash times the row's number in its block."""
    multipliers = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
    bits = rows.view(np.uint64)
    hashes = ((bits ^ (bits >> np.uint64(32))) * (2 * multipliers + 1)).sum(axis=1, dtype=np.uint64)
    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    numbers = np.arange(len(rows), dtype=np.uint64)
    return int(hashes.sum(dtype=np.uint64)), int((hashes * numbers).sum(dtype=np.uint64))


def joined_mark(found: list[_Seen]) -> str:
    """Return the mark of all rows from those of their blocks: a row's number is that in its block and the rows before."""
    before = total = placed = 0
    for one in found:
        plain, weighted = one.mark
        total += plain
        placed += weighted + before * plain
        before += one.size
    return f"{total % 2**64:016x}{placed % 2**64:016x}"


@dataclass(frozen=True)
class _Work:
    """A kernel behind the units of its rows."""

    kernel: LeafKernel
    units: CentredUnits | None

    def __call__(self, rows: Array, start: int) -> Any:
        numbers = as_numbers(rows)
        return self.kernel(numbers if self.units is None else self.units.into(numbers), start)


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a task that runs in one thread (a worker runs as many tasks as it has) and whose errors know their block.

    The number of the block is the last argument.
    """

    def task(*arguments: Any) -> Any:
        try:
            with using_threads(1), single_threaded_blas(), keeping_freed_memory():
                return function(*arguments[:-1])
        except Exception as error:
            error.twofold_block = arguments[-1]  # type: ignore[attr-defined]
            raise

    return task


def _look_at(block: Any, n_columns: int, size: int | None, marked: bool) -> _Seen:
    rows = as_numbers(block)
    if rows.ndim != 2 or rows.shape[1] != n_columns or size not in (None, len(rows)):
        said = f"({'any' if size is None else size}, {n_columns})"
        raise ValueError(
            f"the block has shape {rows.shape}, but X says {said}: its metadata are wrong."
        )
    if not len(rows):
        return _Seen(0)
    check_finite(rows, "X (rows counted within the block)")
    return _Seen(len(rows), ColumnRange.of_rows(rows), row_marks(rows) if marked else (0, 0))


def _sums_of(work: _Work, block: Any, begin: int, end: int, first: int) -> Nodes:
    tree = TreeSum()
    values = block.to_numpy() if hasattr(block, "to_numpy") else block
    tree.add_rows(work, values[begin:end], first)  # each leaf becomes float64 on its own
    return tree.nodes


def _some_of(block: Any, rows: Any) -> Array:
    return as_numbers(block.iloc[rows] if hasattr(block, "iloc") else block[rows])


def _sums_of_pieces(work: _Work, pieces: list[Array], leaf: int) -> Nodes:
    return {(0, leaf): work(np.concatenate(pieces), leaf * LEAF_ROWS)}


def _look(block: Any, n_columns: int, size: int | None, marked: bool, number: int) -> Any:
    return guarded(_look_at)(block, n_columns, size, marked, number)


def _sum_block(work: Shared, block: Any, begin: int, end: int, first: int, number: int) -> Any:
    return guarded(_sums_of)(work.content, block, begin, end, first, number)


def _sum_pieces(work: Shared, pieces: list[Array], leaf: int, number: int) -> Any:
    return guarded(_sums_of_pieces)(work.content, pieces, leaf, number)


def _piece(block: Any, begin: int, end: int, number: int) -> Any:
    return guarded(_some_of)(block, slice(begin, end), number)


def _take(block: Any, local: IntArray, number: int) -> Any:
    return guarded(_some_of)(block, local, number)


def _merge(parts: list[Nodes]) -> Nodes:
    tree = TreeSum()
    for nodes in parts:
        tree.merge(nodes)
    return tree.nodes

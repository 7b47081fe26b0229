"""Rows on a cluster as a `twofold.numerics.tree_sums.RowSource`.

Rows are summed in leaves along one binary tree, wherever the blocks begin and end. A leaf within a
block is summed where the block is. A leaf that a border cuts is joined from its pieces, at most a
few thousand rows that travel. The sums of subtrees then meet in groups of eight neighbors. Nothing
depends on which worker ran a task, or when: a block that is computed again gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np

from twofold.dask._blocks import Blocks, as_numbers
from twofold.dask._cluster import Cluster
from twofold.dask._tasks import Shared, Task, block_task, delayed_as, guarded, shared
from twofold.numerics.tree_sums import LEAF_ROWS, LeafKernel, Nodes, Summand, TreeSum
from twofold.numerics.units import CenteredUnits
from twofold.protocols import AnyArray, Array, IntArray

FAN_IN = 8


@dataclass(frozen=True)
class DistributedRows:
    """Rows in blocks, in centered units if those are known.

    Attributes
    ----------
    blocks : Blocks
        The table.
    sizes : list of int
        Rows of each block.
    cluster : Cluster
        Where tasks run.
    units : CenteredUnits or None
        The units of the rows; None leaves them as they are.
    on_progress : callable
        Called with the phase, the number of finished tasks and of all tasks.
    """

    blocks: Blocks
    sizes: list[int]
    cluster: Cluster
    units: CenteredUnits | None = None
    on_progress: Callable[[str, int, int], None] = field(default=lambda *_: None)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(self.sizes)

    @property
    def n_columns(self) -> int:
        """The number of columns, in the units of the rows."""
        return self.blocks.n_columns if self.units is None else int(self.units.varying.sum())

    @property
    def offsets(self) -> list[int]:
        """The number of each block's first row, and at the end the number of all rows."""
        return [0, *np.cumsum(self.sizes).tolist()]

    def total(self, kernel: LeafKernel[Summand], phase: str) -> Summand:
        """Return the sum of a kernel over all leaves."""
        name, token = self.name_of(phase), uuid4().hex
        work = shared((kernel, self.units), f"{name}-kernel-{token}")
        offsets = self.offsets
        watched: list[Task] = []
        summed: list[Any] = []
        pieces: dict[int, list[Any]] = {}
        for number, task in enumerate(self.blocks.tasks):
            first, last = offsets[number], offsets[number + 1]
            begin, end = _whole_leaves(first, last, offsets[-1])
            if begin < end:
                key, rows = f"{name}-{token}-{number}", (begin - first, end - first)
                watched.append(block_task(key, _sum_block, number, work, task, rows, begin))
                summed.append(watched[-1].delayed)
            for start, stop in _cut_by_leaves(first, last, begin, end):
                key, rows = f"{name}-edge-{token}-{number}-{start}", (start - first, stop - first)
                # Watched, so that a failure names this block, not the first one of the leaf.
                watched.append(block_task(key, _take, number, task, slice(*rows)))
                pieces.setdefault(start // LEAF_ROWS, []).append(watched[-1].delayed)
        for leaf, parts in pieces.items():
            number = int(np.searchsorted(offsets, leaf * LEAF_ROWS, side="right")) - 1
            key = f"{name}-border-{token}-{leaf}"
            watched.append(block_task(key, _sum_pieces, number, work, parts, leaf))
            summed.append(watched[-1].delayed)
        top = _merged(summed, f"{name}-merge-{token}")
        # The result travels as bytes, too.
        result = Task(delayed_as(f"{name}-sum-{token}", Shared, top))
        tree = TreeSum()
        tree.merge(self.run(watched, [result], phase)[0].content)
        total: Summand = tree.total()
        return total

    def rows(self, numbers: IntArray, phase: str) -> Array:
        """Return some rows, by ascending numbers."""
        key, offsets = f"{self.name_of(phase)}-{uuid4().hex}", self.offsets
        cuts = np.searchsorted(numbers, offsets)
        wanted = [
            block_task(f"{key}-{number}", _take, number, task, numbers[begin:end] - first)
            for number, (task, first, (begin, end)) in enumerate(
                zip(self.blocks.tasks, offsets[:-1], pairwise(cuts), strict=True)
            )
            if begin < end
        ]
        rows = np.concatenate(self.run([], wanted, phase))
        return rows if self.units is None else self.units.into(rows)

    def run(self, watched: list[Task], wanted: list[Task], phase: str) -> list[Any]:
        """Run tasks on the cluster and return the results of those wanted."""
        return self.cluster.run(
            watched, wanted, phase, self._describe, lambda *counts: self.on_progress(phase, *counts)
        )

    def name_of(self, phase: str) -> str:
        """Return the beginning of the keys of a phase."""
        return f"{self.cluster.name}-{phase}".lower().replace(" ", "-")

    def _describe(self, number: int) -> str:
        first, last = self.offsets[number], self.offsets[number + 1] - 1
        return f"block {number} of {len(self.sizes)} (rows {first} to {last})"


def _whole_leaves(first: int, last: int, n_rows: int) -> tuple[int, int]:
    """Return the rows of a block that make up whole leaves; the last row of all ends a leaf."""
    begin = -(-first // LEAF_ROWS) * LEAF_ROWS
    end = last if last == n_rows else last // LEAF_ROWS * LEAF_ROWS
    return begin, max(begin, end)


def _cut_by_leaves(first: int, last: int, begin: int, end: int) -> list[tuple[int, int]]:
    """Return the pieces of leaves in a block outside its whole leaves, ``begin`` to ``end``."""
    outside = [(first, begin), (end, last)] if begin < end else [(first, last)]
    pieces = []
    for start, stop in outside:
        borders = range((start // LEAF_ROWS + 1) * LEAF_ROWS, stop, LEAF_ROWS)
        pieces += list(pairwise([start, *borders, stop])) if start < stop else []
    return pieces


def _merged(parts: list[Any], name: str) -> Any:
    level = 0
    while len(parts) > 1 or level == 0:
        parts = [
            delayed_as(f"{name}-{level}-{start}", _merge, parts[start : start + FAN_IN])
            for start in range(0, len(parts), FAN_IN)
        ]
        level += 1
    return parts[0]


def _kernel_of(work: Shared) -> LeafKernel[Any]:
    """Return the kernel behind the conversion of its rows to float64 and to their units."""
    kernel, units = work.content

    def converted(rows: Array, start: int) -> Any:
        numbers = as_numbers(rows)
        return kernel(numbers if units is None else units.into(numbers), start)

    return converted


@guarded
def _sum_block(work: Shared, block: Any, rows: tuple[int, int], first: int) -> Nodes:
    tree = TreeSum()
    values = block.to_numpy() if hasattr(block, "to_numpy") else block
    tree.add_rows(_kernel_of(work), values[slice(*rows)], first)  # each leaf becomes float64
    return tree.nodes


@guarded
def _sum_pieces(work: Shared, pieces: list[Array], leaf: int) -> Nodes:
    return {(0, leaf): _kernel_of(work)(np.concatenate(pieces), leaf * LEAF_ROWS)}


@guarded
def _take(block: Any, rows: IntArray | slice) -> AnyArray:
    return as_numbers(block.iloc[rows] if hasattr(block, "iloc") else block[rows])


def _merge(parts: list[Nodes]) -> Nodes:
    tree = TreeSum()
    for nodes in parts:
        tree.merge(nodes)
    return tree.nodes

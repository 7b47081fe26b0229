"""Sums over rows that come out the same, bit for bit, however the rows are cut into blocks.

Floating-point addition depends on its order. So rows are grouped in *leaves* of 2,048, counted from the first row of all, and
the sums of leaves are added along one binary tree: leaf 0 to leaf 1, leaves 2 and 3 to them, and so on. Threads, blocks of a stream
and chunks of a cluster each add up the subtrees they hold; what meets where is always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from twofold.numerics.threads import map_blocks, single_threaded_blas
from twofold.protocols import Array, IntArray

__all__ = ["LEAF_ROWS", "ArrayRows", "LeafKernel", "Nodes", "RowSource", "TreeSum", "in_leaves"]

LEAF_ROWS = 2_048
"""Enough that a product of (M, rows) and (rows, M) is worth its result."""

GROUP_ROWS = 8 * LEAF_ROWS
GROUPS_OF_A_ROUND = 16
"""Sums that wait for being added: they may be matrices of thousands of features."""

Nodes = dict[tuple[int, int], Any]
"""Sums of subtrees by (level, number): that of level l and number k covers the leaves from ``k 2^l`` to ``(k + 1) 2^l``."""

LeafKernel = Callable[[Array, int], Any]
"""Gives the summand of some rows (m, D), the first of which has this number. Summands are added by ``+``."""


class TreeSum:
    """A sum along the tree, in whatever order its parts come.

    Attributes
    ----------
    nodes : dict
        The subtrees whose neighbours have not come yet.
    """

    def __init__(self) -> None:
        self.nodes: Nodes = {}

    def add(self, level: int, number: int, summand: Any) -> None:
        """Take in a subtree."""
        while (level, number ^ 1) in self.nodes:
            other = self.nodes.pop((level, number ^ 1))
            summand = other + summand if number % 2 else summand + other
            level, number = level + 1, number // 2
        self.nodes[level, number] = summand

    def merge(self, nodes: Nodes) -> None:
        """Take in the subtrees of another sum."""
        for (level, number), summand in nodes.items():
            self.add(level, number, summand)

    def add_rows(self, kernel: LeafKernel, data: Array, first: int) -> None:
        """Take in rows from ``first`` on, which is where a leaf begins; only the last rows of all may end within one."""
        if first % LEAF_ROWS:
            raise ValueError(f"row {first} is not the first of a leaf.")
        for start in range(0, len(data), LEAF_ROWS):
            summand = kernel(data[start : start + LEAF_ROWS], first + start)
            self.add(0, (first + start) // LEAF_ROWS, summand)

    def add_in_threads(self, kernel: LeafKernel, data: Array, first: int) -> None:
        """Do the same in threads."""

        def work(start: int) -> Nodes:
            part = TreeSum()
            part.add_rows(kernel, data[start : start + GROUP_ROWS], first + start)
            return part.nodes

        size = GROUP_ROWS * GROUPS_OF_A_ROUND
        with single_threaded_blas():  # also where there is one group: bits depend on BLAS's threads
            for begin in range(0, len(data), size):
                end = min(begin + size, len(data))
                for nodes in map_blocks(work, range(begin, end, GROUP_ROWS)):
                    self.merge(nodes)

    def total(self) -> Any:
        """Return the sum of all: a subtree without a neighbour takes its parent's place."""
        ordered = sorted(self.nodes.items(), key=lambda item: item[0][1] << item[0][0])
        if not ordered:
            raise ValueError("there are no rows to sum over.")
        result = ordered[-1][1]
        for _, summand in reversed(ordered[:-1]):
            result = summand + result
        return result


class RowSource(Protocol):
    """Many rows, wherever they are."""

    @property
    def n_rows(self) -> int:
        """How many."""
        ...

    @property
    def n_columns(self) -> int:
        """Their length."""
        ...

    def total(self, kernel: LeafKernel, phase: str) -> Any:
        """Return the sum of a kernel over all leaves; ``phase`` says what for."""
        ...

    def rows(self, numbers: IntArray, phase: str) -> Array:
        """Return some rows, by ascending numbers."""
        ...


@dataclass(frozen=True)
class ArrayRows:
    """Rows in memory, worked on by threads."""

    data: Array

    @property
    def n_rows(self) -> int:
        """How many."""
        return len(self.data)

    @property
    def n_columns(self) -> int:
        """Their length."""
        return int(self.data.shape[1])

    def total(self, kernel: LeafKernel, phase: str = "") -> Any:  # noqa: ARG002 - a protocol
        """Return the sum of a kernel over all leaves."""
        tree = TreeSum()
        tree.add_in_threads(kernel, self.data, 0)
        return tree.total()

    def rows(self, numbers: IntArray, phase: str = "") -> Array:  # noqa: ARG002 - a protocol
        """Return some rows; all of them as they are."""
        if len(numbers) == len(self.data):
            return self.data
        taken: Array = self.data[numbers]
        return taken


def in_leaves(blocks: Iterable[Array]) -> Iterator[Array]:
    """Yield the rows of blocks of any sizes in whole leaves; only the last of them may be shorter."""
    waiting: list[Array] = []
    n_waiting = 0
    for block in blocks:
        waiting.append(block)
        n_waiting += len(block)
        if n_waiting < LEAF_ROWS:
            continue
        rows = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
        whole = n_waiting - n_waiting % LEAF_ROWS
        yield rows[:whole]
        waiting, n_waiting = [rows[whole:]], n_waiting - whole
    if n_waiting:
        yield np.concatenate(waiting)

"""Sums over rows that are equal bit for bit, however the rows are cut into blocks.

Floating-point addition depends on its order. So rows are grouped in *leaves* of 2,048, counted from
the first row of the data, and the sums of leaves are added along one binary tree: leaf 0 to leaf 1,
the sum of leaves 2 and 3 to theirs, and so on. Threads, blocks of a stream and chunks of a cluster
each add up the subtrees they hold; the order of additions is always that of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import map_blocks, single_threaded_blas
from twofold.protocols import Array, IntArray

LEAF_ROWS = 2_048
"""Enough rows for efficient products of (M, rows) and (rows, M)."""

GROUP_ROWS = 8 * LEAF_ROWS
GROUPS_OF_A_ROUND = 16
"""Limits the sums that wait to be added: they may be matrices of thousands of features."""


@dataclass(frozen=True)
class RowSums:
    """Sums over rows. Fields are numbers, arrays, `RowSums` or None, and ``+`` adds each field."""

    def __add__(self, other: Self) -> Self:
        """Return the sums over both sets of rows; both have the same fields that are None."""
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return type(self)(*(None if mine is None else mine + theirs for mine, theirs in pairs))


Summand = TypeVar("Summand")
"""The type of a sum over rows, which supports ``+``."""

Nodes = dict[tuple[int, int], Any]
"""Sums of subtrees by (level, number): node (l, k) covers the leaves from ``k 2^l`` up to, not
including, ``(k + 1) 2^l``."""

LeafKernel = Callable[[Array, int], Summand]
"""Computes the summand of rows (m, D), given the number of the first."""


def squares_of_rows(data: Array, start: int = 0) -> float:  # noqa: ARG001 - a leaf kernel
    """Sum the squares of centered rows."""
    return float(row_norms_sq(data).sum())


@dataclass(frozen=True)
class Moments(RowSums):
    """Sums of the squares of centered rows and of their outer products ``x_i x_i^T`` (D, D)."""

    squares: float
    products: Array


def squares_and_products(data: Array, start: int = 0) -> Moments:
    """Sum the squares and products of centered rows."""
    return Moments(squares_of_rows(data, start), data.T @ data)


class TreeSum:
    """A sum along the tree. Its parts may come in any order.

    Attributes
    ----------
    nodes : dict
        The subtrees whose neighbors are still missing.
    """

    def __init__(self) -> None:
        self.nodes: Nodes = {}

    def add(self, level: int, number: int, summand: Any) -> None:
        """Add a subtree."""
        while (level, number ^ 1) in self.nodes:
            other = self.nodes.pop((level, number ^ 1))
            summand = other + summand if number % 2 else summand + other
            level, number = level + 1, number // 2
        self.nodes[level, number] = summand

    def merge(self, nodes: Nodes) -> None:
        """Add the subtrees of another sum."""
        for (level, number), summand in nodes.items():
            self.add(level, number, summand)

    def add_rows(self, kernel: LeafKernel[Any], data: Array, first: int) -> None:
        """Add rows from number ``first`` on, where a leaf begins; only the last may be short."""
        if first % LEAF_ROWS:
            raise ValueError(f"row {first} is not the first of a leaf.")
        for start in range(0, len(data), LEAF_ROWS):
            summand = kernel(data[start : start + LEAF_ROWS], first + start)
            self.add(0, (first + start) // LEAF_ROWS, summand)

    def add_in_threads(self, kernel: LeafKernel[Any], data: Array, first: int) -> None:
        """Add rows as `add_rows` does, in threads."""

        def work(start: int) -> Nodes:
            part = TreeSum()
            part.add_rows(kernel, data[start : start + GROUP_ROWS], first + start)
            return part.nodes

        size = GROUP_ROWS * GROUPS_OF_A_ROUND
        with single_threaded_blas():  # even for a single group: bits depend on the threads of BLAS
            for begin in range(0, len(data), size):
                end = min(begin + size, len(data))
                for nodes in map_blocks(work, range(begin, end, GROUP_ROWS)):
                    self.merge(nodes)

    def total(self) -> Any:
        """Return the sum over all rows. A subtree without a neighbor replaces its parent."""
        ordered = sorted(self.nodes.items(), key=lambda item: item[0][1] << item[0][0])
        if not ordered:
            raise ValueError("there are no rows to sum over.")
        result = ordered[-1][1]
        for _, summand in reversed(ordered[:-1]):
            result = summand + result
        return result


class RowSource(Protocol):
    """Many rows, in memory or elsewhere."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        ...

    def total(self, kernel: LeafKernel[Summand], phase: str) -> Summand:
        """Return the sum of a kernel over all leaves; ``phase`` names its purpose."""
        ...

    def rows(self, numbers: IntArray, phase: str) -> Array:
        """Return the rows of these ascending numbers."""
        ...


@dataclass(frozen=True)
class ArrayRows:
    """Rows in memory, summed in threads."""

    data: Array

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.data)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.data.shape[1])

    def total(self, kernel: LeafKernel[Summand], phase: str = "") -> Summand:  # noqa: ARG002
        """Return the sum of a kernel over all leaves."""
        tree = TreeSum()
        tree.add_in_threads(kernel, self.data, 0)
        total: Summand = tree.total()
        return total

    def rows(self, numbers: IntArray, phase: str = "") -> Array:  # noqa: ARG002 - a protocol
        """Return some rows; all of them without a copy."""
        if len(numbers) == len(self.data):
            return self.data
        taken: Array = self.data[numbers]
        return taken


def in_leaves(blocks: Iterable[Array]) -> Iterator[Array]:
    """Yield the rows of blocks of any sizes in whole leaves; only the last leaf may be shorter."""
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

"""The first pass over all blocks: count rows, check values, measure columns and mark the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from operator import add
from uuid import uuid4

import numpy as np

from twofold.dask._blocks import Blocks, as_numbers
from twofold.dask._cluster import Cluster
from twofold.dask._tasks import block_task, guarded
from twofold.numerics.units import ColumnRange
from twofold.numerics.validation import check_observed
from twofold.protocols import AnyArray, Array


@dataclass(frozen=True)
class FirstLook:
    """The rows of each block, the range of each column, and a digest of all rows in their order.

    The digest does not depend on the blocks; it is empty if it was not requested. With ``gaps``,
    some cells are missing, and the ranges are not known.
    """

    sizes: list[int]
    extent: ColumnRange
    mark: str
    gaps: bool = False


@dataclass(frozen=True)
class _Seen:
    """The rows, columns and sums of row hashes of one block."""

    size: int
    extent: ColumnRange | None = None
    mark: tuple[int, int] = (0, 0)
    gaps: bool = False


def first_look(blocks: Blocks, cluster: Cluster, *, marked: bool) -> FirstLook:
    """Read all blocks once; raise an error for infinite values and rows without any value."""
    name = f"{cluster.name}-first-look-{uuid4().hex}".lower()
    sizes = blocks.sizes or repeat(None, len(blocks.tasks))
    tasks = [
        block_task(f"{name}-{n}", _look, n, task, (size, blocks.n_columns), marked)
        for n, (task, size) in enumerate(zip(blocks.tasks, sizes, strict=True))
    ]
    found = cluster.run([], tasks, "first look", lambda block: f"block {block} of {len(tasks)}")
    n_rows = sum(one.size for one in found)
    if n_rows < 2:
        raise ValueError(
            f"Found {n_rows} sample(s) in X, where at least 2 are needed: 1 sample has no manifold."
        )
    extent = reduce(add, [one.extent for one in found if one.extent is not None])
    mark, gaps = _joined_mark(found) if marked else "", any(one.gaps for one in found)
    return FirstLook([one.size for one in found], extent, mark, gaps)


@guarded
def _look(block: AnyArray, shape: tuple[int | None, int], marked: bool) -> _Seen:
    rows = as_numbers(block)
    size, n_columns = shape
    if rows.ndim != 2 or rows.shape[1] != n_columns or size not in (None, len(rows)):
        stated = f"({'any' if size is None else size}, {n_columns})"
        raise ValueError(
            f"the block has shape {rows.shape}, but X says {stated}: its metadata are wrong."
        )
    if not len(rows):
        return _Seen(0)
    check_observed(rows, "X (rows counted within the block)")
    mark, gaps = _row_marks(rows) if marked else (0, 0), bool(np.isnan(rows).any())
    return _Seen(len(rows), ColumnRange.of_rows(rows), mark, gaps)


def _row_marks(rows: Array) -> tuple[int, int]:
    """Sum a hash of each row, and the hash times the row's number in its block, modulo 2^64."""
    multipliers = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
    bits = rows.view(np.uint64)
    hashes = ((bits ^ (bits >> np.uint64(32))) * (2 * multipliers + 1)).sum(axis=1, dtype=np.uint64)
    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    numbers = np.arange(len(rows), dtype=np.uint64)
    return int(hashes.sum(dtype=np.uint64)), int((hashes * numbers).sum(dtype=np.uint64))


def _joined_mark(found: list[_Seen]) -> str:
    """Join the marks of blocks: a row's number is that in its block plus the rows before."""
    before = total = placed = 0
    for one in found:
        plain, weighted = one.mark
        total += plain
        placed += weighted + before * plain
        before += one.size
    return f"{total % 2**64:016x}{placed % 2**64:016x}"

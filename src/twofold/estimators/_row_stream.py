"""Rows that come in blocks, from a file or from anywhere, more than fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold._validation import check_data
from twofold.protocols import AnyArray, Array

__all__ = ["RowStream", "sampled_rows"]

BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True)
class RowStream:
    """A source of row blocks.

    Attributes
    ----------
    open : callable
        Returns an iterator of blocks.
    once : bool
        Whether it can be read only once.
    """

    open: Callable[[], Iterator[Any]]
    once: bool

    @classmethod
    def of(cls, blocks: Any) -> RowStream:
        """Make sense of what the caller has: an array on disk, an iterable of blocks, or a function that opens one.

        Parameters
        ----------
        blocks : array-like with two dimensions, iterable or callable
            Arrays are cut into blocks of rows, each read when it is needed.
        """
        if callable(blocks):
            return cls(lambda: iter(blocks()), once=False)
        if len(getattr(blocks, "shape", ())) == 2:
            n_rows, n_columns = blocks.shape
            size = max(1, BLOCK_BYTES // (8 * max(1, n_columns)))
            starts = range(0, n_rows, size)
            return cls(lambda: (blocks[start : start + size] for start in starts), once=False)
        if not isinstance(blocks, Iterable) or isinstance(blocks, str | bytes | dict):
            raise TypeError(
                f"blocks of type {type(blocks).__name__} are no rows: pass an array with two dimensions, an iterable of "
                "such arrays, or a function that returns one."
            )
        opened = iter(blocks)
        if opened is blocks:
            return cls(lambda: opened, once=True)
        return cls(lambda: iter(blocks), once=False)

    def checked(self, estimator: Any, *, first: bool) -> Iterator[Array]:
        """Yield the blocks as finite numbers in float64; an error names the block.

        Parameters
        ----------
        estimator : estimator
            Its feature names and counts are set by the first block of the first reading, and compared with the others.
        first : bool
            Whether this is the first reading.
        """
        reset = first
        for number, block in enumerate(self.open()):
            if not len(block):
                continue
            try:
                # One row is enough for a block, unlike for a table: hence the second look.
                data, _ = check_data(
                    estimator, _at_least_two(block) if reset else block, reset=reset
                )
            except ValueError as error:
                raise ValueError(f"Block {number}: {error}") from error
            yield data[: len(block)]
            reset = False


def _at_least_two(block: Any) -> Any:
    return block if len(block) > 1 else np.repeat(np.asarray(block), 2, axis=0)


@dataclass(frozen=True)
class Sampled:
    """Some rows of a stream, and what all of them are like.

    Attributes
    ----------
    rows : ndarray of shape (m, D)
        A uniform sample, in the order of the stream.
    n_rows : int
        Rows of the stream.
    varying : ndarray of bool, shape (D,)
        Columns that vary somewhere in it.
    """

    rows: Array
    n_rows: int
    varying: AnyArray


def sampled_rows(blocks: Iterable[Array], most: int, rng: np.random.Generator) -> Sampled:
    """Draw a uniform sample in one reading, however the rows are cut into blocks.

    Every row draws a number; the rows of the smallest numbers are kept.

    Parameters
    ----------
    blocks : iterable of ndarray
        The rows.
    most : int
        Rows to keep at most.
    rng : Generator
        Where the numbers come from.
    """
    kept: Array | None = None
    keys = np.empty(0)
    lowest = highest = np.empty(0)
    n_rows = 0
    for block in blocks:
        if kept is None:
            kept, lowest, highest = block[:0], block.min(axis=0), block.max(axis=0)
        lowest = np.minimum(lowest, block.min(axis=0))
        highest = np.maximum(highest, block.max(axis=0))
        n_rows += len(block)
        new = rng.random(len(block))
        bound = np.inf if len(keys) < most else keys.max()
        wanted = new < bound
        keys, kept = np.concatenate([keys, new[wanted]]), np.concatenate([kept, block[wanted]])
        if len(keys) > most:
            smallest = np.sort(np.argpartition(keys, most)[:most])
            keys, kept = keys[smallest], kept[smallest]
    if kept is None:
        raise ValueError("blocks gave no rows: found 0 samples where at least 2 are needed.")
    return Sampled(kept, n_rows, lowest < highest)

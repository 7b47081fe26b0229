"""Rows that come in blocks, from a file or elsewhere, and may not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.drur.settings import DRURSettings
from twofold.numerics.validation import check_data, warn_user
from twofold.protocols import AnyArray, Array
from twofold.starts.named import is_list_of_inits

if TYPE_CHECKING:
    from twofold.drur.estimator import DRUR

BLOCK_BYTES = 64 * 2**20


def check_stream_settings(settings: DRURSettings) -> None:
    """Refuse settings that need all rows in memory."""
    if settings.n_centers == "all":
        raise ValueError(
            "n_centers='all' keeps every row. For rows that are not in memory use a number or "
            "'auto'."
        )
    if settings.exact:
        raise ValueError(
            "exact=True uses every row in all iterations, but the rows are not in memory. Use "
            "exact=False."
        )
    init = settings.init
    named = isinstance(init, str) or callable(init) or hasattr(init, "fit_transform")
    if not named and not is_list_of_inits(init):
        raise ValueError(
            "init is an array of latents, but the rows are not in memory. Pass the name of an "
            "initialization instead."
        )


@dataclass(frozen=True)
class RowStream:
    """A source of row blocks: ``open`` returns an iterator of them, maybe only ``once``."""

    open: Callable[[], Iterator[Any]]
    once: bool

    @classmethod
    def of(cls, blocks: Any) -> RowStream:
        """Return the stream of a table, an iterable of blocks, or a function that opens one.

        A table, an object with two dimensions, is cut into blocks of rows, each read when needed.
        """
        if callable(blocks):
            return cls(lambda: iter(blocks()), once=False)
        shape = getattr(blocks, "shape", None)
        if shape is not None and len(shape) != 2:
            raise ValueError(f"blocks of shape {shape} are not a table: expected 2D array of rows.")
        if shape is not None:
            n_rows, n_columns = blocks.shape
            size = max(1, BLOCK_BYTES // (8 * max(1, n_columns)))
            starts = range(0, n_rows, size)
            return cls(lambda: (blocks[start : start + size] for start in starts), once=False)
        if not isinstance(blocks, Iterable) or isinstance(blocks, str | bytes | dict):
            raise TypeError(
                f"blocks of type {type(blocks).__name__} do not hold rows: pass an array with two "
                "dimensions, an iterable of such arrays, or a function that returns one."
            )
        opened = iter(blocks)
        if opened is blocks:
            return cls(lambda: opened, once=True)
        return cls(lambda: iter(blocks), once=False)

    def checked(self, estimator: DRUR, *, first: bool) -> Iterator[Array]:
        """Yield the blocks in float64, with NaN for missing cells; an error names the block.

        The first block of the ``first`` reading sets the estimator's feature names and counts; all
        others are compared with them.
        """
        reset = first
        for number, block in enumerate(self.open()):
            shape = np.shape(block)
            if len(shape) == 2 and shape[0] == 0:
                continue
            try:
                # A first block of one row would be refused as a table: check it doubled.
                twice = reset and len(shape) == 2 and shape[0] == 1
                data, _ = check_data(
                    estimator, _twice(block) if twice else block, reset=reset, gaps=True
                )
            except (TypeError, ValueError) as error:
                raise type(error)(f"Block {number}: {error}") from error
            yield data[: shape[0]]
            reset = False


def _twice(block: Any) -> Any:
    return block.iloc[[0, 0]] if hasattr(block, "iloc") else np.repeat(block, 2, axis=0)


@dataclass(frozen=True)
class Sampled:
    """A uniform sample (m, D) of a stream, in its order, its length, and its varying columns."""

    rows: Array
    n_rows: int
    varying: AnyArray


def sampled_rows(blocks: Iterable[Array], most: int, rng: np.random.Generator) -> Sampled:
    """Draw a uniform sample of at most ``most`` rows in one reading, for any sizes of blocks.

    Every row draws a random number; the rows with the smallest numbers are kept.
    """
    kept: list[Array] = []
    keys: list[Array] = []
    lowest = highest = np.empty(0)
    n_rows = n_kept = 0
    bound = np.inf
    for block in blocks:
        if not n_rows:
            lowest, highest = block[0], block[0]
        lowest = np.fmin(lowest, np.fmin.reduce(block, axis=0))  # without missing values
        highest = np.fmax(highest, np.fmax.reduce(block, axis=0))
        n_rows += len(block)
        new = rng.random(len(block))
        wanted = new < bound
        keys.append(new[wanted])
        kept.append(block[wanted])
        n_kept += int(wanted.sum())
        if n_kept > 2 * most:  # rarely, so that not every block moves rows
            keys, kept = _smallest(keys, kept, most)
            bound, n_kept = float(keys[0].max()), most
    if not kept:
        raise ValueError("blocks gave no rows: found 0 samples where at least 2 are needed.")
    _, rows = _smallest(keys, kept, most)
    return Sampled(rows[0], n_rows, lowest < highest)


def _smallest(keys: list[Array], rows: list[Array], most: int) -> tuple[list[Array], list[Array]]:
    """Return the smallest keys and their rows, in their order, as lists of one array."""
    all_keys, all_rows = np.concatenate(keys), np.concatenate(rows)
    if len(all_keys) <= most:
        return [all_keys], [all_rows]
    smallest = np.sort(np.argpartition(all_keys, most)[:most])
    return [all_keys[smallest]], [all_rows[smallest]]


def warn_of_rare_columns(varying: AnyArray, in_sample: AnyArray) -> None:
    """Warn of columns that vary in the stream and are constant in the sample."""
    rare = np.flatnonzero(varying & ~in_sample)
    if len(rare):
        warn_user(
            f"{len(rare)} columns, the first of them {rare[0]}, vary so rarely that they are "
            "constant in the sample of rows; the model treats them as constant.",
            UserWarning,
        )

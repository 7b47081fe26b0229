"""Tasks of a fit: named functions of one block of rows, and what all tasks of a phase share.

An array that comes out of a network buffer may begin at any byte. NumPy sums and multiplies
unaligned arrays in other loops, which round differently, so a worker that received a map over the
network would differ in the last bits from the worker that built it. Shared objects therefore travel
as plain bytes and are unpickled on arrival, which aligns their arrays.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cloudpickle

from twofold.dask._freed_memory import keeping_freed_memory
from twofold.numerics.threads import single_threaded_blas, using_threads


@dataclass(frozen=True)
class Task:
    """A delayed function and the number of the block that it works on."""

    delayed: Any
    block: int | None = None


class Shared:
    """A wrapper whose content is pickled as bytes, not as buffers of its own."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __reduce__(self) -> tuple[object, ...]:
        return _opened, (cloudpickle.dumps(self.content),)


def _opened(packed: bytes) -> Shared:
    return Shared(pickle.loads(packed))  # as Dask itself sends tasks


def delayed_as(key: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a delayed call whose key, and name on the dashboard, is given."""
    from dask import delayed

    return delayed(function)(*arguments, dask_key_name=key)


def shared(content: Any, key: str) -> Any:
    """Return one delayed `Shared` that all tasks of a phase depend on."""
    return delayed_as(key, _same, Shared(content))


def _same(thing: Any) -> Any:
    return thing


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of a block run in one thread, and put the number of the block on its errors.

    A worker runs as many tasks at a time as it has threads. The number is the first argument of the
    decorated function; the function itself does not get it.
    """

    @functools.wraps(function)
    def task(block: int | None, *arguments: Any) -> Any:
        try:
            with using_threads(1), single_threaded_blas(), keeping_freed_memory():
                return function(*arguments)
        except Exception as error:
            error.twofold_block = block  # type: ignore[attr-defined]
            raise

    return task


def block_task(key: str, function: Callable[..., Any], block: int | None, *arguments: Any) -> Task:
    """Return the task of a guarded function on a block, or on rows of several (None)."""
    return Task(delayed_as(key, function, block, *arguments), block)

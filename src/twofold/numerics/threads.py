"""Blocks of rows, processed by a pool of threads.

NumPy and BLAS release the GIL, so blocks of rows run in plain threads. Two rules keep that fast and
repeatable: BLAS uses one thread while ours run (otherwise two BLAS threads beside two of ours made
an evaluation twelve times slower), and the blocks do not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits

from twofold.protocols import IntArray

Item = TypeVar("Item")
Result = TypeVar("Result")

BLOCK_BYTES = 4 * 2**20
"""Scratch memory of a block: large enough for BLAS to be efficient, small enough for caches."""

MOST_PERMUTED = 10**6


def row_blocks(n_rows: int, bytes_per_row: int) -> list[slice]:
    """Cut ``range(n_rows)`` into slices whose scratch memory stays within ``BLOCK_BYTES``.

    The cut depends on the sizes only, never on the number of threads.
    """
    if n_rows == 0:
        return [slice(0, 0)]
    size = max(1, min(n_rows, BLOCK_BYTES // max(1, bytes_per_row)))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def some_rows(n_rows: int, most: int) -> IntArray:
    """Return the numbers of all rows, or of a sample of ``most`` of them, in ascending order.

    The sample has a fixed seed: every k-th row would follow any period in the data.
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return drawn_rows(n_rows, most, np.random.default_rng(0))


def drawn_rows(n_rows: int, most: int, rng: np.random.Generator) -> IntArray:
    """Return the numbers of ``most`` rows drawn without replacement, in ascending order."""
    if n_rows <= MOST_PERMUTED:
        return np.sort(rng.permutation(n_rows)[:most])
    # Memory grows with the rows drawn, not with all rows.
    return np.sort(rng.choice(n_rows, most, replace=False, shuffle=False))


def usable_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def n_threads(n_jobs: Any = None) -> int:
    """Return the number of threads to use.

    None means every core this process may use, at most ``OMP_NUM_THREADS`` if that is set, as for
    the BLAS and OpenMP loops of NumPy and scikit-learn; negative numbers count back from there
    (-1 = all cores).
    """
    wanted, available = os.environ.get("OMP_NUM_THREADS", ""), usable_cores()
    if wanted.isdigit() and int(wanted):
        available = min(available, int(wanted))
    if n_jobs is None:
        n_jobs = getattr(_default, "n_jobs", None)
    if n_jobs is None:
        return available
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs={n_jobs!r} must be an integer or None.")
    wished = int(n_jobs)
    if wished == 0:
        raise ValueError("n_jobs=0 has no meaning; use None or -1 for all cores, or 1 for one.")
    return min(wished, available) if wished > 0 else max(1, available + 1 + wished)


_default = threading.local()


@contextmanager
def using_threads(n_jobs: int | None) -> Iterator[None]:
    """Make ``n_jobs`` the default number of threads for all calls inside, in this thread."""
    before = getattr(_default, "n_jobs", None)
    _default.n_jobs = n_jobs
    try:
        yield
    finally:
        _default.n_jobs = before


def map_blocks(
    function: Callable[[Item], Result], blocks: Sequence[Item], *, n_jobs: int | None = None
) -> list[Result]:
    """Return ``[function(block) for block in blocks]``, in order, computed in threads.

    Called from one of its own threads, it runs the blocks there one after the other.
    """
    if getattr(_worker, "cancelled", None) is not None:
        return [_unless_cancelled(function, block) for block in blocks]
    workers = min(n_threads(n_jobs), len(blocks))
    cancelled = threading.Event()
    if workers <= 1:  # a pool would only add its overhead
        with single_threaded_blas():
            _become_worker(cancelled)
            try:
                return [function(block) for block in blocks]
            finally:
                _become_worker(None)
    with single_threaded_blas():
        pool = ThreadPoolExecutor(workers, "twofold", _begin_in_pool, (cancelled,))
        futures = [pool.submit(_unless_cancelled, function, block) for block in blocks]
        try:
            return [future.result() for future in futures]
        except BaseException:
            # After an error or Ctrl-C, blocks that wait must not start; do not wait for the others.
            cancelled.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            if not cancelled.is_set():
                pool.shutdown()


_worker = threading.local()


def _become_worker(cancelled: threading.Event | None) -> None:
    """Mark this thread, or with None unmark it: nested calls run where they are."""
    _worker.cancelled = cancelled


def _begin_in_pool(cancelled: threading.Event) -> None:
    """Mark a thread of a pool, which uses no threads of OpenMP: that limit belongs to a thread."""
    _become_worker(cancelled)
    _controller().limit(limits=1, user_api="openmp")


def _unless_cancelled(function: Callable[[Item], Result], block: Item) -> Result:
    cancelled = getattr(_worker, "cancelled", None)
    if cancelled is not None and cancelled.is_set():
        raise CancelledError
    return function(block)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


_limit_lock = threading.Lock()
_limit_users = 0
_limit: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread.

    BLAS thread counts are global to the process. If several fits run in Python threads at once, the
    first to enter lowers the count and the last to leave restores it; if each saved and restored
    the count, it would end stuck at one.
    """
    global _limit, _limit_users  # noqa: PLW0603 - the state of the process
    with _limit_lock:
        if _limit_users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _limit_users += 1
    try:
        yield
    finally:
        with _limit_lock:
            _limit_users -= 1
            if _limit_users == 0:
                _limit.restore_original_limits()
                _limit = None


@contextmanager
def repeatable_threads() -> Iterator[None]:
    """Use no threads inside but those of `map_blocks`, so that results do not depend on them.

    Threads of BLAS round by their number, and those of OpenMP decide between equal distances in
    another order: rows of small integers then have other neighbors, and a fit another end. On a
    busy machine threads that wait for each other also made fits six times slower.
    """
    with single_threaded_blas(), threadpool_limits(1, user_api="openmp"):
        yield


def _forget_limits_after_fork() -> None:
    """Reset the limit in a forked child, which lacks the threads that held it."""
    global _limit_lock, _limit_users, _limit  # noqa: PLW0603
    if _limit is not None:
        _limit.restore_original_limits()
    _limit_lock = threading.Lock()
    _limit_users = 0
    _limit = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_limits_after_fork)

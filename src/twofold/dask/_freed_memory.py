"""Keeping freed memory at hand while a task runs.

Dask's nanny starts workers with ``MALLOC_TRIM_THRESHOLD_=65536``, so that memory which lies idle between tasks goes back to the system. Within a
task that works leaf by leaf it does harm: every temporary array of a leaf (2,048 rows, megabytes) is asked of the system anew, page by page, and a
sweep takes more than twice as long, half of it in the kernel. So the limits are lifted while tasks of ours run, and put back, and idle memory
given back, when the last of them ends.

It concerns the GNU C library alone, and only where that variable is set; elsewhere nothing happens.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["keeping_freed_memory"]

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""What ``mallopt`` calls them (malloc.h)."""
KEPT_BYTES = 256 * 2**20
MAPPED_FROM_BYTES = 32 * 2**20
"""The largest that 64-bit systems allow for the second: what is larger is mapped, and unmapped when it is freed."""
USUAL_MAPPED_FROM = 128 * 2**10


@cache
def _library() -> Any:
    """Return the C library, or None where it is not GNU's or its limits are its own affair."""
    if not os.environ.get("MALLOC_TRIM_THRESHOLD_", "").isdigit():
        return None
    try:
        library = ctypes.CDLL(None)
        _ = library.mallopt, library.malloc_trim, library.gnu_get_libc_version
    except (OSError, TypeError, AttributeError):
        return None
    return library


def _set_limits(library: Any, trim: int, mapped_from: int) -> None:
    library.mallopt(TRIM_THRESHOLD, trim)
    library.mallopt(MMAP_THRESHOLD, mapped_from)


_lock = threading.Lock()
_users = 0


@contextmanager
def keeping_freed_memory(library: Callable[[], Any] = _library) -> Iterator[None]:
    """Let the process keep what tasks free, to be used again, until the last task within leaves."""
    global _users  # noqa: PLW0603 - the state being guarded is the process's own
    found = library()
    if found is None:
        yield
        return
    with _lock:
        if _users == 0:
            _set_limits(found, KEPT_BYTES, MAPPED_FROM_BYTES)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                usual = os.environ.get("MALLOC_MMAP_THRESHOLD_", "")
                mapped_from = int(usual) if usual.isdigit() else USUAL_MAPPED_FROM
                _set_limits(found, int(os.environ["MALLOC_TRIM_THRESHOLD_"]), mapped_from)
                found.malloc_trim(0)

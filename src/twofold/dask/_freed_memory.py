"""Keep freed memory in the process while a task runs.

Dask's nanny starts workers with ``MALLOC_TRIM_THRESHOLD_=65536``, so that idle memory returns to
the system between tasks. Within a task this does harm: each temporary array of a leaf (2,048 rows,
megabytes) is requested from the system again, page by page. A sweep then takes more than twice as
long, half of it in the kernel. The limits are therefore raised while our tasks run. When the last
one ends, they are restored and idle memory is returned.

This concerns the GNU C library, and only where that variable is set. Elsewhere nothing happens.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Parameters of ``mallopt`` (malloc.h)."""
KEPT_BYTES = 256 * 2**20
MAPPED_FROM_BYTES = 32 * 2**20
"""The largest value that 64-bit systems allow; larger arrays are unmapped when they are freed."""
USUAL_MAPPED_FROM = 128 * 2**10

_lock = threading.Lock()
_users = 0


@cache
def _library() -> Any:
    """Return the C library, or None if it is not GNU's or Dask has not set the limit."""
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


@contextmanager
def keeping_freed_memory(library: Callable[[], Any] = _library) -> Iterator[None]:
    """Let the process keep the memory that tasks free until the last task leaves."""
    global _users  # noqa: PLW0603 - the limits belong to the process
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

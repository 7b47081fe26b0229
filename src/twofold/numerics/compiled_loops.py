"""How loops are compiled by numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles serial loops, which release the GIL.

    Compiled loops are kept on disk. Where no folder for them is writable, such as in a container
    with a read-only file system, every process compiles them anew.
    """

    def compile_loops(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # numba finds no place for its cache
            return numba.njit(nogil=True, **options)(function)

    return compile_loops

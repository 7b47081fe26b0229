"""When to use compiled loops.

numba is imported here, on first need, and never with the package. Importing and compiling take a second or
two, so small problems do without; so does an installation where numba is missing or broken, with the same
results. Compiled functions are serial and release the GIL.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType

__all__ = ["compiled"]

WORTH_COMPILING = 10**5
"""Multiplications in one call above which loops are compiled: such a call is one of hundreds."""


def compiled(work: int, name: str = "_loops") -> ModuleType | None:
    """Return a module of compiled loops, or None where NumPy is to do the work.

    Parameters
    ----------
    work : int
        Multiplications of the call.
    name : str, default="_loops"
        The module, in this folder unless its name has a dot.
    """
    return _loops(name) if work >= WORTH_COMPILING else None


@cache
def _loops(name: str) -> ModuleType | None:
    if os.environ.get("TWOFOLD_NUMBA", "1") == "0":
        return None
    try:
        return import_module(name if "." in name else f"twofold.numerics.sums.{name}")
    except Exception:  # noqa: BLE001 - whatever keeps numba from loading, NumPy does the work
        return None

"""Access to loops compiled by numba.

numba is imported on first use, never with the package. Import and compilation take a second or two,
so small problems use NumPy. So does an installation where numba is missing or broken, with the same
results. Compiled functions are serial and release the GIL. They do not check indices, so shapes are
checked before a call.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType

from twofold.kernels import Compact, Gaussian
from twofold.protocols import AnyArray, RadialKernel

WORTH_COMPILING = 10**5
"""Multiplications in one call above which loops are compiled; a fit makes hundreds of calls."""


def compiled(work: int, name: str = "_loops") -> ModuleType | None:
    """Return a module of compiled loops, or None if NumPy should do this many multiplications.

    A name without a dot is a module of this package.
    """
    return _loops(name) if work >= WORTH_COMPILING else None


def compiled_power(kernel: RadialKernel) -> float | None:
    """Return the power of a compact kernel, 0 for a Gaussian, None if the loops lack the kernel."""
    if isinstance(kernel, Gaussian):
        return 0.0
    return float(kernel.power) if isinstance(kernel, Compact) else None


def check_shape(name: str, array: AnyArray, *shape: int) -> None:
    """Raise an error unless an argument of a compiled loop has this shape."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, but {shape} is needed.")


@cache
def _loops(name: str) -> ModuleType | None:
    if os.environ.get("TWOFOLD_NUMBA", "1") == "0":
        return None
    try:
        return import_module(name if "." in name else f"twofold.numerics.sums.{name}")
    except Exception:  # noqa: BLE001 - any failure to load numba: NumPy does the work
        return None

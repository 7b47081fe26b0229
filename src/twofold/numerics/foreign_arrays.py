"""Arrays of other libraries as NumPy arrays: tensors, and whatever speaks one of two protocols.

DLPack (``__dlpack__``) shares memory and says on which device it lies, so it is asked first;
``__array__`` is asked where DLPack cannot answer. Nothing of the other library is imported. What
NumPy, pandas, polars, Arrow, Dask and scipy.sparse hold passes as it is: other code knows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from twofold.protocols import AnyArray

ON_CPU = 1

ON_HOST = frozenset({ON_CPU, 3, 11, 13})
"""DLPack's numbers of devices whose memory NumPy reads: CPU, pinned and managed memory."""

DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 9: "VPI", 10: "ROCm", 14: "oneAPI"}

OTHER_MARKS = (
    "__dask_graph__",
    "__dataframe__",
    "__arrow_c_stream__",
    "__arrow_c_array__",
    "columns",
    "iloc",
)
"""Attributes of frames, series and Dask collections, which keep their type."""


def as_numpy(given: Any, name: str) -> Any:
    """Return an array or tensor of another library as a NumPy array, and all else as it is.

    ``name`` is the argument in error messages. A list or tuple of arrays becomes a list of NumPy
    arrays. The result may share its memory with what was given, and may be read-only.

    Raises
    ------
    TypeError
        If the values are not in the memory of this computer, are part of a computation of
        gradients, or have a type that NumPy does not have.
    """
    if isinstance(given, list | tuple):
        some = given[0] if len(given) else None
        return [as_numpy(one, name) for one in given] if _is_foreign(some) else given
    return _converted(given, name) if _is_foreign(given) else given


def _is_foreign(given: Any) -> bool:
    if given is None or isinstance(given, np.ndarray | np.generic | type | str | bytes):
        return False
    if not (hasattr(given, "__dlpack__") or hasattr(given, "__array__")):
        return False
    return not (issparse(given) or any(hasattr(given, mark) for mark in OTHER_MARKS))


def _converted(given: Any, name: str) -> AnyArray:
    kind = f"{type(given).__module__.split('.', 1)[0]}.{type(given).__name__}"
    if getattr(given, "requires_grad", False) is True:
        raise TypeError(
            f"{name} is a {kind} that requires gradients, which do not pass through a model of "
            f"twofold. Pass {name}.detach()."
        )
    device = _device_of(given)
    if device not in ON_HOST:
        raise TypeError(
            f"{name} is a {kind} on a {DEVICES.get(device, f'DLPack {device}')} device; twofold "
            f"computes on the CPU. Copy it first: {name}.cpu() in PyTorch, {name}.get() in CuPy, "
            f"numpy.asarray({name}) in JAX."
        )
    reason: Exception | None = None
    for convert, protocol in ((np.from_dlpack, "__dlpack__"), (np.asarray, "__array__")):
        if hasattr(given, protocol):
            try:
                return convert(given)
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 - other libraries raise what they like
                reason = error
    raise TypeError(
        f"{name} is a {kind} that NumPy cannot read ({type(reason).__name__}: {str(reason)[:200]})."
        " Convert it to a dense tensor on the CPU of type float32 or float64 first, such as "
        f"{name}.to_dense().float().cpu() in PyTorch."
    ) from reason


def _device_of(given: Any) -> int:
    """Return DLPack's number of the device; that of the CPU if there is no answer."""
    try:
        return int(given.__dlpack_device__()[0])
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - no DLPack, or an unknown device: the conversion will tell
        return ON_CPU

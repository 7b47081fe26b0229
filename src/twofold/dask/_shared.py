"""What all tasks of a phase need: maps and settings that travel to each worker once.

An array that comes out of a network buffer may begin at any byte. NumPy adds up and multiplies such arrays in loops of their own, which round
otherwise, and a worker that was sent a map would differ in the last bits from the one that had it. So what is shared travels as plain bytes, and
is built anew, its arrays in their places, where it arrives.
"""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle

__all__ = ["Shared", "shared"]


class Shared:
    """An object behind a wrapping that is taken along as bytes.

    Parameters
    ----------
    content : object
        What is shared.
    """

    def __init__(self, content: Any) -> None:
        self.content = content

    def __reduce__(self) -> tuple[object, ...]:
        return _opened, (cloudpickle.dumps(self.content),)


def _opened(packed: bytes) -> Shared:
    return Shared(pickle.loads(packed))  # as Dask itself sends tasks


def shared(content: Any, name: str) -> Any:
    """Return one task that all others ask for the object, by its name on the dashboard."""
    from dask import delayed

    return delayed(_same)(Shared(content), dask_key_name=name)


def _same(thing: Any) -> Any:
    return thing

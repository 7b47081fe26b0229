"""The training latents of a distributed fit as a lazy Dask array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np

from twofold.dask._blocks import as_numbers
from twofold.dask._rows import DistributedRows
from twofold.dask._tasks import Shared, block_task, guarded, shared
from twofold.numerics.validation import cast_back
from twofold.protocols import AnyArray, Array

__all__ = ["Found", "lazy_embedding"]


@dataclass(frozen=True)
class Found:
    """The result of a method on a cluster.

    Attributes
    ----------
    state : dict
        The attributes of the fitted model, with an empty ``embedding_`` of shape (0, q).
    latents : ndarray of shape (n, q), or callable
        The training latents, or a function that travels to the workers: it takes centred rows
        (m, D) and the number of the first one, and returns their latents (m, q).
    """

    state: dict[str, Any]
    latents: Array | Callable[[Array, int], Array]


def lazy_embedding(found: Found, source: DistributedRows) -> Any:
    """Return the latents of all rows as a Dask array in the blocks and the dtype of the data."""
    import dask.array as da

    dtype, q = source.blocks.dtype, found.state["embedding_"].shape[1]
    if not callable(found.latents):
        return da.from_array(cast_back(found.latents, dtype), chunks=(tuple(source.sizes), q))
    name, token = source.cluster.name.lower(), uuid4().hex
    work = shared((found.latents, source.units, dtype, q), f"{name}-embedder-{token}")
    parts = []
    for number, (task, first, size) in enumerate(
        zip(source.blocks.tasks, source.offsets[:-1], source.sizes, strict=True)
    ):
        part = block_task(f"{name}-latents-{token}-{number}", _embed, number, work, task, first)
        parts.append(da.from_delayed(part.delayed, (size, q), dtype))
    return da.concatenate(parts)


@guarded
def _embed(work: Shared, block: Any, first: int) -> AnyArray:
    latents_of, units, dtype, q = work.content
    rows = as_numbers(block)
    if not len(rows):
        return np.empty((0, q), dtype)
    return cast_back(latents_of(units.into(rows), first), dtype)

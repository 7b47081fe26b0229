"""The latents of all rows of a distributed fit, block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np

from twofold.dask._blocks import as_numbers
from twofold.dask._rows import DistributedRows
from twofold.dask._tasks import Shared, Task, block_task, guarded, shared
from twofold.maps.affine import Predictor
from twofold.numerics.validation import cast_back
from twofold.protocols import AnyArray, Array

LatentsOf = Callable[[Array, int], Array]
"""Returns the latents (m, q) of centered rows (m, D), the first of which has the given number."""


@dataclass(frozen=True)
class Found:
    """The result of a method on a cluster.

    Attributes
    ----------
    state : dict
        The attributes of the fitted model, with an empty ``embedding_`` of shape (0, q).
    latents : ndarray of shape (n, q), or callable
        The training latents, or a function that computes them on the workers.
    """

    state: dict[str, Any]
    latents: Array | LatentsOf


@dataclass(frozen=True)
class Encoded:
    """The latents of rows, as a fitted encoder finds them."""

    encoder: Predictor

    def __call__(self, data: Array, first: int) -> Array:  # noqa: ARG002 - as `Found.latents`
        return self.encoder.predict(data)


def latents_tasks(
    phase: str, latents_of: LatentsOf, source: DistributedRows, none: AnyArray
) -> list[Task]:
    """Return for each block the task of its latents, in the shape and dtype of ``none`` (0, q)."""
    name, token = source.name_of(phase), uuid4().hex
    work = shared((latents_of, source.units, none), f"{name}-map-{token}")
    return [
        block_task(f"{name}-{token}-{number}", _embed, number, work, task, first)
        for number, (task, first) in enumerate(
            zip(source.blocks.tasks, source.offsets[:-1], strict=True)
        )
    ]


@guarded
def _embed(work: Shared, block: Any, first: int) -> AnyArray:
    latents_of, units, none = work.content
    rows = as_numbers(block)
    return cast_back(latents_of(units.into(rows), first), none.dtype) if len(rows) else none


def lazy_embedding(found: Found, source: DistributedRows) -> Any:
    """Return the latents of all rows as a Dask array in the blocks and the dtype of the data."""
    import dask.array as da

    dtype, q = source.blocks.dtype, found.state["embedding_"].shape[1]
    if not callable(found.latents):
        return da.from_array(cast_back(found.latents, dtype), chunks=(tuple(source.sizes), q))
    tasks = latents_tasks("latents", found.latents, source, np.empty((0, q), dtype))
    sized = zip(tasks, source.sizes, strict=True)
    return da.concatenate([da.from_delayed(one.delayed, (size, q), dtype) for one, size in sized])

"""Gaps of a table on a cluster: a sample of rows is completed here, and fills all blocks there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import numpy as np

from twofold.base.gaps import completed, filling_of
from twofold.dask._blocks import Blocks, as_numbers
from twofold.dask._cluster import Cluster
from twofold.dask._first_look import FirstLook, first_look
from twofold.dask._rows import DistributedRows
from twofold.dask._tasks import Shared, delayed_as, guarded, shared
from twofold.numerics.completion import MOST_DONORS, Completion, FilledTable, GapFilling
from twofold.numerics.factor_model import BoolArray
from twofold.numerics.threads import some_rows
from twofold.numerics.units import CenteredUnits
from twofold.protocols import AnyArray, Array


@dataclass(frozen=True)
class SampleFilled:
    """A sample (m, D) of the rows with its gaps filled, in the data's own units."""

    rows: Array
    gaps: BoolArray
    filled: FilledTable

    def in_units(self, units: CenteredUnits) -> GapFilling:
        """Return what a model in these units keeps to fill gaps."""
        return filling_of(units.into(self.rows), units, self.gaps, self.filled)


def without_gaps(
    table: Blocks, seen: FirstLook, cluster: Cluster, scale: Any, *, marked: bool
) -> tuple[Blocks, FirstLook, SampleFilled | None]:
    """Return a table without gaps and what a look at it finds; nothing changes if there are none.

    Rows do not depend on each other, so the result does not depend on the blocks.
    """
    if not seen.gaps:
        return table, seen, None
    source = DistributedRows(table, seen.sizes, cluster)
    numbers = some_rows(source.n_rows, MOST_DONORS)
    sample = source.rows(numbers, "sample of rows")
    complete, filled = completed(sample, scale)
    known = SampleFilled(complete, np.isnan(sample), filled)
    units = CenteredUnits.of(complete)
    name = f"{cluster.name}-gaps-{uuid4().hex}".lower()
    filler = shared((units, known.in_units(units).completion), f"{name}-completion")
    tasks = [
        delayed_as(f"{name}-{number}", _fill, number, task, filler)
        for number, task in enumerate(table.tasks)
    ]
    table = replace(table, tasks=tasks)
    return table, first_look(table, cluster, marked=marked), known


@guarded
def _fill(block: AnyArray, filler: Shared) -> Array:
    rows = as_numbers(block)
    units: CenteredUnits
    completion: Completion
    units, completion = filler.content
    incomplete = np.flatnonzero(np.isnan(rows).any(axis=1))
    if not len(incomplete):
        return rows
    values = units.back(completion.filled(units.into(rows[incomplete])))
    complete = rows.copy()
    complete[incomplete] = np.where(np.isnan(rows[incomplete]), values, rows[incomplete])
    return complete

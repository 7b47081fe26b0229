"""A race for rows on a cluster: it runs here, on a sample; the winner is fitted there."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from twofold.auto import AutoTwoWay
from twofold.dask._rows import DistributedRows
from twofold.numerics.threads import drawn_rows
from twofold.numerics.validation import check_rng, is_auto

ON_CLUSTERS = ("drur", "ukr", "principal_manifold")
"""Methods that can be fitted on a cluster."""

N_SAMPLE = 5_000


def check(estimator: AutoTwoWay, *, checkpoint: bool) -> None:
    """Raise an error if a method or an effort of the race cannot be used on a cluster."""
    if not isinstance(estimator.effort, str):
        raise TypeError(
            f"effort={estimator.effort!r}: seconds bound a fit in memory. On a cluster, use "
            "'fast', 'balanced' or 'best'."
        )
    if checkpoint and not isinstance(estimator.random_state, int | np.integer):
        raise ValueError(
            f"random_state={estimator.random_state!r}: a fit that resumes from a checkpoint must "
            "repeat the race. Set random_state to an integer."
        )
    if is_auto(estimator.methods):
        return
    names = [estimator.methods] if isinstance(estimator.methods, str) else estimator.methods
    bad = [name for name in names if name not in ON_CLUSTERS]
    if bad or not isinstance(names, list | tuple):
        raise ValueError(
            f"methods={estimator.methods!r}: on a cluster the methods are {list(ON_CLUSTERS)}. "
            "Name some of them, or leave 'auto'."
        )


def sampled_race(estimator: AutoTwoWay, source: DistributedRows) -> AutoTwoWay:
    """Return a clone of the estimator, fitted to a sample of the rows in memory."""
    rng = check_rng(estimator.random_state)
    numbers = drawn_rows(source.n_rows, min(N_SAMPLE, source.n_rows), rng)
    assert source.units is not None
    sample = source.units.back(source.rows(numbers, "sample"))
    model: AutoTwoWay = clone(estimator)
    methods: Any = list(ON_CLUSTERS) if is_auto(estimator.methods) else estimator.methods
    model.set_params(methods=methods)
    model.fit(sample)
    return model

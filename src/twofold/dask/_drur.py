"""Dimensionality reduction by unsupervised regression on a cluster.

The turns run on a sample of rows in the calling process, as in the local fit. Moments, projections
and the sums of both regressions run over all rows, where their blocks are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.base.journal import Journal
from twofold.base.problem import Problem
from twofold.dask._embedding import Found
from twofold.dask._rows import DistributedRows
from twofold.drur import DRUR
from twofold.drur.fitting import fit_rows
from twofold.drur.settings import DRURSettings
from twofold.drur.stream import check_stream_settings
from twofold.drur.sweep import Embedder
from twofold.protocols import Array


def check(estimator: DRUR) -> None:
    """Raise an error if a setting is invalid or needs all rows in memory."""
    check_stream_settings(DRURSettings.of(estimator))


def learn(estimator: DRUR, source: DistributedRows, problem: Problem, journal: Journal) -> Found:
    """Fit both maps to all rows."""
    found = fit_rows(DRURSettings.of(estimator), source, problem, journal)
    learned = estimator._assemble(found, np.empty((0, problem.n_components)))
    state = estimator._state(learned, problem.units, found.coordinates.unit**2)
    return Found(state, _Latents(found.embedder, found.starts))


@dataclass(frozen=True)
class _Latents:
    """The latents of rows, started where the turns left them if all rows took part."""

    embedder: Embedder
    starts: Array | None

    def __call__(self, data: Array, first: int) -> Array:
        known = None if self.starts is None else self.starts[first : first + len(data)]
        return self.embedder.latents_of_all(data, known)

"""Regularized principal manifolds on a cluster.

The turns run on some rows in the calling process, as in the local fit. Then all rows are projected
and the map is adapted to their sums, where their blocks are: in one pass for the squared loss, in
six for robust ones.
"""

from __future__ import annotations

import numpy as np

from twofold.base.estimator import Problem
from twofold.base.journal import Journal
from twofold.dask._embedding import Encoded, Found
from twofold.dask._rows import DistributedRows
from twofold.numerics.squares import Squares
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import check_int
from twofold.principal_manifold import PrincipalManifold
from twofold.principal_manifold.domains import resolve_domain
from twofold.principal_manifold.estimator import MOST_OF_DENSITY
from twofold.principal_manifold.fitting import fit_rows
from twofold.principal_manifold.settings import check_settings
from twofold.protocols import Array

__all__ = ["check", "learn"]


def check(estimator: PrincipalManifold) -> None:
    """Raise an error if a setting is invalid or needs all rows in memory."""
    check_int("n_components", estimator.n_components)
    check_settings(estimator, resolve_domain(estimator.domain, estimator.n_components))
    if np.ndim(estimator.init) > 0:
        raise ValueError(
            "init is an array of latents, but the rows on a cluster are not in memory. "
            "Pass the name of an initialization instead."
        )


def learn(
    estimator: PrincipalManifold, source: DistributedRows, problem: Problem, journal: Journal
) -> Found:
    """Fit the manifold to all rows."""
    found = fit_rows(estimator, source, problem, journal)
    encoder = estimator._encoder(found)

    def rows_of_density() -> tuple[Array, float]:
        rows = source.rows(some_rows(source.n_rows, MOST_OF_DENSITY), "sample")
        return rows, source.total(Squares.of_rows, "moments").total / source.n_rows

    rows, variance = journal.step("rows of the density", rows_of_density)
    latents = encoder.predict(rows)
    learned = estimator._assemble(found, encoder, latents[:0], latents)
    state = estimator._state(learned, problem.units, variance)
    return Found(state, Encoded(encoder))

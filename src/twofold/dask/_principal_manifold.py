"""Regularized principal manifolds on a cluster.

The turns run on some rows in the calling process, as in the local fit. Then all rows are projected
and the map is adapted to their sums, where their blocks are: in one pass for the squared loss, in
six for robust ones.
"""

from __future__ import annotations

from twofold.base.journal import Journal
from twofold.base.problem import Problem
from twofold.dask._embedding import Encoded, Found
from twofold.dask._rows import DistributedRows
from twofold.numerics.threads import some_rows
from twofold.numerics.tree_sums import squares_of_rows
from twofold.numerics.validation import check_int
from twofold.principal_manifold import PrincipalManifold
from twofold.principal_manifold.fitting import fit_rows
from twofold.principal_manifold.settings import MOST_OF_DENSITY, ManifoldSettings, is_array
from twofold.protocols import Array


def check(estimator: PrincipalManifold) -> None:
    """Raise an error if a setting is invalid or needs all rows in memory."""
    check_int("n_components", estimator.n_components)
    ManifoldSettings.of(estimator, estimator.n_components)
    if is_array(estimator.init):
        raise ValueError(
            "init is an array of latents, but the rows on a cluster are not in memory. "
            "Pass the name of an initialization instead."
        )


def learn(
    estimator: PrincipalManifold, source: DistributedRows, problem: Problem, journal: Journal
) -> Found:
    """Fit the manifold to all rows."""
    settings = ManifoldSettings.of(estimator, problem.n_components)
    found = fit_rows(settings, source, problem, journal)
    encoder = estimator._encoder(found)

    def rows_of_density() -> tuple[Array, float]:
        rows = source.rows(some_rows(source.n_rows, MOST_OF_DENSITY), "sample")
        return rows, source.total(squares_of_rows, "moments") / source.n_rows

    rows, variance = journal.step("rows of the density", rows_of_density)
    latents = encoder.predict(rows)
    learned = estimator._assemble(found, encoder, latents[:0], latents)
    state = estimator._state(learned, problem.units, variance)
    return Found(state, Encoded(encoder))

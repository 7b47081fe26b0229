"""The steps of an unsupervised regression, for rows in memory or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twofold.base.convergence import REGRESSION, warn_if_still_falling
from twofold.base.dimensions import warn_of_rank
from twofold.base.journal import Journal
from twofold.base.problem import Problem
from twofold.drur.alternation import Turns, alternate, moves_of
from twofold.drur.centers import chosen_centers
from twofold.drur.maps import FinalMaps, errors_of_encoders
from twofold.drur.settings import DRURSettings, rows_of_turns
from twofold.drur.starts import chosen_start
from twofold.drur.sweep import Embedder, Sweep, joint_maps
from twofold.maps.affine import Affine
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import MAX_RANK, axes_of_products, rank_up_to, row_norms_sq
from twofold.numerics.threads import some_rows
from twofold.numerics.tree_sums import ArrayRows, RowSource, squares_and_products, squares_of_rows
from twofold.protocols import Array, IntArray

HELD_OUT_SHARE = 0.1
MOST_HELD_OUT = 1_000
FEWEST_ROWS = 30
N_REPRESENTATIVES = 1_000


def _coordinates_of(source: RowSource, least: int, *, exact: bool) -> Affine:
    """Return the coordinates of a fit: at least ``least`` leading axes, at total variance one.

    An ``exact`` fit keeps all columns.
    """
    n_rows, n_columns = source.n_rows, source.n_columns
    if n_columns > n_rows and not exact:  # the rows fit into memory
        data = source.rows(np.arange(n_rows), "sample")
        spread = float(np.sqrt(row_norms_sq(data).mean()))
        return Affine.leading_subspace(data, least).in_units_of(spread)
    if n_columns <= MAX_RANK or exact:
        variance = source.total(squares_of_rows, "moments") / n_rows
        return Affine().in_units_of(float(np.sqrt(variance)))
    sums = source.total(squares_and_products, "moments")
    axes, variances = axes_of_products(sums.products, n_rows, MAX_RANK)
    coordinates = Affine.leading_axes(axes, variances, sums.squares / n_rows, least)
    return coordinates.in_units_of(float(np.sqrt(sums.squares / n_rows)))


@dataclass(frozen=True)
class UnsupervisedFit:
    """The result of a fit.

    ``latents`` (n, q) are those of all rows after a joint descent or a fixed number of turns with
    all rows; otherwise ``embedder`` computes
    the latents of any rows, from ``starts`` (n, q) if they were kept. ``errors`` are the held-out
    errors of both ways to encode, ``candidates`` the starts compared, and ``share`` is that of the
    rows that took part in the turns.
    """

    coordinates: Affine
    turns: Turns
    maps: FinalMaps
    latents: Array | None
    embedder: Embedder
    starts: Array | None
    domain: LatentDensity
    errors: dict[str, float]
    candidates: list[dict[str, Any]]
    share: float


def fit_rows(
    settings: DRURSettings,
    source: RowSource,
    problem: Problem,
    journal: Journal,
    *,
    keep_starts: bool = False,
) -> UnsupervisedFit:
    """Find latents of some rows by turns, then the maps of all rows by a sweep.

    ``problem`` has the same rows as ``source`` if they are in memory; otherwise it has none, and
    the fit puts those of the turns in their place. ``journal`` holds the steps that were completed
    before an interruption. With ``keep_starts``, the embedder's starts stay in memory.
    """
    n_rows, in_memory = source.n_rows, len(problem.data) == source.n_rows
    coordinates = journal.step(
        "coordinates", lambda: _coordinates_of(source, problem.n_components, exact=settings.exact)
    )
    rows = journal.step(
        "rows", lambda: rows_of_turns(settings, n_rows, problem.rng, in_memory=in_memory)
    )
    share = len(rows) / n_rows
    some = journal.step("sample", lambda: source.rows(rows, "sample"))
    if not in_memory:
        problem = replace(problem, data=some, original=problem.units.back(some))
        rows = np.arange(len(some))
        warn_of_rank(rank_up_to(some, problem.n_components), problem.n_components)
    data = coordinates.into(some)
    with problem.progress.phase("starts"):
        latents, candidates = journal.step(
            "starts", lambda: chosen_start(settings, data, rows, problem, n_rows, coordinates.unit)
        )
    with problem.progress.phase("centers"):
        n_centers = journal.step(
            "centers", lambda: chosen_centers(settings, data, latents, problem, n_rows)
        )
    held_out = journal.step(
        "held out", lambda: _held_out(0 if settings.tol is None else len(data), problem.rng)
    )

    def take_turns() -> Turns:
        moves = moves_of(settings, n_centers, problem.rng, share)
        most = settings.max_iter
        with problem.progress.phase("alternation", max_iter=None, at_most=most) as callback:
            return alternate(
                moves,
                settings,
                data,
                latents,
                held_out,
                callback,
                state=journal.state("turns"),
                note=lambda state: journal.note("turns", state),
            )

    turns = journal.step("turns", take_turns)
    domain = LatentDensity().fit(turns.latents[some_rows(len(data), N_REPRESENTATIVES)])
    judged = some[held_out] if len(held_out) else some
    errors = errors_of_encoders(turns.up, turns.down, judged, coordinates, domain)
    known = turns.latents if share == 1.0 else None
    kept = np.empty((n_rows, latents.shape[1])) if keep_starts and known is None else None
    sweep = Sweep(
        coordinates, turns.up, turns.down, domain.points_, settings.are_networks, known, kept
    )
    Z = None
    with problem.progress.phase("maps of all rows"):
        if n_centers == (0, 0):
            maps, Z = joint_maps(turns, some, data)
        else:
            # If all rows took part, they and their latents are in memory.
            everyone = ArrayRows(some) if share == 1.0 else source
            maps = journal.step(
                "maps", lambda: sweep.solved(everyone.total(sweep, "adaptation"), share)
            )
    if settings.tol is None and share == 1.0:
        Z = turns.latents  # those of the last projection, which the maps were adapted to
    elif settings.tol is not None:
        _warn_if_cut_short(turns, settings.max_iter)
    embedder = Embedder(replace(sweep, known=None, kept=None), maps)
    starts = kept if known is None else known
    return UnsupervisedFit(
        coordinates, turns, maps, Z, embedder, starts, domain, errors, candidates, share
    )


def _warn_if_cut_short(turns: Turns, max_iter: int) -> None:
    """Warn if the energy that decides when to stop was still falling."""
    values = turns.held_out if np.isfinite(turns.held_out).all() else turns.energies
    warn_if_still_falling(
        values, "energy", n_iter=len(values), max_iter=max_iter, threshold=REGRESSION
    )


def _held_out(n: int, rng: np.random.Generator) -> IntArray:
    if n < FEWEST_ROWS:
        return np.empty(0, dtype=np.intp)
    return np.sort(rng.permutation(n)[: min(MOST_HELD_OUT, int(HELD_OUT_SHARE * n))])

"""The steps of an unsupervised regression, for rows in memory or on a cluster alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twofold.base.estimator import Problem, warn_of_rank
from twofold.base.journal import Journal
from twofold.drur.all_rows import Embedder, Sweep, joint_maps
from twofold.drur.alternation import Settings, Turns, run_turns
from twofold.drur.maps import FinalMaps, errors_of_encoders
from twofold.drur.selection import (
    chosen_centers,
    chosen_start,
    moves_of,
    rows_of_turns,
)
from twofold.maps.affine import MAX_RANK, Affine
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import axes_of_products, rank_up_to, row_norms_sq
from twofold.numerics.squares import Squares
from twofold.numerics.threads import some_rows
from twofold.numerics.tree_sums import ArrayRows, RowSource
from twofold.protocols import Array, IntArray

__all__ = ["UnsupervisedFit", "coordinates_of", "fit_rows"]

HELD_OUT_SHARE = 0.1
MOST_HELD_OUT = 1_000
FEWEST_ROWS = 30
N_REPRESENTATIVES = 1_000


def coordinates_of(source: RowSource, least: int) -> Affine:
    """Return the coordinates of centred rows in which a fit works: their leading axes, at total variance one.

    Parameters
    ----------
    source : RowSource
        The rows.
    least : int
        Axes to keep at least.
    """
    n_rows, n_columns = source.n_rows, source.n_columns
    if n_columns > n_rows:  # few enough to hold
        data = source.rows(np.arange(n_rows), "sample")
        spread = float(np.sqrt(row_norms_sq(data).mean()))
        return Affine.leading_subspace(data, least).in_units_of(spread)
    squares: Squares = source.total(
        Squares.with_products if n_columns > MAX_RANK else Squares.of_rows, "moments"
    )
    coordinates = Affine()
    if squares.products is not None:
        axes, variances = axes_of_products(squares.products, n_rows, MAX_RANK)
        coordinates = Affine.leading_axes(axes, variances, squares.total / n_rows, least)
    return coordinates.in_units_of(float(np.sqrt(squares.total / n_rows)))


@dataclass(frozen=True)
class UnsupervisedFit:
    """What the steps found.

    Attributes
    ----------
    coordinates : Affine
        Where the turns took place.
    turns : Turns
        What they found.
    maps : FinalMaps
        The maps of all rows.
    latents : ndarray of shape (n, q) or None
        Where a joint descent left all rows.
    embedder : Embedder
        Gives the latents of any rows.
    starts : ndarray of shape (n, q) or None
        Where it begins, if that was kept.
    domain : LatentDensity
        Of some latents.
    errors : dict
        Of both ways down.
    candidates : list of dict
        Starts compared.
    share : float
        Of the rows that took part in the turns.
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
    model: Any,
    source: RowSource,
    problem: Problem,
    journal: Journal,
    *,
    keep_starts: bool = False,
) -> UnsupervisedFit:
    """Find latents of some rows by turns, then the maps of all rows by a sweep.

    Parameters
    ----------
    model : DRUR
        The settings.
    source : RowSource
        All rows, centred.
    problem : Problem
        The same rows where they are in memory; otherwise it has no rows, and those of the turns take their place.
    journal : Journal
        Knows the steps that were made before an interruption.
    keep_starts : bool, default=False
        Whether the embedder's starts are kept, in memory.
    """
    here = len(problem.data) == source.n_rows
    coordinates = journal.step("coordinates", lambda: coordinates_of(source, problem.n_components))
    rows = journal.step(
        "rows", lambda: rows_of_turns(model, source.n_rows, problem.rng, own_maps_see_all=here)
    )
    share = len(rows) / source.n_rows
    some = journal.step("sample", lambda: source.rows(rows, "sample"))
    if not here:
        problem = replace(problem, data=some, original=problem.units.back(some))
        rows = np.arange(len(some))
        warn_of_rank(rank_up_to(some, problem.n_components), problem.n_components)
    data = coordinates.into(some)
    n_rows = source.n_rows
    with problem.progress.phase("starts"):
        latents, candidates = journal.step(
            "starts", lambda: chosen_start(model, data, rows, problem, n_rows)
        )
    with problem.progress.phase("centres"):
        n_centers = journal.step(
            "centres", lambda: chosen_centers(model, data, latents, problem, n_rows)
        )
    held_out = journal.step("held out", lambda: _held_out(len(data), problem.rng))
    turns = journal.step(
        "turns",
        lambda: _turns(model, data, latents, held_out, n_centers, share, problem, journal),
    )
    domain = LatentDensity().fit(turns.latents[some_rows(len(data), N_REPRESENTATIVES)])
    judged = some[held_out] if len(held_out) else some
    errors = errors_of_encoders(turns.up, turns.down, judged, coordinates, domain)
    known = turns.latents if share == 1.0 else None
    kept = np.empty((n_rows, latents.shape[1])) if keep_starts and known is None else None
    sweep = Sweep(coordinates, turns.up, turns.down, model._ours, known, kept)
    Z = None
    with problem.progress.phase("maps of all rows"):
        if n_centers == (0, 0):
            maps, Z = joint_maps(turns, some, data)
        else:
            # Where all rows took part they are here, and so are their latents.
            everyone = ArrayRows(some) if share == 1.0 else source
            maps = journal.step(
                "maps", lambda: sweep.solved(everyone.total(sweep, "adaptation"), share)
            )
    embedder = Embedder(replace(sweep, known=None, kept=None), maps)
    starts = kept if known is None else known
    return UnsupervisedFit(
        coordinates, turns, maps, Z, embedder, starts, domain, errors, candidates, share
    )


def _turns(
    model: Any,
    data: Array,
    latents: Array,
    held_out: IntArray,
    n_centers: tuple[int, int],
    share: float,
    problem: Problem,
    journal: Journal,
) -> Turns:
    moves = moves_of(model, n_centers, problem.rng, share)
    recenter = model.max_iter if model.recenter is True else int(model.recenter)
    settings = Settings(float(model.down_weight), model.max_iter, float(model.tol), recenter)
    with problem.progress.phase("turns", max_iter=None, at_most=model.max_iter) as callback:
        return run_turns(
            moves,
            settings,
            data,
            latents,
            held_out,
            callback,
            state=journal.state("turns"),
            note=lambda state: journal.note("turns", state),
        )


def _held_out(n: int, rng: np.random.Generator) -> Any:
    if n < FEWEST_ROWS:
        return np.empty(0, dtype=np.intp)
    return np.sort(rng.permutation(n)[: min(MOST_HELD_OUT, int(HELD_OUT_SHARE * n))])

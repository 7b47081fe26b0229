"""Unsupervised kernel regression on a cluster, in levels.

1. The local estimator fits a sample of rows in the calling process.
2. All rows are projected onto its manifold, where their blocks are.
3. The latents are scaled so that a kernel reaches as many rows as it did in the sample. They are
   refined in tiles of the latent space (`twofold.dask._tiles`), each tile a task. A sweep over all
   tiles that does not lower the leave-one-out error of all rows is discarded.

The maps are those of the sample at its refined latents, so their size does not grow with the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import getitem
from typing import Any
from uuid import uuid4

import numpy as np

from twofold.base.journal import Journal
from twofold.base.problem import Problem
from twofold.dask._blocks import as_numbers
from twofold.dask._embedding import Encoded, Found, latents_tasks
from twofold.dask._rows import DistributedRows
from twofold.dask._tasks import Shared, block_task, delayed_as, guarded, shared
from twofold.dask._tiles import Refined, Refinement, Tile, tiles_of
from twofold.maps.affine import Affine, Chain, Predictor
from twofold.numerics.sums.reach import kernel_radius
from twofold.numerics.threads import drawn_rows
from twofold.numerics.validation import check_int, warn_user
from twofold.protocols import Array, IntArray
from twofold.ukr import UKR
from twofold.ukr.fitting import assembled, fit_rows, scheme_of
from twofold.ukr.settings import CELL_TOLERANCE, FARTHEST_CUT, UKRSettings, is_metric

MOST_AROUND = 20
"""Without a warning, a tile with its halo has at most this many times its own rows."""
KEPT = ("candidates_", "init_", "pseudo_count_", "history_", "validation_history_", "n_iter_")
"""Attributes of the sample's fit that refinement does not change."""


@dataclass(frozen=True)
class Levels:
    """The levels in which `twofold.dask.fit` fits a `twofold.UKR`.

    Parameters
    ----------
    n_sample : int, default=20_000
        Rows of the sample that the estimator fits first, in the calling process.
    n_sweeps : int, default=2
        Refinements of all rows; 0 keeps their projections onto the manifold of the sample.
    sweep_iter : int, default=10
        Iterations of L-BFGS in a refinement.
    tile_rows : int, default=20_000
        Most rows that one task refines, without the fixed rows around them.

    Examples
    --------
    >>> import dask.array as da
    >>> import twofold.dask
    >>> from twofold.datasets import make_s_curve
    >>> X = da.from_array(make_s_curve(300, random_state=0)[0], chunks=(100, 3))
    >>> model = twofold.UKR(init="isomap", tol=1e-2, random_state=0)
    >>> levels = twofold.dask.Levels(n_sample=200, n_sweeps=1)
    >>> len(twofold.dask.fit(model, X, levels=levels).refinement_history_)
    2
    """

    n_sample: int = 20_000
    n_sweeps: int = 2
    sweep_iter: int = 10
    tile_rows: int = 20_000

    def __post_init__(self) -> None:
        """Raise an error that names the first invalid parameter."""
        lowest = {"n_sample": 2, "n_sweeps": 0, "sweep_iter": 1, "tile_rows": 2}
        for name, low in lowest.items():
            check_int(name, getattr(self, name), low=low)


def check(estimator: UKR) -> None:
    """Raise an error if a setting is invalid or needs all rows in memory."""
    settings = UKRSettings.of(estimator, 0)
    if not is_metric(settings.metric, "euclidean"):
        raise ValueError(
            f"metric={estimator.metric!r} compares all rows with all others. On a cluster, use "
            "metric='euclidean'."
        )
    if kernel_radius(settings.kernel, CELL_TOLERANCE) >= FARTHEST_CUT:
        raise ValueError(
            f"kernel={estimator.kernel!r} has tails that reach every tile. Use 'gaussian', "
            "'quartic' or 'triweight'."
        )
    if np.ndim(estimator.init) > 1:
        raise ValueError(
            "init is an array of latents, but the rows on a cluster are not in memory. "
            "Pass the name of an initialization instead."
        )


def learn(
    estimator: UKR, source: DistributedRows, problem: Problem, journal: Journal, *, levels: Levels
) -> Found:
    """Fit a sample, then project and refine all rows."""
    n_rows, q = source.n_rows, problem.n_components
    n_sample = min(levels.n_sample, n_rows)
    settings = UKRSettings.of(estimator, n_sample)

    def draw() -> IntArray:
        everyone = n_sample == n_rows
        return np.arange(n_rows) if everyone else drawn_rows(n_rows, n_sample, problem.rng)

    numbers = journal.step("rows", draw)
    sample = journal.step("sample", lambda: source.rows(numbers, "sample"))
    problem = replace(problem, data=sample, original=problem.units.back(sample))

    def fit_sample() -> tuple[Predictor, dict[str, Any]]:
        # The other rows do not lie in the span of the sample.
        learned = fit_rows(replace(settings, smoothing=1.0, spans_rows=False), problem)
        return learned.encoder, {name: learned.attributes[name] for name in KEPT}

    encoder, kept = journal.step("fit of the sample", fit_sample)
    settings = replace(settings, pseudo_count=kept["pseudo_count_"])

    def project() -> Array:
        tasks = latents_tasks("projection", Encoded(encoder), source, np.empty((0, q)))
        return np.concatenate(source.run([], tasks, "projection"))

    Z = journal.step("projection", project)
    scale = (n_rows / n_sample) ** (1.0 / q)
    first = encoder.maps[0] if isinstance(encoder, Chain) else None
    subspace = first if isinstance(first, Affine) else None
    sweeps = _Sweeps(settings, levels, source, subspace)
    Z, errors = sweeps.refined(scale * Z, problem, journal)
    # The maps are those of the sample at its refined latents.
    scheme = scheme_of(settings, sample if subspace is None else subspace.into(sample))
    scale *= settings.smoothing
    learned = assembled(settings, problem, scheme, subspace, Z[numbers] / scale)
    variance = learned.variance
    assert variance is not None
    history = np.array(errors) / max(variance, 1e-300)
    attributes = {**learned.attributes, **kept, "refinement_history_": history}
    learned = replace(learned, latents=Z[:0], attributes=attributes)
    return Found(estimator._state(learned, problem.units, variance), Z / scale)


@dataclass(frozen=True)
class _Sweeps:
    """Refinement of the latents of all rows, tile by tile."""

    settings: UKRSettings
    levels: Levels
    source: DistributedRows
    subspace: Affine | None

    def refined(self, Z: Array, problem: Problem, journal: Journal) -> tuple[Array, list[float]]:
        """Return the latents of the lowest leave-one-out error, and the errors of all sweeps."""
        best, errors = Z, []
        known = journal.state("refinement")
        if known is not None:
            Z, best, errors = known["latents"], known["best"], list(known["history"])
        n_sweeps = self.levels.n_sweeps
        with problem.progress.phase("refinement", max_iter=None) as callback:
            # The last pass only measures the error after the last sweep.
            for sweep in range(len(errors), n_sweeps + 1 if n_sweeps else 0):
                moved, error = self._sweep(Z, self.levels.sweep_iter if sweep < n_sweeps else 0)
                if not errors or error < min(errors):
                    best = Z
                errors.append(error)
                stop = callback(sweep, error, Z)
                Z = moved
                journal.note("refinement", {"latents": Z, "best": best, "history": errors})
                if stop:
                    break
        return best, errors

    def _sweep(self, Z: Array, n_iter: int) -> tuple[Array, float]:
        """Refine all tiles at once; return the new latents and the mean error of the old ones."""
        token = uuid4().hex
        settings, tile_rows = self.settings, self.levels.tile_rows
        assert settings.pseudo_count is not None
        tiles = tiles_of(Z, tile_rows, 2.0 * kernel_radius(settings.kernel, CELL_TOLERANCE))
        largest = max(len(tile.rows) for tile in tiles)
        if largest > MOST_AROUND * tile_rows:
            warn_user(
                f"A tile of tile_rows={tile_rows} rows has {largest} with its halo, all on one "
                "worker. Raise tile_rows, or use fewer components: halos grow with each dimension.",
                UserWarning,
            )
        refinement = Refinement(settings.kernel, settings.pseudo_count, n_iter, settings.tol)
        work = shared((refinement, self.source.units, self.subspace), f"ukr-tile-kernel-{token}")
        pieces = self._pieces(tiles, work, token)
        tasks = [
            block_task(f"ukr-tile-{token}-{n}", _refine, None, work, parts, Z[tile.rows], tile.own)
            for n, (tile, parts) in enumerate(zip(tiles, pieces, strict=True))
        ]
        found: list[Refined] = self.source.run([], tasks, "refinement")
        moved = Z.copy()
        for tile, one in zip(tiles, found, strict=True):
            moved[tile.rows[tile.own]] = one.latents
        return moved, sum(one.error_before for one in found) / len(Z)

    def _pieces(self, tiles: list[Tile], work: Any, token: str) -> list[list[Any]]:
        """Return for each tile the delayed pieces of its rows, block by block."""
        offsets = self.source.offsets
        found: list[list[Any]] = [[] for _ in tiles]
        cuts = [np.searchsorted(tile.rows, offsets) for tile in tiles]
        for block, task in enumerate(self.source.blocks.tasks):
            wanted = {
                number: tile.rows[cut[block] : cut[block + 1]] - offsets[block]
                for number, (tile, cut) in enumerate(zip(tiles, cuts, strict=True))
                if cut[block] < cut[block + 1]
            }
            if not wanted:
                continue
            split = block_task(f"ukr-split-{token}-{block}", _split, block, work, task, wanted)
            for number in wanted:
                key = f"ukr-piece-{token}-{block}-{number}"
                found[number].append(delayed_as(key, getitem, split.delayed, number))
        return found


@guarded
def _split(work: Shared, block: Any, wanted: dict[int, IntArray]) -> dict[int, Array]:
    _, units, subspace = work.content
    rows = units.into(as_numbers(block))
    inside = rows if subspace is None else subspace.into(rows)
    return {number: inside[some] for number, some in wanted.items()}


@guarded
def _refine(work: Shared, parts: list[Array], latents: Array, own: Any) -> Refined:
    refinement, _, _ = work.content
    return refinement(np.concatenate(parts), np.array(latents), own)  # type: ignore[no-any-return]

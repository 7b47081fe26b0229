"""Unsupervised kernel regression on a cluster, in levels.

1. The local estimator fits a sample of rows in the calling process.
2. All rows are projected onto its manifold, where their blocks are.
3. The latents are scaled so that a kernel reaches as many rows as it did in the sample. They are
   refined in tiles of the latent space (`twofold.dask._tiles`), each tile a task. A sweep over all
   tiles that does not lower the leave-one-out error of all rows is discarded.

The maps are those of the sample at its refined latents, so their size does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from operator import getitem
from typing import Any, Self
from uuid import uuid4

import numpy as np

from twofold.base.journal import Journal
from twofold.base.problem import Learned, Problem
from twofold.dask._blocks import as_numbers
from twofold.dask._embedding import Encoded, Found, latents_tasks
from twofold.dask._rows import DistributedRows
from twofold.dask._tasks import Shared, block_task, delayed_as, guarded, shared
from twofold.dask._tiles import Refined, Refinement, Tile, tiles_of
from twofold.kernels import resolve_kernel
from twofold.maps.affine import Affine, Chain, Predictor
from twofold.numerics.sums.reach import kernel_radius
from twofold.numerics.threads import drawn_rows
from twofold.numerics.validation import check_int, warn_user
from twofold.protocols import Array, IntArray, MinimizeResult
from twofold.starts.candidates import Candidate
from twofold.ukr import UKR
from twofold.ukr.regression import KernelRegression
from twofold.ukr.settings import CELL_TOLERANCE, check_settings

FARTHEST = 10.0
MOST_AROUND = 20
"""Without a warning, a tile with its halo has at most this many times its own rows."""
KEPT = ("candidates_", "init_", "history_", "validation_history_", "n_iter_")
"""Attributes of the sample's fit that refinement does not change."""


@dataclass(frozen=True)
class Levels:
    """The rows of the sample, and the sweeps, their iterations of L-BFGS and the rows of a tile."""

    n_sample: int = 20_000
    n_sweeps: int = 2
    sweep_iter: int = 10
    tile_rows: int = 20_000

    @classmethod
    def of(cls, given: Mapping[str, int] | None) -> Self:
        """Check the settings of a caller, and use defaults for the others."""
        settings = {**asdict(cls()), **(given or {})}
        lowest = {"n_sample": 2, "n_sweeps": 0, "sweep_iter": 1, "tile_rows": 2}
        unknown = sorted(set(settings) - set(lowest))
        if unknown:
            raise ValueError(f"levels has {unknown[0]!r}, but must have some of {list(lowest)}.")
        return cls(**{n: check_int(n, value, low=lowest[n]) for n, value in settings.items()})


def check(estimator: UKR) -> None:
    """Raise an error if a setting is invalid or needs all rows in memory."""
    check_settings(estimator)
    if not (isinstance(estimator.metric, str) and estimator.metric == "euclidean"):
        raise ValueError(
            f"metric={estimator.metric!r} compares all rows with all others. On a cluster, use "
            "metric='euclidean'."
        )
    if kernel_radius(resolve_kernel(estimator.kernel), CELL_TOLERANCE) > FARTHEST:
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

    def draw() -> IntArray:
        everyone = n_sample == n_rows
        return np.arange(n_rows) if everyone else drawn_rows(n_rows, n_sample, problem.rng)

    numbers = journal.step("rows", draw)
    sample = journal.step("sample", lambda: source.rows(numbers, "sample"))
    problem = replace(problem, data=sample, original=problem.units.back(sample))
    fitted = journal.step(
        "fit of the sample", lambda: _state_of(estimator, estimator._learn(problem), problem)
    )
    encoder: Predictor = fitted["encoder_"]

    def project() -> Array:
        tasks = latents_tasks("projection", Encoded(encoder), source, np.empty((0, q)))
        return np.concatenate(source.run([], tasks, "projection"))

    Z = journal.step("projection", project)
    scale = (n_rows / n_sample) ** (1.0 / q)
    first = encoder.maps[0] if isinstance(encoder, Chain) else None
    subspace = first if isinstance(first, Affine) else None
    sweeps = _Sweeps(estimator, levels, source, subspace)
    Z, errors = sweeps.refined(scale * Z, problem, journal)
    learned = _at_latents(estimator, problem, subspace, fitted, Z[numbers] / scale)
    state = _state_of(estimator, learned, problem)
    state["refinement_history_"] = np.array(errors) / max(state["_variance"], 1e-300)
    return Found(state, Z / scale)


def _state_of(estimator: UKR, learned: Learned, problem: Problem) -> dict[str, Any]:
    assert learned.variance is not None
    return estimator._state(learned, problem.units, learned.variance)


def _at_latents(
    estimator: UKR,
    problem: Problem,
    subspace: Affine | None,
    fitted: dict[str, Any],
    Z: Array,
) -> Learned:
    """Return the model of the sample at its refined latents."""
    scheme = KernelRegression.of(
        problem.data if subspace is None else subspace.into(problem.data),
        resolve_kernel(estimator.kernel),
        pseudo_count=estimator.pseudo_count,
        n_jobs=estimator.n_jobs,
    )
    start = Candidate(fitted["init_"], Z, np.ones(Z.shape[1]), np.nan)
    ended = MinimizeResult(Z, np.nan, fitted["n_iter_"], 0, True, "refined", np.zeros(1))
    learned = estimator._assemble(problem, scheme, subspace, Z, [start], ended, [])
    attributes = {**learned.attributes, **{name: fitted[name] for name in KEPT}}
    return replace(learned, attributes=attributes, latents=Z[:0])


@dataclass(frozen=True)
class _Sweeps:
    """Refinement of the latents of all rows, tile by tile."""

    estimator: UKR
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
        kernel, tile_rows = resolve_kernel(self.estimator.kernel), self.levels.tile_rows
        tiles = tiles_of(Z, tile_rows, 2.0 * kernel_radius(kernel, CELL_TOLERANCE))
        largest = max(len(tile.rows) for tile in tiles)
        if largest > MOST_AROUND * tile_rows:
            warn_user(
                f"A tile of tile_rows={tile_rows} rows has {largest} with its halo, all on one "
                "worker. Raise tile_rows, or use fewer components: halos grow with each dimension.",
                UserWarning,
            )
        count, tol = float(self.estimator.pseudo_count), float(self.estimator.tol)
        refinement = Refinement(kernel, count, n_iter, tol)
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

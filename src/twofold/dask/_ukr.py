"""Unsupervised kernel regression of more rows than one machine holds, in levels."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import numpy as np

from twofold.base.estimator import Problem
from twofold.base.journal import Journal
from twofold.dask._base import DistributedEstimator, Found
from twofold.dask._blocks import as_numbers
from twofold.dask._cluster import Task
from twofold.dask._rows import DistributedRows, guarded
from twofold.dask._shared import Shared, shared
from twofold.dask._tiles import Refinement, Tile, tiles_of
from twofold.kernels import resolve_kernel
from twofold.maps.affine import Affine, Chain
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.sums import kernel_radius
from twofold.numerics.threads import drawn_rows, using_threads
from twofold.numerics.units import CentredUnits
from twofold.numerics.validation import check_int, warn_user
from twofold.optimize import SpectralGuidance
from twofold.protocols import Array, IntArray, Minimizer, MinimizeResult, RadialKernel
from twofold.starts.candidates import Candidate
from twofold.ukr import UKR as LocalUKR
from twofold.ukr.regression import CELL_TOLERANCE, KernelRegression, is_many
from twofold.ukr.settings import check_settings

__all__ = ["UKR"]

FARTHEST = 10.0
MOST_AROUND = 20
"""Times its own rows that a tile with its halo may have without a warning."""


class UKR(DistributedEstimator):
    """`twofold.UKR` on a Dask cluster, in levels.

    1. A sample of rows is fitted by the local estimator, in the process that calls `fit`. 2. All rows are projected onto its manifold, where they
    are. 3. Latents are scaled so that as many of them are in a kernel's reach as were in the sample's fit, and refined in tiles of the latent space with
    halos (`twofold.dask._tiles`), every tile a task. Refinement is judged by the leave-one-out error of all rows; what does not lower it is not kept.

    The latents of all rows are kept in the calling process between sweeps (16 bytes a row in two dimensions). The maps are those of the sample at its refined
    latents, so their size and speed do not grow with the rows. Latents are in units of the sample's kernel, as `transform` gives them.

    Parameters
    ----------
    n_components, kernel, init, optimizer, guidance, max_iter, tol, objective, leave_out, pseudo_count, homotopy, density_threshold, \
validation_fraction
        As in `twofold.UKR`, for the sample. The metric is Euclidean.
    n_sample : int, default=20_000
        Rows of the sample.
    n_sweeps : int, default=2
        Refinements of all tiles; 0 leaves rows where they were projected to.
    sweep_iter : int, default=10
        Iterations of L-BFGS in a tile.
    tile_rows : int, default=20_000
        Rows of a tile at most, without its halo.
    random_state, n_jobs, verbose, client, checkpoint, timeout, no_workers_timeout
        As in `twofold.dask.DRUR`.

    Attributes
    ----------
    embedding_ : dask.array.Array of shape (n_samples, n_components)
        Latents of the training data.
    refinement_history_ : ndarray of shape (n_sweeps + 1,)
        Leave-one-out errors of all rows after the projection and after each sweep, in units of their variance; empty without sweeps.
    local_ : twofold.UKR
        The fitted model; `to_local` gives a copy.

    Examples
    --------
    >>> import dask.array as da
    >>> from twofold.dask import UKR
    >>> from twofold.datasets import make_s_curve
    >>> X = da.from_array(make_s_curve(600, random_state=0)[0], chunks=(200, 3))
    >>> model = UKR(init="pca", homotopy=False, tol=1e-2, n_sample=200, tile_rows=200, sweep_iter=3, random_state=0).fit(X)
    >>> model.embedding_.shape
    (600, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str | RadialKernel = "gaussian",
        init: Any = "auto",
        optimizer: str | Minimizer = "lbfgs",
        guidance: SpectralGuidance | None = None,
        max_iter: int | str = "auto",
        tol: float = 1e-4,
        objective: str = "leave_one_out",
        leave_out: int = 1,
        pseudo_count: float = 0.03,
        homotopy: str | bool = "auto",
        density_threshold: str | float = "auto",
        validation_fraction: float | None = None,
        n_sample: int = 20_000,
        n_sweeps: int = 2,
        sweep_iter: int = 10,
        tile_rows: int = 20_000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        timeout: float = 600.0,
        no_workers_timeout: float = 30.0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.init = init
        self.optimizer = optimizer
        self.guidance = guidance
        self.max_iter = max_iter
        self.tol = tol
        self.objective = objective
        self.leave_out = leave_out
        self.pseudo_count = pseudo_count
        self.homotopy = homotopy
        self.density_threshold = density_threshold
        self.validation_fraction = validation_fraction
        self.n_sample = n_sample
        self.n_sweeps = n_sweeps
        self.sweep_iter = sweep_iter
        self.tile_rows = tile_rows
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.client = client
        self.checkpoint = checkpoint
        self.timeout = timeout
        self.no_workers_timeout = no_workers_timeout

    def _local(self) -> Any:
        levels = ("n_sample", "n_sweeps", "sweep_iter", "tile_rows")
        settings = self._local_settings()
        local = LocalUKR(**{k: v for k, v in settings.items() if k not in levels})
        check_settings(local)
        check_int("n_sample", self.n_sample, low=2)
        check_int("n_sweeps", self.n_sweeps, low=0)
        check_int("sweep_iter", self.sweep_iter)
        check_int("tile_rows", self.tile_rows, low=2)
        if kernel_radius(resolve_kernel(self.kernel), CELL_TOLERANCE) > FARTHEST:
            raise ValueError(
                f"kernel={self.kernel!r} has tails that reach every tile. Use 'gaussian', 'quartic' or 'triweight'."
            )
        if np.ndim(self.init) > 1:
            raise ValueError(
                "init is an array of latents: rows on a cluster are not in memory. Name a start instead."
            )
        return local

    def _learn(
        self, local: Any, source: DistributedRows, problem: Problem, journal: Journal
    ) -> Found:
        units = problem.units
        n_rows, q = source.n_rows, problem.n_components
        most = min(self.n_sample, n_rows)
        rows = journal.step("rows", lambda: _sampled(n_rows, most, problem.rng))
        sample = journal.step("sample", lambda: source.rows(rows, "sample"))
        problem = replace(problem, data=sample, original=units.back(sample))
        state = journal.step("fit of the sample", lambda: _fitted_state(local, problem))
        local._take(state)
        levels = _Levels(self, local, source, units)
        Z = journal.step("projection", lambda: levels.project(q))
        scale = (n_rows / most) ** (1.0 / q)
        Z, history = levels.refine(scale * Z, problem, journal)
        self._remake(local, problem, Z[rows] / scale)
        local.refinement_history_ = np.array(history) / max(local._variance, 1e-300)
        local._learned_names = (*local._learned_names, "refinement_history_")
        return Found(local, latents=Z / scale)

    @staticmethod
    def _remake(local: Any, problem: Problem, Z: Array) -> None:
        """Give a model of the sample its refined latents."""
        kernel = resolve_kernel(local.kernel)
        space = None
        data = problem.data
        if is_many(len(data), kernel):
            space = Affine.leading_subspace(data, problem.n_components)
            data = space.into(data)
        scheme = KernelRegression.of(
            data, kernel, pseudo_count=local.pseudo_count, n_jobs=local.n_jobs
        )
        start = Candidate(local.init_, Z, np.ones(Z.shape[1]), np.nan)
        ended = MinimizeResult(Z, np.nan, local.n_iter_, 0, True, "refined", np.zeros(1))
        learned = local._assemble(problem, scheme, space, Z, [start], ended, [])
        kept = ("candidates_", "init_", "history_", "validation_history_", "n_iter_")
        attributes = {**learned.attributes, **{name: getattr(local, name) for name in kept}}
        learned = replace(learned, attributes=attributes, latents=Z[:0])
        assert learned.variance is not None
        local._take(local._state(learned, problem.units, learned.variance))


def _sampled(n_rows: int, most: int, rng: np.random.Generator) -> IntArray:
    return np.arange(n_rows) if most == n_rows else drawn_rows(n_rows, most, rng)


def _fitted_state(local: Any, problem: Problem) -> dict[str, Any]:
    learned = local._learn(problem)
    variance = learned.variance
    if variance is None:
        variance = float(row_norms_sq(problem.data).mean())
    state: dict[str, Any] = local._state(learned, problem.units, variance)
    return state


@dataclass(frozen=True)
class _Levels:
    """Projection and refinement of all rows on a cluster."""

    settings: UKR
    local: Any
    source: DistributedRows
    units: CentredUnits

    def project(self, q: int) -> Array:
        """Return the latents of all rows on the sample's manifold (n, q)."""
        from dask import delayed

        token = uuid4().hex
        encoder = shared((self.local.encoder_, self.units), f"ukr-encoder-{token}")
        tasks = [
            Task(
                delayed(_project)(
                    encoder, task, q, number, dask_key_name=f"ukr-projection-{token}-{number}"
                ),
                number,
            )
            for number, task in enumerate(self.source.blocks.tasks)
        ]
        return np.concatenate(self._run([], tasks, "projection"))

    def refine(self, Z: Array, problem: Problem, journal: Journal) -> tuple[Array, list[float]]:
        """Return the latents of the lowest leave-one-out error of all sweeps, and all errors."""
        best, history = Z, []
        known = journal.state("refinement")
        if known is not None:
            Z, best, history = known["latents"], known["best"], list(known["history"])
        n_sweeps = self.settings.n_sweeps
        with problem.progress.phase("refinement", max_iter=None) as callback:
            # The last pass only measures what the sweep before it has done.
            for sweep in range(len(history), n_sweeps + 1 if n_sweeps else 0):
                moved, error = self._sweep(Z, self.settings.sweep_iter if sweep < n_sweeps else 0)
                if not history or error < min(history):
                    best = Z
                history.append(error)
                stop = callback(sweep, error, Z)
                Z = moved
                journal.note("refinement", {"latents": Z, "best": best, "history": history})
                if stop:
                    break
        return best, history

    def _sweep(self, Z: Array, n_iter: int) -> tuple[Array, float]:
        """Refine all tiles at once; return the new latents, and the mean error of those before."""
        from dask import delayed

        token = uuid4().hex
        radial = resolve_kernel(self.settings.kernel)
        reach = 2.0 * kernel_radius(radial, CELL_TOLERANCE)
        tiles = tiles_of(Z, self.settings.tile_rows, reach)
        largest = max(len(tile.rows) for tile in tiles)
        if largest > MOST_AROUND * self.settings.tile_rows:
            warn_user(
                f"A tile of tile_rows={self.settings.tile_rows} rows has {largest} with its halo, all on one worker. Raise tile_rows, or use "
                "fewer components: halos grow with every dimension.",
                UserWarning,
            )
        work = Refinement(
            radial, float(self.settings.pseudo_count), n_iter, float(self.settings.tol)
        )
        encoder = self.local.encoder_
        subspace = encoder.maps[0] if isinstance(encoder, Chain) else None
        kernel = shared((work, self.units, subspace), f"ukr-tile-kernel-{token}")
        pieces = self._pieces(tiles, kernel, token)
        tasks = [
            Task(
                delayed(_refine)(
                    kernel,
                    parts,
                    Z[tile.rows],
                    tile.own,
                    dask_key_name=f"ukr-tile-{token}-{number}",
                )
            )
            for number, (tile, parts) in enumerate(zip(tiles, pieces, strict=True))
        ]
        found = self._run([], tasks, "refinement")
        moved = Z.copy()
        for tile, one in zip(tiles, found, strict=True):
            moved[tile.rows[tile.own]] = one.latents
        return moved, sum(one.error_before for one in found) / len(Z)

    def _pieces(self, tiles: list[Tile], kernel: Any, token: str) -> list[list[Any]]:
        """Return for each tile the tasks that give its rows, block by block."""
        from dask import delayed

        offsets = self.source.offsets
        found: list[list[Any]] = [[] for _ in tiles]
        cuts = [np.searchsorted(tile.rows, offsets) for tile in tiles]
        for block, (task, first) in enumerate(zip(self.source.blocks.tasks, offsets, strict=False)):
            wanted = {
                number: tile.rows[cuts[number][block] : cuts[number][block + 1]] - first
                for number, tile in enumerate(tiles)
            }
            wanted = {number: rows for number, rows in wanted.items() if len(rows)}
            if not wanted:
                continue
            split = delayed(_split)(
                kernel, task, wanted, block, dask_key_name=f"ukr-split-{token}-{block}"
            )
            for number in wanted:
                part = delayed(_at)(
                    split, number, dask_key_name=f"ukr-piece-{token}-{block}-{number}"
                )
                found[number].append(part)
        return found

    def _run(self, watched: list[Task], wanted: list[Task], phase: str) -> list[Any]:
        return self.source._run(watched, wanted, phase)


def _at(parts: dict[int, Array], number: int) -> Array:
    return parts[number]


def _project(encoder: Shared, block: Any, q: int, number: int) -> Any:
    return guarded(_projected)(encoder.content, block, q, number)


def _projected(kernel: tuple[Any, CentredUnits], block: Any, q: int) -> Array:
    encoder, units = kernel
    rows = as_numbers(block)
    if not len(rows):
        return np.empty((0, q))
    latents: Array = encoder.predict(units.into(rows))
    return latents


def _split(kernel: Shared, block: Any, wanted: dict[int, Any], number: int) -> Any:
    return guarded(_split_rows)(kernel.content, block, wanted, number)


def _split_rows(kernel: Any, block: Any, wanted: dict[int, Any]) -> dict[int, Array]:
    _, units, subspace = kernel
    rows = units.into(as_numbers(block))
    inside = rows if subspace is None else subspace.into(rows)
    return {number: inside[local] for number, local in wanted.items()}


def _refine(kernel: Shared, parts: list[Array], latents: Array, own: Any) -> Any:
    work, _, _ = kernel.content
    with using_threads(1):
        return work(np.concatenate(parts), np.array(latents), own)

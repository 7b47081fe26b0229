"""Unsupervised regression of more rows than one machine holds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.base.estimator import Problem
from twofold.base.journal import Journal
from twofold.dask._base import DistributedEstimator, Found
from twofold.dask._rows import DistributedRows
from twofold.drur import DRUR as LocalDRUR
from twofold.drur.all_rows import Embedder
from twofold.drur.fitting import fit_rows
from twofold.drur.settings import check_settings
from twofold.drur.stream import check_stream_settings
from twofold.protocols import Array, Map

__all__ = ["DRUR"]

BLOCK_ROWS = 16_384


class DRUR(DistributedEstimator):
    """`twofold.DRUR` on a Dask cluster: the same model, bit for bit, however the rows are chunked.

    The turns take place on a sample of rows, drawn by their numbers, in the process that calls `fit`, as in the local estimator. All that
    grows with the rows is done where they are: units, moments, the projection of every row and the sums of both regressions. Maps of your own
    are fitted to the sample alone, as in ``fit_blocks``.

    Parameters
    ----------
    n_components, up, down, n_centers, alpha, down_weight, init, max_iter, tol, recenter, random_state
        As in `twofold.DRUR`. ``n_centers="all"`` and latents given as ``init`` belong to rows in memory, and are refused.
    n_jobs : int or None, default=None
        Threads of the calling process.
    verbose : int, default=0
        1 logs phases, turns and, every few seconds, the tasks done.
    client : distributed.Client, default=None
        The cluster; None means the client that is current, and Dask's threads where there is none.
    checkpoint : path, default=None
        A file for the state of the fit after each step and turn; ``fit(X, resume=True)`` goes on from it.
    timeout : float, default=600
        Seconds without any task ending after which the fit fails.
    no_workers_timeout : float, default=30
        Seconds without any worker after which it fails.

    Attributes
    ----------
    embedding_ : dask.array.Array of shape (n_samples, n_components)
        Latents of the training data, computed when they are asked for.
    local_ : twofold.DRUR
        The fitted model; `to_local` gives a copy.
    method_, errors_, n_centers_, alpha_, init_, candidates_, history_, validation_history_, n_iter_, encoder_, decoder_, density_
        As in `twofold.DRUR`.

    Examples
    --------
    >>> import dask.array as da
    >>> from twofold.dask import DRUR
    >>> from twofold.datasets import make_s_curve
    >>> X = da.from_array(make_s_curve(300, random_state=0)[0], chunks=(100, 3))
    >>> model = DRUR(n_centers=20, init="isomap", random_state=0).fit(X)
    >>> model.transform(X).shape, model.embedding_.numblocks
    ((300, 2), (3, 1))
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        up: str | Map = "rbf",
        down: str | Map = "rbf",
        n_centers: int | str | tuple[int, int] = "auto",
        alpha: float | str | tuple[float, float] = "auto",
        down_weight: float = 1.0,
        init: Any = "auto",
        max_iter: int = 50,
        tol: float = 0.03,
        recenter: int | bool = 4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        timeout: float = 600.0,
        no_workers_timeout: float = 30.0,
    ) -> None:
        self.n_components = n_components
        self.up = up
        self.down = down
        self.n_centers = n_centers
        self.alpha = alpha
        self.down_weight = down_weight
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.recenter = recenter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.client = client
        self.checkpoint = checkpoint
        self.timeout = timeout
        self.no_workers_timeout = no_workers_timeout

    def _local(self) -> Any:
        local = LocalDRUR(**self._local_settings())
        check_settings(local)
        check_stream_settings(local)
        return local

    def _learn(
        self, local: Any, source: DistributedRows, problem: Problem, journal: Journal
    ) -> Found:
        found = fit_rows(local, source, problem, journal)
        learned = local._assemble(found, np.empty((0, problem.n_components)))
        local._take(local._state(learned, problem.units, found.coordinates.unit**2))
        return Found(local, _Latents(found.embedder, found.starts))


@dataclass(frozen=True)
class _Latents:
    """The latents of rows; where all rows took part in the turns they start from where these left them."""

    embedder: Embedder
    starts: Array | None

    def __call__(self, data: Array, first: int) -> Array:
        found = []
        for start in range(0, len(data), BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, len(data)))
            known = None
            if self.starts is not None:
                known = self.starts[first + rows.start : first + rows.stop]
            found.append(self.embedder.latents_of(data[rows], known))
        return np.concatenate(found)

"""Principal manifolds of more rows than one machine holds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.base.estimator import Problem
from twofold.base.journal import Journal
from twofold.dask._base import DistributedEstimator, Found
from twofold.dask._rows import DistributedRows
from twofold.numerics.threads import some_rows
from twofold.numerics.tree_sums import squares_of_rows
from twofold.numerics.validation import check_int
from twofold.principal_manifold import PrincipalManifold as LocalPrincipalManifold
from twofold.principal_manifold.fitting import fit_rows
from twofold.principal_manifold.maps import ManifoldEncoder
from twofold.principal_manifold.settings import MOST_OF_DENSITY, ManifoldSettings
from twofold.protocols import Array

__all__ = ["PrincipalManifold"]


class PrincipalManifold(DistributedEstimator):
    """`twofold.PrincipalManifold` on a Dask cluster: the same manifold, bit for bit, however the rows are chunked.

    As in the local estimator the turns take place on some rows, here in the process that calls `fit`; all rows then are projected and the
    map is adapted to their sums where they are: one pass for the squared loss, six for robust ones. With ``domain=Points(k)`` and
    ``kernel="delta"`` that is a step of k-means.

    Parameters
    ----------
    n_components, kernel, n_nodes, width, loss, penalty, alpha, domain, assignment, latent_noise, refit_alpha, init, n_init, \
max_iter, tol, random_state
        As in `twofold.PrincipalManifold`. Latents given as ``init`` belong to rows in memory, and are refused; functions and
        estimators see the rows of the turns.
    n_jobs : int or None, default=None
        Threads of the calling process.
    verbose : int, default=0
        1 logs phases and, every few seconds, the tasks done.
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
    local_ : twofold.PrincipalManifold
        The fitted model; `to_local` gives a copy.
    alpha_, alphas_, cv_errors_, nodes_, weights_, intercept_, loss_, history_, temperature_, n_iter_, init_, candidates_
        As in `twofold.PrincipalManifold`.

    Examples
    --------
    >>> import dask.array as da
    >>> from twofold.dask import PrincipalManifold
    >>> from twofold.datasets import make_s_curve
    >>> X = da.from_array(make_s_curve(600, random_state=0)[0], chunks=(200, 3))
    >>> PrincipalManifold(2, alpha=1e-2, init="pca", tol=1e-2).fit(X).embedding_.shape
    (600, 2)
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: Any = "gaussian",
        n_nodes: Any = "auto",
        width: float = 1.0,
        loss: Any = "squared",
        penalty: str = "rkhs",
        alpha: Any = "cv",
        domain: Any = "box",
        assignment: str = "hard",
        latent_noise: float = 0.0,
        refit_alpha: float | None = None,
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 3e-4,
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
        self.n_nodes = n_nodes
        self.width = width
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.domain = domain
        self.assignment = assignment
        self.latent_noise = latent_noise
        self.refit_alpha = refit_alpha
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.client = client
        self.checkpoint = checkpoint
        self.timeout = timeout
        self.no_workers_timeout = no_workers_timeout

    def _local(self) -> Any:
        local = LocalPrincipalManifold(**self._local_settings())
        check_int("n_components", local.n_components)
        ManifoldSettings.of(local, local.n_components)
        if np.ndim(self.init) > 0:
            raise ValueError(
                "init is an array of latents: rows on a cluster are not in memory. Name a start instead."
            )
        return local

    def _learn(
        self, local: Any, source: DistributedRows, problem: Problem, journal: Journal
    ) -> Found:
        found = fit_rows(ManifoldSettings.of(local, problem.n_components), source, problem, journal)
        encoder = local._encoder(found)

        def rows_of_density() -> tuple[Array, float]:
            rows = source.rows(some_rows(source.n_rows, MOST_OF_DENSITY), "sample")
            return rows, source.total(squares_of_rows, "moments")["squares"] / source.n_rows

        rows, variance = journal.step("rows of the density", rows_of_density)
        latents = encoder.predict(rows)
        learned = local._assemble(found, encoder, latents[:0], latents)
        local._take(local._state(learned, problem.units, variance))
        return Found(local, _Latents(encoder))


@dataclass(frozen=True)
class _Latents:
    """The latents of rows, as `transform` finds them."""

    encoder: ManifoldEncoder

    def __call__(self, data: Array, first: int) -> Array:  # noqa: ARG002 - as all others
        return self.encoder.predict(data)

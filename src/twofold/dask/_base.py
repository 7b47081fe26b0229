"""What all distributed estimators do: read a table in blocks, let a subclass learn, and keep the latents where they are."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from twofold import __version__
from twofold.base.estimator import Problem, TwoWayEstimator, check_n_components
from twofold.base.journal import Journal
from twofold.base.progress import FitProgress
from twofold.dask._blocks import Blocks, as_collection, as_numbers, is_collection
from twofold.dask._checkpoint import FileJournal
from twofold.dask._cluster import Cluster
from twofold.dask._rows import DistributedRows, first_look, guarded
from twofold.dask._shared import Shared, shared
from twofold.numerics.threads import using_threads
from twofold.numerics.units import CentredUnits, Scales
from twofold.numerics.validation import cast_back, check_bool, check_real, check_rng
from twofold.protocols import Array

__all__ = ["DistributedEstimator", "Found"]

CLUSTER_PARAMETERS = ("client", "checkpoint", "timeout", "no_workers_timeout")
NOT_OF_THE_RESULT = (*CLUSTER_PARAMETERS, "n_jobs", "verbose")
SECONDS_BETWEEN_LINES = 5.0
LONGEST_SAID = 200

logger = logging.getLogger("twofold")


@dataclass(frozen=True)
class Found:
    """What a subclass returns.

    Attributes
    ----------
    local : TwoWayEstimator
        The fitted local model, without training latents.
    latents_of : callable
        Gives the latents (n, q) of centred rows (n, D), the first of which has a given number; it travels to the workers.
    latents : ndarray of shape (n, q), default=None
        The latents of all rows, where they are in memory instead.
    """

    local: TwoWayEstimator
    latents_of: Callable[[Array, int], Array] | None = None
    latents: Array | None = None


class DistributedEstimator(BaseEstimator, ABC):
    """Base of the distributed estimators.

    Attributes
    ----------
    embedding_ : dask.array.Array of shape (n_samples, n_components)
        Latents of the training data, in the blocks of the data and not computed yet: ``persist()`` them, or write them with
        ``to_zarr``.
    local_ : TwoWayEstimator
        The fitted model as an ordinary estimator, without the training latents.

    Examples
    --------
    >>> import dask.array as da
    >>> from twofold.dask import DRUR
    >>> from twofold.datasets import make_s_curve
    >>> X = da.from_array(make_s_curve(300, random_state=0)[0], chunks=(100, 3))
    >>> model = DRUR(n_centers=20, init="isomap", random_state=0).fit(X)
    >>> model.embedding_.numblocks, type(model.local_).__module__
    ((3, 1), 'twofold.drur.estimator')
    """

    n_components: Any
    random_state: Any
    n_jobs: Any
    verbose: int
    client: Any
    checkpoint: str | os.PathLike[str] | None
    timeout: float
    no_workers_timeout: float
    local_: TwoWayEstimator
    embedding_: Any

    @abstractmethod
    def _local(self) -> Any:
        """Return the ordinary estimator with the same settings, checked as far as that goes without data."""

    @abstractmethod
    def _learn(
        self, local: Any, source: DistributedRows, problem: Problem, journal: Journal
    ) -> Found:
        """Fit the local model to all rows."""

    def fit(self, X: Any, y: Any = None, *, resume: bool = False) -> Self:  # noqa: ARG002
        """Learn from rows on a cluster.

        Parameters
        ----------
        X : Dask array or dataframe, zarr array, NumPy memmap, or path, of shape (n_samples, n_features)
            Data. Paths of ``.zarr``, ``.npy`` and ``.parquet`` have to be readable by all workers. Chunks are taken as they are.
        y : ignored
        resume : bool, default=False
            Whether to go on from the checkpoint, if there is one.

        Returns
        -------
        self

        Raises
        ------
        DistributedFitError
            If a block cannot be worked on, or the cluster is lost.

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> model.embedding_.chunks[0], model.embedding_[:3].compute().shape
        ((100, 100), (3, 1))

        A fit can be taken up again from its checkpoint:

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     careful = PrincipalManifold(
        ...         alpha=1e-2, n_nodes=8, init="pca", tol=1e-2, checkpoint=f"{folder}/run.twofold"
        ...     )
        ...     again = careful.fit(X).fit(X, resume=True)
        >>> again.score(X) == model.score(X)
        True
        """
        check_bool("resume", resume)
        if resume and self.checkpoint is None:
            raise ValueError("resume=True needs the path of a checkpoint: set checkpoint.")
        if self.checkpoint is not None and not Path(self.checkpoint).absolute().parent.is_dir():
            raise FileNotFoundError(
                f"checkpoint={str(self.checkpoint)!r} cannot be written: its folder does not exist."
            )
        local = self._local()
        table = Blocks.of(X)
        cluster = Cluster.of(
            self.client,
            type(self).__name__,
            check_real("timeout", self.timeout),
            check_real("no_workers_timeout", self.no_workers_timeout),
        )
        sizes, extent, mark = first_look(table, cluster, marked=self.checkpoint is not None)
        check_n_components(local.n_components, sum(sizes), table.n_columns)
        rng = check_rng(self.random_state)
        scales = Scales.of(extent)
        journal = FileJournal(
            self.checkpoint, self._facts(sum(sizes), table, mark, rng), rng, resume=resume
        )
        source = DistributedRows(table, sizes, cluster, told=_Teller(self.verbose))
        if scales.varying.any():
            units = journal.step(
                "units", lambda: scales.units(source.total(scales.moments, "moments"))
            )
            source = replace(source, units=units)
            found = self._found(local, source, rng, journal)
        else:
            units = scales.units(None)
            local.fit(np.repeat(extent.first[None], int(local.n_components) + 1, axis=0))
            found = Found(local, _Constant(local.embedding_[:1]))
            local.embedding_ = local.embedding_[:0]
        local.n_features_in_ = table.n_columns
        if table.names is not None:
            local.feature_names_in_ = table.names
        self._keep(local, _latents(found, table, sizes, units))
        return self

    def _found(
        self, local: Any, source: DistributedRows, rng: np.random.Generator, journal: Journal
    ) -> Found:
        units = source.units
        assert units is not None
        progress = FitProgress(self, verbose=int(self.verbose))
        nothing = np.empty((0, source.n_columns))
        none = np.empty((0, len(units.center)))
        problem = Problem(nothing, units, none, None, int(local.n_components), rng, progress)
        with using_threads(self.n_jobs):
            return self._learn(local, source, problem, journal)

    def _facts(
        self, n_rows: int, table: Blocks, mark: str, rng: np.random.Generator
    ) -> dict[str, Any]:
        """Return what a checkpoint must share with a fit that goes on from it."""
        settings = self.get_params(deep=False)
        shown = {
            name: _said(value)
            for name, value in settings.items()
            if name not in (*NOT_OF_THE_RESULT, "random_state")
        }
        facts = {"class": type(self).__name__, "version": __version__, "n_rows": n_rows}
        facts |= {"n_columns": table.n_columns, "data": mark}
        if self.random_state is not None:  # without a seed every fit draws its own
            facts["random_state"] = _digest(repr(rng.bit_generator.state))
        return {**facts, **shown}

    def _keep(self, local: Any, embedding: Any) -> None:
        for name in getattr(self, "_learned_names", ()):
            self.__dict__.pop(name, None)
        learned = {
            name: value
            for name, value in vars(local).items()
            if name.endswith("_") and not name.startswith("_")
        }
        learned |= {"local_": local, "embedding_": embedding}
        self.__dict__.update(learned, _learned_names=tuple(learned))

    def _local_settings(self) -> dict[str, Any]:
        settings = self.get_params(deep=False)
        return {name: settings[name] for name in settings if name not in CLUSTER_PARAMETERS}

    def to_local(self, *, embedding: bool = False) -> Any:
        """Return the fitted model as an ordinary estimator of the same name.

        Parameters
        ----------
        embedding : bool, default=False
            Whether to compute and bring along the training latents; otherwise ``embedding_`` has no rows.

        Returns
        -------
        TwoWayEstimator

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> local = model.to_local(embedding=True)
        >>> type(local).__module__, local.embedding_.shape
        ('twofold.principal_manifold.estimator', (200, 1))
        """
        check_is_fitted(self)
        import copy

        model = copy.copy(self.local_)
        if embedding:
            with self._on_cluster():
                model.embedding_ = np.asarray(self.embedding_.compute())
        return model

    def transform(self, X: Any, **options: Any) -> Any:
        """Take data down to the latent space: lazily for all that `fit` takes, at once for arrays in memory.

        Parameters
        ----------
        X : all that `fit` takes, or array-like, of shape (n_samples, n_features)
            Data.
        **options
            As of the local estimator's ``transform``.

        Returns
        -------
        Dask array or ndarray of shape (n_samples, n_components)

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> Z = model.transform(X)
        >>> Z.chunks, Z.compute().shape
        (((100, 100), (1,)), (200, 1))
        """
        return self._map("transform", X, options)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, then take the same data down, lazily.

        Parameters
        ----------
        X : Dask array or dataframe, zarr array, NumPy memmap, or path, of shape (n_samples, n_features)
            Data.
        y : ignored

        Returns
        -------
        Dask array or dataframe of shape (n_samples, n_components)

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit_transform(X).shape
        (200, 1)
        """
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the latents, as the local estimator gives them.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str, shape (n_components,)

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> model.get_feature_names_out().tolist()
        ['principalmanifold0']
        """
        check_is_fitted(self)
        return self.local_.get_feature_names_out(input_features)

    def inverse_transform(self, Z: Any) -> Any:
        """Take latents up to the data space, likewise.

        Parameters
        ----------
        Z : Dask collection or array-like of shape (n_samples, n_components)
            Latents.

        Returns
        -------
        Dask array or ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> model.inverse_transform(model.embedding_).shape
        (200, 2)
        >>> model.inverse_transform([[0.0], [0.5]]).shape
        (2, 2)
        """
        return self._map("inverse_transform", Z, {})

    def reconstruct(self, X: Any) -> Any:
        """Return the nearest the model has to each row, likewise.

        Parameters
        ----------
        X : all that `fit` takes, or array-like, of shape (n_samples, n_features)
            Data.

        Returns
        -------
        Dask array or ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> model.reconstruct(X).compute().shape
        (200, 2)
        """
        return self._map("reconstruct", X, {})

    def reconstruction_error(self, X: Any) -> Any:
        """Return each row's distance to its reconstruction, likewise.

        Parameters
        ----------
        X : all that `fit` takes, or array-like, of shape (n_samples, n_features)
            Data.

        Returns
        -------
        Dask array or ndarray of shape (n_samples,)

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> errors = model.reconstruction_error(X)
        >>> errors.shape, bool(errors.max().compute() > 0)
        ((200,), True)
        """
        return self._map("reconstruction_error", X, {})

    def log_density(self, Z: Any) -> Any:
        """Return the log density of latents, likewise.

        Parameters
        ----------
        Z : Dask collection or array-like of shape (n_samples, n_components)
            Latents.

        Returns
        -------
        Dask array or ndarray of shape (n_samples,)

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> model.log_density(model.embedding_).shape
        (200,)
        """
        return self._map("log_density", Z, {})

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """Return the share of variance that reconstruction keeps, computed at once.

        Parameters
        ----------
        X : all that `fit` takes, or array-like, of shape (n_samples, n_features)
            Data.
        y : ignored
            Not used, present for the API's consistency.

        Returns
        -------
        float

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> 0.5 < model.score(X) < 1.0
        True
        """
        return float(self._map("score", X, {}))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Array:
        """Draw latents from their density and take them up to the data space.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState, Generator or None, default=None
            Source of randomness.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> model.sample(5, random_state=0).shape
        (5, 2)
        """
        check_is_fitted(self)
        return self.local_.sample(n_samples, random_state=random_state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, as an ordinary one, to a file that `twofold.load` reads.

        Parameters
        ----------
        path : str or path-like
            Where to, usually with the ending ``.twofold``.

        Examples
        --------
        >>> import dask.array as da
        >>> from twofold.dask import PrincipalManifold
        >>> from twofold.datasets import make_noisy_spiral
        >>> X = da.from_array(make_noisy_spiral(200, random_state=0)[0], chunks=(100, 2))
        >>> model = PrincipalManifold(alpha=1e-2, n_nodes=8, init="pca", tol=1e-2).fit(X)
        >>> import tempfile
        >>> import twofold
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/spiral.twofold")
        ...     local = twofold.load(f"{folder}/spiral.twofold")
        >>> local.transform(X).shape
        (200, 1)
        """
        self.to_local().save(path)

    def _map(self, method: str, X: Any, options: dict[str, Any]) -> Any:
        check_is_fitted(self)
        distributed = isinstance(X, str | os.PathLike | np.memmap) or is_collection(X)
        if distributed or type(X).__module__.split(".")[0] == "zarr":
            X = as_collection(X)
        with self._on_cluster():
            return getattr(self.local_, method)(X, **options)

    def _on_cluster(self) -> AbstractContextManager[Any]:
        """Compute on the given cluster, whichever client is current."""
        return nullcontext() if self.client is None else self.client.as_current()

    def __getstate__(self) -> Any:
        """Leave the connection to a cluster behind: it belongs to its process."""
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy on the same cluster: a client cannot be copied."""
        settings = self.get_params(deep=False)
        kept = settings.pop("client")
        copied = {name: clone(value, safe=False) for name, value in settings.items()}
        return type(self)(**copied, client=kept)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has ended."""
        return hasattr(self, "local_")


@dataclass(frozen=True)
class _Constant:
    """The latents of rows that are all equal."""

    latent: Array

    def __call__(self, data: Array, first: int) -> Array:  # noqa: ARG002 - as all others
        return np.repeat(self.latent, len(data), axis=0)


def _said(value: Any) -> str:
    """Return a setting in words that are the same in another process."""
    name = getattr(value, "__qualname__", None)
    if name is not None:  # a function, whose repr has its address
        return f"{value.__module__}.{name}"
    said = repr(value)
    return said if len(said) <= LONGEST_SAID else f"{said[:LONGEST_SAID]}... ({_digest(said)})"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Teller:
    """Logs how far the tasks of a phase are, every few seconds."""

    def __init__(self, verbose: int) -> None:
        self._verbose = verbose
        self._last = time.monotonic()

    def __call__(self, phase: str, n_done: int, n_tasks: int) -> None:
        if time.monotonic() - self._last < SECONDS_BETWEEN_LINES and n_done < n_tasks:
            return
        self._last = time.monotonic()
        level = logging.INFO if self._verbose else logging.DEBUG
        logger.log(level, "%s: %d of %d tasks", phase, n_done, n_tasks)


def _latents(found: Found, table: Blocks, sizes: list[int], units: CentredUnits) -> Any:
    """Return the latents of all rows as a Dask array in the table's blocks."""
    import dask.array as da
    from dask import delayed

    local: Any = found.local
    if found.latents is not None:
        chunks = (tuple(sizes), found.latents.shape[1])
        return da.from_array(cast_back(found.latents, table.dtype), chunks=chunks)
    label, token = type(local).__name__.lower(), uuid4().hex
    q = local._n_features_out
    kernel = shared((found.latents_of, units, table.dtype.name, q), f"{label}-embedder-{token}")
    firsts = [0, *np.cumsum(sizes).tolist()]
    parts = [
        da.from_delayed(
            delayed(_embed)(
                kernel,
                task,
                firsts[number],
                number,
                dask_key_name=f"{label}-latents-{token}-{number}",
            ),
            (size, q),
            table.dtype,
        )
        for number, (task, size) in enumerate(zip(table.tasks, sizes, strict=True))
    ]
    return da.concatenate(parts)


def _latents_of_block(kernel: tuple[Any, CentredUnits, str, int], block: Any, first: int) -> Array:
    latents_of, units, dtype, q = kernel
    rows = as_numbers(block)
    if not len(rows):
        return np.empty((0, q), dtype)
    latents: Array = latents_of(units.into(rows), first)
    return cast_back(latents, np.dtype(dtype))


def _embed(kernel: Shared, block: Any, first: int, number: int) -> Any:
    return guarded(_latents_of_block)(kernel.content, block, first, number)

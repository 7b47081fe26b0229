"""Fit an ordinary estimator to rows on a cluster."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

import numpy as np
from sklearn.base import clone

from twofold import __version__
from twofold.auto import AutoTwoWay
from twofold.base.dimensions import check_n_components
from twofold.base.estimator import TwoWayEstimator
from twofold.base.journal import Journal
from twofold.base.problem import Problem
from twofold.base.progress import SECONDS_BETWEEN_LINES, FitProgress, with_callbacks
from twofold.dask import _auto, _drur, _principal_manifold, _ukr
from twofold.dask._blocks import Blocks
from twofold.dask._checkpoint import FileJournal
from twofold.dask._cluster import Cluster
from twofold.dask._embedding import Found, lazy_embedding
from twofold.dask._first_look import FirstLook, first_look
from twofold.dask._gaps import without_gaps
from twofold.dask._rows import DistributedRows
from twofold.dask._ukr import Levels
from twofold.drur import DRUR
from twofold.numerics.column_factors import check_scale, deviations
from twofold.numerics.threads import repeatable_threads, using_threads
from twofold.numerics.units import Scales
from twofold.numerics.validation import check_bool, check_real, check_rng
from twofold.principal_manifold import PrincipalManifold
from twofold.protocols import Array
from twofold.ukr import UKR

NOT_OF_THE_RESULT = ("n_jobs", "verbose", "store_embedding", "random_state")
"""Settings that a checkpoint need not share with the fit that resumes it."""
LONGEST_SETTING = 200

logger = logging.getLogger("twofold")

Model = TypeVar("Model", bound=TwoWayEstimator)
Learn = Callable[[DistributedRows, Problem, Journal], Found]


class _Options(TypedDict, total=False):
    client: Any
    checkpoint: str | os.PathLike[str] | None
    resume: bool
    levels: Levels | None
    timeout: float
    no_workers_timeout: float


@overload
def fit(
    estimator: Model, X: Any, *, return_embedding: Literal[True], **options: Unpack[_Options]
) -> tuple[Model, Any]: ...
@overload
def fit(
    estimator: Model,
    X: Any,
    *,
    return_embedding: Literal[False] = False,
    **options: Unpack[_Options],
) -> Model: ...
def fit(
    estimator: Model,
    X: Any,
    *,
    return_embedding: bool = False,
    client: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    levels: Levels | None = None,
    timeout: float = 600.0,
    no_workers_timeout: float = 30.0,
) -> Model | tuple[Model, Any]:
    """Fit an estimator to rows on a Dask cluster.

    The estimator is fitted in place, as by its own ``fit``. An interrupted or failed fit leaves it
    as it was. `DRUR` and `PrincipalManifold` become the same model as by their own ``fit``, bit for
    bit, however the rows are chunked. `UKR` is fitted in levels: see ``levels``. The methods of
    `AutoTwoWay` race on a sample of 5,000 rows in the calling process: only these three, because
    the others need all rows in memory. The winner is fitted to all rows.

    The training latents may not fit into memory, so ``embedding_`` has no rows. To get latents,
    call ``estimator.transform(X)``, which returns a lazy collection, or set ``return_embedding``.

    Parameters
    ----------
    estimator : DRUR, PrincipalManifold, UKR or AutoTwoWay
        The estimator. Latents given as ``init``, ``DRUR(n_centers="all")`` and metrics of `UKR`
        other than "euclidean" need all rows in memory and are refused. ``DRUR`` fits user-supplied
        maps to a sample, as in ``fit_blocks``. ``n_jobs`` is the number of threads of the calling
        process.
    X : Dask array or dataframe, zarr array, NumPy memmap, or path, of shape (n_samples, n_features)
        Data. All workers must be able to read the paths, which end in ``.zarr``, ``.npy`` or
        ``.parquet``. The chunks are used as they are.
    return_embedding : bool, default=False
        Whether to return the training latents, too: those that a local fit stores in
        ``embedding_``. For `UKR` they are refined together and differ from ``transform(X)``.
    client : distributed.Client, default=None
        The cluster. None uses the current client, or Dask's threads if there is none.
    checkpoint : path, default=None
        A file that stores the state of the fit after each step and iteration.
    resume : bool, default=False
        Whether to continue from the checkpoint, if it exists.
    levels : Levels, default=None
        For `UKR`: the rows of the sample and of a tile, and the number of refinements. None means
        the defaults of `Levels`.
    timeout : float, default=600.0
        Seconds without a finished task after which the fit fails.
    no_workers_timeout : float, default=30.0
        Seconds without a worker after which the fit fails.

    Returns
    -------
    estimator : DRUR, PrincipalManifold, UKR or AutoTwoWay
        The fitted estimator. `UKR` also has ``refinement_history_``, the leave-one-out errors of
        all rows after the projection and after each sweep, in units of their variance.
    embedding : dask.array.Array of shape (n_samples, n_components)
        The training latents, in the chunks of the data and not computed yet. Only returned if
        ``return_embedding`` is True.

    Raises
    ------
    DistributedFitError
        If a block cannot be read or computed, or the cluster is lost.

    Examples
    --------
    >>> import dask.array as da
    >>> import twofold.dask
    >>> from twofold.datasets import make_s_curve
    >>> X = da.from_array(make_s_curve(300, random_state=0)[0], chunks=(100, 3))
    >>> model = twofold.DRUR(n_centers=20, init="isomap", random_state=0)
    >>> twofold.dask.fit(model, X) is model
    True
    >>> model.transform(X).chunks, model.embedding_.shape
    (((100, 100, 100), (2,)), (0, 2))

    A fit can be resumed from its checkpoint, here one that has ended:

    >>> import tempfile
    >>> model = twofold.PrincipalManifold(2, alpha=1e-2, init="pca", tol=1e-2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/run.twofold"
    ...     _ = twofold.dask.fit(model, X, checkpoint=path)
    ...     _, Z = twofold.dask.fit(
    ...         model, X, checkpoint=path, resume=True, return_embedding=True
    ...     )
    >>> Z.compute().shape
    (300, 2)
    """
    check_bool("return_embedding", return_embedding)
    check_bool("resume", resume)
    if resume and checkpoint is None:
        raise ValueError("resume=True needs the path of a checkpoint: set checkpoint.")
    if checkpoint is not None and not Path(checkpoint).absolute().parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint={str(checkpoint)!r} cannot be written: its folder does not exist."
        )
    if isinstance(estimator, AutoTwoWay):
        options = {"client": client, "timeout": timeout, "no_workers_timeout": no_workers_timeout}
        if levels is not None or checkpoint is not None:
            options |= {"levels": levels, "checkpoint": checkpoint, "resume": resume}
        raced, embedding = _fit_winner(estimator, X, options)
        return (raced, embedding) if return_embedding else raced
    learn = _learner(estimator, levels)
    table = Blocks.of(X)
    cluster = Cluster.of(
        client,
        type(estimator).__name__,
        check_real("timeout", timeout),
        check_real("no_workers_timeout", no_workers_timeout),
    )
    seen = first_look(table, cluster, marked=checkpoint is not None)
    table, seen, filled = without_gaps(
        table, seen, cluster, estimator.scale, marked=checkpoint is not None
    )
    check_n_components(estimator.n_components, sum(seen.sizes), table.n_columns)
    rng = check_rng(estimator.random_state)
    journal = Journal()
    if checkpoint is not None:
        facts = _facts(estimator, levels, table, seen, rng)
        journal = FileJournal(checkpoint, facts, rng, resume=resume)
    source = DistributedRows(table, seen.sizes, cluster, on_progress=_Log(estimator.verbose))
    with repeatable_threads(), journal.trusted():
        scales = _scales(estimator, seen, source, journal)
        if scales.varying.any():
            moments = scales.moments
            units = journal.step("units", lambda: scales.units(source.total(moments, "moments")))
            source = replace(source, units=units)
            found = _learned(estimator, learn, source, rng, journal)
        else:
            source = replace(source, units=scales.units(None))
            found = _constant(estimator, seen.extent.first)
        embedding = lazy_embedding(found, source)
    if filled is not None and source.units is not None:
        found.state["_gap_filling"] = filled.in_units(source.units)
    estimator._take(found.state)
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = table.n_columns
    if table.names is not None:
        estimator.feature_names_in_ = table.names
    return (estimator, embedding) if return_embedding else estimator


def _fit_winner(estimator: AutoTwoWay, X: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """Let methods race on a sample, and fit the winner to all rows; return it and the latents."""
    if isinstance(estimator.scale, str) and estimator.scale == "robust":
        raise _no_quartiles(estimator)
    _auto.check(estimator, checkpoint=options.get("checkpoint") is not None)
    if not isinstance(options.get("levels"), Levels | None):
        raise TypeError(f"levels={options['levels']!r} must be a twofold.dask.Levels, or None.")
    table = Blocks.of(X)
    cluster = Cluster.of(
        options["client"],
        type(estimator).__name__,
        check_real("timeout", options["timeout"]),
        check_real("no_workers_timeout", options["no_workers_timeout"]),
    )
    seen = first_look(table, cluster, marked=False)
    table, seen, _ = without_gaps(table, seen, cluster, estimator.scale, marked=False)
    scales = Scales.of(seen.extent)
    source = DistributedRows(table, seen.sizes, cluster, on_progress=_Log(estimator.verbose))
    units = scales.units(source.total(scales.moments, "moments") if scales.varying.any() else None)
    raced = _auto.sampled_race(estimator, replace(source, units=units))
    best = raced.best_estimator_
    if not isinstance(best, UKR):
        options.pop("levels", None)
    best, embedding = fit(clone(best), X, return_embedding=True, **options)
    state = {name: vars(raced)[name] for name in raced._learned_names}
    shared = ("embedding_", "encoder_", "decoder_", "density_", "_data_units", "_latent_units")
    state |= {name: getattr(best, name) for name in (*shared, "_variance")}
    state["_gap_filling"] = getattr(best, "_gap_filling", None)
    estimator._take(state | {"best_estimator_": best})
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = table.n_columns
    if table.names is not None:
        estimator.feature_names_in_ = table.names
    return estimator, embedding


def _scales(
    estimator: TwoWayEstimator, seen: FirstLook, source: DistributedRows, journal: Journal
) -> Scales:
    """Return the scales of the columns, which the parameter ``scale`` may divide by factors."""
    scale = check_scale(estimator.scale, source.n_columns)
    if isinstance(scale, str):
        if scale == "robust":
            raise _no_quartiles(estimator)
        extent = seen.extent
        scale = journal.step(
            "factors", lambda: deviations(extent, partial(source.total, phase="deviations"))
        )
    return Scales.of(seen.extent, factors=scale)


def _no_quartiles(estimator: TwoWayEstimator) -> ValueError:
    return ValueError(
        f"scale={estimator.scale!r} needs the quartiles of all rows. On a cluster, use "
        "scale='standard', or an array: for example those of a sample."
    )


def _learner(estimator: TwoWayEstimator, levels: Levels | None) -> Learn:
    """Check the settings, and return the function that runs the method on a cluster."""
    if isinstance(estimator, UKR):
        _ukr.check(estimator)
        if not isinstance(levels, Levels | None):
            raise TypeError(f"levels={levels!r} must be a twofold.dask.Levels, or None.")
        return partial(_ukr.learn, estimator, levels=levels or Levels())
    if levels is not None:
        raise ValueError(f"levels={levels!r} is for UKR. Leave it None for {estimator!r}.")
    if isinstance(estimator, DRUR):
        _drur.check(estimator)
        return partial(_drur.learn, estimator)
    if isinstance(estimator, PrincipalManifold):
        _principal_manifold.check(estimator)
        return partial(_principal_manifold.learn, estimator)
    raise TypeError(
        f"estimator={estimator!r} cannot be fitted on a cluster: pass an AutoTwoWay, DRUR, "
        "PrincipalManifold or UKR. Fit other estimators to a sample in memory; their transform "
        "takes Dask collections."
    )


@with_callbacks
def _learned(
    estimator: TwoWayEstimator,
    learn: Learn,
    source: DistributedRows,
    rng: np.random.Generator,
    journal: Journal,
) -> Found:
    units = source.units
    assert units is not None
    progress = FitProgress(estimator, verbose=int(estimator.verbose))
    no_rows = np.empty((0, source.n_columns)), np.empty((0, source.blocks.n_columns))
    n_components = int(estimator.n_components)
    problem = Problem(no_rows[0], units, no_rows[1], None, n_components, rng, progress)
    with progress.fit(), using_threads(getattr(estimator, "n_jobs", None)):
        return learn(source, problem, journal)


def _constant(estimator: TwoWayEstimator, row: Array) -> Found:
    """Return the model of rows that are all equal."""
    fitted = clone(estimator).fit(np.repeat(row[None], int(estimator.n_components) + 1, axis=0))
    state = {name: vars(fitted)[name] for name in fitted._learned_names}
    latent = state["embedding_"][:1]
    state["embedding_"] = latent[:0]
    return Found(state, partial(_repeated, latent))


def _repeated(latent: Array, data: Array, first: int) -> Array:  # noqa: ARG001 - one signature
    return np.repeat(latent, len(data), axis=0)


def _facts(
    estimator: TwoWayEstimator,
    levels: Levels | None,
    table: Blocks,
    seen: FirstLook,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return what a checkpoint must share with a fit that resumes it."""
    facts: dict[str, Any] = {"class": type(estimator).__name__, "version": __version__}
    facts |= {"n_rows": sum(seen.sizes), "n_columns": table.n_columns, "data": seen.mark}
    if estimator.random_state is not None:  # without a seed, each fit draws its own
        facts["random_state"] = _digest(repr(rng.bit_generator.state))
    settings = estimator.get_params(deep=False)
    if isinstance(estimator, UKR):
        settings |= asdict(levels or Levels())
    return facts | {n: _text(v) for n, v in settings.items() if n not in NOT_OF_THE_RESULT}


def _text(setting: Any) -> str:
    """Describe a setting by a text that is the same in another process."""
    name = getattr(setting, "__qualname__", None)
    if name is not None:  # a function, whose repr has its address
        return f"{setting.__module__}.{name}"
    text = repr(setting)
    return (
        text if len(text) <= LONGEST_SETTING else f"{text[:LONGEST_SETTING]}... ({_digest(text)})"
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Log:
    """Logs the progress of a phase, every few seconds."""

    def __init__(self, verbose: int) -> None:
        self._level = logging.INFO if verbose else logging.DEBUG
        self._last = time.monotonic()

    def __call__(self, phase: str, n_done: int, n_tasks: int) -> None:
        if time.monotonic() - self._last < SECONDS_BETWEEN_LINES and n_done < n_tasks:
            return
        self._last = time.monotonic()
        logger.log(self._level, "%s: %d of %d tasks", phase, n_done, n_tasks)

"""The functions of `twofold.anndata`: fit, transform, decode, load."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import clone

from twofold.anndata.gene_map import MARK, AnnDataMap
from twofold.anndata.results import (
    gene_scores,
    gene_table,
    settings,
    stored_map,
)
from twofold.anndata.tables import (
    check_adata,
    check_layer,
    chosen_genes,
    columns_of,
    is_counted,
    is_whole,
    table_of,
)
from twofold.anndata.writing import write
from twofold.auto.estimator import AutoTwoWay
from twofold.base.estimator import TwoWayEstimator
from twofold.counts.log_counts import LogCounts, warn_of_empty_rows
from twofold.export.model_files import load_objects
from twofold.numerics.validation import RandomLike, check_bool, is_auto
from twofold.protocols import Array


def fit(
    adata: Any,
    model: TwoWayEstimator | None = None,
    *,
    layer: str | None = None,
    counts: Any = "auto",
    genes: Any = "auto",
    key: str = "twofold",
    store_model: bool = True,
    random_state: RandomLike = None,
) -> AnnDataMap:
    """Fit a two-way map to the cells of an AnnData and write the results into it.

    ==========================  ================================================================
    ``obsm["X_twofold"]``       latents of the cells
    ``varm["twofold"]``         a frame with the column "r2": the share of each gene's variance,
                                on the scale of the model, that the map keeps in up to 2,000
                                training cells; NaN for genes outside of the map
    ``uns["twofold"]``          method, parameters, genes, score and units; and the model
    ==========================  ================================================================

    Parameters
    ----------
    adata : AnnData
        Cells by genes, in memory, dense or sparse (CSR, CSC). It is changed.
    model : TwoWayEstimator or None, default=None
        The estimator, which is cloned; None means ``AutoTwoWay(random_state=random_state)``. Its
        parameter ``scale`` gives all genes the same weight.
    layer : str or None, default=None
        The layer to read; None means ``X``.
    counts : "auto", bool or LogCounts, default="auto"
        Whether the table has counts. They are divided by the library sizes of the cells and put on
        a log scale before the fit, and `decode` returns counts. "auto" means: if all numbers are
        whole and at least 0, and some are larger than 1. A `twofold.counts.LogCounts` sets the
        common library size.
    genes : "auto", "all", str, list of str or mask of shape (n_vars,), default="auto"
        The genes to use: all, those of a boolean column of ``adata.var``, or the given ones. "auto"
        means the column "highly_variable" if there is one, else all. Library sizes are summed over
        all genes in any case.
    key : str, default="twofold"
        Where to write: ``obsm["X_" + key]``, ``varm[key]`` and ``uns[key]``.
    store_model : bool, default=True
        Whether to write the model into ``uns``, as the bytes of a model file. Then `transform` and
        `decode` work with the AnnData alone, also after it was written to a file.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness of the default model.

    Returns
    -------
    AnnDataMap
        The fitted map.

    Examples
    --------
    >>> import anndata
    >>> import twofold.anndata
    >>> from twofold import UKR
    >>> from twofold.datasets import make_branching_counts
    >>> cells = anndata.AnnData(make_branching_counts(200, random_state=0)[0].astype(float))
    >>> fitted = twofold.anndata.fit(cells, UKR(random_state=0))
    >>> cells.obsm["X_twofold"].shape, cells.varm["twofold"].shape
    ((200, 2), (60, 1))
    >>> cells.uns["twofold"]["method"], cells.uns["twofold"]["counts"]
    ('UKR', True)
    """
    check_adata(adata, "adata")
    estimator = _estimator(model, random_state)
    store_model = check_bool("store_model", store_model)
    layer = check_layer(layer)
    table = table_of(adata, layer, "adata")
    numbers = chosen_genes(adata, genes)
    log_counts = _log_counts(counts, table)
    features = columns_of(table, numbers)
    if log_counts is not None:
        log_counts.fit(table)
        sizes = log_counts.library_size(table)
        warn_of_empty_rows(sizes, "adata")
        features = log_counts.at_library_size(features, sizes)
    estimator.fit(features)
    names = np.array([str(name) for name in adata.var_names], dtype=object)
    fitted = AnnDataMap(
        model=estimator,
        log_counts=log_counts,
        genes=names[numbers],
        measured_genes=names,
        means=_means(features),
        layer=layer,
        whole_numbers=is_whole(table),
    )
    latents = estimator.embedding_
    if len(latents) != adata.n_obs:  # fitted to a part of the rows
        latents = estimator.transform(features)
    scores = gene_scores(estimator, features, latents)
    write(
        adata,
        "adata",
        obsm={f"X_{key}": np.array(latents)},
        varm={key: gene_table(adata, numbers, scores)},
        uns={key: settings(fitted, features, store_model=store_model)},
    )
    return fitted


def transform(
    query: Any, reference: Any, *, layer: str | None = None, key: str = "twofold"
) -> Array:
    """Place cells on the map of a reference, by the names of their genes.

    Parameters
    ----------
    query : AnnData
        Cells in the units of the fit. Genes that the fit does not know are ignored. Genes that are
        missing are gaps, with a warning; if more than half of them are, that is an error. The
        latents are written to ``query.obsm["X_" + key]``.
    reference : AnnData or AnnDataMap
        An AnnData with a stored model, or what `fit` returned.
    layer : str or None, default=None
        The layer of the query. None means that of the fit, "X" means ``X``.
    key : str, default="twofold"
        Where the model is in ``reference.uns``, and where to write.

    Returns
    -------
    ndarray of shape (n_obs, n_components)
        The latents.

    Examples
    --------
    >>> import anndata
    >>> import twofold.anndata
    >>> from twofold import UKR
    >>> from twofold.datasets import make_branching_counts
    >>> cells = anndata.AnnData(make_branching_counts(200, random_state=0)[0].astype(float))
    >>> reference, query = cells[:150].copy(), cells[150:].copy()
    >>> fitted = twofold.anndata.fit(reference, UKR(random_state=0))
    >>> twofold.anndata.transform(query, reference).shape
    (50, 2)
    """
    return _map(reference, key, "reference").transform(query, layer=layer, key=key)


def decode(
    adata: Any, Z: Any, genes: Any = None, *, library_size: Any = None, key: str = "twofold"
) -> Any:
    """Return the genes of places on a map, in the units of the table.

    Parameters
    ----------
    adata : AnnData or AnnDataMap
        An AnnData with a stored model, or what `fit` returned.
    Z : array-like of shape (n_samples, n_components)
        Latents.
    genes : str or list of str, default=None
        Genes to return, among those of the map; None means all.
    library_size : float or array-like of shape (n_samples,), default=None
        Library sizes of the returned rows, for maps of counts. None means the median of the fit.
    key : str, default="twofold"
        Where the model is in ``adata.uns``.

    Returns
    -------
    DataFrame of shape (n_samples, n_genes)
        Expected counts, or values in the units of the layer; a column for each gene.

    Examples
    --------
    >>> import anndata
    >>> import twofold.anndata
    >>> from twofold import UKR
    >>> from twofold.datasets import make_branching_counts
    >>> cells = anndata.AnnData(make_branching_counts(200, random_state=0)[0].astype(float))
    >>> fitted = twofold.anndata.fit(cells, UKR(random_state=0))
    >>> twofold.anndata.decode(cells, cells.obsm["X_twofold"][:3], genes=["3", "7"]).shape
    (3, 2)
    """
    return _map(adata, key, "adata").decode(Z, genes, library_size=library_size)


def load(path: str | os.PathLike[str]) -> AnnDataMap:
    """Read a map from a file that `AnnDataMap.save` wrote, without running anything in it.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    AnnDataMap

    Raises
    ------
    ModelFileError
        If the file is not such a map, or damaged.

    Examples
    --------
    >>> import anndata, os, tempfile
    >>> import twofold.anndata
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_branching_counts
    >>> cells = anndata.AnnData(make_branching_counts(100, random_state=0)[0].astype(float))
    >>> fitted = twofold.anndata.fit(cells, TwoWay("pca", up="nw", down="nw"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted.save(os.path.join(folder, "cells.twofold"))
    ...     twofold.anndata.load(os.path.join(folder, "cells.twofold"))
    AnnDataMap(TwoWay, 60 of 60 genes, counts of X)
    """
    return load_objects(path, MARK, AnnDataMap)


def _estimator(model: Any, random_state: RandomLike) -> TwoWayEstimator:
    if model is None:
        return AutoTwoWay(random_state=random_state)
    if not isinstance(model, TwoWayEstimator):
        raise TypeError(
            f"model={model!r} must be an estimator of twofold such as UKR(), or None. LogCounts "
            "goes into counts=..., scaling into the parameter scale of the estimator."
        )
    return clone(model)  # type: ignore[no-any-return]


def _log_counts(counts: Any, table: Any) -> LogCounts | None:
    """Return the scale of counts, not yet fitted, or None."""
    if isinstance(counts, LogCounts):
        return clone(counts)  # type: ignore[no-any-return]
    if is_auto(counts):
        return LogCounts() if is_counted(table) else None
    return LogCounts() if check_bool("counts", counts, also="'auto' or a LogCounts") else None


def _means(features: Any) -> Array:
    """Return the means of the columns over observed cells."""
    if isinstance(features, np.ndarray):
        return np.asarray(np.nanmean(features, axis=0, dtype=np.float64))
    return np.asarray(features.mean(axis=0), dtype=np.float64).ravel()


def _map(given: Any, key: str, name: str) -> AnnDataMap:
    if isinstance(given, AnnDataMap):
        return given
    check_adata(given, name)
    return stored_map(given, key, name)

"""A fitted map of an AnnData: a two-way model of chosen genes, with the names of the genes.

Genes are matched by name. Library sizes are sums over all genes of the fit, also if the map uses a
part of them. If a query lacks genes of the fit, its sizes are corrected by the share of the others
in the counts of the fit (`twofold.counts.LogCounts`), and lacking genes of the map are gaps.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from twofold.anndata.tables import check_adata, check_layer, columns_of, is_whole, table_of
from twofold.anndata.writing import write
from twofold.base.estimator import TwoWayEstimator
from twofold.counts.log_counts import LogCounts, warn_of_empty_rows
from twofold.export.model_files import save_objects
from twofold.numerics.validation import warn_user
from twofold.protocols import AnyArray, Array, IntArray

MARK = "twofold map of an AnnData"
"""The mark of files and of models in ``uns``."""

MOST_MISSING = 0.5
"""A query that lacks a larger share of the genes of a map is an error."""

CELLS_OF_BLOCK = 2**23
MOST_NAMED = 3


@dataclass(frozen=True, eq=False, repr=False)
class AnnDataMap:
    """A two-way map of cells, fitted by `twofold.anndata.fit`.

    Attributes
    ----------
    model : TwoWayEstimator
        The fitted estimator. With ``log_counts`` its features are log counts of ``genes``.
    log_counts : LogCounts or None
        The scale of counts, fitted to all genes of the table; None if the table has no counts.
    genes : ndarray of shape (n_genes,)
        Names of the genes that the map uses.
    measured_genes : ndarray of shape (n_vars,)
        Names of all genes of the fit, over which library sizes are summed.
    means : ndarray of shape (n_genes,)
        Means of the features of the model.
    layer : str or None
        The layer of the fit, None for ``X``.
    whole_numbers : bool
        Whether the table of the fit had whole numbers of at least 0 only.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import twofold.anndata
    >>> from twofold import UKR
    >>> from twofold.datasets import make_branching_counts
    >>> X, _ = make_branching_counts(200, random_state=0)
    >>> cells = anndata.AnnData(X.astype(np.float32))
    >>> cells.obs_names = [f"cell {number}" for number in range(200)]
    >>> fitted = twofold.anndata.fit(cells[:150].copy(), UKR(random_state=0))
    >>> fitted
    AnnDataMap(UKR, 60 of 60 genes, counts of X)
    >>> query = cells[150:].copy()
    >>> Z = fitted.transform(query)
    >>> Z.shape, query.obsm["X_twofold"].shape
    ((50, 2), (50, 2))
    >>> fitted.decode(Z, genes=["3", "7"]).shape
    (50, 2)
    """

    model: TwoWayEstimator
    log_counts: LogCounts | None
    genes: AnyArray
    measured_genes: AnyArray
    means: Array
    layer: str | None
    whole_numbers: bool

    def __repr__(self) -> str:
        units = "counts" if self.log_counts is not None else "values"
        place = "X" if self.layer is None else f"layer {self.layer!r}"
        n_genes = f"{len(self.genes)} of {len(self.measured_genes)} genes"
        return f"AnnDataMap({type(self.model).__name__}, {n_genes}, {units} of {place})"

    def transform(self, query: Any, *, layer: str | None = None, key: str = "twofold") -> Array:
        """Place other cells on the map, by the names of their genes.

        Parameters
        ----------
        query : AnnData
            Cells in the units of the fit. Genes that the fit does not know are ignored. Genes that
            are missing are gaps, with a warning; if more than half of them are, that is an error.
        layer : str or None, default=None
            The layer of the query. None means that of the fit, "X" means ``X``.
        key : str, default="twofold"
            The latents are written to ``query.obsm["X_" + key]``.

        Returns
        -------
        ndarray of shape (n_obs, n_components)
            The latents.
        """
        check_adata(query, "query")
        latents = self._latents(*self._features(query, layer))
        write(query, "query", obsm={f"X_{key}": latents})
        return latents

    def decode(self, Z: Any, genes: Any = None, *, library_size: Any = None) -> Any:
        """Return the genes of places on the map, in the units of the table.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.
        genes : str or list of str, default=None
            Genes to return, among those of the map; None means all.
        library_size : float or array-like of shape (n_samples,), default=None
            Library sizes of the returned rows, for maps of counts. None means the median of the
            fit.

        Returns
        -------
        DataFrame of shape (n_samples, n_genes)
            Expected counts, or values in the units of the layer; a column for each gene.
        """
        from pandas import DataFrame

        if library_size is not None and self.log_counts is None:
            raise ValueError(
                f"library_size={library_size!r}: the map was fitted to values that are not counts. "
                "Leave it out, or fit with counts=True."
            )
        columns = None if genes is None else self._numbers([genes] if _is_one(genes) else genes)
        values = self.model.inverse_transform(Z, features=columns)
        names = self.genes if columns is None else self.genes[columns]
        if self.log_counts is not None:
            numbers = _places(self.measured_genes, names)
            values = self.log_counts.inverse_transform(values, library_size, features=numbers)
        return DataFrame(values, columns=names, index=Z.index if isinstance(Z, DataFrame) else None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map to a file of plain data, which `twofold.anndata.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file to write, usually with the suffix ``.twofold``.

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
        ...     again = twofold.anndata.load(os.path.join(folder, "cells.twofold"))
        >>> bool((again.transform(cells) == fitted.transform(cells)).all())
        True
        """
        save_objects(self, path, MARK)

    def _numbers(self, genes: Any) -> IntArray:
        """Return the columns of the model that genes have."""
        names = list(genes)
        places = {name: number for number, name in enumerate(self.genes.tolist())}
        unknown = [name for name in names if name not in places]
        if unknown:
            measured = unknown[0] in set(self.measured_genes.tolist())
            why = "was not used by the map, see genes= of fit" if measured else "is not in the fit"
            raise ValueError(f"genes: {unknown[0]!r} {why}.")
        if not names:
            raise ValueError("genes is empty: name at least one, or pass None for all.")
        return np.array([places[name] for name in names], dtype=np.intp)

    def _features(self, query: Any, layer: str | None) -> tuple[Any, AnyArray]:
        """Return the features that the query has, dense or sparse, and which ones it lacks."""
        table = table_of(query, self.layer if layer is None else check_layer(layer), "query")
        found = np.asarray(query.var_names.get_indexer(self.genes), dtype=np.intp)
        missing = found < 0
        self._check_missing(missing)
        features = columns_of(table, found[~missing])
        if self.log_counts is not None:
            self._check_counts(table)
            sizes = self._library_sizes(query, table)
            warn_of_empty_rows(sizes, "query")
            features = self.log_counts.at_library_size(features, sizes)
        return features, missing

    def _latents(self, features: Any, missing: AnyArray) -> Array:
        if not missing.any():
            return np.asarray(self.model.transform(features))
        rows = features.tocsr() if issparse(features) else features
        step = max(1, CELLS_OF_BLOCK // len(missing))
        blocks = [rows[start : start + step] for start in range(0, rows.shape[0], step)]
        return np.concatenate(
            [self.model.transform(self._with_gaps(block, missing)) for block in blocks]
        )

    def _library_sizes(self, query: Any, table: Any) -> Array:
        assert self.log_counts is not None
        found = np.asarray(query.var_names.get_indexer(self.measured_genes), dtype=np.intp)
        known = np.flatnonzero(found >= 0)
        return self.log_counts.library_size(columns_of(table, found[known]), features=known)

    def _check_counts(self, table: Any) -> None:
        if self.whole_numbers and not is_whole(table):
            warn_user(
                "The map was fitted to counts, but the query has numbers that are not whole: they "
                "seem to be in other units. Name the layer of the counts, layer=...",
                UserWarning,
            )

    def _check_missing(self, missing: AnyArray) -> None:
        if not missing.any():
            return
        names = ", ".join(repr(name) for name in self.genes[missing][:MOST_NAMED].tolist())
        share = f"{int(missing.sum())} of the {len(missing)} genes ({100 * missing.mean():.0f} %)"
        if missing.mean() > MOST_MISSING:
            raise ValueError(
                f"query lacks {share} of the map, such as {names}. Check that query.var_names are "
                "names of the same kind, or fit to the genes that both tables have."
            )
        warn_user(f"query lacks {share} of the map, such as {names}: they are gaps.", UserWarning)

    def _with_gaps(self, features: Any, missing: AnyArray) -> Array:
        """Return dense features with gaps for missing genes.

        Models of large sparse tables take no gaps; there the means of the fit stand for them.
        """
        takes_gaps = getattr(self.model, "_gap_filling", None) is not None
        whole = np.empty((features.shape[0], len(missing)))
        whole[:, missing] = np.nan if takes_gaps else self.means[missing]
        whole[:, ~missing] = features.toarray() if issparse(features) else features
        return whole


def _is_one(genes: Any) -> bool:
    return isinstance(genes, str)


def _places(known: AnyArray, wanted: AnyArray) -> list[int]:
    """Return the places of names in a list of names."""
    places = {name: number for number, name in enumerate(known.tolist())}
    return [places[name] for name in wanted.tolist()]

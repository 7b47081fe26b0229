"""What a map reads from an AnnData: the table of a layer, counts or not, names of genes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from twofold.protocols import AnyArray, IntArray

MOST_CELLS = 2**22
"""Cells that are looked at at a time."""


def check_adata(adata: Any, name: str) -> None:
    """Raise an error unless this is an AnnData in memory, with unique names of genes."""
    try:
        from anndata import AnnData
    except ImportError as error:
        raise ImportError(
            "twofold.anndata needs the package anndata: pip install 'twofold[anndata]'."
        ) from error
    if not isinstance(adata, AnnData):
        raise TypeError(f"{name} must be an anndata.AnnData, not a {type(adata).__name__}.")
    if adata.isbacked:
        raise ValueError(
            f"{name} is backed by the file {adata.filename}. Read it into memory first: "
            f"{name} = {name}.to_memory()."
        )
    names = adata.var_names
    if not names.is_unique:
        twice = names[names.duplicated()][0]
        raise ValueError(
            f"{name}.var_names has {twice!r} more than once, and genes are matched by name. Call "
            f"{name}.var_names_make_unique() first."
        )


def table_of(adata: Any, layer: str | None, name: str) -> Any:
    """Return the table of a layer, or X, as array or as CSR or CSC matrix of scipy."""
    if layer is None:
        table, place = adata.X, f"{name}.X"
    elif layer in adata.layers:
        table, place = adata.layers[layer], f"{name}.layers[{layer!r}]"
    else:
        known = [str(one) for one in adata.layers]
        raise ValueError(f"layer={layer!r} is not in {name}.layers, which has {known}.")
    if table is None:
        raise ValueError(f"{place} is None. Name a layer, layer=...")
    if sparse.issparse(table):
        return _plain_sparse(table, place)
    if not isinstance(table, np.ndarray):
        raise TypeError(
            f"{place} is a {type(table).__module__}.{type(table).__name__}. Pass a NumPy array or "
            f"a CSR or CSC matrix: {name} = {name}.to_memory() or table.compute()."
        )
    return np.asarray(table)


def _plain_sparse(table: Any, place: str) -> Any:
    """Return a CSR or CSC matrix of scipy's own classes, without a copy."""
    if table.format not in ("csr", "csc"):
        raise TypeError(f"{place} is a sparse matrix of format {table.format!r}. Use CSR or CSC.")
    is_array = isinstance(table, sparse.sparray)
    kinds = {
        ("csr", True): sparse.csr_array,
        ("csr", False): sparse.csr_matrix,
        ("csc", True): sparse.csc_array,
        ("csc", False): sparse.csc_matrix,
    }
    plain = kinds[table.format, is_array]
    if type(table) is plain:
        return table
    return plain((table.data, table.indices, table.indptr), shape=table.shape)


def is_whole(table: Any) -> bool:
    """Tell whether all numbers of a table are whole and at least 0."""
    values = table.data if sparse.issparse(table) else table
    if values.dtype.kind not in "iuf":
        return False
    step = max(1, MOST_CELLS // max(1, values.size // max(1, len(values))))
    for start in range(0, len(values), step):
        part = values[start : start + step]
        part = part[~np.isnan(part)] if part.dtype.kind == "f" else part
        if not (np.isfinite(part).all() and (part >= 0).all() and (part == np.floor(part)).all()):
            return False
    return True


def is_counted(table: Any) -> bool:
    """Tell whether a table has counts: whole numbers of at least 0, not only 0 and 1."""
    values = table.data if sparse.issparse(table) else table
    if values.size == 0 or not is_whole(table):
        return False
    return bool(np.fmax.reduce(values, axis=None) > 1)


def chosen_genes(adata: Any, genes: Any) -> IntArray:
    """Return the numbers of the genes that a map uses."""
    n_genes = adata.n_vars
    if isinstance(genes, str):
        if genes == "all" or (genes == "auto" and "highly_variable" not in adata.var):
            return np.arange(n_genes)
        column = "highly_variable" if genes == "auto" else genes
        if column not in adata.var or adata.var[column].dtype != np.bool_:
            raise ValueError(
                f"genes={genes!r} must be 'auto', 'all', the name of a boolean column of adata.var,"
                " a list of names, or a mask."
            )
        mask = adata.var[column].to_numpy()
    else:
        given = np.asarray(genes)
        if given.dtype != np.bool_:
            return _named(adata, given)
        if given.shape != (n_genes,):
            raise ValueError(
                f"genes is a mask of shape {given.shape}, but adata has {n_genes} genes."
            )
        mask = given
    if not mask.any():
        raise ValueError(f"genes={genes!r} chooses no gene of adata.")
    return np.flatnonzero(mask)


def _named(adata: Any, given: AnyArray) -> IntArray:
    if given.ndim != 1 or not len(given) or not all(isinstance(one, str) for one in given.tolist()):
        raise ValueError(
            "genes must be 'auto', 'all', the name of a boolean column of adata.var, a list of "
            "names, or a mask."
        )
    numbers: IntArray = np.asarray(adata.var_names.get_indexer(given), dtype=np.intp)
    unknown = given[numbers < 0]
    if len(unknown):
        raise ValueError(f"genes: {str(unknown[0])!r} is not in adata.var_names.")
    if len(set(given.tolist())) < len(given):
        raise ValueError("genes has a name more than once.")
    return numbers


def columns_of(table: Any, numbers: IntArray) -> Any:
    """Return chosen columns of a table, and the table itself if these are all in order."""
    if np.array_equal(numbers, np.arange(table.shape[1])):
        return table
    return table[:, numbers]


def check_layer(layer: Any) -> str | None:
    """Return the name of a layer, None for X."""
    if layer is not None and not isinstance(layer, str):
        raise TypeError(f"layer={layer!r} must be the name of a layer, or None for X.")
    return None if layer == "X" else layer

"""Read Parquet, Feather and AnnData files, and Excel workbooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click
import numpy as np

from twofold.cli.errors import needing
from twofold.cli.messages import Messages, listed
from twofold.cli.tables.reading import (
    Reading,
    Source,
    Table,
    check_memory,
    check_names,
    frame_of,
)
from twofold.cli.tables.workbooks import read_workbook
from twofold.protocols import AnyArray

MOST_BYTES: Final = 2**31
"""The largest dense matrix that is made of an AnnData file."""


BYTES_PER_CELL: Final = 8


def _read_parquet(source: Source, _: Reading, messages: Messages) -> Table:
    from pyarrow import parquet

    with source.open() as stream:
        file = parquet.ParquetFile(stream)
        # A column of equal values takes no room in the file.
        check_memory(
            source.name, BYTES_PER_CELL * file.metadata.num_rows * file.metadata.num_columns
        )
        return _of_arrow(source, file.read(), messages)


def _read_feather(source: Source, _: Reading, messages: Messages) -> Table:
    """Read a Feather file, or a file or stream of Arrow."""
    import pyarrow as pa
    from pyarrow import ipc

    with source.open() as stream:
        content = pa.py_buffer(stream.read())
    try:
        table = ipc.open_file(content).read_all()
    except pa.ArrowInvalid:
        table = ipc.open_stream(content).read_all()
    return _of_arrow(source, table, messages)


def _of_arrow(source: Source, table: Any, messages: Messages) -> Table:
    """Return the columns of a table of Arrow, after checking its texts and categories."""
    import pandas as pd

    check_names(source.name, table.column_names)
    table.validate(full=True)
    frame = table.to_pandas()
    for column, cells in frame.items():
        if pd.api.types.infer_dtype(cells, skipna=True) == "decimal":
            frame[column] = cells.astype(np.float64)
    if not isinstance(frame.index, pd.RangeIndex):
        messages.note(f"{source.name}: the row index is left out; only columns are read")
        frame = frame.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    return Table(source.name, frame)


def _read_h5ad(source: Source, _: Reading, messages: Messages) -> Table:
    """Read the matrix ``X`` of an AnnData file; the columns of ``obs`` stand beside it."""
    from scipy.sparse import issparse

    with needing("anndata"):
        import anndata
    if source.path is None:
        raise click.UsageError("AnnData cannot be read from a pipe: name a file")
    data: Any = anndata.read_h5ad(source.path)
    X = data.X
    if X is None:
        raise click.ClickException(f"{source.name} has no matrix X")
    if issparse(X):
        size = X.shape[0] * X.shape[1] * X.dtype.itemsize
        if size > MOST_BYTES:
            raise click.ClickException(
                f"{source.name}: X is sparse, and dense it has {size / 1e9:.1f} GB; use "
                "twofold.anndata in Python, or select genes first"
            )
        X = X.toarray()
    names = [str(name) for name in data.var_names]
    check_names(source.name, names)
    aside: dict[str, AnyArray] = {"obs_names": np.asarray(data.obs_names, dtype=object)}
    aside |= {
        str(name): np.asarray(data.obs[name], dtype=object)
        if data.obs[name].dtype.kind not in "biuf"
        else data.obs[name].to_numpy()
        for name in data.obs.columns
    }
    messages.note(
        f"{source.name}: matrix X, {X.shape[0]} observations of {X.shape[1]} variables; obs has "
        f"{listed(list(data.obs.columns)) or 'no columns'}"
    )
    return Table(source.name, frame_of(np.asarray(X), names), aside=aside, id="obs_names")


READERS: Final[dict[str, Callable[[Source, Reading, Messages], Table]]] = {
    "parquet": _read_parquet,
    "feather": _read_feather,
    "xlsx": read_workbook,
    "h5ad": _read_h5ad,
}

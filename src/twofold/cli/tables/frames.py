"""Read Parquet, Feather, Excel and AnnData files."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from twofold.cli.errors import needing, one_line
from twofold.cli.messages import Messages, listed
from twofold.cli.tables.reading import Source, Table, check_names, frame_of
from twofold.protocols import AnyArray

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_BYTES: Final = 2**31
"""The largest dense matrix that is made of an AnnData file."""


def _read_arrow(source: Source, messages: Messages, name: str, read: Any) -> Table:
    """Read a file of Arrow by a function of its stream, and return its columns."""
    import pandas as pd
    import pyarrow as pa

    try:
        with source.open() as stream:
            compressed = isinstance(stream, gzip.GzipFile)  # which cannot seek from its end
            frame = read(io.BytesIO(stream.read()) if compressed else stream)
        for column, cells in frame.items():
            if pd.api.types.infer_dtype(cells, skipna=True) == "decimal":
                frame[column] = cells.astype(np.float64)
    except (pa.ArrowException, OSError) as error:
        raise click.ClickException(
            f"{source.name} cannot be read as {name} ({one_line(error)})"
        ) from error
    if not isinstance(frame.index, pd.RangeIndex):
        messages.note(f"{source.name}: the row index is left out; only columns are read")
        frame = frame.reset_index(drop=True)
    return _named(source, frame)


def _named(source: Source, frame: DataFrame) -> Table:
    frame.columns = [str(name) for name in frame.columns]
    check_names(source.name, list(frame.columns))
    return Table(source.name, frame)


def _read_parquet(source: Source, messages: Messages) -> Table:
    import pandas as pd

    return _read_arrow(source, messages, "Parquet", pd.read_parquet)


def _read_feather(source: Source, messages: Messages) -> Table:
    """Read a Feather file, or a file or stream of Arrow."""
    import pyarrow as pa
    from pyarrow import ipc

    def read(stream: Any) -> Any:
        content = pa.py_buffer(stream.read())
        try:
            return ipc.open_file(content).read_all().to_pandas()
        except pa.ArrowInvalid:
            return ipc.open_stream(content).read_all().to_pandas()

    return _read_arrow(source, messages, "Feather", read)


def _read_xlsx(source: Source, messages: Messages) -> Table:
    """Read the first sheet of a workbook."""
    import pandas as pd

    with needing("xlsx"):
        import openpyxl  # noqa: F401
    try:
        with source.open() as stream, pd.ExcelFile(stream, engine="openpyxl") as book:
            sheets = [str(name) for name in book.sheet_names]
            frame = pd.read_excel(book, sheet_name=sheets[0])
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise click.ClickException(
            f"{source.name} cannot be read as a workbook ({one_line(error)}); save it as .xlsx or "
            ".csv"
        ) from error
    if len(sheets) > 1:
        others = listed(sheets[1:])
        messages.note(f"{source.name}: sheet {sheets[0]} is read; other sheets: {others}")
    table = _named(source, frame)
    nameless = [name for name in table.names if name.startswith("Unnamed: ")]
    return Table(
        source.name,
        frame,
        nameless=frozenset(nameless),
        place=lambda row: f"row {row + 2} of the sheet",
    )


def _read_h5ad(source: Source, messages: Messages) -> Table:
    """Read the matrix ``X`` of an AnnData file; the columns of ``obs`` stand beside it."""
    from scipy.sparse import issparse

    with needing("anndata"):
        import anndata
    if source.path is None:
        raise click.UsageError("AnnData cannot be read from a pipe: name a file")
    try:
        data: Any = anndata.read_h5ad(source.path)
    except Exception as error:  # h5py and anndata raise errors of many kinds for damaged files
        raise click.ClickException(
            f"{source.name} cannot be read as AnnData ({one_line(error)})"
        ) from error
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


READERS: Final[dict[str, Callable[[Source, Messages], Table]]] = {
    "parquet": _read_parquet,
    "feather": _read_feather,
    "xlsx": _read_xlsx,
    "h5ad": _read_h5ad,
}

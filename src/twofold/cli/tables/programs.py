"""Read the files of other programs: sheets of Excel (.xlsx) and AnnData (.h5ad)."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np
from scipy.sparse import issparse

from twofold.cli.errors import needing, one_line
from twofold.cli.messages import Messages, listed
from twofold.cli.tables.reading import Source, Table, check_names, frame_of, table_of
from twofold.numerics.sparse_rows import is_large_sparse

if TYPE_CHECKING:
    from pandas import DataFrame


def _read_sheet(source: Source, messages: Messages) -> Table:
    """Read the first sheet of an Excel file; its first line names the columns."""
    with needing("xlsx"):
        import openpyxl  # noqa: F401
    import pandas as pd

    try:
        with source.open() as stream:
            sheets: dict[str, DataFrame] = pd.read_excel(stream, sheet_name=None)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise click.ClickException(
            f"{source.name} cannot be read as an Excel file ({one_line(error)}); save it as .csv"
        ) from error
    name, frame = next(iter(sheets.items()))
    if len(sheets) > 1:
        others = listed(list(sheets)[1:])
        messages.note(f"{source.name}: sheet {name} is read, others are not: {others}")
    unnamed = [one for one in map(str, frame.columns) if one.startswith("Unnamed: ")]
    if unnamed and len(unnamed) > 1:
        raise click.ClickException(
            f"{source.name}: {len(unnamed)} columns of sheet {name} have no name; the first line "
            "must name the columns, and the table must start in cell A1"
        )
    return table_of(source.name, frame)


def _read_anndata(source: Source, messages: Messages) -> Table:
    """Read the matrix X of an AnnData file; columns of obs stand beside it."""
    with needing("anndata"):
        import anndata
    with tempfile.TemporaryDirectory() as folder:
        path = source.path
        if path is None:
            path = Path(folder, "table.h5ad")
            path.write_bytes(source.content)
        try:
            adata: Any = anndata.read_h5ad(path)
        except (OSError, ValueError, KeyError, anndata.io.IORegistryError) as error:
            raise click.ClickException(
                f"{source.name} cannot be read as AnnData ({one_line(error)})"
            ) from error
    values = adata.X
    if values is None:
        raise click.ClickException(f"{source.name} has no matrix X")
    if is_large_sparse(values):
        raise click.ClickException(
            f"{source.name} has {adata.n_obs} rows of {adata.n_vars} columns, too many for the "
            "command line; use twofold.anndata.fit in Python, which keeps the matrix sparse"
        )
    values = np.asarray(values.toarray() if issparse(values) else values)
    names = [str(name) for name in adata.var_names]
    check_names(source.name, names)
    aside = {str(name): adata.obs[name].to_numpy() for name in adata.obs.columns}
    aside = {name: one for name, one in aside.items() if name not in names}
    beside = f"; beside it {listed(aside)}" if aside else ""
    messages.note(f"{source.name}: the matrix X, {adata.n_obs} x {adata.n_vars}{beside}")
    return Table(source.name, frame_of(values, names), aside=aside)


READERS: Final[dict[str, Callable[[Source, Messages], Table]]] = {
    "xlsx": _read_sheet,
    "h5ad": _read_anndata,
}

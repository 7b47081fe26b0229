"""Read a table from a file or a pipe, with pandas and NumPy."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import click
import numpy as np

from twofold.cli.errors import needing, one_line
from twofold.cli.messages import Messages, counted, listed, table_size
from twofold.protocols import AnyArray

if TYPE_CHECKING:
    from pandas import DataFrame

STANDARD: Final = "-"
"""The argument that stands for standard input or standard output."""

FORMATS: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".npz": "npz",
}
"""Formats by file suffix."""

FEATURE_NAMES: Final = "feature_names"
"""The array of an NPZ file that names the columns of ``X``."""

DAMAGED: Final = (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""Exceptions that NumPy raises for damaged or encrypted files."""


@dataclass(frozen=True)
class Reading:
    """The user's options for reading a table; None means to detect the value."""

    format: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    decimal: str = "."


@dataclass(frozen=True)
class Source:
    """A file that can be opened again (``path``), or the bytes that came through a pipe."""

    name: str
    path: Path | None = None
    content: bytes = b""

    @classmethod
    def of(cls, text: str) -> Source:
        """Return the source that a command line argument names."""
        if text == STANDARD:
            return cls("standard input", content=sys.stdin.buffer.read())
        path = Path(text)
        if path.is_dir():
            raise click.ClickException(f"{text} is a folder; name a file in it")
        if path.exists() and not path.is_file():  # a named pipe can be read only once
            return cls(text, content=path.read_bytes())
        if not path.exists():
            raise click.ClickException(f"{text}: no such file{_similar_file(path)}")
        return cls(text, path)

    def open(self) -> BinaryIO:
        """Open the uncompressed bytes as a stream."""
        if self.path is None:
            return io.BytesIO(self.content)
        if self.path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(self.path))
        return self.path.open("rb")


@dataclass(frozen=True)
class Table:
    """A table as read from any format.

    ``named`` is False if the column names are made up, ``nameless`` has the columns without a name
    in a header that names others. ``aside`` holds arrays beside the table, such as labels in an
    NPZ file. ``place`` names the line or row of a row index, for messages.
    """

    name: str
    frame: DataFrame
    named: bool = True
    nameless: frozenset[str] = frozenset()
    aside: Mapping[str, AnyArray] = field(default_factory=dict)
    place: Callable[[int], str] = lambda row: f"row {row + 1}"

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [str(name) for name in self.frame.columns]

    @cached_property
    def numeric(self) -> frozenset[str]:
        """Columns of real numbers, and columns in which all cells are missing."""
        from pandas.api.types import is_complex_dtype, is_numeric_dtype

        return frozenset(
            name
            for name, kind in zip(self.names, self.frame.dtypes, strict=True)
            if (is_numeric_dtype(kind) and not is_complex_dtype(kind))
            or self.frame[name].isna().all()
        )


def read_table(argument: str, reading: Reading, messages: Messages) -> Table:
    """Read a table from a file or, for ``-``, from standard input."""
    with needing("cli"):  # fail before anything is read
        import pandas  # noqa: F401, ICN001
        import pyarrow  # noqa: F401, ICN001
    source = Source.of(argument)
    kind = reading.format or ("csv" if source.path is None else format_of(source.path, "--format"))
    if kind in ("csv", "tsv"):
        from twofold.cli.tables.delimited import read_delimited

        table = read_delimited(source, "\t" if kind == "tsv" else ",", reading, messages)
    elif kind == "parquet":
        table = _read_parquet(source, messages)
    else:
        table = _read_numpy(source, kind, messages)
    n_rows, n_columns = table.frame.shape
    if not n_columns:
        raise click.ClickException(f"{table.name} has no columns")
    if not n_rows:
        raise click.ClickException(f"{table.name} has {counted(n_columns, 'column')} and no rows")
    return table


def format_of(path: Path, option: str, *, compressed: bool = True) -> str:
    """Return the format by the suffix of a file; ``option`` is the remedy for an unknown suffix."""
    suffix = path.suffix.lower()
    if suffix == ".gz" and compressed:
        inner = FORMATS.get(Path(path.stem).suffix.lower())
        if inner in ("csv", "tsv"):
            return inner
    if suffix not in FORMATS:
        said = f"the suffix {path.suffix}" if path.suffix else "no suffix"
        raise click.UsageError(
            f"{path} has {said}; tables have {', '.join(FORMATS)}: rename it, or use {option} csv"
        )
    return FORMATS[suffix]


def check_names(source: str, names: list[str]) -> None:
    """Raise an error if two columns have the same name."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise click.ClickException(
            f"{source} has more than one column with the name {listed(twice)}; column names must "
            "be unique"
        )


def frame_of(values: AnyArray, names: list[str] | None = None) -> DataFrame:
    """Return an array as a data frame; columns without names are called x0, x1, ..."""
    import pandas as pd

    if names is None:
        names = [f"x{number}" for number in range(values.shape[1])]
    return pd.DataFrame(values, columns=names, copy=False)


def _similar_file(path: Path) -> str:
    """Return a hint at a file with a similar name in the same folder."""
    folder = path.parent
    if not folder.is_dir():
        return f", and no folder {folder}"
    close = get_close_matches(path.name, [one.name for one in folder.iterdir()], n=1, cutoff=0.7)
    return f"; did you mean {folder / close[0]}?" if close else ""


def _read_parquet(source: Source, messages: Messages) -> Table:
    import pandas as pd
    import pyarrow as pa

    try:
        with source.open() as stream:
            compressed = isinstance(stream, gzip.GzipFile)  # which cannot seek from its end
            frame = pd.read_parquet(io.BytesIO(stream.read()) if compressed else stream)
        for name, column in frame.items():
            if pd.api.types.infer_dtype(column, skipna=True) == "decimal":
                frame[name] = column.astype(np.float64)
    except (pa.ArrowException, OSError) as error:
        raise click.ClickException(
            f"{source.name} cannot be read as Parquet ({one_line(error)})"
        ) from error
    if not isinstance(frame.index, pd.RangeIndex):
        messages.note(f"{source.name}: the row index is left out; only columns are read")
        frame = frame.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    check_names(source.name, list(frame.columns))
    return Table(source.name, frame)


def _read_numpy(source: Source, kind: str, messages: Messages) -> Table:
    """Read an NPY file, or the array ``X`` or the only array of two dimensions of an NPZ file.

    Arrays of an NPZ file with a value per row stand beside the table. Arrays of Python objects,
    as which labels are often saved, are skipped with a note.
    """
    arrays: dict[str, AnyArray] = {}
    with _numpy_file(source) as content:
        if isinstance(content, np.ndarray) != (kind == "npy"):
            holds = "several arrays; name it .npz" if kind == "npy" else "one array; name it .npy"
            raise click.ClickException(f"{source.name} holds {holds}")
        if isinstance(content, np.ndarray):
            return Table(source.name, frame_of(_checked(source.name, content)), named=False)
        for name in content.files:
            try:
                arrays[name] = content[name]
            except ValueError:
                if name == "X":
                    raise
                messages.note(
                    f"{source.name}: array {name} holds Python objects and is not read; save it as "
                    "numbers or with dtype=str"
                )
    flat = [name for name, array in arrays.items() if array.ndim == 2]
    if "X" not in arrays and len(flat) != 1:
        which = f"several of two dimensions: {listed(flat)}" if flat else "none of two dimensions"
        raise click.ClickException(f"{source.name} has no array X, and {which}; name the table X")
    main = "X" if "X" in arrays else flat[0]
    X = _checked(f"{source.name}, array {main}", arrays.pop(main))
    given = arrays.pop(FEATURE_NAMES, np.empty(0))
    names = [str(one) for one in given] if given.shape == (X.shape[1],) else None
    check_names(source.name, names or [])
    aside = {one: values for one, values in arrays.items() if values.shape == (len(X),)}
    beside = f", beside it {listed(aside)}" if aside else ""
    messages.note(f"{source.name}: array {main}, {table_size(X.shape)}{beside}")
    return Table(source.name, frame_of(X, names), named=names is not None, aside=aside)


@contextmanager
def _numpy_file(source: Source) -> Iterator[AnyArray | np.lib.npyio.NpzFile]:
    """Open a NumPy file without unpickling; errors name the file and the remedy."""
    try:
        with source.open() as stream:
            yield np.load(stream, allow_pickle=False)
    except DAMAGED as error:
        reason = one_line(error)
        if "pickle" in reason:
            reason = "it has another format, or holds Python objects, which are not read"
        raise click.ClickException(
            f"{source.name} cannot be read as a NumPy file ({reason}); save it with numpy.save or "
            "numpy.savez"
        ) from error


def _checked(name: str, array: AnyArray) -> AnyArray:
    if array.ndim != 2:
        raise click.ClickException(
            f"{name} has shape {array.shape}; a table has two dimensions, (rows, columns): "
            "reshape it"
        )
    if array.dtype.kind not in "biuf":
        raise click.ClickException(f"{name} has type {array.dtype}; a table holds real numbers")
    return array

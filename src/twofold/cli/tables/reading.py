"""Read a table from a file or a pipe, with pandas and NumPy.

Files are not trusted: what a small file would fill the memory with is an error before it does.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from twofold.cli.errors import needing, one_line, parsing
from twofold.cli.messages import Messages, counted, listed
from twofold.numerics.memory import check_memory_for
from twofold.protocols import AnyArray

if TYPE_CHECKING:
    from pandas import DataFrame

STANDARD: Final = "-"
"""The argument that stands for standard input or standard output."""

WRITTEN: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".npy": "npy",
    ".npz": "npz",
}
"""Formats that commands write, by file suffix."""

FORMATS: Final = {**WRITTEN, ".xlsx": "xlsx", ".h5ad": "h5ad"}
"""Formats that commands read, by file suffix."""

ADVICE: Final = {
    ".xls": "save it as .xlsx or .csv",
    ".ods": "save it as .xlsx or .csv",
    ".json": "convert it, for example with pandas.read_json(...).to_csv",
    ".txt": "rename it to .csv, or use {option} csv",
    ".dat": "rename it to .csv, or use {option} csv",
    ".data": "rename it to .csv, or use {option} csv",
    ".loom": "convert it with anndata.read_loom(...).write_h5ad",
    ".h5": "convert it to .h5ad, .parquet or .npz",
    ".hdf5": "convert it to .h5ad, .parquet or .npz",
    ".mat": "convert it with scipy.io.loadmat and numpy.savez",
    ".rds": "write it as .csv from R",
    ".sav": "convert it with pandas.read_spss(...).to_csv",
    ".dta": "convert it with pandas.read_stata(...).to_csv",
    ".zip": "unpack it first",
}
"""What to do with files of other formats, by suffix."""


CALLED: Final = {
    "csv": "CSV",
    "tsv": "TSV",
    "parquet": "Parquet",
    "feather": "Feather",
    "npy": "a NumPy file, as numpy.save writes",
    "npz": "a NumPy file, as numpy.savez writes",
    "xlsx": "an .xlsx workbook",
    "h5ad": "AnnData",
}
"""What messages call the formats."""

CHUNK: Final = 2**24


@dataclass(frozen=True)
class Reading:
    """The user's options for reading a table; None means to detect the value."""

    format: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    decimal: str = "."


@dataclass(frozen=True)
class Source:
    """A file that can be opened again (``path``), or bytes of a pipe or a compressed file."""

    name: str
    path: Path | None = None
    content: bytes = b""

    @classmethod
    def of(cls, text: str) -> Source:
        """Return the source that a command line argument names."""
        if text == STANDARD:
            return cls("standard input", content=_all_bytes(sys.stdin.buffer, "standard input"))
        path = Path(text)
        if path.is_dir():
            raise click.ClickException(f"{text} is a folder; name a file in it")
        if path.is_char_device() or path.is_block_device():  # which may have no end
            raise click.ClickException(f"{text} is a device; name a file, or '-' for a pipe")
        if not path.exists():
            if path.is_symlink():
                raise click.ClickException(f"{text} is a link to a file that does not exist")
            raise click.ClickException(f"{text}: no such file{_similar_file(path)}")
        if path.suffix.lower() == ".gz":
            return cls(text, content=_unpacked(path))
        if not path.is_file():  # a named pipe can be read only once
            with path.open("rb") as stream:
                return cls(text, content=_all_bytes(stream, text))
        return cls(text, path)

    def open(self) -> BinaryIO:
        """Open the uncompressed bytes as a stream."""
        return io.BytesIO(self.content) if self.path is None else self.path.open("rb")


def _all_bytes(stream: Any, name: str) -> bytes:
    """Return all bytes of a stream of unknown length."""
    content = bytearray()
    while chunk := stream.read(CHUNK):
        content += chunk
        check_memory(name, len(content))  # the cells need at least as much again
    return bytes(content)


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as stream:
            return _all_bytes(stream, str(path))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise click.ClickException(
            f"{path} cannot be unpacked ({one_line(error)}); is it complete?"
        ) from error


def check_memory(name: str, n_bytes: float) -> None:
    """Raise an error if the memory that is free does not suffice for a table."""
    check_memory_for(name, n_bytes, "its cells", "Take fewer rows or columns.")


@dataclass(frozen=True)
class Table:
    """A table as read from any format.

    ``named`` is False if the column names are made up, ``nameless`` has the columns without a name
    in a header that names others. ``aside`` holds arrays beside the table, such as labels in an
    NPZ file; ``id`` names the one that names rows. ``place`` names the line of a row index, or
    the row counted from 0, for messages. ``decimal`` is the decimal mark in texts.
    """

    name: str
    frame: DataFrame
    named: bool = True
    nameless: frozenset[str] = frozenset()
    aside: Mapping[str, AnyArray] = field(default_factory=dict)
    id: str | None = None
    place: Callable[[int], str] = lambda row: f"row {row}"
    decimal: str = "."

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
    with parsing(source.name, CALLED[kind]):
        if kind in ("csv", "tsv"):
            from twofold.cli.tables.delimited import read_delimited

            table = read_delimited(source, "\t" if kind == "tsv" else ",", reading, messages)
        elif kind in ("npy", "npz"):
            from twofold.cli.tables.arrays import read_arrays

            table = read_arrays(source, kind, messages)
        else:
            from twofold.cli.tables.frames import READERS

            table = READERS[kind](source, reading, messages)
    n_rows, n_columns = table.frame.shape
    if not n_columns:
        raise click.ClickException(f"{table.name} has no columns")
    if not n_rows:
        raise click.ClickException(f"{table.name} has {counted(n_columns, 'column')} and no rows")
    return table


def format_of(path: Path, option: str, known: Mapping[str, str] = FORMATS) -> str:
    """Return the format by the suffix of a file; ``option`` is the remedy for an unknown suffix."""
    suffix = path.suffix.lower()
    if suffix == ".gz" and known is FORMATS:
        inner = FORMATS.get(Path(path.stem).suffix.lower())
        if inner in ("csv", "tsv"):
            return inner
    if suffix not in known:
        said = f"the suffix {path.suffix}" if path.suffix else "no suffix"
        remedy = "rename it, or name its format, such as {option} csv"
        if known is FORMATS:
            remedy = ADVICE.get(suffix, remedy)
        raise click.UsageError(
            f"{path} has {said}; tables have {', '.join(known)}: {remedy.format(option=option)}"
        )
    return known[suffix]


def check_names(source: str, names: list[str]) -> None:
    """Raise an error if two columns have the same name, or a name is not text."""
    if wrong := [name for name in names if not is_unicode(name)]:
        raise click.ClickException(
            f"{source} has a column whose name {listed(wrong)} is not Unicode text; rename it"
        )
    if twice := [name or "''" for name, count in Counter(names).items() if count > 1]:
        raise click.ClickException(
            f"{source} has more than one column with the name {listed(twice)}; column names must "
            "be unique"
        )


def is_unicode(text: str) -> bool:
    """Whether a text can be written: it has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
    names = [one.name for one in folder.iterdir()]
    close = get_close_matches(path.name, names, n=1, cutoff=0.7)
    return f"; did you mean {folder / close[0]}?" if close else ""

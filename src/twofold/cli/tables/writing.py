"""Write tables in the format of the file's suffix; a failure leaves no partial file."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from twofold.cli.errors import needing
from twofold.cli.messages import Messages, listed, table_size
from twofold.cli.tables.arrays import FEATURE_NAMES
from twofold.cli.tables.columns import LABELS, Selection
from twofold.cli.tables.reading import STANDARD, WRITTEN, format_of
from twofold.numerics.files import whole_file
from twofold.numerics.plain_text import printable
from twofold.protocols import AnyArray, Array


def check_writable(path: Path, *inputs: str) -> None:
    """Raise an error, before any work, if a file cannot be written or is one of the inputs."""
    target = path.resolve()
    folder, exists = target.parent, target.exists()
    reason = ""
    if not folder.is_dir():
        reason = f"there is no folder {path.parent}; create it first"
    elif target.is_dir():
        reason = "it is a folder; name a file in it"
    elif exists and not target.is_file():  # such as /dev/null, which must not be replaced
        reason = "it is not a regular file; '-' is standard output, for tables"
    elif not os.access(folder, os.W_OK) or (exists and not os.access(target, os.W_OK)):
        reason = "permission denied"
    if reason:
        raise click.ClickException(f"cannot write {path}: {reason}")
    for one in inputs:
        if one != STANDARD and exists and Path(one).exists() and target.samefile(one):
            raise click.UsageError(f"{path} is read by this command; write to another file")


@dataclass(frozen=True)
class ResultTable:
    """A table to write: an array or frame (n, len(names)), and the columns beside it."""

    names: list[str]
    values: Any
    beside: dict[str, AnyArray] = field(default_factory=dict)
    id: str | None = None
    label: str | None = None

    @classmethod
    def of(cls, names: Sequence[str], values: Any, selection: Selection) -> ResultTable:
        """Return numbers for the rows of a table, with the columns beside its features."""
        return cls(list(names), values, selection.beside, selection.id, selection.label)

    def columns(self) -> dict[str, AnyArray]:
        """Return all columns in the order of a file, the id first; duplicate names get a "_"."""
        columns: dict[str, AnyArray] = {}
        if self.id is not None:
            columns[_free_name(self.id, self.names)] = self.beside[self.id]
        columns.update(zip(self.names, _columns_of(self.values), strict=True))
        for name, values in self.beside.items():
            if name != self.id:
                columns[_free_name(name, columns)] = values
        return columns

    def numbers(self, what: str) -> Array:
        """Return the table as one array, for a format that holds numbers only."""
        from pandas.api.types import is_numeric_dtype

        if not hasattr(self.values, "dtypes"):
            return np.asarray(self.values)
        other = [name for name, kind in self.values.dtypes.items() if not is_numeric_dtype(kind)]
        if other:
            raise click.ClickException(
                f"{what} holds numbers, and {listed(other)} is not a number; write CSV or Parquet"
            )
        return np.asarray(self.values.to_numpy(dtype=np.float64, na_value=np.nan))


def _columns_of(values: Any) -> Iterable[AnyArray]:
    """Return the columns of an array or frame; text, and integers with gaps, as objects."""
    if not hasattr(values, "columns"):
        return list(values.T)
    found = []
    for name in values.columns:
        column = values[name]
        plain = column.to_numpy()
        if plain.dtype == object:
            plain = column.astype(object).mask(column.isna(), None).to_numpy(dtype=object)
        found.append(plain)
    return found


@dataclass(frozen=True)
class Output:
    """The target of a table, a path or ``-`` for standard output, and its format."""

    target: str
    format: str

    @classmethod
    def of(cls, target: str, given: str | None, *inputs: str) -> Output:
        """Return the output that the arguments name, checked before any work."""
        if target == STANDARD:
            kind = given or "csv"
            if kind not in ("csv", "tsv") and sys.stdout.isatty():
                raise click.UsageError(f"{kind} is not for a terminal; name a file with -o")
            return cls(target, kind)
        path = Path(target)
        kind = given or format_of(path, "--output-format", WRITTEN)
        check_writable(path, *inputs)
        return cls(target, kind)

    @property
    def is_standard(self) -> bool:
        """Whether the table goes to standard output."""
        return self.target == STANDARD

    def write(self, table: ResultTable, messages: Messages) -> None:
        """Write a table."""
        stream = BytesIO()
        WRITERS[self.format](table, stream)
        content = stream.getbuffer()
        if self.format == "npy" and table.beside:
            left_out = listed(table.beside)
            messages.note(f"NPY holds one table of numbers: {left_out} is left out (NPZ keeps it)")
        if self.is_standard:
            if sys.stdout.isatty():  # a file keeps what would steer a terminal
                content = memoryview(_for_terminal(bytes(content)))
            while content:  # unbuffered streams may take only a part
                content = content[sys.stdout.buffer.write(content) :]
            sys.stdout.buffer.flush()
            return
        with whole_file(self.target) as path:
            path.write_bytes(content)

    def write_result(self, table: ResultTable, messages: Messages) -> None:
        """Write a table as the result of a command; on standard output, JSON includes the table."""
        columns = table.columns()
        document: dict[str, Any] = {"rows": len(table.values), "columns": list(columns)}
        if messages.as_json and self.is_standard:
            messages.result(document | {"table": columns}, [])
            return
        self.write(table, messages)
        if messages.as_json:
            messages.result(document | {"written": self.target}, [])
        elif not self.is_standard:
            messages.note(f"{self.target}: {table_size((len(table.values), len(columns)))}")


def _for_terminal(content: bytes) -> bytes:
    """Return lines of text in which only line ends and tabs are not printable."""
    lines = content.decode().split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines).encode()


def _free_name(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _write_csv(table: ResultTable, stream: BytesIO, delimiter: str = ",") -> None:
    import pyarrow as pa
    import pyarrow.csv as pc

    arrow = _arrow_table(table)
    header = StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(arrow.column_names)
    start = stream.write(header.getvalue().encode())
    options = {"include_header": False, "delimiter": delimiter}
    try:  # Arrow quotes all text or none
        pc.write_csv(arrow, stream, pc.WriteOptions(quoting_style="none", **options))
    except pa.ArrowInvalid:  # a cell needs quotes
        stream.truncate(stream.seek(start))
        pc.write_csv(arrow, stream, pc.WriteOptions(quoting_style="needed", **options))


def _write_parquet(table: ResultTable, stream: BytesIO) -> None:
    import pyarrow.parquet as pq

    pq.write_table(_arrow_table(table), stream)


def _write_feather(table: ResultTable, stream: BytesIO) -> None:
    from pyarrow import feather

    feather.write_feather(_arrow_table(table), stream, compression="uncompressed")


def _arrow_table(table: ResultTable) -> Any:
    with needing("cli"):
        import pyarrow as pa

    columns = table.columns().items()
    return pa.table({name: one.tolist() if one.dtype == object else one for name, one in columns})


def _write_npy(table: ResultTable, stream: BytesIO) -> None:
    np.save(stream, table.numbers("NPY"), allow_pickle=False)


def _write_npz(table: ResultTable, stream: BytesIO) -> None:
    arrays = {"X": table.numbers("NPZ"), FEATURE_NAMES: np.array(table.names, dtype=str)}
    for name, values in table.beside.items():
        # Arguments of numpy.savez cannot be names of arrays.
        taken = (*arrays, "file", "allow_pickle")
        free = _free_name(LABELS if name == table.label else name, taken)
        arrays[free] = values.astype(str) if values.dtype == object else values
    np.savez(stream, allow_pickle=False, **arrays)


WRITERS: Final[dict[str, Callable[[ResultTable, BytesIO], None]]] = {
    "csv": _write_csv,
    "tsv": partial(_write_csv, delimiter="\t"),
    "parquet": _write_parquet,
    "feather": _write_feather,
    "npy": _write_npy,
    "npz": _write_npz,
}

"""Tables out: in the format of the file's name, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Callable, Container, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from twofold.cli.errors import needing
from twofold.cli.tables.arrays import NAMES
from twofold.cli.tables.columns import LABELS, Chosen
from twofold.cli.tables.sources import STANDARD, format_of
from twofold.cli.talk import Talk
from twofold.cli.words import listed
from twofold.numerics.files import whole_file
from twofold.protocols import AnyArray, Array

__all__ = ["Output", "Rows", "check_writable", "finished_file"]


def finished_file(path: Path) -> AbstractContextManager[Path]:
    """Give a name beside the file to write to, and move it there once all has been written.

    A failure leaves what was there before. Within several of these, all files are written before the first is moved.
    A link stays one: what it leads to is replaced.
    """
    return whole_file(path.resolve())


def check_writable(path: Path, *inputs: str) -> None:
    """Refuse, before any work, a file that cannot be written or that the command reads."""
    target = path.resolve()
    folder, exists = target.parent, target.exists()
    reason = ""
    if not folder.is_dir():
        reason = f"there is no folder {path.parent}; make it first"
    elif target.is_dir():
        reason = "it is a folder; name a file in it"
    elif exists and not target.is_file():  # such as /dev/null, which must not be replaced
        reason = "it is no plain file; '-' is standard output, for tables"
    elif not os.access(folder, os.W_OK) or (exists and not os.access(target, os.W_OK)):
        reason = "permission denied"
    if reason:
        raise click.ClickException(f"cannot write {path}: {reason}")
    for one in inputs:
        if one != STANDARD and exists and Path(one).exists() and target.samefile(one):
            raise click.UsageError(f"{path} is read by this command; write to another file")


@dataclass(frozen=True)
class Output:
    """Where a table goes.

    Parameters
    ----------
    target : str
        A path, or ``-`` for standard output.
    format : str
        The format.
    """

    target: str
    format: str

    @classmethod
    def of(cls, target: str, given: str | None, *inputs: str) -> Output:
        """Return the output that the arguments name, checked before any work.

        Parameters
        ----------
        target : str
            A path, or ``-``.
        given : str or None
            A format that the user gave.
        *inputs : str
            Files that the command reads.
        """
        if target == STANDARD:
            kind = given or "csv"
            if kind not in ("csv", "tsv") and sys.stdout.isatty():
                raise click.UsageError(f"{kind} is not for a terminal; name a file with -o")
            return cls(target, kind)
        path = Path(target)
        kind = given or format_of(path, "--output-format", compressed=False)
        check_writable(path, *inputs)
        return cls(target, kind)

    @property
    def is_standard(self) -> bool:
        """Tell whether the table goes to standard output."""
        return self.target == STANDARD

    def write(self, rows: Rows, talk: Talk) -> None:
        """Write a table.

        Parameters
        ----------
        rows : Rows
            What to write.
        talk : Talk
            Where to tell what the format cannot hold.
        """
        content = WRITERS[self.format](rows)
        if self.format == "npy" and rows.beside:
            left_out = listed(rows.beside)
            talk.note(f"NPY holds one table of numbers: {left_out} is left out (NPZ keeps it)")
        if self.is_standard:
            while content:  # unbuffered streams may take a part at a time
                content = content[sys.stdout.buffer.write(content) :]
            sys.stdout.buffer.flush()
            return
        with finished_file(Path(self.target)) as path:
            path.write_bytes(content)


@dataclass(frozen=True)
class Rows:
    """A table on its way out.

    Parameters
    ----------
    names : list of str
        The columns of numbers.
    values : ndarray of shape (n, len(names))
        The numbers.
    beside : dict of str to ndarray of shape (n,)
        What stands beside them.
    id, label : str or None
        Which of these names the rows, and is written first, and which is the label.
    """

    names: list[str]
    values: Array
    beside: dict[str, AnyArray] = field(default_factory=dict)
    id: str | None = None
    label: str | None = None

    @classmethod
    def of(cls, names: Sequence[str], values: Array, chosen: Chosen) -> Rows:
        """Return numbers for the rows of a table, with what stood beside these."""
        return cls(list(names), values, chosen.beside, chosen.id, chosen.label)

    def columns(self) -> dict[str, AnyArray]:
        """Return all columns in the order of a file; a name that is taken gets a mark."""
        columns: dict[str, AnyArray] = {}
        if self.id is not None:
            columns[_free_name(self.id, self.names)] = self.beside[self.id]
        columns.update(zip(self.names, self.values.T, strict=True))
        for name, values in self.beside.items():
            if name != self.id:
                columns[_free_name(name, columns)] = values
        return columns


def _free_name(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _csv(rows: Rows, delimiter: str = ",") -> memoryview:
    import pyarrow as pa
    import pyarrow.csv as pc

    table = _arrow_table(rows)
    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(table.column_names)
    options = {"include_header": False, "delimiter": delimiter}

    def written(quoting: str) -> memoryview:
        content = io.BytesIO()
        content.write(header.getvalue().encode())
        pc.write_csv(table, content, pc.WriteOptions(quoting_style=quoting, **options))
        return content.getbuffer()

    try:  # Arrow quotes all text or none; none reads better, where no cell needs it
        return written("none")
    except pa.ArrowInvalid:
        return written("needed")


def _parquet(rows: Rows) -> memoryview:
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(_arrow_table(rows), content)
    return content.getbuffer()


def _arrow_table(rows: Rows) -> Any:
    with needing("cli"):
        import pyarrow as pa

    return pa.table(
        {
            name: pa.array(values.tolist() if values.dtype == object else values)
            for name, values in rows.columns().items()
        }
    )


def _npy(rows: Rows) -> memoryview:
    content = io.BytesIO()
    np.save(content, rows.values, allow_pickle=False)
    return content.getbuffer()


def _npz(rows: Rows) -> memoryview:
    arrays: dict[str, AnyArray] = {"X": rows.values, NAMES: np.array(rows.names, dtype=str)}
    for name, values in rows.beside.items():
        free = _free_name(LABELS if name == rows.label else name, (*arrays, *RESERVED))
        arrays[free] = values.astype(str) if values.dtype == object else values
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return content.getbuffer()


RESERVED: Final = ("file", "allow_pickle")
"""Arguments of `numpy.savez`, which cannot be names of arrays."""

WRITERS: Final[dict[str, Callable[[Rows], memoryview]]] = {
    "csv": _csv,
    "tsv": partial(_csv, delimiter="\t"),
    "parquet": _parquet,
    "npy": _npy,
    "npz": _npz,
}

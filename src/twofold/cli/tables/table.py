"""A table as the command line has it, read from any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import click

from twofold.cli.errors import needing, one_line
from twofold.cli.tables.sources import Source
from twofold.cli.talk import Talk
from twofold.cli.words import counted, listed

__all__ = ["Reading", "Table", "check_names", "frame_of", "read_table"]


@dataclass(frozen=True)
class Reading:
    """How the user wants a table read; None means to find out.

    Parameters
    ----------
    format : str or None
        One of the formats, for what has no telling name.
    header : bool or None
        Whether the first line of a CSV names the columns.
    delimiter : str or None
        What separates the cells of a CSV.
    decimal : str
        The decimal mark of a CSV.
    """

    format: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    decimal: str = "."


def _row(row: int) -> str:
    return f"row {row + 1}"


@dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Parameters
    ----------
    name : str
        Where it came from, for messages.
    frame : pandas DataFrame
        The columns.
    named : bool
        Whether their names were given, and not made up.
    nameless : frozenset of str
        Columns without a name in a header that names others, such as row numbers; what they are called was made up.
    aside : mapping of str to array
        Columns that are no features, whatever they hold: labels that stand beside the table in an NPZ.
    place : callable
        Says where a row, counted from 0, is found: by its line where there are lines.
    """

    name: str
    frame: Any
    named: bool = True
    nameless: frozenset[str] = frozenset()
    aside: Mapping[str, Any] = field(default_factory=dict)
    place: Callable[[int], str] = _row

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [str(name) for name in self.frame.columns]

    @cached_property
    def numeric(self) -> frozenset[str]:
        """Columns that are numbers, or have no value at all: those are no text, their cells are missing."""
        from pandas.api.types import is_complex_dtype, is_numeric_dtype

        kinds = zip(self.names, self.frame.dtypes, strict=True)
        numbers = {
            name: is_numeric_dtype(kind) and not is_complex_dtype(kind) for name, kind in kinds
        }
        return frozenset(
            name for name, yes in numbers.items() if yes or self.frame[name].isna().all()
        )


def read_table(source: str, reading: Reading, talk: Talk) -> Table:
    """Read a table from a file or, for ``-``, from standard input.

    Parameters
    ----------
    source : str
        A path, or ``-``.
    reading : Reading
        What the user said of it.
    talk : Talk
        Where guesses are told.
    """
    with needing("cli"):
        import pandas  # noqa: F401, ICN001 - asked for before anything is read
        import pyarrow  # noqa: F401, ICN001

    found = Source.of(source)
    kind = found.format(reading.format)
    if kind in ("csv", "tsv"):
        from twofold.cli.tables.delimited import read_delimited

        table = read_delimited(found, kind, reading, talk)
    elif kind == "parquet":
        table = _read_parquet(found, talk)
    else:
        from twofold.cli.tables.arrays import read_npy, read_npz

        table = read_npy(found, talk) if kind == "npy" else read_npz(found, talk)
    if not table.frame.shape[1]:
        raise click.ClickException(f"{table.name} has no columns")
    if not table.frame.shape[0]:
        raise click.ClickException(
            f"{table.name} has {counted(table.frame.shape[1], 'column')} and no rows"
        )
    return table


def _read_parquet(source: Source, talk: Talk) -> Table:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with source.open() as stream:
            table = pq.read_table(pa.BufferReader(stream.read()))
        for number, column in enumerate(table.schema):
            if pa.types.is_decimal(column.type):  # to pandas they are objects
                values = table.column(number).cast(pa.float64())
                table = table.set_column(number, column.name, values)
        frame = table.to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise click.ClickException(
            f"{source.name} cannot be read as Parquet ({one_line(error)})"
        ) from error
    if not isinstance(frame.index, pd.RangeIndex):
        talk.note(f"{source.name}: the row index is left out; only columns are read")
        frame = frame.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    check_names(source.name, list(frame.columns))
    return Table(source.name, frame)


def check_names(source: str, names: list[str]) -> None:
    """Refuse a table in which two columns have one name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise click.ClickException(
            f"{source} has more than one column with the name {listed(twice)}; give each a name of its own"
        )


def frame_of(values: Any, names: list[str] | None = None) -> Any:
    """Return an array as a data frame, with made-up names where it has none."""
    import pandas as pd

    if names is None:
        names = [f"x{number}" for number in range(values.shape[1])]
    return pd.DataFrame(values, columns=names, copy=False)

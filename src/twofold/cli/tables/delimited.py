"""Tables from CSV and TSV: read by Arrow, looked at line by line where something is wrong.

Arrow is fast and strict. What it refuses is read again by the standard library's `csv`, which is slow and knows
its line, so that the error can name it.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

import click

from twofold.cli.errors import one_line
from twofold.cli.tables.sources import Source
from twofold.cli.tables.table import Reading, Table, check_names
from twofold.cli.talk import Talk
from twofold.cli.words import counted

__all__ = ["read_delimited"]

DELIMITERS: Final = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
SMALLEST_BLOCK: Final = 2**22
LARGEST_BLOCK: Final = 2**31 - 1
LINES_IN_BLOCK: Final = 16


def read_delimited(source: Source, kind: str, reading: Reading, talk: Talk) -> Table:
    """Read a table whose cells are separated by commas, tabs or semicolons.

    Parameters
    ----------
    source : Source
        Where from.
    kind : {"csv", "tsv"}
        Which separator is usual.
    reading : Reading
        What the user said of it.
    talk : Talk
        Where guesses are told.
    """
    with _text_of(source) as text:
        line = next((line for line in text if line.strip()), "")
    if not line:
        raise click.ClickException(f"{source.name} is empty; a table has a line of names and rows")
    delimiter = reading.delimiter or ("\t" if kind == "tsv" else _likely_delimiter(line))
    if delimiter != (usual := "\t" if kind == "tsv" else ",") and reading.delimiter is None:
        talk.note(
            f"{source.name}: cells are separated by {DELIMITERS[delimiter]}, not {DELIMITERS[usual]}"
        )
    with _text_of(source) as text:
        records = _records(text, source.name, delimiter)
        first, n_lines = next(records)
        is_alone = next(records, None) is None
    header = _has_header(source, first, reading, talk)
    if header and is_alone:
        raise click.ClickException(f"{source.name} has {counted(len(first), 'column')} and no rows")
    given = [name.strip() for name in first] if header else [f"x{i}" for i in range(len(first))]
    names = [name or f"column{number}" for number, name in enumerate(given, start=1)]
    check_names(source.name, names)
    nameless = frozenset(name for name, one in zip(names, given, strict=True) if not one)
    block = max(SMALLEST_BLOCK, LINES_IN_BLOCK * len(line))
    frame = _parse(source, delimiter, reading.decimal, len(names), n_lines if header else 0, block)
    frame.columns = names

    def place(row: int) -> str:
        with _text_of(source) as text:
            for number, (_, at) in enumerate(_records(text, source.name, delimiter)):
                if number == row + header:
                    return f"line {at}"
        return f"row {row + 1}"  # pragma: no cover - the rows were all found before

    return Table(source.name, frame, named=header, nameless=nameless, place=place)


def _likely_delimiter(line: str) -> str:
    """Return the separator that a line has most of outside quotes, a comma where it has none."""
    bare = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=lambda one: (bare.count(one), one == ","))


def _has_header(source: Source, first: list[str], reading: Reading, talk: Talk) -> bool:
    """Tell whether the first line names the columns; numbers are no names."""
    if reading.header is not None:
        return reading.header
    numbers = [cell for cell in first if _is_number(cell, reading.decimal)]
    if not numbers:
        return True
    if len(numbers) == sum(bool(cell.strip()) for cell in first):
        names = (
            f"columns are called x0 to x{len(first) - 1}" if len(first) > 1 else "it is called x0"
        )
        talk.note(
            f"{source.name}: the first line is numbers and read as data; {names} (--header if it is names)"
        )
        return False
    other = next(cell for cell in first if cell.strip() and cell not in numbers)
    raise click.ClickException(
        f"{source.name}: the first line has both names ({other!r}) and numbers ({numbers[0]!r}); say --header if "
        "it names the columns, --no-header if it is data"
    )


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return "_" not in cell


def _parse(
    source: Source, delimiter: str, decimal: str, n_columns: int, skipped: int, block: int
) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pc

    def read(block_size: int, *, breaks: bool) -> Any:
        return pc.read_csv(
            io.BytesIO(source.content) if source.path is None else str(source.path),
            read_options=pc.ReadOptions(
                column_names=[str(number) for number in range(n_columns)],
                skip_rows=skipped,
                block_size=block_size,
            ),
            parse_options=pc.ParseOptions(delimiter=delimiter, newlines_in_values=breaks),
            convert_options=pc.ConvertOptions(decimal_point=decimal),
        ).to_pandas()

    try:
        return read(block, breaks=False)
    except (pa.ArrowInvalid, OSError) as error:
        _check_lines(source, delimiter, n_columns)
        try:  # cells with line breaks in quotes, and lines longer than the block
            return read(min(source.size() + 1, LARGEST_BLOCK), breaks=True)
        except (pa.ArrowInvalid, OSError):
            raise click.ClickException(
                f"{source.name} cannot be read as a table ({one_line(error)})"
            ) from error


def _check_lines(source: Source, delimiter: str, n_columns: int) -> None:
    """Refuse the first line that has too many or too few cells."""
    with _text_of(source) as text:
        for record, at in _records(text, source.name, delimiter):
            if len(record) != n_columns:
                cells = f"{len(record)} cell{'s' * (len(record) != 1)}"
                raise click.ClickException(
                    f"{source.name}: line {at} has {cells} where the first line has {n_columns}; every line "
                    "needs as many (a cell with the separator in it goes in double quotes)"
                )


@contextmanager
def _text_of(source: Source) -> Iterator[io.TextIOWrapper]:
    """Open the text of a source; what is no text is told so."""
    stream: BinaryIO = source.open()
    with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        try:
            yield text
        except UnicodeDecodeError as error:
            raise click.ClickException(
                f"{source.name} is no text in UTF-8 (byte 0x{error.object[error.start]:02x}); save it as UTF-8, or say "
                "its --format if it is no CSV"
            ) from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise click.ClickException(
                f"{source.name} cannot be unpacked ({one_line(error)}); is it whole?"
            ) from error


def _records(text: io.TextIOWrapper, name: str, delimiter: str) -> Iterator[tuple[list[str], int]]:
    """Yield the cells of each record that is not empty, with the line on which it ends."""
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    try:
        for record in reader:
            if record:
                yield record, reader.line_num
    except csv.Error as error:
        raise click.ClickException(
            f"{name}: line {reader.line_num} cannot be read ({error}); is a double quote left open?"
        ) from error

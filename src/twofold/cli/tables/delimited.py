"""Read CSV and TSV.

Arrow's reader, the fast engine of pandas, reads the table. Unlike `pandas.read_csv` it keeps labels
such as "NA" as they are, and reads lines of any length. If it fails, the standard library's `csv`
goes through the lines to name the line of the error.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from twofold.cli.messages import Messages, counted
from twofold.cli.tables.reading import Reading, Source, Table, check_names

if TYPE_CHECKING:
    from pandas import DataFrame

DELIMITERS: Final = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
SMALLEST_BLOCK: Final = 2**22
LARGEST_BLOCK: Final = 2**31 - 1
LINES_IN_BLOCK: Final = 16

GAPS: Final = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "Null", "?")
"""Cells that have no value. In columns of text they stay as they are, as in labels."""


def read_delimited(source: Source, usual: str, reading: Reading, messages: Messages) -> Table:
    """Read a table of text; ``usual`` is the delimiter that needs no note."""
    with _text_of(source) as text:
        line = next((line for line in text if line.strip()), "")
    if "\0" in line:
        raise click.ClickException(
            f"{source.name} is not UTF-8 text (it has zero bytes); save it as UTF-8, or name its "
            "format with --format if it is not CSV"
        )
    if not line:
        raise click.ClickException(
            f"{source.name} is empty; a table has a line of column names and rows"
        )
    delimiter = reading.delimiter or ("\t" if usual == "\t" else _likely_delimiter(line))
    if delimiter != usual and reading.delimiter is None:
        messages.note(
            f"{source.name}: cells are separated by {DELIMITERS[delimiter]}, "
            f"not {DELIMITERS[usual]}"
        )
    records = _records(source, delimiter)
    first, n_lines = next(records)
    is_alone = next(records, None) is None
    records.close()
    header = has_header(source.name, first, reading, messages)
    if header and is_alone:
        raise click.ClickException(f"{source.name} has {counted(len(first), 'column')} and no rows")
    given = [name.strip() for name in first] if header else [f"x{i}" for i in range(len(first))]
    names = [name or f"column{number}" for number, name in enumerate(given, start=1)]
    check_names(source.name, names)
    nameless = frozenset(name for name, one in zip(names, given, strict=True) if not one)
    block = max(SMALLEST_BLOCK, LINES_IN_BLOCK * len(line))
    frame = _parse(source, delimiter, reading.decimal, names, n_lines if header else 0, block)

    def place(row: int) -> str:
        for number, (_, line) in enumerate(_records(source, delimiter)):
            if number == row + header:
                return f"line {line}"
        return f"row {row}"  # pragma: no cover - all rows were found before

    return Table(
        source.name,
        frame,
        named=header,
        nameless=nameless,
        place=place,
        decimal=reading.decimal,
    )


def _likely_delimiter(line: str) -> str:
    """Return the most frequent delimiter outside quotes, a comma if there is none."""
    bare = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=lambda one: (bare.count(one), one == ","))


def has_header(name: str, first: list[str], reading: Reading, messages: Messages) -> bool:
    """Whether the first line names the columns: by the user's option, or if it has no numbers."""
    if reading.header is not None:
        return reading.header
    numbers = [cell for cell in first if is_number(cell, reading.decimal)]
    if not numbers:
        return True
    other = next((cell for cell in first if cell.strip() and cell not in numbers), None)
    if other is not None:
        raise click.ClickException(
            f"{name}: the first line has both names ({other!r}) and numbers "
            f"({numbers[0]!r}); use --header if it names the columns, --no-header if it is data"
        )
    many = len(first) > 1
    names = f"columns are called x0 to x{len(first) - 1}" if many else "the column is called x0"
    messages.note(
        f"{name}: the first line is numbers and read as data; {names} (use --header if the "
        "line names the columns)"
    )
    return False


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether Arrow reads a cell as a number; Python also reads 1_000 and digits of all scripts."""
    if "_" in cell or not cell.isascii() or (decimal == "," and "." in cell):
        return False
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return True


def _parse(
    source: Source, delimiter: str, decimal: str, names: list[str], skipped: int, block: int
) -> DataFrame:
    """Return the rows below the first ``skipped`` lines, read in blocks of bytes."""
    import pyarrow as pa
    import pyarrow.csv as pc

    def read(block_size: int, *, breaks: bool) -> Any:
        with source.open() as stream:
            return pc.read_csv(
                stream,
                pc.ReadOptions(column_names=names, skip_rows=skipped, block_size=block_size),
                pc.ParseOptions(delimiter=delimiter, newlines_in_values=breaks),
                pc.ConvertOptions(decimal_point=decimal, null_values=GAPS),
            )

    try:
        return _as_frame(read(block, breaks=False), decimal)
    except (pa.ArrowInvalid, OSError) as error:
        _check_lines(source, delimiter, len(names))
        with source.open() as stream:
            size = stream.seek(0, io.SEEK_END)
        try:  # line breaks in cells, and lines longer than a block
            return _as_frame(read(min(size + 1, LARGEST_BLOCK), breaks=True), decimal)
        except (pa.ArrowInvalid, OSError):
            raise error from None


def _as_frame(table: Any, decimal: str) -> DataFrame:
    """Return a table of Arrow as a frame; integers with gaps stay integers, times are text."""
    import pyarrow as pa

    for number, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            name = table.column_names[number]
            table = table.set_column(number, name, _numbers_with_gaps(column, decimal))
    frame: DataFrame = table.to_pandas()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_integer(column.type) and column.null_count:
            frame[name] = frame[name].astype("Int64")
        elif pa.types.is_time(column.type):
            frame[name] = frame[name].map(str, na_action="ignore")
    return frame


def _numbers_with_gaps(column: Any, decimal: str) -> Any:
    """Return a column of text as numbers if all cells are, but for spaces around marks of gaps."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = pc.utf8_trim_whitespace(column)
    is_gap = pc.is_in(cells, value_set=pa.array(GAPS))
    if not pc.any(is_gap).as_py() or pc.all(is_gap).as_py():
        return column
    observed = pc.if_else(is_gap, None, cells)
    if decimal != ".":
        observed = pc.replace_substring(observed, decimal, ".")
    for kind in (pa.int64(), pa.float64()):
        try:
            return observed.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column


def _check_lines(source: Source, delimiter: str, n_columns: int) -> None:
    """Raise an error that names the first line with too many or too few cells."""
    for record, line in _records(source, delimiter):
        if len(record) != n_columns:
            raise click.ClickException(
                f"{source.name}: line {line} has {counted(len(record), 'cell')} where the first "
                f"line has {n_columns}; all lines need the same number (put a cell that contains "
                "the separator in double quotes)"
            )


@contextmanager
def _text_of(source: Source) -> Iterator[io.TextIOWrapper]:
    """Open a source as text; raise an error if it is not UTF-8 or a damaged archive."""
    with io.TextIOWrapper(source.open(), encoding="utf-8-sig", newline="") as text:
        try:
            yield text
        except UnicodeDecodeError as error:
            raise click.ClickException(
                f"{source.name} is not UTF-8 text (byte 0x{error.object[error.start]:02x}); save "
                "it as UTF-8, or name its format with --format if it is not CSV"
            ) from error


def _records(source: Source, delimiter: str) -> Generator[tuple[list[str], int]]:
    """Yield the cells of each record that is not empty, with the number of its last line."""
    csv.field_size_limit(sys.maxsize)
    with _text_of(source) as text:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            for record in reader:
                if record:
                    yield record, reader.line_num
        except csv.Error as error:
            raise click.ClickException(
                f"{source.name}: line {reader.line_num} cannot be read ({error}); is a double "
                "quote left open?"
            ) from error

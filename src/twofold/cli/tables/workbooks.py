"""Read the first sheet of an Excel workbook."""

from __future__ import annotations

import re
import zipfile
from typing import Any, BinaryIO, Final

import click

from twofold.cli.errors import needing
from twofold.cli.messages import Messages, listed
from twofold.cli.tables.reading import Reading, Source, Table, check_memory, check_names

MOST_ROWS: Final = 2**20
"""Rows that a sheet of Excel has."""

PLACE: Final = re.compile(rb'\br="([A-Z]{0,3})(\d+)"')
"""The place of a row or a cell in the XML of a sheet."""

CHUNK: Final = 2**22
OVERLAP: Final = 64
BYTES_PER_CELL: Final = 64
BYTES_PER_BYTE: Final = 4
"""Memory for a cell, and for a byte of unpacked XML."""


def read_workbook(source: Source, reading: Reading, messages: Messages) -> Table:
    """Read the first sheet of a workbook."""
    import pandas as pd

    from twofold.cli.tables.delimited import has_header, is_number

    with needing("xlsx"):
        import openpyxl  # noqa: F401
    with source.open() as stream:
        _check_size(source.name, stream)
        with pd.ExcelFile(stream, engine="openpyxl") as book:
            sheets = [sheet.title for sheet in book.book.worksheets]
            if not sheets:
                raise click.ClickException(f"{source.name} has no sheet with cells")
            first = pd.read_excel(book, sheet_name=sheets[0], header=None, nrows=1, dtype=object)
            cells = ["" if pd.isna(cell) else str(cell) for cell in first.to_numpy().ravel()]
            # Years beside other names are names here, unlike in CSV.
            alone = all(is_number(cell) for cell in cells if cell)
            given = alone or reading.header is not None
            header = has_header(source.name, cells, reading, messages) if given else True
            frame = pd.read_excel(book, sheet_name=sheets[0], header=0 if header else None)
    if len(sheets) > 1:
        others = listed(sheets[1:])
        messages.note(f"{source.name}: sheet {sheets[0]} is read; other sheets: {others}")
    if header:
        check_names(source.name, [cell for cell in cells if cell])
    names = [str(name) if header else f"x{name}" for name in frame.columns]
    frame.columns = names
    nameless = [name for name in names if name.startswith("Unnamed: ")]
    first_row = 2 if header else 1
    return Table(
        source.name,
        frame,
        named=header,
        nameless=frozenset(nameless),
        place=lambda row: f"row {row + first_row} of the sheet",
    )


def _check_size(name: str, stream: BinaryIO) -> None:
    """Raise an error for sheets that would fill the memory: pandas fills all rows to one length."""
    with zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        check_memory(name, BYTES_PER_BYTE * sum(entry.file_size for entry in entries))
        for entry in entries:
            if entry.filename.startswith("xl/worksheets/"):
                with archive.open(entry) as sheet:
                    n_rows, n_columns = _extent(sheet)
                if n_rows > MOST_ROWS:
                    raise ValueError(f"it has a cell in row {n_rows}, outside of Excel's rows")
                check_memory(name, BYTES_PER_CELL * n_rows * n_columns)
    stream.seek(0)


def _extent(sheet: Any) -> tuple[int, int]:
    """Return the last row and the last column that cells of a sheet name."""
    letters, last_row, before = {b""}, 0, b""
    while chunk := sheet.read(CHUNK):
        places = PLACE.findall(before + chunk)
        letters.update(column for column, _ in places)
        last_row = max(last_row, max((int(row[:20]) for _, row in places), default=0))
        before = chunk[-OVERLAP:]
    return last_row, max(map(_number, letters))


def _number(letters: bytes) -> int:
    """Return the number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number

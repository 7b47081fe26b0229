"""Cells of text where numbers are expected: typing errors, decimal commas, other separators."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import click

from twofold.cli.tables.delimited import GAPS
from twofold.cli.tables.guessing import is_text
from twofold.cli.tables.reading import Table

if TYPE_CHECKING:
    from pandas import Series


def check_text(table: Table, name: str, column: Series) -> None:
    """Raise an error for a column of text that is meant as numbers."""
    if str(column.dtype) == "category" or not is_text(column):
        return
    observed = column.dropna()
    counts = observed.map(str).value_counts()
    other = [cell for cell in counts.index if not reads_as_number(cell)]
    n_other = int(counts[other].sum())
    commas = [cell for cell in other if "," in cell and reads_as_number(cell.replace(",", "."))]
    typing_error = 0 < 2 * n_other < len(observed)
    decimal_comma = 2 * int(counts[commas].sum()) > len(observed)
    spaces = len(table.names) == 1 and any(" " in cell.strip() for cell in other)
    if typing_error or decimal_comma or spaces:
        raise click.ClickException(text_message(table, name, column))


def text_message(table: Table, name: str, column: Series) -> str:
    """Return the error for a column of text, with the first cell that is not a number."""
    cells = [(row, str(cell)) for row, cell in enumerate(column) if not reads_as_number(cell)]
    row, cell = cells[0] if cells else (0, str(column.iloc[0]))
    shown = repr(cell if len(cell) <= 30 else cell[:27] + "...")
    example = f"column {name} has {shown} in {table.place(row)}"
    if "," in cell and reads_as_number(cell.replace(",", ".")):
        remedy = "use --decimal , if that is a decimal comma"
    elif len(table.names) == 1 and " " in cell.strip():
        remedy = "use --delimiter ' ' if cells are separated by spaces"
    elif 2 * len(cells) < len(column):
        return (
            f"{table.name}: {example}, which is not a number; correct it, empty the cell if the "
            f"value is missing, or use --drop {quote(name)} or --kind {quote(name + '=category')} "
            "in the fit"
        )
    else:
        remedy = "the model needs numbers there"
    return f"{table.name}: {example}; {remedy}"


def reads_as_number(cell: object) -> bool:
    """Whether a cell is a number or missing."""
    if cell is None:
        return True
    if isinstance(cell, str):
        if cell.strip() in GAPS:
            return True
        if "_" in cell:  # Python reads 1_000, other programs do not
            return False
    try:
        float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True

"""Cells of text where numbers are expected: typing errors, decimal commas, other separators."""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING, Final

import click

from twofold.cli.tables.delimited import GAPS, is_number
from twofold.cli.tables.guessing import is_text
from twofold.cli.tables.reading import Table

if TYPE_CHECKING:
    from pandas import Series


WITH_SIGNS: Final = re.compile(
    r"\s*[$€£¥₹]?\s*[-+\u2212]?(\d+|\d{1,3}([\s'’_,]\d{3})+)([.,\u066b]\d*)?([eE][-+]?\d+)?"
    r"\s*[%‰°$€£¥₹]?\s*"
)
"""Numbers with signs, units or separators, or with digits of any script."""


def check_text(table: Table, name: str, column: Series) -> None:
    """Raise an error for a column of text that is meant as numbers."""
    if str(column.dtype) == "category" or not is_text(column):
        return
    observed = column.dropna()
    counts = observed.map(str).value_counts()
    other = [cell for cell in counts.index if not reads_as_number(cell, table.decimal)]
    n_other = int(counts[other].sum())
    commas = [cell for cell in other if _has_decimal_comma(table, cell)]
    typing_error = 0 < 2 * n_other < len(observed)
    decimal_comma = 2 * int(counts[commas].sum()) > len(observed)
    spaces = len(table.names) == 1 and any(" " in cell.strip() for cell in other)
    if typing_error or decimal_comma or spaces:
        raise click.ClickException(text_message(table, name, column))


def check_signs(table: Table, name: str, column: Series) -> None:
    """Raise an error for a column that is no feature because its numbers are written with signs."""
    observed = column.dropna().map(str)
    if 2 * int(observed.map(lambda cell: bool(WITH_SIGNS.fullmatch(cell))).sum()) > len(observed):
        raise click.ClickException(text_message(table, name, column))


def _has_decimal_comma(table: Table, cell: str) -> bool:
    return table.decimal == "." and "," in cell and reads_as_number(cell.replace(",", "."))


def text_message(table: Table, name: str, column: Series) -> str:
    """Return the error for a column of text, with the first cell that is not a number."""
    cells = [
        (row, str(cell))
        for row, cell in enumerate(column)
        if not reads_as_number(cell, table.decimal)
    ]
    row, cell = cells[0] if cells else (0, str(column.iloc[0]))
    shown = repr(cell if len(cell) <= 30 else cell[:27] + "...")
    example = f"column {name} has {shown} in {table.place(row)}"
    if _has_decimal_comma(table, cell):
        remedy = "use --decimal , if that is a decimal comma"
    elif len(table.names) == 1 and " " in cell.strip():
        remedy = "use --delimiter ' ' if cells are separated by spaces"
    elif 2 * len(cells) < len(column):
        return (
            f"{table.name}: {example}, which is not a number; correct it, empty the cell if the "
            f"value is missing, or use --drop {quote(name)} or --kind {quote(name + '=category')} "
            "in the fit"
        )
    elif WITH_SIGNS.fullmatch(cell):
        remedy = (
            "numbers are written as 1234.5, without signs, units or other separators; correct "
            f"them, or use --id {quote(name)}, --drop {quote(name)} or "
            f"--kind {quote(name + '=category')} in the fit"
        )
    else:
        remedy = "the model needs numbers there"
    return f"{table.name}: {example}; {remedy}"


def reads_as_number(cell: object, decimal: str = ".") -> bool:
    """Whether a cell is a number or missing."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return cell.strip() in GAPS or is_number(cell, decimal)
    try:
        float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True

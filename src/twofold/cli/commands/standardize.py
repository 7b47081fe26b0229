"""``twofold standardize``: scale all columns of a table to mean 0 and standard deviation 1."""

from __future__ import annotations

import click
import numpy as np

from twofold.cli.inputs import InputTable
from twofold.cli.messages import Messages
from twofold.cli.options import command, message_options, output_options, table_input
from twofold.cli.tables.columns import Columns, Selection
from twofold.cli.tables.reading import read_table
from twofold.cli.tables.scaling import in_deviations
from twofold.cli.tables.writing import Output, ResultTable


@command(
    "twofold standardize wines.csv --label maker -o scaled.csv",
    "twofold standardize new.csv --by wines.csv --label maker -o new-scaled.csv",
    "twofold standardize rebuilt.csv --by wines.csv --undo -o in-units.csv",
)
@click.option(
    "--by",
    metavar="FILE",
    help="Table with the means and standard deviations, such as that of the fit [default: DATA].",
)
@click.option("--undo", is_flag=True, help="Convert back to the units of --by.")
@output_options()
@table_input(others="--text-columns")
@message_options
def standardize(
    table: InputTable, by: str | None, undo: bool, output: Output, messages: Messages
) -> None:
    """Put all columns on one scale.

    Columns are shifted to mean 0 and scaled to standard deviation 1, for tables whose units differ.
    A model fitted to such a table needs new rows on the same scale: name the table of the fit with
    --by.
    """
    if undo and by is None:
        raise click.UsageError("--undo needs the table with the units: --by wines.csv")
    chosen = table.select(messages)
    reference = chosen if by is None else _reference(by, table, chosen, messages)
    values = np.asarray(reference.features, dtype=np.float64)
    given = np.asarray(chosen.features, dtype=np.float64)
    scaled = in_deviations(given, values, undo=undo)
    names = chosen.names or [f"x{number}" for number in range(given.shape[1])]
    output.write_result(ResultTable.of(names, scaled, chosen), messages)


def _reference(by: str, table: InputTable, chosen: Selection, messages: Messages) -> Selection:
    """Select the columns of another table by the names, or else the order, of the chosen ones."""
    other, columns = read_table(by, table.reading, messages), table.columns
    known = {*other.names, *other.aside}
    roles = Columns(
        label=columns.label if columns.label in known else None,
        id=columns.id if columns.id in known else None,
        drop=tuple(name for name in columns.drop if name in known),
        others="drop",
        missing=columns.missing,
    )
    n_needed, silent = chosen.features.shape[1], Messages(quiet=True)
    return roles.choose_for(other, chosen.names, n_needed, "the other table", silent)

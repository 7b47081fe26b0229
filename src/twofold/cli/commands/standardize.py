"""``twofold standardize``: all columns of a table on one scale."""

from __future__ import annotations

import click
import numpy as np

from twofold.cli.giving import give
from twofold.cli.options import (
    TO_STANDARD_OUTPUT,
    column_options,
    data_argument,
    examples,
    output_options,
    table_options,
    talk_options,
)
from twofold.cli.tables import Chosen, Columns, Output, Reading, Rows, read_table
from twofold.cli.talk import Talk

__all__ = ["standardize"]


@click.command(
    epilog=examples(
        "twofold standardize wines.csv --label maker -o scaled.csv",
        "twofold standardize new.csv --by wines.csv --label maker -o new-scaled.csv",
        "twofold standardize rebuilt.csv --by wines.csv --undo -o in-units.csv",
    )
)
@data_argument
@click.option(
    "--by",
    metavar="FILE",
    help="Table whose means and deviations are used, such as that of the fit; else DATA itself.",
)
@click.option("--undo", is_flag=True, help="Back to the units of --by.")
@output_options(TO_STANDARD_OUTPUT)
@column_options(others="--text-columns")
@table_options
@talk_options
def standardize(
    data: str,
    by: str | None,
    undo: bool,
    target: str,
    output_format: str | None,
    columns: Columns,
    reading: Reading,
    talk: Talk,
) -> None:
    """Put all columns on one scale.

    Columns are shifted to mean 0 and scaled to standard deviation 1, for tables whose units differ. A model fitted to such a table needs new rows scaled alike: name the table of the fit with --by.
    """
    if undo and by is None:
        raise click.UsageError("--undo needs the table in whose units to write: --by wines.csv")
    output = Output.of(target, output_format, data, *([by] if by else []))
    chosen = columns.choose(read_table(data, reading, talk), talk)
    reference = chosen if by is None else _reference(by, reading, columns, chosen, talk)
    values = np.asarray(reference.features, dtype=np.float64)
    means, deviations = values.mean(axis=0), values.std(axis=0)
    deviations[deviations == 0.0] = 1.0
    given = np.asarray(chosen.features, dtype=np.float64)
    scaled = given * deviations + means if undo else (given - means) / deviations
    names = chosen.names or [f"x{number}" for number in range(given.shape[1])]
    give(Rows.of(names, scaled, chosen), output, talk)


def _reference(by: str, reading: Reading, columns: Columns, chosen: Chosen, talk: Talk) -> Chosen:
    """Return those columns of another table that have the names, or else the places, of the chosen ones."""
    table = read_table(by, reading, talk)
    known = {*table.names, *table.aside}
    roles = Columns(
        label=columns.label if columns.label in known else None,
        id=columns.id if columns.id in known else None,
        drop=tuple(name for name in columns.drop if name in known),
        others="drop",
        missing=columns.missing,
    )
    silent = Talk(quiet=True)
    return roles.choose_for(
        table, chosen.names, chosen.features.shape[1], "the other table", silent
    )

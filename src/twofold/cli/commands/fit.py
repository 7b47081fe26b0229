"""``twofold fit``: from a table to a model, and its embedding."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click
import numpy as np

from twofold.cli.fitting import JUDGED_ROWS, fit_rows, summary, take
from twofold.cli.methods import METHODS, complete_setting, parse_settings
from twofold.cli.models import latent_names
from twofold.cli.options import (
    column_options,
    data_argument,
    examples,
    seed_option,
    table_options,
    talk_options,
)
from twofold.cli.tables import (
    Chosen,
    Columns,
    Output,
    Reading,
    Rows,
    check_writable,
    finished_file,
    read_table,
)
from twofold.cli.tables.sources import FORMATS
from twofold.cli.talk import Talk
from twofold.cli.words import counted

__all__ = ["fit"]

DOMINANT: Final = 0.9
"""A column with more than this share of the variance decides the map by its unit."""


def _number_of_dimensions(_: click.Context, __: click.Parameter, value: str) -> int | str:
    if value == "auto":
        return value
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"{value!r} must be a number of at least 1, or 'auto' for isomap.")
    return int(value)


@click.command(
    epilog=examples(
        "twofold fit flowers.csv --label species -o flowers.twofold",
        "twofold fit flowers.csv --label species -m isomap -q 3 --embedding latents.csv",
        "twofold fit digits.npz --hold-out 0.1 --set init=tsne -o digits.twofold",
    )
)
@data_argument
@click.option(
    "-m",
    "--method",
    type=click.Choice(list(METHODS)),
    default="ukr",
    show_default=True,
    help="How the map is found.",
)
@click.option(
    "-q",
    "--dimensions",
    metavar="N",
    callback=_number_of_dimensions,
    default="2",
    show_default=True,
    help="Latent dimensions.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    shell_complete=complete_setting,
    help="A parameter of the method, in JSON or as text; may be repeated.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Model to write, such as model.twofold.",
)
@click.option(
    "--embedding", metavar="FILE", help="Table of latents to write; '-' is standard output."
)
@click.option(
    "--hold-out",
    type=click.FloatRange(0.0, 1.0, max_open=True),
    default=0.0,
    help="Share of the rows that is kept from the fit and judges it, such as 0.1.",
)
@seed_option
@column_options(others="--text-columns")
@table_options
@talk_options
def fit(
    data: str,
    method: str,
    dimensions: int | str,
    settings: tuple[str, ...],
    output: Path | None,
    embedding: str | None,
    hold_out: float,
    seed: int,
    columns: Columns,
    reading: Reading,
    talk: Talk,
) -> None:
    """Fit a map to a table.

    The model has latents for the rows of the table, their places on the map, and maps both ways: down from data to
    latents, up from latents to data.

    DATA is CSV, TSV, Parquet, NPY or NPZ, or '-' for standard input. Columns are features, rows are samples.
    """
    if output is None and embedding is None:
        raise click.UsageError(
            "nothing to write: -o model.twofold keeps the model, --embedding latents.csv the latents"
        )
    model = METHODS[method].make(dimensions, seed, parse_settings(method, settings))
    table_out = None if embedding is None else Output.of(embedding, None, data)
    if table_out is not None and table_out.is_standard and talk.as_json:
        raise click.UsageError(
            "--json and --embedding - both want standard output; name a file for one"
        )
    if output is not None:
        _check_model_file(output, data)
    chosen = columns.choose(read_table(data, reading, talk), talk)
    _check_labels(chosen, method)
    _note_dominant_column(chosen, talk)
    fitted = fit_rows(model, chosen, hold_out, seed, talk)
    latents = fitted.latents(talk) if table_out is not None or fitted.is_classified else None
    judged = fitted.judged(latents)
    with ExitStack() as files:
        if output is not None:
            model.save(files.enter_context(finished_file(output)))
        if table_out is not None and latents is not None:
            table_out.write(Rows.of(latent_names(model), latents, chosen), talk)
    document, lines = summary(fitted, judged)
    document |= {
        "method": method,
        "model": None if output is None else str(output),
        "embedding": None if table_out is None else table_out.target,
    }
    on_stdout = table_out is not None and table_out.is_standard
    lines += [("model", str(output))] if output is not None else []
    lines += [("latents", table_out.target)] if table_out is not None and not on_stdout else []
    talk.result(document, lines, err=on_stdout)


def _check_model_file(path: Path, data: str) -> None:
    if str(path) == "-":
        raise click.UsageError("a model goes to a file: -o model.twofold")
    if path.suffix.lower() in FORMATS:
        raise click.UsageError(
            f"-o {path} is the model; a table of latents goes to --embedding {path}"
        )
    check_writable(path, data)


def _check_labels(chosen: Chosen, method: str) -> None:
    """Refuse a method that needs labels where some are missing."""
    if not METHODS[method].needs_labels:
        return
    if chosen.labels is None:
        raise click.UsageError(
            f"{method} learns from labels: name their column with --label, or use -m isomap"
        )
    missing = [row for row, label in enumerate(chosen.labels) if label == ""]
    if missing:
        raise click.ClickException(
            f"{counted(len(missing), 'row')} without a label in {chosen.label}, the first is row {chosen.rows[missing[0]] + 1}; label them or "
            "remove them"
        )


def _note_dominant_column(chosen: Chosen, talk: Talk) -> None:
    """Say it where one column, by its unit, decides the map."""
    some = take(
        chosen.features, np.arange(0, len(chosen.rows), -(-len(chosen.rows) // JUDGED_ROWS))
    )
    values = np.asarray(some, dtype=np.float64)
    with np.errstate(all="ignore"):
        spreads = values.std(axis=0)
        shares = np.square(spreads / spreads.max())
    if values.shape[1] > 1 and shares.max() > DOMINANT * shares.sum():
        column = int(shares.argmax())
        name = f"column {column + 1}" if chosen.names is None else chosen.names[column]
        talk.note(
            f"{name} has {100 * shares.max() / shares.sum():.1f} % of the variance and decides the map; if units differ, "
            "'twofold standardize' puts all columns on one scale"
        )

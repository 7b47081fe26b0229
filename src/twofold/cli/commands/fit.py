"""``twofold fit``: fit a model to a table and write it, with its latents."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click

from twofold.cli.fitting import fit_rows, prepared
from twofold.cli.inputs import InputTable
from twofold.cli.messages import Messages, counted
from twofold.cli.methods import AUTO, METHODS, complete_setting, parse_settings
from twofold.cli.options import (
    RealRange,
    check_model_file,
    command,
    effort_option,
    message_options,
    scale_option,
    seed_option,
    table_input,
)
from twofold.cli.tables.columns import Selection
from twofold.cli.tables.writing import Output, ResultTable
from twofold.numerics.files import whole_file

CHOOSE_DIMENSIONS: Final = ("auto", "isomap")
"""Methods that find the number of latent dimensions."""


def _number_of_dimensions(_: click.Context, __: click.Parameter, value: str) -> int | str:
    if value == "auto":
        return value
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"{value!r} must be an integer >= 1, or 'auto' (auto, isomap).")
    return int(value)


@command(
    "twofold fit penguins.csv -o penguins.twofold",
    "twofold fit flowers.csv --label species --kind size=small,large -o flowers.twofold",
    "twofold fit flowers.csv --label species -m isomap -q 3 --embedding latents.csv",
    "twofold fit digits.npz --hold-out 0.1 --set init=tsne -o digits.twofold",
)
@click.option(
    "-m",
    "--method",
    type=click.Choice(list(METHODS)),
    default=AUTO,
    help="Method; auto compares several on held-out rows and fits the best.",
)
@click.option(
    "-q",
    "--dimensions",
    metavar="N",
    callback=_number_of_dimensions,
    default="2",
    help="Number of latent dimensions, or 'auto'.",
)
@effort_option
@scale_option
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    shell_complete=complete_setting,
    help="A parameter of the method, in JSON or as text; may be repeated.",
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Model to write."
)
@click.option("--embedding", metavar="FILE", help="Table of latents to write, or '-'.")
@click.option(
    "--hold-out",
    type=RealRange(0.0, 1.0, max_open=True),
    default=0.0,
    help="Share of the rows to hold out and score, such as 0.1.",
)
@seed_option
@table_input(kinds=True)
@message_options
def fit(
    table: InputTable,
    method: str,
    dimensions: int | str,
    effort: str | float | None,
    scale: str,
    settings: tuple[str, ...],
    output: Path | None,
    embedding: str | None,
    hold_out: float,
    seed: int,
    messages: Messages,
) -> None:
    """Fit a model to a table.

    The model has latents for the rows of the table, an encoder from data to latents, and a decoder
    from latents to data. Unless -m names a method, several methods race on a part of the rows,
    held-out rows decide, and the winner is fitted to all rows.

    DATA is CSV, TSV, Parquet, Feather, Excel, AnnData, NPY or NPZ, or '-' for standard input.
    Columns are features, rows are samples. Columns of text are categories, and cells may be
    missing. The model remembers the label, the id, and the kinds and units of the columns.
    """
    from twofold.export.model_files import save_with_roles

    if output is None and embedding is None:
        raise click.UsageError(
            "nothing to write: use -o model.twofold for the model, --embedding latents.csv for the "
            "latents"
        )
    parameters = parse_settings(method, settings)
    if effort is not None:
        if method != AUTO:
            raise click.UsageError(f"--effort is for -m {AUTO}; {method} has --set max_iter=100")
        parameters["effort"] = effort
    if dimensions == "auto" and method not in CHOOSE_DIMENSIONS:
        raise click.UsageError(f"-q auto is for -m {' and '.join(CHOOSE_DIMENSIONS)}")
    model = METHODS[method].make(dimensions, seed, parameters)
    latents_out = None if embedding is None else Output.of(embedding, None, table.data)
    on_stdout = latents_out is not None and latents_out.is_standard
    if on_stdout and messages.as_json:
        raise click.UsageError(
            "--json and --embedding - both use standard output; name a file for the latents"
        )
    if output is not None:
        check_model_file(output, table.data)
    selection = table.select(messages)
    _check_labels(selection, method)
    estimator, selection = prepared(model, table.data, selection, scale, messages)
    fitted = fit_rows(estimator, selection, hold_out, seed, messages)
    needs_latents = latents_out is not None or fitted.has_classes
    latents = fitted.latents(messages) if needs_latents else None
    document, lines = fitted.summary(latents)
    document |= {"method": method, "model": output and str(output), "embedding": embedding}
    with ExitStack() as files:
        if output is not None:
            path = files.enter_context(whole_file(output))
            save_with_roles(fitted.model.estimator, path, fitted.model.roles)
            lines.append(("model", str(output)))
        if latents_out is not None and latents is not None:
            latents_out.write(
                ResultTable.of(fitted.model.latent_names, latents, selection), messages
            )
            lines += [] if on_stdout else [("latents", latents_out.target)]
    messages.result(document, lines, err=on_stdout, table=fitted.race_table())


def _check_labels(selection: Selection, method: str) -> None:
    """Raise an error if a supervised method has rows without a label."""
    if not METHODS[method].needs_labels:
        return
    if selection.labels is None:
        raise click.UsageError(
            f"{method} learns from labels: name their column with --label, or use -m isomap"
        )
    missing = [row for row, label in enumerate(selection.labels) if label == ""]
    if missing:
        raise click.ClickException(
            f"{counted(len(missing), 'row')} without a label in {selection.label}, the first is "
            f"row {selection.rows[missing[0]]}; label or remove these rows"
        )

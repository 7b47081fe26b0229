"""``twofold update``: take new rows into a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from twofold.base.update_report import MEANINGS
from twofold.cli.inputs import InputTable, load_model
from twofold.cli.messages import Messages, counted
from twofold.cli.options import (
    check_model_file,
    command,
    message_options,
    model_argument,
    table_input,
)
from twofold.cli.progress import shown_progress
from twofold.numerics.files import whole_file

SHARES = ("share_off", "median_shift", "largest_shift")


@command(
    "twofold update flowers.twofold new.csv -o flowers-2.twofold",
    "twofold update flowers.twofold new.csv --report",
)
@model_argument
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Model to write."
)
@click.option("--report", is_flag=True, help="Print the drift of the rows; -o is not needed.")
@table_input()
@message_options
def update(
    model: Path, table: InputTable, output: Path | None, report: bool, messages: Messages
) -> None:
    """Take new rows into a model.

    Old rows keep their places, and the map grows where rows are new. The command prints how far the
    new rows have drifted from the old ones, and how far old rows have moved. MODEL itself stays as
    it is, unless -o names it.
    """
    from twofold.export.model_files import save_with_roles

    if output is None and not report:
        raise click.UsageError("nothing to write: use -o for the new model, or --report")
    if output is not None:
        check_model_file(output, table.data)
    loaded = load_model(model)
    selection = table.select_for(loaded, messages)
    with shown_progress(messages):
        grown = loaded.estimator.update(selection.features)
    found = dict(grown.update_report_)
    document = found | {"model": output and str(output)}
    lines = [
        (MEANINGS[name], f"{100.0 * value:.2f} %" if name in SHARES else _shown(value))
        for name, value in found.items()
    ]
    if output is not None:
        with whole_file(output) as path:
            save_with_roles(grown, path, loaded.roles)
        lines.append(("model", str(output)))
        messages.note(f"{counted(found['n_new'], 'row')} taken in")
    messages.result(document, lines)


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)

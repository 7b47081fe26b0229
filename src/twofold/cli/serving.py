"""``twofold explore --serve``: its options, and the server of a page for a model and a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twofold.cli.errors import parsing
from twofold.cli.inputs import InputTable, Model
from twofold.cli.messages import Messages
from twofold.cli.tables.columns import Columns
from twofold.cli.tables.reading import Source

if TYPE_CHECKING:
    from twofold.export.explorer._serve import PageServer

NEW_ROWS = "new rows"
"""What messages call rows that come from the page."""


def serve_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--serve`` and ``--port``."""
    serve = click.option(
        "--serve",
        is_flag=True,
        help="Serve the page to this computer's browsers until Ctrl-C, for tables too large for a "
        "file.",
    )
    port = click.option(
        "--port",
        type=click.IntRange(min=0, max=65_535),
        default=0,
        help="Port of --serve; 0 is any free one.",
    )
    return serve(port(command))


def check_serve_options(serve: bool, port: int, output: Path | None) -> None:
    """Raise an error for options that contradict each other."""
    if serve and output is not None:
        raise click.UsageError("--serve writes no page; leave out -o, or --serve")
    if port and not serve:
        raise click.UsageError("--port is for --serve")


def page_server(
    model: Model, table: InputTable, features: Any, options: dict[str, Any], port: int
) -> PageServer:
    """Return the server of the page for the features of a table; it closes as a context."""
    from twofold.export.explorer._answers import Answers
    from twofold.export.explorer._serve import PageServer
    from twofold.export.explorer._write import made_page

    made = made_page(model.estimator, features, host="server", **options)

    def read(text: str) -> tuple[Any, list[str]]:
        try:
            return new_rows(text, table, model)
        except click.ClickException as error:
            raise ValueError(error.format_message()) from error

    try:
        return PageServer(made.text, Answers(made, read), port)
    except OSError as error:
        raise click.ClickException(f"port {port} cannot be used: {error.strerror}") from error


def new_rows(text: str, table: InputTable, model: Model) -> tuple[Any, list[str]]:
    """Read CSV as the rows of a table are read; return features and names of the rows."""
    from twofold.cli.tables.delimited import read_delimited

    quiet = Messages(quiet=True)
    reading = replace(table.reading, format=None, delimiter=None)
    with parsing(NEW_ROWS, "CSV"):
        source = Source(NEW_ROWS, content=text.encode("utf-8", errors="replace"))
        content = read_delimited(source, ",", reading, quiet)
    # Columns that the user has named for the first table need not be in this one.
    given = table.columns
    known = {*content.names, *content.aside}
    columns = Columns(
        label=given.label if given.label in known else None,
        id=given.id if given.id in known else None,
        drop=tuple(name for name in given.drop if name in known),
    )
    chosen = replace(table, columns=columns).select_in(content, model, quiet)
    if chosen.id is not None:
        return chosen.features, [str(name) for name in chosen.beside[chosen.id]]
    return chosen.features, [f"new row {row + 1}" for row in chosen.rows]

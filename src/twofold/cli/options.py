"""Options that commands share; each group reaches the command as one object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from twofold.cli.inputs import InputTable
from twofold.cli.messages import Messages
from twofold.cli.tables import Columns, Output, Reading, check_writable
from twofold.cli.tables.reading import STANDARD

__all__ = [
    "column_options",
    "examples",
    "file_option",
    "image_shape_option",
    "message_options",
    "model_argument",
    "output_options",
    "seed_option",
    "table_input",
    "table_options",
]

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

TABLE_FORMATS = click.Choice(["csv", "tsv", "parquet", "npy", "npz"])

model_argument = click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed."
)


def examples(*lines: str) -> str:
    """Return example commands for the end of a help text, without line wrapping."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _with(options: Sequence[Decorator], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def _inputs() -> list[str]:
    """Return the files that the current command reads."""
    params = click.get_current_context().params
    return [str(params[name]) for name in ("model", "data", "by") if params.get(name)]


def message_options(command: Command) -> Command:
    """Add ``--quiet`` and ``--json``; the command gets them as ``messages``."""

    @wraps(command)
    def wrapped(*, quiet: bool, as_json: bool, **others: Any) -> Any:
        return command(messages=Messages(quiet, as_json), **others)

    options = [
        click.option("--quiet", is_flag=True, help="No progress and no notes on standard error."),
        click.option("--json", "as_json", is_flag=True, help="The result as one JSON document."),
    ]
    return _with(options, wrapped)


def table_options(command: Command) -> Command:
    """Add options for reading a table; the command gets them as ``reading``."""

    @wraps(command)
    def wrapped(
        *,
        input_format: str | None,
        header: bool | None,
        delimiter: str | None,
        decimal: str,
        **others: Any,
    ) -> Any:
        return command(reading=Reading(input_format, header, delimiter, decimal), **others)

    options = [
        click.option(
            "--format",
            "input_format",
            type=TABLE_FORMATS,
            help="Format of DATA [default: by its suffix, CSV for '-'].",
        ),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether the first line of a CSV names the columns [default: detect].",
        ),
        click.option(
            "--delimiter",
            callback=_one_character,
            help="Separator of the cells of a CSV [default: detect].",
        ),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            default=".",
            show_default=True,
            help="Decimal mark of a CSV.",
        ),
    ]
    return _with(options, wrapped)


def _one_character(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    value = "\t" if value in ("\\t", "tab") else value
    if value is not None and (len(value) != 1 or value in '"\r\n'):
        raise click.BadParameter(f"{value!r} must be one character, such as ';' or 'tab'.")
    return value


def column_options(*, others: str) -> Decorator:
    """Add options for columns; the command gets them as ``columns``.

    ``others``, "--text-columns" or "--extra-columns", names the option for columns that cannot be
    features.
    """
    what = "that are not numbers" if others == "--text-columns" else "that the model does not know"

    def add(command: Command) -> Command:
        @wraps(command)
        def wrapped(
            *,
            label: str | None,
            row_names: str | None,
            drop: tuple[str, ...],
            other_columns: str,
            missing: str,
            **rest: Any,
        ) -> Any:
            columns = Columns(label, row_names, drop, other_columns, missing)
            return command(columns=columns, **rest)

        decision: dict[str, Any] = {
            "type": click.Choice(["error", "drop"]),
            "default": "error",
            "show_default": True,
        }
        labels = "Column with labels: kept, never a feature."
        row_names = "Column that names rows: kept, never a feature."
        left_out = "Column to leave out; may be repeated."
        options = [
            click.option("--label", metavar="COL", help=labels),
            click.option("--id", "row_names", metavar="COL", help=row_names),
            click.option("--drop", metavar="COL", multiple=True, help=left_out),
            click.option(others, "other_columns", help=f"Columns {what}.", **decision),
            click.option("--missing", help="Rows with missing cells.", **decision),
        ]
        return _with(options, wrapped)

    return add


def table_input(*, others: str = "--extra-columns", required: bool = True) -> Decorator:
    """Add the argument DATA with its options; the command gets them as ``table``.

    Without ``required``, DATA may be missing, and ``table`` is then None.
    """

    def add(command: Command) -> Command:
        @wraps(command)
        def wrapped(*, data: str | None, reading: Reading, columns: Columns, **rest: Any) -> Any:
            if data is None and columns.label is not None:
                raise click.UsageError("--label names a column of DATA, which is missing")
            table = None if data is None else InputTable(data, reading, columns)
            return command(table=table, **rest)

        metavar = "DATA" if required else "[DATA]"
        argument = click.argument("data", metavar=metavar, required=required, type=click.Path())
        return _with([argument, column_options(others=others), table_options], wrapped)

    return add


def output_options(
    help_text: str = "Table to write; '-', the default, is standard output.",
    default: str | None = STANDARD,
) -> Decorator:
    """Add where a table goes; the command gets a checked ``output``, None if there is no target."""

    def add(command: Command) -> Command:
        @wraps(command)
        def wrapped(*, target: str | None, output_format: str | None, **rest: Any) -> Any:
            output = None if target is None else Output.of(target, output_format, *_inputs())
            return command(output=output, **rest)

        options = [
            click.option(
                "-o", "--output", "target", metavar="FILE", default=default, help=help_text
            ),
            click.option(
                "--output-format",
                type=TABLE_FORMATS,
                help="Format of the table [default: by its suffix, CSV for '-'].",
            ),
        ]
        return _with(options, wrapped)

    return add


def file_option(help_text: str, *suffixes: str) -> Decorator:
    """Add ``-o`` for a file with one of some suffixes; the command gets a checked ``output``."""

    def add(command: Command) -> Command:
        @wraps(command)
        def wrapped(*, output: Path, **rest: Any) -> Any:
            check_writable(output, *_inputs())
            return command(output=output, **rest)

        def check(_: click.Context, __: click.Parameter, value: Path) -> Path:
            if value.suffix.lower() not in suffixes:
                raise click.BadParameter(f"{value} must end in {' or '.join(suffixes)}.")
            return value

        path = click.Path(path_type=Path)
        option = click.option(
            "-o", "--output", type=path, metavar="FILE", required=True, callback=check,
            help=help_text,
        )  # fmt: skip
        return option(wrapped)

    return add


def _image_shape(
    _: click.Context, __: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    if value is None:
        return None
    sides = value.lower().split("x")
    if len(sides) not in (2, 3) or not all(side.isdecimal() and int(side) for side in sides):
        raise click.BadParameter(
            f"{value!r} must be height x width in pixels, such as 28x28, or 28x28x3 for colours."
        )
    return tuple(int(side) for side in sides)


image_shape_option = click.option(
    "--image-shape",
    metavar="HxW",
    callback=_image_shape,
    help="Height and width in pixels, if rows are images.",
)

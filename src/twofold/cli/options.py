"""Options that several commands have in common, each group handed over as one object."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from twofold.cli.tables import Columns, Reading
from twofold.cli.tables.sources import STANDARD
from twofold.cli.talk import Talk

__all__ = [
    "TO_STANDARD_OUTPUT",
    "column_options",
    "data_argument",
    "examples",
    "file_option",
    "image_shape_option",
    "model_argument",
    "output_options",
    "seed_option",
    "table_options",
    "talk_options",
]

Command = Callable[..., Any]

TABLE_FORMATS = click.Choice(["csv", "tsv", "parquet", "npy", "npz"])

data_argument = click.argument("data", metavar="DATA", type=click.Path(path_type=str))
model_argument = click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed."
)


def examples(*lines: str) -> str:
    """Return commands to show below a command's help, as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _with(options: list[Any], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def talk_options(command: Command) -> Command:
    """Add ``--quiet`` and ``--json``; the command gets them as ``talk``."""

    @wraps(command)
    def wrapped(*, quiet: bool, as_json: bool, **others: Any) -> Any:
        return command(talk=Talk(quiet, as_json), **others)

    options = [
        click.option("--quiet", is_flag=True, help="No progress and no notes on standard error."),
        click.option("--json", "as_json", is_flag=True, help="The result as one JSON document."),
    ]
    return _with(options, wrapped)


def table_options(command: Command) -> Command:
    """Add how a table is read; the command gets it as ``reading``."""

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
            help="Format of DATA; else by its suffix, CSV for '-'.",
        ),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether the first line of a CSV names the columns; else by its looks.",
        ),
        click.option(
            "--delimiter",
            callback=_one_character,
            help="What separates cells of a CSV; else by its looks.",
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


def column_options(*, others: str) -> Callable[[Command], Command]:
    """Add what columns are; the command gets it as ``columns``.

    Parameters
    ----------
    others : {"--text-columns", "--extra-columns"}
        The option for columns that cannot be features.
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

        choice = click.Choice(["error", "drop"])
        options = [
            click.option(
                "--label", metavar="COL", help="Column with labels: kept, never a feature."
            ),
            click.option(
                "--id",
                "row_names",
                metavar="COL",
                help="Column that names rows: kept, never a feature.",
            ),
            click.option(
                "--drop", metavar="COL", multiple=True, help="Column to leave out; may be repeated."
            ),
            click.option(
                others,
                "other_columns",
                type=choice,
                default="error",
                show_default=True,
                help=f"Columns {what}.",
            ),
            click.option(
                "--missing",
                type=choice,
                default="error",
                show_default=True,
                help="Rows with missing cells.",
            ),
        ]
        return _with(options, wrapped)

    return add


def output_options(help_text: str, default: str | None = STANDARD) -> Callable[[Command], Command]:
    """Add where a table goes, as ``target`` and ``output_format``."""
    options = [
        click.option("-o", "--output", "target", metavar="FILE", default=default, help=help_text),
        click.option(
            "--output-format",
            type=TABLE_FORMATS,
            help="Its format; else by its suffix, CSV for '-'.",
        ),
    ]
    return partial(_with, options)


TO_STANDARD_OUTPUT = "Table to write; '-', the default, is standard output."


def file_option(
    help_text: str, *suffixes: str, required: bool = True
) -> Callable[[Command], Command]:
    """Return the option ``-o`` for a file with one of some suffixes, as ``output``."""

    def check(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
        if value is not None and suffixes and value.suffix.lower() not in suffixes:
            raise click.BadParameter(f"{value} must end in {' or '.join(suffixes)}.")
        return value

    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        required=required,
        callback=check,
        help=help_text,
    )


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
    help="Height and width in pixels, where a row is an image.",
)

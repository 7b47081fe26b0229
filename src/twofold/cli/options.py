"""Options that commands share; each group reaches the command as one object."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from twofold.cli.inputs import InputTable
from twofold.cli.messages import Messages
from twofold.cli.tables.columns import Columns
from twofold.cli.tables.reading import STANDARD, Reading
from twofold.cli.tables.writing import Output, check_writable

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

TABLE_FORMATS = click.Choice(["csv", "tsv", "parquet", "npy", "npz"])

model_argument = click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.")


def examples(*lines: str) -> str:
    """Return example commands for the end of a help text, without line wrapping."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def command(*lines: str) -> Callable[[Command], click.Command]:
    """Return the decorator of a command with examples in its help text."""
    return click.command(epilog=examples(*lines))


def _grouped(name: str, make: Callable[..., Any], *options: Decorator) -> Decorator:
    """Add options; the command gets ``make(**values)`` of them as its argument ``name``."""

    def declare(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    declared: Any = declare(lambda: None)
    keys = [param.name for param in declared.__click_params__]

    def add(command: Command) -> Command:
        @wraps(command)
        def wrapped(**values: Any) -> Any:
            group = make(**{key: values.pop(key) for key in keys})
            return command(**{name: group}, **values)

        return declare(wrapped)

    return add


message_options = _grouped(
    "messages",
    Messages,
    click.option("--quiet", is_flag=True, help="No progress and no notes on standard error."),
    click.option("--json", "as_json", is_flag=True, help="The result as one JSON document."),
)


def _one_character(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    value = "\t" if value in ("\\t", "tab") else value
    if value is not None and (len(value) != 1 or value in '"\r\n'):
        raise click.BadParameter(f"{value!r} must be one character, such as ';' or 'tab'.")
    return value


table_options = _grouped(
    "reading",
    Reading,
    click.option(
        "--format", type=TABLE_FORMATS, help="Format of DATA [default: by suffix, CSV for '-']."
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a CSV names the columns [default: detect].",
    ),
    click.option(
        "--delimiter", callback=_one_character, help="Separator of a CSV [default: detect]."
    ),
    click.option("--decimal", type=click.Choice([".", ","]), default=".", help="Decimal mark."),
)


def column_options(*, others: str) -> Decorator:
    """Add options for columns; ``others`` names the option for columns that are not features."""
    what = "that are not numbers" if others == "--text-columns" else "that the model does not know"
    decision: dict[str, Any] = {"type": click.Choice(["error", "drop"]), "default": "error"}
    return _grouped(
        "columns",
        Columns,
        click.option("--label", metavar="COL", help="Column with labels: kept, never a feature."),
        click.option("--id", metavar="COL", help="Column that names rows: kept, never a feature."),
        click.option(
            "--drop", metavar="COL", multiple=True, help="Column to leave out; repeatable."
        ),
        click.option(others, "others", help=f"Columns {what}.", **decision),
        click.option("--missing", help="Rows with missing cells.", **decision),
    )


def table_input(*, others: str = "--extra-columns", required: bool = True) -> Decorator:
    """Add the argument DATA with its options; the command gets them as ``table``, or None."""
    metavar = "DATA" if required else "[DATA]"
    argument = click.argument("data", metavar=metavar, required=required, type=click.Path())

    def add(command: Command) -> Command:
        @wraps(command)
        def wrapped(*, data: str | None, reading: Reading, columns: Columns, **rest: Any) -> Any:
            if data is None and columns.label is not None:
                raise click.UsageError("--label names a column of DATA, which is missing")
            table = None if data is None else InputTable(data, reading, columns)
            return command(table=table, **rest)

        return argument(column_options(others=others)(table_options(wrapped)))

    return add


def _inputs() -> list[str]:
    """Return the files that the current command reads."""
    params = click.get_current_context().params
    return [str(params[name]) for name in ("model", "data", "by") if params.get(name)]


def output_options(
    help_text: str = "Table to write; '-' is standard output.", default: str | None = STANDARD
) -> Decorator:
    """Add where a table goes; the command gets a checked ``output``, or None."""

    def make(target: str | None, output_format: str | None) -> Output | None:
        return None if target is None else Output.of(target, output_format, *_inputs())

    about = "Format of the table [default: by suffix, CSV for '-']."
    return _grouped(
        "output",
        make,
        click.option("-o", "--output", "target", metavar="FILE", default=default, help=help_text),
        click.option("--output-format", type=TABLE_FORMATS, help=about),
    )


def file_option(help_text: str, *suffixes: str) -> Decorator:
    """Add ``-o`` for a file with one of some suffixes; the command gets a checked ``output``."""

    def make(output: Path) -> Path:
        if output.suffix.lower() not in suffixes:
            raise click.UsageError(f"-o {output} must end in {' or '.join(suffixes)}")
        check_writable(output, *_inputs())
        return output

    path = click.Path(path_type=Path)
    option = click.option(
        "-o", "--output", type=path, metavar="FILE", required=True, help=help_text
    )
    return _grouped("output", make, option)


def _image_shape(
    _: click.Context, __: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    if value is None:
        return None
    sides = value.lower().split("x")
    if len(sides) not in (2, 3) or not all(side.isdecimal() and int(side) for side in sides):
        raise click.BadParameter(
            f"{value!r} must be height x width in pixels, such as 28x28, or 28x28x3 for colors."
        )
    return tuple(int(side) for side in sides)


image_shape_option = click.option(
    "--image-shape",
    metavar="HxW",
    callback=_image_shape,
    help="Shape in pixels, if rows are images.",
)

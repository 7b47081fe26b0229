"""Options that commands share; each group reaches the command as one object."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from twofold.cli.inputs import InputTable
from twofold.cli.messages import Messages
from twofold.cli.tables.columns import Columns
from twofold.cli.tables.reading import FORMATS, STANDARD, WRITTEN, Reading
from twofold.cli.tables.writing import Output, check_writable

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

TABLE_FORMATS = click.Choice(list(dict.fromkeys(FORMATS.values())))
OUTPUT_FORMATS = click.Choice(list(dict.fromkeys(WRITTEN.values())))

model_argument = click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))


class RealRange(click.FloatRange):
    """A range of numbers; NaN, which is in no range, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.")


EFFORTS: Final = ("fast", "balanced", "best")


class Effort(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """One of three words, or a number of seconds."""

    name = "effort"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | float:
        """Return the word, or the seconds."""
        if value in EFFORTS or isinstance(value, float):
            return value  # type: ignore[no-any-return]
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not 0.0 < seconds < math.inf:
            self.fail(f"{value!r} must be one of {', '.join(EFFORTS)}, or seconds > 0.", param, ctx)
        return seconds

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete the words."""
        del ctx, param
        return [CompletionItem(word) for word in EFFORTS if word.startswith(incomplete)]


effort_option = click.option(
    "--effort",
    type=Effort(),
    metavar="fast|balanced|best|SECONDS",
    help="What auto may spend to compare methods, or seconds for the whole fit "
    "[default: balanced].",
)


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


def message_options(command: Command) -> Command:
    """Add ``--quiet`` and ``--json``; the command gets ``messages``, and its warnings are lines."""

    @wraps(command)
    def wrapped(*, messages: Messages, **values: Any) -> Any:
        with messages.warnings_as_lines():
            return command(messages=messages, **values)

    quiet = click.option(
        "--quiet", is_flag=True, help="No progress and no notes on standard error."
    )
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="The result as one JSON document."
    )
    return _grouped("messages", Messages, quiet, as_json)(wrapped)


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


def column_options(*, kinds: bool = False) -> Decorator:
    """Add options for columns, with ``kinds`` also ``--kind``."""
    options = [
        click.option("--label", metavar="COL", help="Column with labels: kept, never a feature."),
        click.option("--id", metavar="COL", help="Column that names rows: kept, never a feature."),
        click.option(
            "--drop", metavar="COL", multiple=True, help="Column to leave out; repeatable."
        ),
    ]
    if kinds:
        options.append(
            click.option(
                "--kind",
                "kinds",
                metavar="COL=KIND",
                multiple=True,
                callback=_kinds,
                help="What a column is: number, log (a number on a log scale), category, ordered, "
                "boolean, date, drop, or its levels in order, such as low,high; repeatable.",
            )
        )
    return _grouped("columns", Columns, *options)


def _kinds(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    for text in value:
        if "=" not in text:
            raise click.BadParameter(f"{text!r} must be COL=KIND, such as year=category.")
    return value


scale_option = click.option(
    "--scale",
    type=click.Choice(["auto", "standard", "robust", "none"]),
    default="auto",
    help="Units of tables of numbers: standard deviations, robust ones, or none; auto scales "
    "columns if one of them has nearly all of the variance.",
)


def table_input(*, kinds: bool = False, required: bool = True) -> Decorator:
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

        return argument(column_options(kinds=kinds)(table_options(wrapped)))

    return add


@dataclass(frozen=True)
class Shown:
    """What a command shows: a model file and perhaps a table, or a table without a model.

    ``effort`` and ``scale`` are for tables without a model, see `twofold.cli.fitting.fit_table`.
    """

    model: Path | None
    table: InputTable | None
    effort: str | float | None = None
    scale: str = "auto"

    @property
    def stem(self) -> str:
        """The name of the model or of the table, without suffixes."""
        path = Path(self.table.data) if self.model is None and self.table else self.model
        assert path is not None
        return Path(path.name.removesuffix(".gz")).stem


def is_table(path: Path, reading: Reading) -> bool:
    """Tell whether a first argument names a table: standard input, or a suffix of tables."""
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    return str(path) == STANDARD or suffix in FORMATS or reading.format is not None


def model_or_table_input(command: Command) -> Command:
    """Add the arguments MODEL and DATA, or DATA alone; the command gets them as ``shown``."""

    @wraps(command)
    def wrapped(
        *,
        model: Path,
        data: str | None,
        reading: Reading,
        columns: Columns,
        effort: str | float | None,
        scale: str,
        **rest: Any,
    ) -> Any:
        if data is None and is_table(model, reading):
            alone = InputTable(str(model), reading, columns)
            return command(shown=Shown(None, alone, effort, scale), **rest)
        if effort is not None or scale != "auto":
            option = "--effort" if scale == "auto" else "--scale"
            raise click.UsageError(
                f"{option} is for a table without a model; {model} is fitted already"
            )
        if data is None and columns.label is not None:
            raise click.UsageError("--label names a column of DATA, which is missing")
        table = None if data is None else InputTable(data, reading, columns)
        return command(shown=Shown(model, table), **rest)

    path = click.Path(path_type=Path, allow_dash=True)
    first = click.argument("model", metavar="[MODEL]", type=path)
    second = click.argument("data", metavar="DATA", required=False, type=click.Path())
    options = column_options()(table_options(wrapped))
    return first(second(effort_option(scale_option(options))))


def _inputs() -> list[str]:
    """Return the files that the current command reads."""
    params = click.get_current_context().params
    return [str(params[name]) for name in ("model", "data") if params.get(name)]


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
        click.option("--output-format", type=OUTPUT_FORMATS, help=about),
    )


def file_option(help_text: str, *suffixes: str, required: bool = True) -> Decorator:
    """Add ``-o`` for a file with one of some suffixes; the command gets a checked ``output``."""

    def make(output: Path | None) -> Path | None:
        if output is None:
            return None
        if output.suffix.lower() not in suffixes:
            raise click.UsageError(f"-o {output} must end in {' or '.join(suffixes)}")
        check_writable(output, *_inputs())
        return output

    path = click.Path(path_type=Path)
    option = click.option(
        "-o", "--output", type=path, metavar="FILE", required=required, help=help_text
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


def check_model_file(path: Path, data: str) -> None:
    """Raise an error if a model cannot be written to this path."""
    if str(path) == "-":
        raise click.UsageError("a model needs a file: -o model.twofold")
    if path.suffix.lower() in FORMATS:
        raise click.UsageError(
            f"-o {path} is the model; write the table of latents with --embedding {path}"
        )
    check_writable(path, data)

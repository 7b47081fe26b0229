"""Output of a command: results on standard output, notes and warnings on standard error.

Names and texts come from files that nobody has checked. All output for people goes through `shown`;
JSON and tables are data, which keep every character.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

import click
from rich.console import Console
from rich.text import Text

from twofold.cli.measurement import as_json
from twofold.numerics.plain_text import printable

LONGEST_LINE: Final = 2_000


def shown(text: str) -> str:
    """Return one line of text that is harmless on a terminal; the middle of a long one is cut."""
    line = printable(text)
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[: LONGEST_LINE // 2]} ... {line[-LONGEST_LINE // 4 :]}"


@dataclass
class Messages:
    """Write the messages and the result of a command.

    ``quiet`` turns off notes and progress, but no warnings and errors. With ``as_json`` the result
    is one JSON document, and standard output has nothing else.
    """

    quiet: bool = False
    as_json: bool = False
    console: Console = field(default_factory=lambda: Console(stderr=True))
    warned: list[str] = field(default_factory=list)

    @property
    def on_terminal(self) -> bool:
        """Whether progress bars can be drawn."""
        return self.console.is_terminal and not self.quiet

    def line(self, text: str) -> None:
        """Print a line on standard error, above the progress bar if there is one."""
        self.console.print(Text(shown(text)), soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a line unless the command is quiet."""
        if not self.quiet:
            self.line(text)

    def warning(self, text: str) -> None:
        """Print a warning; each text only once."""
        text = " ".join(text.split())
        if text not in self.warned:
            self.warned.append(text)
            self.line(f"warning: {text}")

    def result(
        self,
        document: Mapping[str, Any],
        lines: Sequence[tuple[str, str]],
        *,
        err: bool = False,
        table: Sequence[Sequence[str]] = (),
    ) -> None:
        """Print the result, as JSON or as lines of a name and a text; with ``err`` as notes.

        A ``table`` of texts, its header first, follows the lines.
        """
        if self.as_json:
            if self.warned:
                document = {**document, "warnings": self.warned}
            click.echo(json.dumps(as_json(document), allow_nan=False))
            return
        if err and self.quiet:
            return
        width = max((len(name) for name, _ in lines), default=0)
        for name, text in lines:
            click.echo(shown(f"{name:<{width}}  {text}"), err=err)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        if table:
            click.echo(err=err)
        for row in table:
            cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
            click.echo(shown("  ".join(cells).rstrip()), err=err)

    @contextmanager
    def warnings_as_lines(self) -> Iterator[None]:
        """Print each warning of the code inside as one line, without those for programmers."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            for package in READERS:
                warnings.filterwarnings("ignore", module=package)
            warnings.showwarning = lambda message, *_, **__: self.warning(for_shells(message))
            yield


READERS: Final = ("openpyxl", "pandas", "pyarrow")
"""Packages that warn of parts of a file that are no cells, such as styles."""

SHELL_REMEDIES: Final = {
    r"set scale='standard', which makes": "use --scale standard, which makes",
    r"; with scale='standard', or as the end of a pipeline with a scaler, a model takes the "
    r"original units\.": "; a model of 'twofold fit --scale standard' takes the original units.",
    r"kinds=\{(.*): 'drop'\}": r"--drop \1",
    r"max_points=(\d+)_(\d+)": r"--max-points \1\2",
    r"Glyph \d+ .* missing from font.*": "the font of pictures lacks some letters of the names",
}
"""Remedies of Python messages as patterns, and what to do instead on the command line."""


def for_shells(message: object) -> str:
    """Return the text of a Python warning or error, with remedies of the command line."""
    text = str(message)
    for python, shell in SHELL_REMEDIES.items():
        text = re.sub(python, shell, text)
    return text


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the closest known name, or list all names if none is close."""
    known = list(known)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"there are {listed(known, 30)}"


def counted(number: int, what: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def listed(names: Iterable[object], most: int = 12) -> str:
    """Join names by commas; of more than ``most`` names, list the first and count the rest."""
    texts = [str(name) for name in names]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def table_size(shape: tuple[int, int]) -> str:
    """Return the numbers of rows and columns of a table as text."""
    return f"{counted(shape[0], 'row')} of {counted(shape[1], 'column')}"

"""Output of a command: results on standard output, notes and warnings on standard error."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

import click
from rich.console import Console

from twofold.cli.measurement import as_json


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
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

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
            click.echo(f"{name:<{width}}  {text}", err=err)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        if table:
            click.echo(err=err)
        for row in table:
            cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
            click.echo("  ".join(cells).rstrip(), err=err)

    @contextmanager
    def warnings_as_lines(self) -> Iterator[None]:
        """Print each Python warning of the code inside as one line."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("always", RuntimeWarning)
            warnings.showwarning = lambda message, *_, **__: self.warning(_for_shells(message))
            yield


SHELL_REMEDIES: Final = {
    "set scale='standard', which makes the scaling of columns part of the model": "use --scale "
    "standard, which makes the scaling of columns part of the model",
    "; with scale='standard', or as the end of a pipeline with a scaler, a model takes the "
    "original units.": "; a model of 'twofold fit --scale standard' takes the original units.",
}
"""Remedies of Python warnings, and what to do instead on the command line."""


def _for_shells(message: Warning | str) -> str:
    """Return the text of a Python warning, with remedies of the command line."""
    text = str(message)
    for python, shell in SHELL_REMEDIES.items():
        text = text.replace(python, shell)
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

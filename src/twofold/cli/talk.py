"""What a command says: results on standard output, notes and warnings on standard error."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import click
import numpy as np
from rich.console import Console

__all__ = ["Talk"]


@dataclass
class Talk:
    """How a command speaks.

    Parameters
    ----------
    quiet : bool
        No notes and no progress; warnings and errors still appear.
    as_json : bool
        Results are one JSON document, and nothing else is on standard output.
    """

    quiet: bool = False
    as_json: bool = False
    console: Console = field(default_factory=lambda: Console(stderr=True))
    warned: list[str] = field(default_factory=list)

    @property
    def on_terminal(self) -> bool:
        """Tell whether progress bars can be drawn."""
        return self.console.is_terminal and not self.quiet

    def line(self, text: str) -> None:
        """Put a line on standard error, above a progress bar where there is one."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """Tell something that is good to know."""
        if not self.quiet:
            self.line(text)

    def warning(self, text: str) -> None:
        """Tell something that may make the result wrong; once."""
        text = " ".join(text.split())
        if text not in self.warned:
            self.warned.append(text)
            self.line(f"warning: {text}")

    def result(
        self, document: Mapping[str, Any], lines: Sequence[tuple[str, str]], *, err: bool = False
    ) -> None:
        """Give the result, as JSON or as lines of a name and a text; on standard error it is a note."""
        if self.as_json:
            if self.warned:
                document = {**document, "warnings": self.warned}
            click.echo(json.dumps(plain(document), allow_nan=False))
            return
        if err and self.quiet:
            return
        width = max((len(name) for name, _ in lines), default=0)
        for name, text in lines:
            click.echo(f"{name:<{width}}  {text}", err=err)

    @contextmanager
    def warnings_as_lines(self) -> Iterator[None]:
        """Show each warning of the code inside as one line, when it comes."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("always", RuntimeWarning)
            warnings.showwarning = self._show
            yield

    def _show(self, message: Warning | str, *_: Any, **__: Any) -> None:
        self.warning(str(message))


def plain(value: Any) -> Any:
    """Return a value as JSON has it: numbers of NumPy as Python's, those that are not finite as null."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)

"""Errors of commands: one line with the cause and the remedy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

TRACEBACK = "TWOFOLD_TRACEBACK"
"""An environment variable: if set, errors keep their traceback."""

EXPECTED = (ValueError, TypeError, MemoryError, ArithmeticError)
"""Exceptions that the library raises for invalid input."""


class Interrupted(click.ClickException):
    """Ctrl-C, with the exit code that shells give it."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("interrupted")


def one_line(error: BaseException) -> str:
    """Return the message of an error without line breaks."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        # If a file cannot be moved, its target is more useful than its temporary name.
        file = error.filename if error.filename2 is None else error.filename2
        return f"{os.fsdecode(file)}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def translated() -> Iterator[None]:
    """Convert the exceptions of a command to click exceptions."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        raise Interrupted from None
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        message = one_line(error)
        if not isinstance(error, (*EXPECTED, OSError)):
            kind = type(error).__name__
            message = f"unexpected {kind}: {message} (a bug; {TRACEBACK}=1 shows where)"
        raise click.ClickException(message) from error


@contextmanager
def parsing(name: str, what: str) -> Iterator[None]:
    """Name the file in the errors of parsers, which raise exceptions of all kinds."""
    try:
        yield
    except (click.ClickException, MemoryError):
        raise
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        raise click.ClickException(
            f"{name} cannot be read as {what} ({one_line(error)})"
        ) from error


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Name the extra to install if an optional dependency is missing."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("twofold"):
            raise  # a bug, nothing that could be installed
        message = f'{one_line(error)}; this needs: pip install "twofold[{extra}]"'
        raise click.ClickException(message) from error

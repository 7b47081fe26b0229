"""Errors as one line for people: what is wrong and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

__all__ = [
    "EXPECTED",
    "Interrupted",
    "needing",
    "one_line",
    "translated",
]

TRACEBACK = "TWOFOLD_TRACEBACK"
"""Set in the environment, errors are raised as they are, for those who look for their cause."""

EXPECTED = (ValueError, TypeError, MemoryError, ArithmeticError)
"""What the library raises on purpose, for input it refuses."""


class Interrupted(click.ClickException):
    """Ctrl-C, with the exit code that shells give it."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("interrupted")


def one_line(error: BaseException) -> str:
    """Return an error's message without line breaks."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        # Of a file that could not be moved to its place, the place says more than where it came from.
        file = error.filename if error.filename2 is None else error.filename2
        return f"{os.fsdecode(file)}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def translated() -> Iterator[None]:
    """Turn what a command raises into errors of the command line."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        raise Interrupted from None
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        if isinstance(error, (*EXPECTED, OSError)):
            raise click.ClickException(one_line(error)) from error
        message = f"unexpected {type(error).__name__}: {one_line(error)} (a bug; {TRACEBACK}=1 shows where)"
        raise click.ClickException(message) from error


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Say which extra to install where an optional dependency is missing."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("twofold"):
            raise  # nothing that could be installed
        message = f'{one_line(error)}; this needs: pip install "twofold[{extra}]"'
        raise click.ClickException(message) from error

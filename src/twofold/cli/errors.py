"""Errors as one line for people: what is wrong and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import click

__all__ = ["EXPECTED", "Interrupted", "needing", "one_line", "part_of_twofold", "translated"]

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
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
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
        message = f'{one_line(error)}; this needs: pip install "twofold[{extra}]"'
        raise click.ClickException(message) from error


def part_of_twofold(name: str) -> ModuleType:
    """Return a module of the library that this version may not have."""
    if find_spec(f"twofold.{name}") is None:
        raise click.ClickException(f"this version of twofold has no {name}; upgrade twofold")
    return import_module(f"twofold.{name}")

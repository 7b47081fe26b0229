"""How far a fit is: a bar on a terminal, plain lines elsewhere, nothing where it is quiet.

Estimators tell each phase and iteration to the logger ``twofold``; the record's ``progress`` says what a program can use
(`twofold.base.progress.ProgressEvent`). A handler of that logger is all that is needed here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import numpy as np
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from twofold.cli.talk import Talk
from twofold.protocols import Array

__all__ = ["in_blocks", "shown_progress"]

SECONDS_BETWEEN_LINES: Final = 10.0
ROWS_OF_A_BLOCK: Final = 10_000


class RateColumn(ProgressColumn):
    """Iterations in a second, or seconds for one."""

    def render(self, task: Task) -> Text:
        """Return the text."""
        speed = task.speed
        if not speed or not task.completed:
            return Text("")
        unit = task.fields["unit"]
        return Text(f"{speed:.3g} {unit}/s" if speed >= 1.0 else f"{1.0 / speed:.3g} s/{unit}")


class CountColumn(ProgressColumn):
    """Iterations so far, and their bound where there is one."""

    def render(self, task: Task) -> Text:
        """Return the text."""
        bound = "" if task.total is None else f"/{task.total:.0f}"
        return Text(f"{task.completed:.0f}{bound}" if task.completed else "")


class TimeColumn(TimeRemainingColumn):
    """Time left, or time gone where nobody knows."""

    def render(self, task: Task) -> Text:
        """Return the text."""
        if task.total is None:
            return Text(f"{task.elapsed or 0.0:.0f} s so far", style="progress.elapsed")
        left = super().render(task)
        return Text.assemble(left, " left") if task.completed else Text("")


class Bar(logging.Handler):
    """Draws the current phase of a fit."""

    def __init__(self, talk: Talk) -> None:
        super().__init__(logging.DEBUG)
        self.talk = talk
        self.progress = progress_bar(talk)
        self.task: Any = None

    def emit(self, record: logging.LogRecord) -> None:
        """Show what a record says."""
        if record.levelno >= logging.INFO:  # asked for with verbose
            self.talk.line(record.getMessage())
        event = getattr(record, "progress", None)
        if event is None:
            return
        if event.objective is None:  # a phase begins or ends
            if self.task is not None:
                self.progress.remove_task(self.task)
                self.task = None
            if not event.ended:
                about = f"{event.estimator}: {event.phase}"
                self.task = self.progress.add_task(about, total=event.at_most, value="", unit="it")
        elif self.task is not None:
            value = f"objective {event.objective:.6g}"
            self.progress.update(self.task, completed=event.n_iter, value=value)


class Lines(logging.Handler):
    """Tells phases, and the objective every few seconds, as lines."""

    def __init__(self, talk: Talk, *, phases: bool) -> None:
        super().__init__(logging.DEBUG if phases else logging.INFO)
        self.talk = talk
        self.last = time.perf_counter()
        self.latest = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Say what a record says, where it is time to."""
        event = getattr(record, "progress", None)
        now = time.perf_counter()
        if record.levelno >= logging.INFO:
            self.talk.line(record.getMessage())
        elif event is None:
            return
        elif event.objective is None:
            if event.ended and self.latest:
                self.talk.line(self.latest)
            elif not event.ended:
                self.talk.line(f"{event.estimator}: {event.phase}")
            self.latest, self.last = "", now
        else:
            bound = "" if event.at_most is None else f" of at most {event.at_most}"
            self.latest = (
                f"{event.phase}: iteration {event.n_iter}{bound}, objective {event.objective:.6g}"
            )
            if now - self.last > SECONDS_BETWEEN_LINES:
                self.talk.line(self.latest)
                self.latest, self.last = "", now


def progress_bar(talk: Talk) -> Progress:
    """Return a bar on standard error that vanishes when it is done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        CountColumn(),
        RateColumn(),
        TextColumn("{task.fields[value]}"),
        TimeColumn(compact=True),
        console=talk.console,
        transient=True,
    )


@contextmanager
def shown_progress(talk: Talk, *, phases: bool = True) -> Iterator[None]:
    """Show how far the fits inside are.

    Parameters
    ----------
    talk : Talk
        Where.
    phases : bool, default=True
        Whether lines tell each phase of a fit; many fits in a row would tell too much.
    """
    if talk.quiet:
        yield
        return
    logger = logging.getLogger("twofold")
    before = logger.level, logger.propagate
    handler: Bar | Lines = Bar(talk) if talk.on_terminal else Lines(talk, phases=phases)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        if isinstance(handler, Bar):
            with handler.progress:
                yield
        else:
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


def in_blocks(call: Callable[[Any], Array], rows: Any, about: str, talk: Talk) -> Array:
    """Return what a function of rows gives, block by block with a bar: no row depends on the others.

    Parameters
    ----------
    call : callable
        Such as ``model.transform``.
    rows : DataFrame or ndarray
        Its argument.
    about : str
        What is being done.
    talk : Talk
        Where the bar goes.
    """
    n_rows = len(rows)
    if n_rows <= ROWS_OF_A_BLOCK or talk.quiet:
        return call(rows)
    done: list[Array] = []
    last = time.perf_counter()
    with progress_bar(talk) if talk.on_terminal else nullcontext() as bar:
        task = None if bar is None else bar.add_task(about, total=n_rows, value="", unit="row")
        for start in range(0, n_rows, ROWS_OF_A_BLOCK):
            done.append(call(rows[start : start + ROWS_OF_A_BLOCK]))
            if bar is not None and task is not None:
                bar.advance(task, len(done[-1]))
            elif time.perf_counter() - last > SECONDS_BETWEEN_LINES:
                talk.line(f"{about}: {start + len(done[-1])} of {n_rows} rows")
                last = time.perf_counter()
    return np.concatenate(done)

"""Progress of fits: a bar on a terminal, lines elsewhere, nothing if the command is quiet.

Estimators log each phase and iteration to the logger ``twofold``. The attribute ``progress`` of a
record is a `twofold.base.progress.ProgressEvent`, which the handlers of this module show.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import numpy as np
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from twofold.cli.messages import Messages

SECONDS_BETWEEN_LINES: Final = 5.0
ROWS_PER_BLOCK: Final = 10_000
CHOOSER: Final = "AutoTwoWay"
"""The estimator that lets others race."""


class StatusColumn(ProgressColumn):
    """The number of iterations, their rate, the objective, and the time left."""

    def render(self, task: Task) -> Text:
        """Return the text of a task."""
        words, unit, speed = [], task.fields["unit"], task.speed
        if task.completed:
            bound = "" if task.total is None else f"/{task.total:.0f}"
            words.append(f"{task.completed:.0f}{bound}")
        if task.completed and speed:
            words.append(f"{speed:.3g} {unit}/s" if speed >= 1.0 else f"{1 / speed:.3g} s/{unit}")
        words.append(task.fields["value"])
        if task.total is None:
            words.append(f"{task.elapsed or 0.0:.0f} s so far")
        elif task.completed and task.time_remaining is not None:
            minutes, seconds = divmod(int(task.time_remaining), 60)
            words.append(f"{minutes:02d}:{seconds:02d} left")
        return Text(" ".join(word for word in words if word))


class WithoutTrials(logging.Filter):
    """Leave out the lines of methods that race: they run at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.in_phase = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record is shown."""
        event = getattr(record, "progress", None)
        if event is None:
            return True
        if event.estimator != CHOOSER:
            return not self.in_phase
        if event.objective is None and not (event.waiting or is_note(record)):
            self.in_phase = not event.ended
        return True


def is_note(record: logging.LogRecord) -> bool:
    """Tell whether a record is a note about a fit, such as a round of a race, not a phase."""
    event = getattr(record, "progress", None)
    return event is not None and event.ended and record.getMessage() == event.phase


class Bar(logging.Handler):
    """Show the current phase of a fit as a bar."""

    def __init__(self, messages: Messages) -> None:
        super().__init__(logging.DEBUG)
        self.messages = messages
        self.progress = _progress_bar(messages)
        self.task: TaskID | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record."""
        if record.levelno >= logging.INFO or is_note(record):  # from an estimator with verbose
            self.messages.line(record.getMessage())
        event = getattr(record, "progress", None)
        if event is None or event.waiting or is_note(record):  # the bar moves by itself
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
    """Print phases, and every few seconds the objective, as lines."""

    def __init__(self, messages: Messages, *, phases: bool) -> None:
        super().__init__(logging.DEBUG if phases else logging.INFO)
        self.messages = messages
        self.phases = phases
        self.last = time.perf_counter()
        self.latest = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record if it is due."""
        event = getattr(record, "progress", None)
        now = time.perf_counter()
        if record.levelno >= logging.INFO or (self.phases and is_note(record)):
            self.messages.line(record.getMessage())
        elif event is None:
            return
        elif event.waiting:
            self.messages.line(record.getMessage())
        elif event.objective is None:
            if event.ended and self.latest:
                self.messages.line(self.latest)
            elif not event.ended:
                self.messages.line(f"{event.estimator}: {event.phase}")
            self.latest, self.last = "", now
        else:
            bound = "" if event.at_most is None else f" of at most {event.at_most}"
            iteration = f"{event.phase}: iteration {event.n_iter}{bound}"
            self.latest = f"{iteration}, objective {event.objective:.6g}"
            if now - self.last > SECONDS_BETWEEN_LINES:
                self.messages.line(self.latest)
                self.latest, self.last = "", now


def _progress_bar(messages: Messages) -> Progress:
    """Return a bar on standard error that vanishes at its end."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        StatusColumn(),
    )
    return Progress(*columns, console=messages.console, transient=True)


@contextmanager
def shown_progress(messages: Messages, *, phases: bool = True) -> Iterator[None]:
    """Show the progress of the fits inside; ``phases=False`` omits the lines of each phase."""
    if messages.quiet:
        yield
        return
    logger = logging.getLogger("twofold")
    level, propagate = logger.level, logger.propagate
    handler = Bar(messages) if messages.on_terminal else Lines(messages, phases=phases)
    handler.addFilter(WithoutTrials())
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        with handler.progress if isinstance(handler, Bar) else nullcontext():
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


def in_blocks(call: Callable[[Any], Any], rows: Any, about: str, messages: Messages) -> Any:
    """Apply a function to blocks of independent rows, and show the progress."""
    n_rows = len(rows)
    if n_rows <= ROWS_PER_BLOCK or messages.quiet:
        return call(rows)
    done: list[Any] = []
    last = time.perf_counter()
    with _progress_bar(messages) if messages.on_terminal else nullcontext() as bar:
        task = None if bar is None else bar.add_task(about, total=n_rows, value="", unit="row")
        for start in range(0, n_rows, ROWS_PER_BLOCK):
            done.append(call(rows[start : start + ROWS_PER_BLOCK]))
            if bar is not None and task is not None:
                bar.advance(task, len(done[-1]))
            elif time.perf_counter() - last > SECONDS_BETWEEN_LINES:
                messages.line(f"{about}: {start + len(done[-1])} of {n_rows} rows")
                last = time.perf_counter()
    if hasattr(done[0], "columns"):
        import pandas as pd

        return pd.concat(done, ignore_index=True)
    return np.concatenate(done)

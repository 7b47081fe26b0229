"""The steps of a distributed fit on disk, so that an interrupted fit can be resumed.

The file has the format of a model file (`twofold.export.model_files`): data without code, replaced
as a whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from twofold.base.journal import Journal
from twofold.export.errors import ModelFileError
from twofold.export.model_files import load_objects, save_objects

MARK = "twofold checkpoint"

Result = TypeVar("Result")


@dataclass
class Checkpoint:
    """The content of a file.

    Attributes
    ----------
    facts : dict
        The estimator's settings and a digest of the data; a file with other facts is refused.
    steps : dict
        The results of finished steps, by name.
    generators : dict
        The random generator after each of them.
    states : dict
        The states of unfinished iterations.
    """

    facts: dict[str, Any]
    steps: dict[str, Any] = field(default_factory=dict)
    generators: dict[str, Any] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)


class FileJournal(Journal):
    """Remembers the steps of a fit in a file.

    ``rng`` is the generator of the fit. A step that is read from the file sets it to its state
    after that step.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        facts: dict[str, Any],
        rng: np.random.Generator,
        *,
        resume: bool,
    ) -> None:
        self._path = Path(path)
        self._rng = rng
        self._held = Checkpoint(facts)
        # Other files raise an error: they are not overwritten.
        known = load_objects(path, MARK, Checkpoint) if self._path.exists() else None
        self.is_resumed = known is not None and resume
        if known is None or not resume:
            return
        self._held, held = known, known.facts
        differing = [n for n in {**facts, **held} if held.get(n) != facts.get(n)]
        if differing:
            was, now = ({n: of.get(n) for n in differing} for of in (held, facts))
            raise ValueError(
                f"checkpoint={str(path)!r} is of another fit: it has {was}, this one {now}. "
                "Use another path, or resume=False."
            )

    def step(self, name: str, function: Callable[[], Result]) -> Result:
        """Return the stored result of a step, or run it and store its result."""
        if name in self._held.steps:
            self._rng.bit_generator.state = self._held.generators[name].bit_generator.state
            known: Result = self._held.steps[name]
            return known
        result = function()
        self._held.steps[name] = result
        self._held.generators[name] = _copy_of(self._rng)
        self._held.states.pop(name, None)
        save_objects(self._held, self._path, MARK, compact=False)
        return result

    @contextmanager
    def trusted(self) -> Iterator[None]:
        """Turn errors of a fit that was resumed from contents of another kind into one of the file.

        The contents of a file are checked one by one, but a forged file may hold the result of one
        step in place of that of another one.
        """
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            if not self.is_resumed:
                raise
            raise ModelFileError(
                f"checkpoint={str(self._path)!r} does not fit this fit ({error!r}). Use "
                "resume=False to fit again."
            ) from error

    def state(self, name: str) -> Any:
        """Return the last state of an unfinished iteration, or None."""
        return self._held.states.get(name)

    def note(self, name: str, state: Any) -> None:
        """Store the state of an iteration."""
        self._held.states[name] = state
        save_objects(self._held, self._path, MARK, compact=False)


def _copy_of(rng: np.random.Generator) -> np.random.Generator:
    twin = np.random.Generator(type(rng.bit_generator)())
    twin.bit_generator.state = rng.bit_generator.state
    return twin

"""The steps of a distributed fit on disk, so that it can go on where it was interrupted.

The file is of the same make as a model file (`twofold.export.model_files`): data and no code, replaced as a whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from twofold.base.journal import Journal
from twofold.export.model_files import load_objects, save_objects

__all__ = ["Checkpoint", "FileJournal"]

MARK = "twofold checkpoint"

Result = TypeVar("Result")


@dataclass
class Checkpoint:
    """What a file holds.

    Attributes
    ----------
    facts : dict
        What is fitted to what: a file of another fit is refused.
    steps : dict
        The results of steps, by name.
    generators : dict
        The random generator after each of them.
    states : dict
        Where iterations are that have not ended.
    """

    facts: dict[str, Any]
    steps: dict[str, Any] = field(default_factory=dict)
    generators: dict[str, Any] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)


class FileJournal(Journal):
    """Remembers the steps of a fit in a file; nothing without one.

    Parameters
    ----------
    path : path-like or None
        The file.
    facts : dict
        What is fitted to what.
    rng : Generator
        Set to where it was after a step that is known.
    resume : bool
        Whether to begin with what the file holds, if it is there.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        facts: dict[str, Any],
        rng: np.random.Generator,
        *,
        resume: bool,
    ) -> None:
        self._path = None if path is None else Path(path)
        self._rng = rng
        self._held = Checkpoint(facts)
        if resume and self._path is not None and self._path.exists():
            held: Checkpoint = load_objects(self._path, MARK)
            names = [*facts, *(name for name in held.facts if name not in facts)]
            differing = [name for name in names if held.facts.get(name) != facts.get(name)]
            if differing:
                was, now = ({one: of.get(one) for one in differing} for of in (held.facts, facts))
                raise ValueError(
                    f"checkpoint={str(path)!r} is of another fit: it has {was}, this one {now}. Use another path, or resume=False."
                )
            self._held = held

    def step(self, name: str, function: Callable[[], Result]) -> Result:
        """Return the result of a step: what is known of it, or what it gives now."""
        if name in self._held.steps:
            self._rng.bit_generator.state = self._held.generators[name].bit_generator.state
            known: Result = self._held.steps[name]
            return known
        result = function()
        if self._path is None:
            return result
        self._held.steps[name] = result
        self._held.generators[name] = _copy_of(self._rng)
        self._held.states.pop(name, None)
        self._write()
        return result

    def state(self, name: str) -> Any:
        """Return the last state of an iteration that was interrupted, or None."""
        return self._held.states.get(name)

    def note(self, name: str, state: Any) -> None:
        """Remember the state of an iteration."""
        if self._path is not None:
            self._held.states[name] = state
            self._write()

    def _write(self) -> None:
        assert self._path is not None
        save_objects(self._held, self._path, MARK)


def _copy_of(rng: np.random.Generator) -> np.random.Generator:
    twin = np.random.Generator(type(rng.bit_generator)())
    twin.bit_generator.state = rng.bit_generator.state
    return twin

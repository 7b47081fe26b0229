"""The steps of a fit, so that a long fit can resume where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

Result = TypeVar("Result")


class Journal:
    """Runs steps and stores nothing, for fits in one process; checkpoints override its methods."""

    def step(self, name: str, function: Callable[[], Result]) -> Result:  # noqa: ARG002
        """Run a step, or return the stored result of that name."""
        return function()

    def state(self, name: str) -> Any:  # noqa: ARG002
        """Return the last stored state of an interrupted iteration, or None."""
        return None

    def trusted(self) -> AbstractContextManager[None]:
        """Return a context for steps that may come from a file."""
        return nullcontext()

    def note(self, name: str, state: Any) -> None:
        """Store the state of an iteration."""

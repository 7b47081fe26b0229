"""The steps of a fit, so that a long one can be taken up again where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Journal"]

Result = TypeVar("Result")


class Journal:
    """Runs steps and remembers nothing: what fits in one process use."""

    def step(self, name: str, function: Callable[[], Result]) -> Result:  # noqa: ARG002
        """Return the result of a step, by its name; a journal that remembers may know it already."""
        return function()

    def state(self, name: str) -> Any:  # noqa: ARG002
        """Return the last state of an iteration that was interrupted, or None."""
        return None

    def note(self, name: str, state: Any) -> None:
        """Remember the state of an iteration."""

"""The one error of a distributed fit."""

from __future__ import annotations

__all__ = ["DistributedFitError"]


class DistributedFitError(RuntimeError):
    """A fit that a cluster could not finish.

    Attributes
    ----------
    phase : str
        What was being done.
    block : int or None
        The block of rows that it failed on, where it was one.
    """

    def __init__(self, message: str, *, phase: str = "", block: int | None = None) -> None:
        super().__init__(message)
        self.phase = phase
        self.block = block

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (str(self), self.phase, self.block))


def _again(message: str, phase: str, block: int | None) -> DistributedFitError:
    return DistributedFitError(message, phase=phase, block=block)

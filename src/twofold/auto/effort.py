"""How much a race may cost: rows, rounds, and a clock."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from twofold.numerics.validation import check_real

SHARE_OF_RACE = 0.4
"""Share of given seconds that the race may take."""


@dataclass(frozen=True)
class Effort:
    """The rows of the rounds of a race, and the seconds of a whole fit.

    The last round has at least ``least`` and at most ``most`` rows: a tenth of all in between. A
    ``thorough`` race tries methods with all their choices.
    """

    first: int = 400
    least: int = 1_000
    most: int = 2_000
    thorough: bool = False
    seconds: float | None = None

    @classmethod
    def of(cls, effort: Any) -> Effort:
        """Check the parameter ``effort``."""
        if isinstance(effort, str):
            if effort not in NAMED:
                raise ValueError(
                    f"effort={effort!r} must be one of {sorted(NAMED)}, or a number of seconds."
                )
            return NAMED[effort]
        also = "'fast', 'balanced' or 'best'"
        seconds = check_real("effort", effort, also=also)
        first = 400 if seconds >= GENEROUS else 200
        return cls(first=first, seconds=seconds)

    def last(self, n_rows: int) -> int:
        """Return the number of rows of the last round, held-out rows included."""
        if n_rows <= self.most:
            return n_rows
        return min(n_rows, max(self.least, min(self.most, n_rows // 10)))


GENEROUS = 5.0
"""Seconds from which on a first round takes a small part."""

NAMED = {
    "fast": Effort(first=500, least=500, most=500),
    "balanced": Effort(),
    "best": Effort(first=1_000, least=5_000, most=5_000, thorough=True),
}


class Clock:
    """The time of a fit; without a limit it never ends."""

    def __init__(self, seconds: float | None) -> None:
        self._began = time.perf_counter()
        self._seconds = seconds

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self._seconds is not None

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self._began

    def left(self) -> float:
        """Return the seconds that are left."""
        return float("inf") if self._seconds is None else self._seconds - self.elapsed()

    def left_for_race(self) -> float:
        """Return the seconds that are left for the race."""
        if self._seconds is None:
            return float("inf")
        return SHARE_OF_RACE * self._seconds - self.elapsed()

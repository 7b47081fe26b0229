"""How much a race may cost: rows, rounds, and a clock."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from twofold.numerics.validation import check_real

SHARE_OF_RACE = 0.4
"""Share of given seconds that the race may take."""


GROWTH = 3
"""How much larger the next round is if a fit has given seconds."""

WORTH_A_ROUND = 1.5
"""A further round has at least this many times the rows."""

SMALLEST_ROUND = 120
QUICK_SECONDS, QUICKEST = 1.5, ("pca", "ukr")
"""In fewer seconds only these methods are tried."""


@dataclass(frozen=True)
class Effort:
    """The rows of the rounds of a race, and the seconds of a whole fit.

    The second round has at least ``least`` and at most ``most`` rows: a tenth of all in between. Of
    many more rows, a third round has a tenth of them, at most ``many``: methods that gain most from
    more rows show it late. A ``thorough`` race tries methods with all their choices.
    """

    first: int = 400
    least: int = 1_000
    most: int = 2_000
    many: int = 6_000
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
        return cls(seconds=check_real("effort", effort, also="'fast', 'balanced' or 'best'"))

    def sizes(self, n_rows: int) -> list[int]:
        """Return the rows of each round, held-out rows included."""
        last = n_rows
        if n_rows > self.most:
            last = min(n_rows, max(self.least, min(self.most, n_rows // 10)))
        if self.seconds is not None:  # rounds grow until the time is over
            sizes = [SMALLEST_ROUND]
            while GROWTH * sizes[-1] < last:
                sizes.append(GROWTH * sizes[-1])
            return [*(size for size in sizes if size < last), last]
        sizes = [self.first, last] if last > 2 * self.first else [last]
        more = min(n_rows // 10, self.many)
        return [*sizes, more] if more > WORTH_A_ROUND * last else sizes

    def tries(self, name: str) -> bool:
        """Tell whether there is time to try a method."""
        return self.seconds is None or self.seconds >= QUICK_SECONDS or name in QUICKEST


NAMED = {
    "fast": Effort(first=500, least=500, most=500, many=500),
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

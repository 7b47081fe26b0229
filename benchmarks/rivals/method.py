"""What the registry says about a method."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Method:
    """One method and its settings."""

    name: str
    make: Callable[[int, int], Any]
    settings: str
    """Description of the settings for the report."""
    package: str = "twofold"
    """The distribution whose version is recorded."""
    ours: bool = False
    reference: bool = False
    """Whether it is a reference line without a bottleneck: never counted as a rival."""
    short: str = ""
    """Label in the plots."""
    seeded: bool = True
    """Whether it is run for several seeds: False if a seed changes nothing."""
    bytes_per_pair: int = 0
    """Memory for each pair of rows of a quadratic method: sets beyond the limit are skipped."""
    most_rows: int | None = None
    """Larger sets are skipped."""
    most_values: int | None = None
    """Sets with more numbers, rows times features, are skipped."""
    times_first_call: bool = True
    """Whether its first call in a fresh process is timed."""
    warm_up: Callable[[Callable[[], Any], Any], None] | None = None
    """Called as ``warm_up(make_one, X)`` before the clock starts, to compile code."""

    @property
    def label(self):
        return self.short or self.name

    def refusal(self, rows, memory_cap, features=1):
        """Return why a set of this size is skipped, or None."""
        if self.most_rows is not None and rows > self.most_rows:
            return f"not run beyond {self.most_rows:,} rows"
        if self.most_values is not None and rows * features > self.most_values:
            return f"not run beyond {self.most_values:,} values"
        needed = self.bytes_per_pair * rows**2
        if needed > memory_cap:
            return (
                f"not run: quadratic, about {needed / 2**30:,.0f} GB, beyond the cap of "
                f"{memory_cap / 2**30:.0f} GB"
            )
        return None

"""Kinks: places where a table is slower than the next larger one. Each is a defect."""

from dataclasses import dataclass
from itertools import pairwise

from benchmarks.growth.measure import STEPS
from benchmarks.growth.records import curves, median

TOLERANCE = 0.25
NOISE_SECONDS = 0.02
"""Differences below this many seconds are noise of the clock."""


@dataclass(frozen=True)
class Kink:
    """A step of a method that takes longer with fewer rows."""

    method: str
    ours: bool
    columns: int
    step: str
    measure: str
    rows: tuple[int, int]
    values: tuple[float, float]

    def __str__(self):
        (few, many), (slow, fast) = self.rows, self.values
        clock = "CPU s" if self.measure == "cpu_seconds" else "s"
        return (
            f"{self.method}, {self.columns:,} columns: {self.step} takes {slow:.3g} {clock} with "
            f"{few:,} rows and {fast:.3g} {clock} with {many:,}"
        )


def kinks(content, tolerance=TOLERANCE):
    """Return the kinks of all curves that exceed a tolerance, ours first."""
    found = []
    for columns, methods in curves(content).items():
        for records in methods.values():
            for step in STEPS:
                for measure in ("seconds", "cpu_seconds"):
                    found += _kinks_of(records, columns, step, measure, tolerance)
    return sorted(found, key=lambda kink: not kink.ours)


def _kinks_of(records, columns, step, measure, tolerance):
    points = [(record, median(record, step, measure)) for record in records]
    points = [(record, value) for record, value in points if value is not None]
    return [
        Kink(
            one["method"],
            one["ours"],
            columns,
            step,
            measure,
            (one["rows"], next_one["rows"]),
            (slow, fast),
        )
        for (one, slow), (next_one, fast) in pairwise(points)
        if slow > (1.0 + tolerance) * fast and slow - fast > NOISE_SECONDS
    ]

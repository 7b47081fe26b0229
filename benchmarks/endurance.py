"""Does a long-lived process stay as it is? Many transforms and fits of all registered estimators.

    python -m benchmarks.endurance [--transforms 10000] [--fits 200]

The estimators take turns in one process. Resident memory, open files and threads are measured after
a tenth of the calls and at the end. The exit code is 1 if memory grew by more than 5 % or if files
or threads are left.
"""

import argparse
import gc
import itertools
import sys
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path

from sklearn.base import clone

from benchmarks.harness import ROOT, memory
from twofold.datasets import make_s_curve

MOST_GROWTH = 0.05
OPEN_FILES = Path("/proc/self/fd")
"""Linux only, as are the bytes in use."""


@dataclass(frozen=True)
class Use:
    """What a process holds: bytes of resident memory, open files and Python threads."""

    resident: int
    files: int
    threads: int

    @classmethod
    def now(cls):
        """Measure this process."""
        gc.collect()
        return cls(
            memory.start_counting(), len(list(OPEN_FILES.iterdir())), threading.active_count()
        )


def repeat(call, times):
    """Call often, and return the use after a tenth of the calls and at the end."""
    for _ in range(max(1, times // 10)):
        call()
    first = Use.now()
    for _ in range(times - max(1, times // 10)):
        call()
    return first, Use.now()


def grew(first, last):
    """Return what is left over, as text, or an empty text."""
    found = []
    if last.resident > (1.0 + MOST_GROWTH) * first.resident:
        found.append(f"memory grew by {last.resident / first.resident - 1.0:.1%}")
    for name in ("files", "threads"):
        more = getattr(last, name) - getattr(first, name)
        if more > 0:
            found.append(f"{more} {name} are left")
    return ", ".join(found)


def estimators():
    """Return the estimators of the tests' registry."""
    support = str(ROOT / "tests" / "support")
    if support not in sys.path:
        sys.path.append(support)
    from registry import ESTIMATORS

    return ESTIMATORS


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance", description=__doc__)
    parser.add_argument("--transforms", type=int, default=10_000)
    parser.add_argument("--fits", type=int, default=200)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of fits that are kept short
    X = make_s_curve(80, noise=0.05, random_state=0)[0]
    models = itertools.cycle([clone(model).fit(X) for model in estimators().values()])
    others = itertools.cycle([clone(model) for model in estimators().values()])
    failed = False
    for what, call, times in (
        ("transforms", lambda: next(models).transform(X[:5]), options.transforms),
        ("fits", lambda: next(others).fit(X), options.fits),
    ):
        first, last = repeat(call, times)
        left = grew(first, last)
        failed |= bool(left)
        print(
            f"{times} {what}: {first.resident / 2**20:.1f} MB after a tenth, "
            f"{last.resident / 2**20:.1f} MB at the end; {first.files} and {last.files} files, "
            f"{first.threads} and {last.threads} threads{': ' + left if left else ''}",
            flush=True,
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()

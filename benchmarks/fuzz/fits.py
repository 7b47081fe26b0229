"""Fuzzed fits: hard structures of data for every estimator, and all that its maps promise.

    python -m benchmarks.fuzz fits [--count 20000] [--seconds N] [--seed 0] [--limit 60]
                                   [--only NAME ...] [--output FILE]
    python -m benchmarks.fuzz fits --case "UKR cauchy 0 12 3 45"

Each failure is one line: what broke, the case, and details. ``--case`` repeats a case. The end of
a run lists the smallest case of each kind of failure. The exit code is 0 without any failure.
"""

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks.fuzz._fit_cases import ESTIMATORS, Case, cases
from benchmarks.fuzz._fit_checks import failures


@dataclass
class Run:
    """What a run has found so far."""

    n_cases: Counter = field(default_factory=Counter)
    failed: dict = field(default_factory=dict)
    """Cases and details by estimator and kind of failure."""

    def add(self, case, seconds):
        """Check a case, and return its failures as lines."""
        self.n_cases[case.estimator] += 1
        found = failures(case, seconds)
        for kind, details in found:
            self.failed.setdefault((case.estimator, kind), []).append((case, details))
        return [f"{kind} | {case} | {details}" for kind, details in found]

    def summary(self):
        """Return the counts, and the smallest case of each kind of failure."""
        yield f"{self.n_cases.total()} cases, two fits each; kinds of failure: {len(self.failed)}"
        for (estimator, kind), ones in sorted(self.failed.items()):
            case, details = min(ones, key=lambda one: one[0].n * one[0].d)
            yield f"{len(ones)} of {self.n_cases[estimator]}: {kind} | {case} | {details}"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz fits", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="cases")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for the whole run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds of a case")
    parser.add_argument("--only", nargs="+", default=list(ESTIMATORS), choices=list(ESTIMATORS))
    parser.add_argument("--case", type=Case.of, help="run this one alone")
    parser.add_argument("--output", type=Path, help="the file for the lines, too")
    options = parser.parse_args(arguments)
    run = Run()
    if options.case:
        print(*run.add(options.case, options.limit), sep="\n")
    else:
        _search(run, options)
    print(*run.summary(), sep="\n")
    return 1 if run.failed else 0


def _search(run, options):
    """Draw cases until they or the seconds are used up, and print every failure."""
    ends = time.monotonic() + options.seconds
    output = options.output.open("a", encoding="utf-8") if options.output else None

    @seed(options.seed)
    @settings(
        max_examples=options.count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(tuple(options.only)))
    def search(case):
        if time.monotonic() < ends:
            for line in run.add(case, options.limit):
                print(line, flush=True)
                if output:
                    print(line, file=output, flush=True)

    try:
        search()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    finally:
        if output:
            output.close()

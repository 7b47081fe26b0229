"""Run every imputer on every table, each in a process of its own with one thread."""

import tempfile
from pathlib import Path

from benchmarks.harness.jobs import Limits, run_job
from benchmarks.harness.kept import recorded
from benchmarks.imputation.methods import JUDGED, LIMITED, METHODS, OURS
from benchmarks.imputation.tables import TABLES

TIMES_OURS = 10
LEAST_SECONDS = 10.0
"""A limit leaves room for imports and data."""
HELD_OUT_GAPS = 0.3
PACKAGES = ("palmerpenguins",)


def run(names, shares, seeds, quick, say):
    """Return the records of the sets by name: errors of removed cells and of held-out rows."""
    found = {}
    for name in names:
        try:
            TABLES[name].rows(quick)
        except (ImportError, OSError) as error:
            say(f"{name}: left out, {error}")
            continue
        stopped = set()
        cells = [
            one
            for pattern in TABLES[name].patterns(shares)
            for one in _of_pattern(name, pattern, seeds, quick, say, stopped)
        ]
        rows = [_of_rows(name, method, seed, quick, say) for method in JUDGED for seed in seeds]
        found[name] = recorded({"quick": quick, "cells": cells, "held_out": rows}, *PACKAGES)
    return found


def _of_pattern(name, pattern, seeds, quick, say, stopped):
    """Yield a record for each method and seed; ``stopped`` has the methods over their limits.

    A method that was stopped is not run again on the same set. Its other patterns get one record.
    """
    for seed in seeds:
        ours = []
        for method in METHODS:
            limit = None
            if method in stopped:
                if seed == seeds[0]:
                    detail = "not run: it was stopped on another pattern of this set"
                    figures = {"status": "time", "detail": detail}
                    yield {"pattern": pattern, "seed": seed, "method": method, **figures}
                continue
            if method in LIMITED and ours:
                limit = max(LEAST_SECONDS, TIMES_OURS * max(ours))
            arguments = {"name": name, "pattern": pattern, "seed": seed, "method": method}
            figures = _measured("imputation", arguments | {"quick": quick}, limit)
            if method in OURS and "seconds" in figures:
                ours.append(figures["seconds"])
            if figures["status"] == "time":
                stopped.add(method)
            say(f"{name}, {pattern}, seed {seed}, {method}: {_said(figures)}")
            yield {"pattern": pattern, "seed": seed, "method": method, **figures}


def _of_rows(name, method, seed, quick, say):
    arguments = {"name": name, "share": HELD_OUT_GAPS, "seed": seed, "method": method}
    figures = _measured("held_out", arguments | {"quick": quick})
    say(f"{name}, held-out rows, seed {seed}, {method}: {_said(figures)}")
    return {"seed": seed, "method": method, **figures}


def _measured(function, arguments, seconds=None):
    """Return the figures of a job, with its status and the reason if it did not end well."""
    with tempfile.TemporaryDirectory() as folder:
        record = run_job(
            f"benchmarks.imputation.measure:{function}",
            arguments,
            Path(folder),
            Limits(seconds=seconds, threads=1),
        )
    return {"status": record["status"], "detail": record["detail"], **record["figures"]}


def _said(figures):
    shown = [f"{key} {value:.4g}" for key, value in figures.items() if isinstance(value, float)]
    return ", ".join(shown) if figures["status"] == "ok" else figures["detail"]

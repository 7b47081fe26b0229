"""The curves: every method on tables of growing size, one process after the other, resumable.

The budget is in wall seconds. A step that exceeded it at one size is not run at larger ones, and
without its fit a method is not run at all. A process that runs for longer than a minute and
``PATIENCE`` budgets is ended.
"""

import importlib
import tempfile
from dataclasses import dataclass

from benchmarks.growth.measure import STEPS
from benchmarks.growth.records import median
from benchmarks.harness.jobs import Limits, run_job
from benchmarks.harness.machine import versions

SIZES = (100, 300, 1_000, 2_000, 4_000, 5_000, 6_000, 10_000, 30_000, 100_000)
COLUMNS = (10, 100, 2_000)
PATIENCE = 4.0
TO_START = 60.0


@dataclass(frozen=True)
class Settings:
    """Settings of a run."""

    sizes: tuple[int, ...] = SIZES
    columns: tuple[int, ...] = COLUMNS
    methods: tuple[str, ...] = ()
    """Names of the methods to run; empty means all."""
    registry: str = "benchmarks.growth.methods"
    budget: float = 120.0
    repeats: int = 3
    threads: int = 2
    most_bytes: int = 12 * 2**30

    def chosen(self):
        """Return the methods to run."""
        known = importlib.import_module(self.registry).METHODS
        if unknown := set(self.methods) - {method.name for method in known}:
            names = ", ".join(repr(method.name) for method in known)
            raise ValueError(f"no method is called {sorted(unknown)}; there are {names}")
        return [method for method in known if not self.methods or method.name in self.methods]


def measure_curves(records, settings, say=print):
    """Measure the points that the records do not have."""
    methods = [method for method in settings.chosen() if _is_installed(method, say)]
    for columns in sorted(settings.columns):
        for rows in sorted(settings.sizes):
            for method in methods:
                _measure_point(records, settings, method, rows, columns, say)


def _is_installed(method, say):
    installed = versions([method.package])[method.package] is not None
    if not installed:
        say(f"{method.name}: left out, {method.package} is not installed")
    return installed


def _measure_point(records, settings, method, rows, columns, say):
    key = f"{method.name}|{rows}|{columns}"
    before = records.content["curves"].get(key)
    if before is not None and _is_finished(before, settings.budget):
        return
    left_out = _left_out(records.content["curves"].values(), settings, method, rows, columns)
    record = {
        "method": method.name,
        "ours": method.ours,
        "rows": rows,
        "columns": columns,
        "budget": settings.budget,
        "left_out": left_out,
    }
    if "fit" in left_out:
        record |= {"status": "skipped", "detail": left_out["fit"], "figures": {}}
    else:
        record |= _run(settings, method, rows, columns, list(left_out))
    records.keep("curves", key, record)
    seconds = median(record, "fit")
    shown = "" if seconds is None else f" | fit {seconds:.4g} s"
    outcome = ": ".join(word for word in (record["status"], record["detail"]) if word)
    say(f"{rows:,} x {columns:,} | {method.name} | {outcome}{shown}")


def _is_finished(record, budget):
    """Return whether a larger budget could not add to a record."""
    complete = record["status"] not in ("skipped", "time") and not record["left_out"]
    return complete or budget <= record["budget"]


def _left_out(records, settings, method, rows, columns):
    """Return the steps that went wrong with fewer rows, each with what happened there."""
    found = {}
    for record in sorted(records, key=lambda one: one["rows"]):
        mine = (record["method"], record["columns"]) == (method.name, columns)
        if not mine or record["rows"] >= rows or record["status"] == "skipped":
            continue
        where = f"with {record['rows']:,} rows"
        for step in STEPS:
            seconds = median(record, step)
            if seconds is not None and seconds > settings.budget:
                found.setdefault(step, f"over {settings.budget:g} s {where}")
        late = record["status"] == "time" and record["budget"] >= settings.budget
        if late or record["status"] == "memory":
            step = record["step"] if record["step"] in STEPS else "fit"
            found.setdefault(step, f"{record['detail']} {where}")
    return found


def _run(settings, method, rows, columns, left_out):
    """Run the processes of a point, one after the other, and join their figures."""
    arguments = {
        "registry": settings.registry,
        "method": method.name,
        "rows": rows,
        "columns": columns,
        "threads": settings.threads,
        "repeats": settings.repeats,
        "budget": settings.budget,
        "left_out": left_out,
    }
    seconds = TO_START + PATIENCE * settings.budget
    limits = Limits(seconds, settings.most_bytes, settings.threads)
    joined = {}
    for _ in range(settings.repeats if method.first_call else 1):
        with tempfile.TemporaryDirectory() as folder:
            record = run_job("benchmarks.growth.measure:measure", arguments, folder, limits)
        for step, figures in record["figures"].items():
            _join(joined.setdefault(step, {}), figures)
        fits = joined.get("fit", {}).get("seconds", [])
        if record["status"] != "ok" or sum(fits) > settings.budget:
            break
    kept = ("status", "detail", "step")
    return {name: record[name] for name in kept} | {"figures": joined}


def _join(figures, more):
    """Append the lists of one process to those of the processes before it."""
    for name, value in more.items():
        known = figures.get(name)
        figures[name] = [*known, *value] if isinstance(known, list) else value

"""First calls: the import of twofold and the first fit of a fresh process.

A first fit is measured with an empty cache of compiled code, and then with the cache that it has
filled. Nothing here imports numpy or twofold before the clock runs.
"""

import tempfile
import time
from importlib import import_module

from benchmarks.harness.jobs import Limits, run_job

ROWS = (500, 6_000)
COLUMNS = 50
STATES = ("empty", "full")


def measure_first(records, *, rows=ROWS, repeats=3, threads=2, say=print):
    """Measure what the records do not have: imports, then first fits of each size and cache."""
    if "import" not in records.content["first"]:
        runs = [_alone("imports", {}, threads) for _ in range(repeats)]
        _keep(records, "import", {"rows": None, "cache": None}, runs, say)
    for n in rows:
        keys = {state: f"fit|{n}|{state}" for state in STATES}
        if all(key in records.content["first"] for key in keys.values()):
            continue
        runs = {state: [] for state in STATES}
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as cache:
                for state in STATES:
                    environment = {"NUMBA_CACHE_DIR": cache}
                    runs[state].append(_alone("first_fit", {"rows": n}, threads, environment))
        for state, key in keys.items():
            _keep(records, key, {"rows": n, "cache": state}, runs[state], say)


def imports(notes):
    """Time ``import twofold`` and then the import of an estimator."""
    package = _timed(notes, "twofold", lambda: import_module("twofold"))
    _timed(notes, "estimator", lambda: package.UKR)


def first_fit(notes, rows):
    """Time the import of an estimator and its first fit."""
    estimator = _timed(notes, "estimator", lambda: import_module("twofold").UKR)
    from benchmarks.growth.sheet import make_sheet

    X = make_sheet(rows, COLUMNS).X
    _timed(notes, "fit", lambda: estimator(random_state=0).fit(X))


def _timed(notes, step, function):
    """Call a function once, note its seconds and CPU seconds, and return its result."""
    notes.step(step)
    began, processor = time.perf_counter(), time.process_time()
    result = function()
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - processor
    notes.add(**{step: {"seconds": seconds, "cpu_seconds": cpu_seconds}})
    return result


def _alone(function, arguments, threads, environment=None):
    """Run a function of this module in a fresh process; return its figures."""
    with tempfile.TemporaryDirectory() as folder:
        place = f"benchmarks.growth.first:{function}"
        record = run_job(place, arguments, folder, Limits(threads=threads), environment)
    if record["status"] != "ok":
        raise RuntimeError(f"{function} failed in a process of its own: {record['detail']}")
    return record["figures"]


def _keep(records, key, about, runs, say):
    """Keep the figures of several runs as lists."""
    figures = {
        step: {name: [run[step][name] for run in runs] for name in ("seconds", "cpu_seconds")}
        for step in runs[0]
    }
    records.keep("first", key, about | {"figures": figures})
    said = ", ".join(f"{step} {min(found['seconds']):.3g} s" for step, found in figures.items())
    say(f"first | {key} | at best {said}")

"""The process of one job: ``python -m benchmarks.rivals.worker job.json``, started by the runner alone.

It reads what to do, works, and keeps ``result.json`` beside it up to date after each step, since it may be
stopped at any time.
"""

import importlib
import json
import os
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

FIRST_CALL_ROWS = 200


class Notes:
    """The result so far, on disk after every step."""

    def __init__(self, path):
        self.path = Path(path)
        self.figures = {}
        self._current = "start"

    def step(self, name):
        self._current = name
        self._write("stopped", "")

    def add(self, **figures):
        self.figures.update(figures)
        self._write("stopped", "")

    def finish(self, status, detail=""):
        self._write(status, detail)

    def _write(self, status, detail):
        state = {
            "status": status,
            "detail": detail,
            "step": self._current,
            "figures": self.figures,
        }
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(state))
        draft.replace(self.path)


def main(path):
    job = json.loads(Path(path).read_text())
    notes = Notes(job["result"])
    _end_with_the_runner()
    _hold_to(job["threads"])
    warnings.simplefilter("ignore")
    notes.step("import")
    method = _find(job["registry"], job["method"])
    try:
        if job["kind"] == "first_call":
            _first_call(method, job, notes)
        else:
            _measure(method, job, notes)
    except ImportError as error:
        notes.finish("missing", f"{method.package}: {error}")
    except MemoryError as error:
        notes.finish("memory", str(error) or "MemoryError")
    except Exception as error:  # noqa: BLE001 - a rival may fail in any way, and that is a result
        traceback.print_exc()
        notes.finish("failed", f"{type(error).__name__}: {error}")
    else:
        notes.finish("ok")


def _measure(method, job, notes):
    import numpy as np

    from benchmarks.rivals.data import Split
    from benchmarks.rivals.measure import measure

    seed, threads = job["seed"], job["threads"]
    notes.step("data")
    split = Split.load(job["data"])
    np.random.seed(seed)  # noqa: NPY002 - some rivals draw from the global state
    notes.step("import")
    method.make(seed, threads)  # imports its package
    measure(
        lambda: method.make(seed, threads),
        split,
        notes,
        warm_up=method.warm_up,
        repeat_within=job["repeat_within"],
    )


def _first_call(method, job, notes):
    """Note when the first transform of a fresh process has ended, on a small curved sheet."""
    import numpy as np

    rng = np.random.default_rng(0)
    plane = rng.uniform(-1.5, 1.5, (FIRST_CALL_ROWS, 2))
    lift = rng.standard_normal((4, 10))
    X = np.hstack([np.sin(2 * plane), plane]) @ lift + 0.05 * rng.standard_normal((len(plane), 10))
    model = method.make(job["seed"], job["threads"])
    notes.step("fit")
    model.fit(X)
    notes.step("transform")
    if getattr(model, "transform", None) is not None:
        model.transform(X[:10])
    notes.add(first_call_seconds=time.time() - job["started"])


def _find(registry, name):
    methods = importlib.import_module(registry).METHODS
    return next(method for method in methods if method.name == name)


def _end_with_the_runner():
    """Ask the system to end this process when the runner dies, however that happens (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _hold_to(threads):
    """Leave this process, and what it starts, so many cores: some rivals count cores, not settings."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[:threads])


if __name__ == "__main__":
    main(sys.argv[1])

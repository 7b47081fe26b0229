"""The process of one job: ``python -m benchmarks.harness.worker job.json``, started by ``jobs``.

It reads which function to call, calls it, and updates ``result.json`` after each step, because it
may be stopped at any time.
"""

import json
import os
import signal
import sys
import traceback
import warnings
from importlib import import_module
from pathlib import Path

from benchmarks.harness import memory


class Notes:
    """The result so far, written to a file after every step."""

    def __init__(self, path, started):
        self.path = Path(path)
        self.started = started
        """Time at which the runner started this process."""
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
        state = {"status": status, "detail": detail}
        state |= {"step": self._current, "figures": self.figures}
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(state))
        draft.replace(self.path)


def main(path):
    job = json.loads(Path(path).read_text())
    notes = Notes(job["result"], job["started"])
    _end_with_the_runner()
    _use_cores(job["threads"])
    warnings.simplefilter("ignore")
    notes.step("import")
    try:
        found(job["function"])(notes, **job["arguments"])
    except ImportError as error:
        notes.finish("missing", str(error))
    except MemoryError as error:
        notes.finish("memory", str(error) or "MemoryError")
    except Exception as error:  # noqa: BLE001 - any failure is a result
        traceback.print_exc()
        notes.finish("failed", f"{type(error).__name__}: {error}")
    else:
        notes.finish("ok")


def call(notes, place, arguments):
    """Call a function; note the figures that it returns, and the peak memory of this process."""
    notes.add(**found(place)(**arguments), peak_gb=memory.peak_bytes() / 1e9)


def found(place):
    """Return the function at ``"module:name"`` in the benchmarks."""
    module, _, name = place.partition(":")
    if module.split(".")[0] != "benchmarks":
        raise ValueError(f"{place!r} is not in the benchmarks.")
    return getattr(import_module(module), name)


def _end_with_the_runner():
    """Ask the system to end this process when the runner dies, however it dies (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _use_cores(threads):
    """Restrict this process to as many cores as threads: some packages count cores."""
    if threads is not None and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[:threads])


if __name__ == "__main__":
    main(sys.argv[1])

"""Run a function alone in a fresh process, with limits on time and memory."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import ROOT, memory

LOOK_EVERY = 0.1
"""Seconds between two looks at a running job."""
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True)
class Limits:
    """Limits of a job; None is no limit. The memory includes everything that the job starts."""

    seconds: float | None = None
    most_bytes: int | None = None
    threads: int | None = None


def alone(function, **arguments):
    """Call a function in a fresh process; return its dict of figures, and ``peak_gb``.

    The function is at the top level of a module of the benchmarks. JSON must be able to hold its
    arguments and its result. An error in it is a `RuntimeError` here.
    """
    place = f"{function.__module__}:{function.__qualname__}"
    job = {"place": place, "arguments": arguments}
    with tempfile.TemporaryDirectory() as folder:
        record = run_job("benchmarks.harness.worker:call", job, folder)
    if record["status"] != "ok":
        raise RuntimeError(f"{place} failed in a process of its own: {record['detail']}")
    return record["figures"]


def run_job(function, arguments, folder, limits=None, environment=None):
    """Run a job until it ends or breaks a limit, and return its record.

    Parameters
    ----------
    function : str
        ``"module:name"`` of a function in the benchmarks. It is called as ``name(notes,
        **arguments)`` and reports through `benchmarks.harness.worker.Notes`.
    arguments : dict
        Its arguments, which JSON can hold.
    folder : Path
        Where the worker's files and its log go.
    limits : Limits or None
        Limits of the process.
    environment : dict, default=None
        Further variables for the process.

    Returns
    -------
    dict
        ``status`` is "ok", "missing" (a package), "time", "memory", "failed" or "crashed".
        ``detail`` says more, ``step`` is where it ended, and ``figures`` holds everything that had
        been measured by then.
    """
    limits = limits or Limits()
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    result, order = folder / "result.json", folder / "job.json"
    result.unlink(missing_ok=True)
    began = time.time()
    job = {"function": function, "arguments": arguments, "threads": limits.threads}
    order.write_text(json.dumps({**job, "result": str(result), "started": began}))
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.harness.worker", str(order)],
            cwd=ROOT,
            env=_environment(limits.threads, environment),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that everything it starts can be ended with it
        )
        try:
            broken, most = _watch(process, began, limits)
        finally:
            _end(process)
    state = _read(result)
    if broken == "time":
        state |= {"status": "time", "detail": f"over {limits.seconds:g} s in {state['step']}"}
    elif broken == "memory":
        detail = f"over {limits.most_bytes / 2**30:.3g} GB in {state['step']}"
        state |= {"status": "memory", "detail": detail}
    elif state["status"] == "stopped":
        state |= {"status": "crashed", "detail": _last_words(process, folder, state["step"])}
    return {**state, "wall_seconds": time.time() - began, "watched_peak_bytes": most}


def _watch(process, began, limits):
    """Wait for the process; return the limit that was broken, or None, and the peak memory seen."""
    most = 0
    while process.poll() is None:
        most = max(most, memory.session_bytes(process.pid))
        if limits.most_bytes is not None and most > limits.most_bytes:
            return "memory", most
        if limits.seconds is not None and time.time() > began + limits.seconds:
            return "time", most
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_EVERY)
    return None, most


def _end(process):
    """End the process and everything in its group."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _environment(threads, more):
    variables = {**os.environ, **(more or {})}
    if threads is not None:
        variables |= dict.fromkeys(THREAD_VARIABLES, str(threads))
    # Measure this checkout, whatever else is installed.
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    variables["PYTHONPATH"] = os.pathsep.join(paths).strip(os.pathsep)
    return variables


def _read(result):
    try:
        return json.loads(result.read_text())
    except FileNotFoundError:
        return {"status": "stopped", "detail": "", "step": "start", "figures": {}}


def _last_words(process, folder, step):
    """Return how a crashed process ended, and the last line of its log."""
    lines = (folder / "log.txt").read_text(errors="replace").strip().splitlines()
    code = process.returncode
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"{how} in {step}" + (f": {lines[-1][:200]}" if lines else "")

"""One job in a process of its own, with caps on time and memory."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.rivals import ROOT, memory

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


def run_job(job, folder, *, seconds, most_bytes, environment=None):
    """Run a job to its end or to a cap, and return its record.

    Parameters
    ----------
    job : dict
        What the worker reads: kind, registry, method, threads, seed, data and so on.
    folder : Path
        Where the worker's files and its log go.
    seconds : float
        Cap on the wall clock.
    most_bytes : int
        Cap on the memory of the process and all it starts, where the system tells (Linux).
    environment : dict, default=None
        Further variables for the process.

    Returns
    -------
    dict
        ``status`` is "ok", "missing" (a package), "time", "memory", "failed" or "crashed"; ``detail``
        says more, ``step`` is where it ended, ``figures`` holds what had been measured by then.
    """
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    result, order = folder / "result.json", folder / "job.json"
    result.unlink(missing_ok=True)
    began = time.time()
    order.write_text(json.dumps({**job, "result": str(result), "started": began}))
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.rivals.worker", str(order)],
            cwd=ROOT,
            env=_environment(job["threads"], environment),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that it can be ended with all it started
        )
        try:
            broken, most = _watch(process, began + seconds, most_bytes)
        finally:
            _end(process)
    state = _read(result)
    if broken == "time":
        state |= {"status": "time", "detail": f"over {seconds:g} s in {state['step']}"}
    elif broken == "memory":
        limit = f"over {most_bytes / 2**30:.3g} GB in {state['step']}"
        state |= {"status": "memory", "detail": limit}
    elif state["status"] == "stopped":
        state |= {"status": "crashed", "detail": _last_words(process, folder, state["step"])}
    return {**state, "wall_seconds": time.time() - began, "watched_peak_bytes": most}


def _watch(process, deadline, most_bytes):
    """Wait for the process; return the cap that was broken, or None, and the most memory seen."""
    most = 0
    while process.poll() is None:
        most = max(most, memory.session_bytes(process.pid))
        if most > most_bytes:
            return "memory", most
        if time.time() > deadline:
            return "time", most
        try:
            process.wait(LOOK_EVERY)
        except subprocess.TimeoutExpired:
            continue
    return None, most


def _end(process):
    """End the process and everything in its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _environment(threads, more):
    variables = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), **(more or {})}
    # What is measured is this checkout, whatever else is installed.
    here = [str(ROOT), str(ROOT / "src")]
    variables["PYTHONPATH"] = os.pathsep.join([*here, os.environ.get("PYTHONPATH", "")]).strip(
        os.pathsep
    )
    return variables


def _read(result):
    try:
        return json.loads(result.read_text())
    except FileNotFoundError:
        return {"status": "stopped", "detail": "", "step": "start", "figures": {}}


def _last_words(process, folder, step):
    lines = (folder / "log.txt").read_text(errors="replace").strip().splitlines()
    how = (
        signal.Signals(-process.returncode).name
        if process.returncode < 0
        else f"exit code {process.returncode}"
    )
    return f"{how} in {step}" + (f": {lines[-1][:200]}" if lines else "")

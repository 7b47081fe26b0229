"""A busy machine: a fit alone, and beside processes that never rest."""

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager

from benchmarks.growth.measure import timed
from benchmarks.growth.records import median
from benchmarks.growth.sheet import make_sheet
from benchmarks.harness.jobs import Limits, run_job

ROWS, COLUMNS = 500, 50
NEIGHBORS = 4
SPIN = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(10**6):
        pass
"""
"""A process that spins until the process that started it has ended."""


def measure_busy(records, *, repeats=3, threads=2, say=print):
    """Measure what the records do not have."""
    for processes in (0, NEIGHBORS):
        key = f"beside {processes}"
        if key in records.content["busy"]:
            continue
        with busy_processes(processes), tempfile.TemporaryDirectory() as folder:
            arguments, limits = {"repeats": repeats}, Limits(threads=threads)
            record = run_job("benchmarks.growth.busy:fit", arguments, folder, limits)
        if record["status"] != "ok":
            raise RuntimeError(f"the fit failed in a process of its own: {record['detail']}")
        record = {"processes": processes, "figures": record["figures"]}
        records.keep("busy", key, record)
        say(f"busy | beside {processes} processes | fit {median(record, 'fit'):.3g} s")


def fit(notes, repeats):
    """Time a fit, after one before the clock starts."""
    from twofold import UKR

    X = make_sheet(ROWS, COLUMNS).X
    UKR(random_state=0).fit(X)
    timed(notes, "fit", lambda: UKR(random_state=0).fit(X), repeats)


@contextmanager
def busy_processes(number):
    """Keep this many processes busy."""
    command = [sys.executable, "-c", SPIN, str(os.getpid())]
    started = []
    try:
        for _ in range(number):
            # Linux shares a core among sessions first; each of these competes on its own.
            started.append(subprocess.Popen(command, start_new_session=True))
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()

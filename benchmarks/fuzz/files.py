"""Forged model files in child processes: documented outcomes, or a list of the others.

A child that dies, needs too much memory or stands still is an outcome too: its file is noted, and
another child goes on with the next one.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field

from benchmarks.harness import ROOT

MEGABYTES = 4_096
"""Address space of a child, most of which NumPy, SciPy and numba reserve without using it."""

PATIENCE = 60.0
"""Seconds for one file, compilation included."""


@dataclass
class Found:
    """The counts of all outcomes, and the files with undocumented ones."""

    counts: Counter = field(default_factory=Counter)
    bad: list = field(default_factory=list)

    def add(self, one):
        self.counts[one["outcome"]] += 1
        if one["outcome"] == "bad":
            self.bad.append(one)


def run(folder, count, *, seed=0, first=0, compiled=False, checked=False, say=None):
    """Load and use forged files of the models in a folder, and return what was found.

    With ``compiled`` small models take the compiled loops too; with ``checked`` these check their
    indices, which takes a minute to compile at first.
    """
    found, number, end = Found(), first, first + count
    while number < end:
        number = _one_child(folder, seed, number, end, compiled, checked, found, say)
    return found


def _one_child(folder, seed, first, end, compiled, checked, found, say):
    """Let a child take files until it ends; return the number of the next file."""
    command = [sys.executable, "-m", "benchmarks.fuzz.worker", str(folder), str(seed), str(first)]
    command += [str(end - first), str(MEGABYTES), *(["compiled"] if compiled else [])]
    environment = dict(os.environ)
    environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
    if checked:
        cache = ROOT / ".numba-checked"
        environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)}
    child = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines, errors = queue.SimpleQueue(), []
    readers = [
        threading.Thread(target=_read, args=(child.stdout, lines.put)),
        threading.Thread(target=_read, args=(child.stderr, errors.append)),
    ]
    for reader in readers:
        reader.start()
    begun = None
    try:
        while True:
            line = lines.get(timeout=PATIENCE)
            if line is None:
                why = f"ended with {child.wait()}: {''.join(filter(None, errors))[-2000:]}"
                break
            note = json.loads(line)
            if "begins" in note:
                begun = note["begins"]
                continue
            begun = None
            found.add(note)
            if say is not None:
                say(note, found)
            if note["ends"] + 1 == end:
                return end
    except queue.Empty:
        why = f"no outcome in {PATIENCE:g} seconds"
    finally:
        child.kill()
        child.wait()
        for reader in readers:
            reader.join()
    if begun is None:
        raise RuntimeError(f"the child of files from {first} on {why}")
    found.add({"ends": begun, "model": "?", "changed": "?", "outcome": "bad", "why": why})
    return begun + 1


def _read(stream, take):
    """Hand on the lines of a stream, and then None."""
    with stream:
        for line in stream:
            take(line)
    take(None)

"""Forged model files in child processes: documented outcomes, or a list of the others.

    python -m benchmarks.fuzz files [--count 100000] [--seed 0] [--first 0] [--folder FOLDER]
                                    [--checked]

Saved models of every estimator are forged, loaded in child processes and used; half of the files
with compiled loops for models of any size. With ``--checked`` these loops check their indices.
Undocumented outcomes are printed, and the exit code is then 1.

A child that dies, needs too much memory or stands still is an outcome too: its file is noted, and
another child goes on with the next one.
"""

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.fuzz import models
from benchmarks.harness import ROOT

PIECE = 1_000
"""Files of a child."""

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


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz files")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the first file, to continue a run")
    parser.add_argument("--folder", type=Path, help="keeps the saved models")
    parser.add_argument("--checked", action="store_true", help="compiled loops check indices")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        return 1 if _fuzz(options, options.folder or Path(scratch)) else 0


def _fuzz(options, folder):
    """Run forged files, and return how many had an undocumented outcome."""
    names = sorted(folder.glob("*.twofold")) or models.save_all(folder)
    print(f"{len(names)} models", flush=True)
    counts, n_bad = Counter(), 0
    for start in range(options.first, options.first + options.count, PIECE):
        size = min(PIECE, options.first + options.count - start)
        found = run(
            folder,
            size,
            seed=options.seed,
            first=start,
            compiled=start // PIECE % 2 == 1,
            checked=options.checked,
        )
        counts += found.counts
        n_bad += len(found.bad)
        for one in found.bad:
            print(json.dumps(one), flush=True)
        print(f"{sum(counts.values())} files: {dict(counts)}", flush=True)
    return n_bad

"""Forged model files, loaded and used.

    python -m benchmarks.fuzz files [--count 100000] [--seed 0] [--first 0] [--folder FOLDER]
                                    [--checked]

Saved models of every estimator are changed and signed again. Child processes with limited memory
load them, and use what loads; every second thousand with compiled loops for models of any size.
With ``--checked`` these loops check their indices. A child that dies, needs too much memory or
stands still is an outcome too: its file is noted, and another child goes on with the next one.
Undocumented outcomes are printed; ``--seed`` and ``--first`` repeat them.
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

from benchmarks.fuzz import _models
from benchmarks.harness import ROOT

PIECE = 1_000
"""Files of a child."""

MEGABYTES = 4_096
"""Address space of a child, most of which NumPy, SciPy and numba reserve without using it."""

PATIENCE, PATIENCE_TO_COMPILE = 60.0, 600.0
"""Seconds for one file; longer if it may be the first that compiles loops."""


@dataclass
class Found:
    """The counts of all outcomes, and the files with undocumented ones."""

    counts: Counter = field(default_factory=Counter)
    bad: list = field(default_factory=list)

    def add(self, one):
        self.counts[one["outcome"]] += 1
        if one["outcome"] == "bad":
            self.bad.append(one)


def run(folder, count, *, seed=0, first=0, compiled=False, checked=False):
    """Load and use forged files of the models in a folder, and return what was found.

    With ``compiled`` small models take the compiled loops too; with ``checked`` these check their
    indices, which takes a minute to compile at first.
    """
    found, number, end = Found(), first, first + count
    while number < end:
        number = _one_child(folder, seed, number, end, compiled, checked, found)
    return found


def _one_child(folder, seed, first, end, compiled, checked, found):
    """Let a child take files until it ends; return the number of the next file."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.fuzz._file_worker",
        str(folder),
        str(seed),
        str(first),
    ]
    command += [str(end - first), str(MEGABYTES), *(["compiled"] if compiled else [])]
    environment = dict(os.environ)
    environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
    if checked:
        cache = Path(folder).absolute() / "numba"
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
    begun, patience = None, PATIENCE_TO_COMPILE if compiled or checked else PATIENCE
    try:
        while True:
            line = lines.get(timeout=patience)
            if line is None:
                why = f"ended with {child.wait()}: {''.join(filter(None, errors))[-2000:]}"
                break
            note = json.loads(line)
            if "begins" in note:
                begun = note["begins"]
                continue
            begun = None
            found.add(note)
            if note["ends"] + 1 == end:
                return end
    except queue.Empty:
        why = f"no outcome in {patience:g} seconds"
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
    """Run forged files, and return 1 if one had an undocumented outcome."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz files")
    add = parser.add_argument
    add("--count", type=int, default=100_000)
    add("--seed", type=int, default=0)
    add("--first", type=int, default=0, help="the number of the first file, to continue a run")
    add("--folder", type=Path, help="keeps the saved models")
    add("--checked", action="store_true", help="compiled loops check their indices")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        return 1 if _run_pieces(options, options.folder or Path(scratch)) else 0


def _run_pieces(options, folder):
    """Run files in pieces, and return how many had an undocumented outcome."""
    names = sorted(folder.glob("*.twofold")) or _models.save_all(folder)
    print(f"{len(names)} models", flush=True)
    total, end = Found(), options.first + options.count
    for start in range(options.first, end, PIECE):
        found = run(
            folder,
            min(PIECE, end - start),
            seed=options.seed,
            first=start,
            compiled=start // PIECE % 2 == 1,
            checked=options.checked,
        )
        total.counts += found.counts
        total.bad += found.bad
        for one in found.bad:
            print(json.dumps(one), flush=True)
        print(f"{sum(total.counts.values())} files: {dict(total.counts)}", flush=True)
    return len(total.bad)

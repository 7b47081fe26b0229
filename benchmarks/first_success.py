"""Seconds from ``pip install`` to a page of one's own table, in two commands.

    python -m benchmarks.first_success [--extra all] [--publish]

Makes an empty virtual environment and a CSV with the wines of scikit-learn, and times

    pip install ".[all]"
    twofold explore wines.csv --label cultivar

the second twice: at first use, when code is compiled and modules are written as bytecode, and
again. The installation depends on the network and on pip's cache. CPU seconds hardly depend on what
else the machine does. ``--publish`` keeps the record beside
this file, and writes the sentence of docs/command-line.md from it.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.harness.records import described, write_json
from benchmarks.harness.sections import write_section

KEPT = ROOT / "benchmarks" / "first_success.json"
PAGE = ROOT / "docs" / "command-line.md"
MARKS = (
    "<!-- first success: written by python -m benchmarks.first_success; do not edit -->",
    "<!-- first success: end -->",
)
EXPLORE = ("explore", "wines.csv", "--label", "cultivar")
WINES = (
    "from sklearn.datasets import load_wine; d = load_wine(as_frame=True); "
    "d.data.assign(cultivar=d.target_names[d.target]).to_csv('wines.csv', index=False)"
)


def cpu_seconds():
    """Return the CPU seconds of all finished subprocesses."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(folder, *command):
    """Run a command in a folder, without Python's variables; return its wall and CPU seconds."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    began, used = time.perf_counter(), cpu_seconds()
    subprocess.run(
        [str(word) for word in command], cwd=folder, env=kept, check=True, capture_output=True
    )
    return {"wall": time.perf_counter() - began, "cpu": cpu_seconds() - used}


def measure(extra):
    """Return the seconds of both commands in a new environment."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        timed(folder, sys.executable, "-m", "venv", "fresh")
        programs = folder / "fresh" / ("Scripts" if os.name == "nt" else "bin")
        install = timed(folder, programs / "pip", "install", f"{ROOT}[{extra}]")
        timed(folder, programs / "python", "-c", WINES)
        first = timed(folder, programs / "twofold", *EXPLORE)
        again = timed(folder, programs / "twofold", *EXPLORE)
        assert (folder / "wines.html").stat().st_size > 50_000
    return {"install": install, "explore": first, "explore_again": again}


def sentence(record):
    """Return the sentence of the documentation."""
    seconds = record["seconds"]
    wall = {name: one["wall"] for name, one in seconds.items()}
    cores = record["machine"]["cores"]
    words = (
        f"From an empty environment to the page the two commands took "
        f"{wall['install'] + wall['explore']:.0f} seconds: {wall['install']:.0f} to install "
        f"({seconds['install']['cpu']:.0f} of CPU time) and {wall['explore']:.0f} for the page "
        f"({seconds['explore']['cpu']:.0f} of CPU time; run again, "
        f"{seconds['explore_again']['cpu']:.0f}). `python -m benchmarks.first_success` measures "
        f"this; here on {cores} {'core' if cores == 1 else 'cores'}."
    )
    return textwrap.fill(words, 100, break_on_hyphens=False, break_long_words=False)


def main(arguments=None):
    """Measure, print, and publish if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extra", default="all", help="extra to install [all]")
    parser.add_argument("--publish", action="store_true", help="write the record and the sentence")
    options = parser.parse_args(arguments)
    record = described() | {"extra": options.extra, "seconds": measure(options.extra)}
    print(sentence(record))
    if options.publish:
        write_json(KEPT, record)
        write_section(PAGE, *MARKS, sentence(record))


if __name__ == "__main__":
    main()

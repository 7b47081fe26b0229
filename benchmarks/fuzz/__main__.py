"""Fuzzing from the command line.

    python -m benchmarks.fuzz files [--count 100000] [--seed 0] [--first 0] [--folder FOLDER]
                                    [--checked]
    python -m benchmarks.fuzz guided [--seconds 600] [--folder FOLDER]

*files* forges saved models of every estimator, loads them in child processes and uses what loads;
half of the files with compiled loops for models of any size. With ``--checked`` these loops check
their indices. *guided* fuzzes the reader guided by coverage, in a process of its own. Undocumented
outcomes are printed, and the exit code is then 1.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.fuzz import files, models

PIECE = 1_000
"""Files of a child."""


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("files", help="forged model files").add_argument
    add("--count", type=int, default=100_000)
    add("--seed", type=int, default=0)
    add("--first", type=int, default=0, help="the number of the first file, to continue a run")
    add("--folder", type=Path, help="keeps the saved models")
    add("--checked", action="store_true", help="compiled loops check their indices")
    add = commands.add_parser("guided", help="coverage-guided, with atheris").add_argument
    add("--seconds", type=int, default=600)
    add("--folder", type=Path, help="keeps inputs of bad outcomes")
    options = parser.parse_args(arguments)
    if options.command == "guided":  # instruments the library before it is imported
        rest = [str(options.seconds), *([str(options.folder)] if options.folder else [])]
        sys.exit(subprocess.call([sys.executable, "-m", "benchmarks.fuzz.guided", *rest]))
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(1 if _fuzz_files(options, options.folder or Path(scratch)) else 0)


def _fuzz_files(options, folder):
    """Run forged files, and return how many had an undocumented outcome."""
    names = sorted(folder.glob("*.twofold")) or models.save_all(folder)
    print(f"{len(names)} models", flush=True)
    counts, n_bad = files.Counter(), 0
    for start in range(options.first, options.first + options.count, PIECE):
        size = min(PIECE, options.first + options.count - start)
        found = files.run(
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


if __name__ == "__main__":
    main()

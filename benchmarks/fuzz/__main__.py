"""Fuzzing from the command line.

    python -m benchmarks.fuzz files [--count 100000] [--seed 0] [--first 0] [--folder FOLDER]
                                    [--checked]

*files* forges saved models of every estimator, loads them in child processes and uses what loads;
half of the files with compiled loops for models of any size. With ``--checked`` these loops check
their indices. Undocumented outcomes are printed, and the exit code is then 1.
"""

import argparse
import json
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
    options = parser.parse_args(arguments)
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

"""Removed cells of tables, imputed by ours and by others.

    python -m benchmarks.imputation [--sets "oil flow" USPS] [--shares 0.3 0.6] [--seeds 0 1 2]
                                    [--quick] [--json imputation.json]
    python -m benchmarks.imputation publish imputation.json

The first command measures and writes a file. The second one keeps its sets in
``benchmarks/imputation/results.json`` and writes the section of docs/measured.md. Sets: penguins,
oil flow, COIL-20 (720 rows), USPS (1,000 rows), MNIST (1,000 rows), sampled at random so that a run
ends within minutes. Use a quiet machine.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.harness.kept import publish
from benchmarks.harness.records import write_json
from benchmarks.imputation.page import section
from benchmarks.imputation.run import run
from benchmarks.imputation.tables import TABLES

KEPT = ROOT / "benchmarks" / "imputation" / "results.json"
PAGE = ROOT / "docs" / "measured.md"
MARKS = (
    "<!-- imputation: written by python -m benchmarks.imputation publish; do not edit -->",
    "<!-- imputation: end -->",
)


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    return _publish(arguments[1:]) if arguments[:1] == ["publish"] else _measure(arguments)


def _measure(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--shares", nargs="+", type=float, default=[0.3, 0.6])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--quick", action="store_true", help="150 rows of each set, not to publish")
    parser.add_argument("--json", type=Path, default=Path("imputation.json"))
    options = parser.parse_args(arguments)

    def say(line):
        print(line, flush=True)

    found = run(options.sets, options.shares, options.seeds, options.quick, say)
    write_json(options.json, found)
    print(f"\n{section(found)}\n\nwritten: {options.json}")
    return 0


def _publish(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imputation publish")
    parser.add_argument("file", type=Path, help="what a run has written")
    options = parser.parse_args(arguments)
    found = json.loads(options.file.read_text(encoding="utf-8"))
    if any(one["figures"]["quick"] for one in found.values()):
        parser.error(f"{options.file} is from a quick run, which is not published")
    publish(KEPT, found, list(TABLES), PAGE, MARKS, section)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Maps that take new rows in, beside maps that are fitted again to all rows.

    python -m benchmarks.growing [--tables MNIST "growing roll" "late clusters"] [--rows 20000]
                                 [--methods UKR DRUR PrincipalManifold] [--seeds 0 1 2]
                                 [--json growing.json]
    python -m benchmarks.growing publish growing.json

The first command measures and writes a file. The second one keeps the runs of each table and method
in ``benchmarks/growing/results.json`` and writes the section of docs/guide/updating.md. MNIST comes
in ten batches, and 7, 8 and 9 appear in batches 4, 6 and 8.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.growing.page import section
from benchmarks.growing.run import METHODS, part, run
from benchmarks.growing.tables import ROWS, TABLES
from benchmarks.harness import ROOT
from benchmarks.harness.kept import publish
from benchmarks.harness.records import write_json

KEPT = ROOT / "benchmarks" / "growing" / "results.json"
PAGE = ROOT / "docs" / "guide" / "updating.md"
MARKS = (
    "<!-- growing: written by python -m benchmarks.growing publish; do not edit -->",
    "<!-- growing: end -->",
)


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    return _publish(arguments[1:]) if arguments[:1] == ["publish"] else _measure(arguments)


def _measure(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--rows", type=int, help="rows of each table, instead of the usual number")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--json", type=Path, default=Path("growing.json"))
    options = parser.parse_args(arguments)
    rows = ROWS if options.rows is None else dict.fromkeys(TABLES, options.rows)

    def say(line):
        print(line, flush=True)

    found = run(options.tables, options.methods, rows, options.seeds, say)
    write_json(options.json, found)
    print(f"\n{section(found)}\n\nwritten: {options.json}")
    return 0


def _publish(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growing publish")
    parser.add_argument("file", type=Path, help="what a run has written")
    options = parser.parse_args(arguments)
    found = json.loads(options.file.read_text(encoding="utf-8"))
    order = [part(name, method) for name in TABLES for method in METHODS]
    publish(KEPT, found, order, PAGE, MARKS, section)
    return 0


if __name__ == "__main__":
    sys.exit(main())

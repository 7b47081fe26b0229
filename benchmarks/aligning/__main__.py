"""Maps of two tables in one frame: how near shared rows are, and what it costs.

    python -m benchmarks.aligning [--cases rows features moments] [--methods UKR DRUR]
                                  [--seeds 0 1 2] [--rows 1000] [--json aligning.json]
    python -m benchmarks.aligning publish aligning.json

Cases: the same things in two tables ("rows"), other rows of one kind of measurement ("features"),
and two moments of one table with 70 % of the rows in common ("moments"). See
`benchmarks.aligning.views`. The first command measures and writes a file. The second one keeps its
cases in ``benchmarks/aligning/results.json`` and writes the section of docs/guide/aligning.md.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import median

from benchmarks.aligning.measure import METHODS, measure
from benchmarks.aligning.page import section
from benchmarks.aligning.views import SETS, views_of
from benchmarks.harness import ROOT
from benchmarks.harness.kept import publish, recorded
from benchmarks.harness.records import write_json

KEPT = ROOT / "benchmarks" / "aligning" / "results.json"
PAGE = ROOT / "docs" / "guide" / "aligning.md"
MARKS = (
    "<!-- aligning: written by python -m benchmarks.aligning publish; do not edit -->",
    "<!-- aligning: end -->",
)


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    return _publish(arguments[1:]) if arguments[:1] == ["publish"] else _measure(arguments)


def _measure(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--methods", nargs="+", default=["UKR", "DRUR"], choices=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--rows", type=int, default=1_000, help="most rows of a set, held-out too")
    parser.add_argument("--json", type=Path, default=Path("aligning.json"))
    options = parser.parse_args(arguments)
    found = {}
    for case in options.cases:
        figures = [
            line
            for name in SETS[case]
            for line in lines_of(name, case, options.methods, options.seeds, options.rows)
        ]
        found[case] = recorded(figures)
        write_json(options.json, found)
    print(f"\n{section(found)}\n\nwritten: {options.json}")
    return 0


def lines_of(name, case, methods, seeds, most):
    """Return a line of figures for each method on one set."""
    lines = []
    for method in methods:
        runs = [measure(views_of(name, case, seed, most), method, seed) for seed in seeds]
        ratios = [one["ratio"] for one in runs]
        line = {
            "set": name,
            "method": method,
            "seeds": len(seeds),
            "median": {key: median(one[key] for one in runs) for key in runs[0]},
            "ratios": [min(ratios), max(ratios)],
        }
        print(case, line, flush=True)
        lines.append(line)
    return lines


def _publish(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.aligning publish")
    parser.add_argument("file", type=Path, help="what a run has written")
    options = parser.parse_args(arguments)
    found = json.loads(options.file.read_text(encoding="utf-8"))
    publish(KEPT, found, list(SETS), PAGE, MARKS, section)
    return 0


if __name__ == "__main__":
    sys.exit(main())

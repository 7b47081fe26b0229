"""How far calibrated figures hold on rows that the models have never seen.

    python -m benchmarks.trust [--parts intervals alarms classes planted] [--quick]
                               [--json trust.json]
    python -m benchmarks.trust publish trust.json

The first command measures and writes a file. The second one keeps its parts in
``benchmarks/trust/results.json`` and writes the section of docs/guide/trust.md.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.harness.kept import publish, recorded
from benchmarks.harness.records import write_json
from benchmarks.trust.measure import METHODS, alarms, intervals, one_class, planted
from benchmarks.trust.page import section
from benchmarks.trust.sets import CLASSES, PLANTED, SETS

KEPT = ROOT / "benchmarks" / "trust" / "results.json"
PAGE = ROOT / "docs" / "guide" / "trust.md"
MARKS = (
    "<!-- trust: written by python -m benchmarks.trust publish; do not edit -->",
    "<!-- trust: end -->",
)
JUDGED = ("UKR", "DRUR")
N_SPLITS = 20
PARTS = ("intervals", "alarms", "classes", "planted")


def _intervals(quick):
    for name in SETS[:1] if quick else SETS:
        for method in list(METHODS)[:1] if quick else METHODS:
            for seed in range(1 if quick else 3):
                found = intervals(name, method, seed, 80 if quick else 600)
                yield {"set": name, "method": method, "seed": seed, **found}


def _alarms(quick):
    for name in SETS[:1] if quick else SETS:
        for method in JUDGED[1:] if quick else JUDGED:
            for seed in range(1 if quick else N_SPLITS):
                found = alarms(name, method, seed, 80 if quick else 300)
                yield {"set": name, "method": method, "seed": seed, **found}


def _classes(quick):
    for name in ("satimage",) if quick else CLASSES:
        for label in list(CLASSES[name])[: 1 if quick else None]:
            for seed in range(1 if quick else 3):
                methods = JUDGED[1:] if quick else JUDGED
                areas = one_class(name, label, seed, methods, 80 if quick else 400)
                yield {"set": name, "label": label, "seed": seed, "areas": areas}


def _planted(quick):
    for name in PLANTED[1:2] if quick else PLANTED:
        for method in JUDGED[1:] if quick else JUDGED:
            for seed in range(1 if quick else 5):
                yield {"set": name, "method": method, "seed": seed, **planted(name, method, seed)}


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    return _publish(arguments[1:]) if arguments[:1] == ["publish"] else _measure(arguments)


def _measure(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="few rows, not to publish")
    parser.add_argument("--json", type=Path, default=Path("trust.json"))
    options = parser.parse_args(arguments)
    run = {"intervals": _intervals, "alarms": _alarms, "classes": _classes, "planted": _planted}
    found = {}
    for part in options.parts:
        records = []
        for record in run[part](options.quick):
            records.append(record)
            print(json.dumps(record), flush=True)
        found[part] = recorded({"quick": options.quick, "records": records})
        write_json(options.json, found)
    print(f"\n{section(found)}\n\nwritten: {options.json}")
    return 0


def _publish(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust publish")
    parser.add_argument("file", type=Path, help="what a run has written")
    options = parser.parse_args(arguments)
    found = json.loads(options.file.read_text(encoding="utf-8"))
    if any(one["figures"]["quick"] for one in found.values()):
        parser.error(f"{options.file} is from a quick run, which is not published")
    publish(KEPT, found, list(PARTS), PAGE, MARKS, section)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Peers' own tests and tutorials, with our estimators in the place of theirs.

    python -m benchmarks.peers ["isomap, own" ...] [tutorials] [--quick] [--json peers.json]
    python -m benchmarks.peers publish peers.json

The first command runs scikit-learn's tests of Isomap, TSNE, LocallyLinearEmbedding and KernelPCA,
each with two estimators of ours, and the steps of tutorials of umap-learn and openTSNE. It takes
ten minutes and exits with 1 if a test fails without a reason in ``benchmarks.peers.reasons``, or
passes in spite of one. The peers of the tutorials need not be installed: their figures are then
left out.
``publish`` keeps the parts of a file in ``benchmarks/peers/results.json`` and writes docs/peers.md.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.harness.kept import publish, recorded
from benchmarks.harness.records import write_json
from benchmarks.peers.adapters import COLUMNS
from benchmarks.peers.judging import judged, with_reason, wrong
from benchmarks.peers.page import TUTORIALS, section
from benchmarks.peers.run import run
from benchmarks.peers.tutorials import EXAMPLES

KEPT = ROOT / "benchmarks" / "peers" / "results.json"
PAGE = ROOT / "docs" / "peers.md"
MARKS = (
    "<!-- peers: written by python -m benchmarks.peers publish; do not edit -->",
    "<!-- peers: end -->",
)
PARTS = (*COLUMNS, TUTORIALS)
PACKAGES = ("umap-learn", "openTSNE")


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    return _publish(arguments[1:]) if arguments[:1] == ["publish"] else _measure(arguments)


def _measure(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--quick", action="store_true", help="tutorials with 300 rows")
    parser.add_argument("--json", type=Path, default=Path("peers.json"))
    options = parser.parse_args(arguments)
    found, complaints = {}, []
    for part in options.parts or PARTS:
        if part == TUTORIALS:
            figures = tutorials(options.quick)
            complaints += [f"{one['page']}: {one['error']}" for one in figures if one["error"]]
        else:
            figures = judged(part, run(part))
            complaints += wrong(part, figures)
        found[part] = recorded(figures, *PACKAGES) | {"quick": options.quick}
    write_json(options.json, found)
    print(f"{section(found)}\n\nwritten: {options.json}")
    print("\n".join(complaints))
    return 1 if complaints else 0


def tutorials(quick, examples=EXAMPLES):
    """Return what became of each step of the tutorials, with figures of ours and of the peer's."""
    warnings.simplefilter("ignore")
    found = []
    for one in examples:
        record = {key: getattr(one, key) for key in ("peer", "page", "there", "here", "reason")}
        record |= {"ours": None, "theirs": None, "error": None, "their_error": None}
        if one.run is not None:
            try:
                record["ours"] = one.run(quick)
            except (ValueError, TypeError) as error:
                record["error"] = f"{type(error).__name__}: {error}"
        if one.theirs is not None:
            try:
                record["theirs"] = one.theirs(quick)
            except ImportError:
                pass
            except Exception as error:  # noqa: BLE001 - whatever the peer raises is its outcome
                record["their_error"] = type(error).__name__
        found.append(record)
    return found


def _publish(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers publish")
    parser.add_argument("file", type=Path, help="what a run has written")
    options = parser.parse_args(arguments)
    found = json.loads(options.file.read_text(encoding="utf-8"))
    for name in set(found) & set(COLUMNS):
        record = found[name]
        record["figures"] = [with_reason(name, one) for one in record["figures"]]
    publish(KEPT, found, PARTS, PAGE, MARKS, section)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Published figures, and ours by the same protocols.

    python -m benchmarks.published [mnist] [rotated] [measures] [--methods "UKR()" PCA]
                                   [--seeds 0 1 2] [--rows 60000] [--sets COIL-20 USPS MNIST]
                                   [--json published.json]
    python -m benchmarks.published --images FOLDER [--json mine.json]
    python -m benchmarks.published publish published.json

*mnist*: test error of MNIST from two latents. *rotated*: rotated digits, by the protocol of GRAE.
*measures*: the measures of PaCMAP's paper and of ZADU. Rivals that are not installed are left out
(umap-learn, openTSNE, PaCMAP, PyTorch, zadu). ``--images`` measures what *mnist* does on a folder
of your own, with ``.npz`` files or pictures of one size. ``publish`` keeps the parts of a file in
``benchmarks/published/results.json`` and writes docs/published.md. A run takes about half an hour
on one core.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.harness.kept import publish, recorded
from benchmarks.harness.records import write_json
from benchmarks.published import images, measures, rotated, two_latents
from benchmarks.published.methods import METHODS
from benchmarks.published.page import section

KEPT = ROOT / "benchmarks" / "published" / "results.json"
PAGE = ROOT / "docs" / "published.md"
MARKS = (
    "<!-- published: written by python -m benchmarks.published publish; do not edit -->",
    "<!-- published: end -->",
)
PARTS = ("mnist", "rotated", "measures")
PACKAGES = ("umap-learn", "openTSNE", "pacmap", "torch", "zadu")


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    return _publish(arguments[1:]) if arguments[:1] == ["publish"] else _measure(arguments)


def _measure(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--images", type=Path, help="a folder with images of your own")
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--rows", type=int, help="most rows of MNIST to fit, not to publish")
    parser.add_argument("--sets", nargs="+", help="sets of the part measures, default: all")
    parser.add_argument("--json", type=Path, default=Path("published.json"))
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    chosen = {"names": tuple(options.methods)} if options.methods else {}
    if options.images is not None:
        found = _of_folder(options, chosen)
    else:
        found = {part: _part(part, options, chosen) for part in options.parts or PARTS}
    write_json(options.json, found)
    print(f"written: {options.json}")
    return 0


def _part(part, options, chosen):
    print(f"{part}:", flush=True)
    if part == "mnist":
        X_train, X_test = images.mnist()
        figures = two_latents.measure(
            X_train[: options.rows], X_test, seeds=tuple(options.seeds), say=_say, **chosen
        )
        print(two_latents.table(figures, ()))
    elif part == "rotated":
        first = [rotated.PAPER_SEED, *options.seeds][: len(options.seeds)]
        figures = rotated.measure(first, say=_say, **chosen)
        print(rotated.table(figures))
    else:
        figures = {
            name: measures.measure(data, tuple(options.seeds), say=_say, **chosen)
            for name, data in measures.sets().items()
            if options.sets is None or name in options.sets
        }
        for name, one in figures.items():
            print(f"\n{name}\n{measures.table(one)}")
    return recorded(figures, *PACKAGES)


def _of_folder(options, chosen):
    found = {}
    for name, (X_train, X_test) in images.of_folder(options.images).items():
        print(f"{name}: {len(X_train):,} rows to fit, {len(X_test):,} held out", flush=True)
        figures = two_latents.measure(
            X_train, X_test, seeds=tuple(options.seeds), say=_say, **chosen
        )
        print(two_latents.table(figures, ()))
        found[name] = recorded(figures, *PACKAGES)
    return found


def _publish(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published publish")
    parser.add_argument("file", type=Path, help="what a run has written")
    options = parser.parse_args(arguments)
    found = json.loads(options.file.read_text(encoding="utf-8"))
    unknown = sorted(set(found) - set(PARTS))
    if unknown:
        parser.error(f"{options.file} has {unknown}, from --images: only {PARTS} are published")
    publish(KEPT, found, PARTS, PAGE, MARKS, section)
    return 0


def _say(line):
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())

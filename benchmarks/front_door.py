"""What `AutoTwoWay` costs, whether it keeps to given seconds, and whether its winner repeats.

    python -m benchmarks.front_door [cost | seconds | winners ...] [--json results.json] [--publish]

``cost``: seconds of ``AutoTwoWay()``, of its winner alone, and of umap-learn if it is installed,
all in this process, after a first fit of each. ``seconds``: the seconds that a fit takes if
``effort`` is a number. ``winners``: the winner for five seeds on each table. Use a quiet machine.
``--publish`` keeps the figures in ``front_door.json`` and writes the tables of docs/guide/auto.md.
"""

import argparse
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits

from benchmarks.growth.sheet import make_sheet
from benchmarks.harness import ROOT
from benchmarks.harness.kept import figures_table, origin, publish, recorded
from benchmarks.harness.records import write_json
from benchmarks.rivals.catalogue import catalogue
from twofold import AutoTwoWay

KEPT = ROOT / "benchmarks" / "front_door.json"
PAGE = ROOT / "docs" / "guide" / "auto.md"
MARKS = (
    "<!-- front door: written by python -m benchmarks.front_door --publish; do not edit -->",
    "<!-- front door: end -->",
)
PARTS = {
    "cost": "Seconds of a fit",
    "seconds": "Seconds of a fit with a given `effort`",
    "winners": "Winners of five seeds",
}
ROWS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
COLUMNS = 50
BUDGETS = (1.0, 2.0, 5.0, 10.0, 30.0)
SEEDS = range(5)


def tables(most):
    """Yield the tables of the cost by name: the digits, and noisy sheets of up to ``most`` rows."""
    yield "digits", load_digits().data
    for rows in (one for one in ROWS if one <= most):
        yield f"sheet, {rows:,} x {COLUMNS}", make_sheet(rows, COLUMNS).X


def timed_fit(model, X):
    """Return the seconds of a fit, and the model."""
    began = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - began, model


def cost(most):
    """Return seconds by table."""
    try:
        from umap import UMAP
    except ImportError:
        UMAP = None
    found = {}
    for name, X in tables(most):
        warm = X[:5_000] if len(X) > 4_096 else X[:400]
        AutoTwoWay(random_state=0).fit(warm)
        seconds, model = timed_fit(AutoTwoWay(random_state=0), X)
        alone = clone(model.best_estimator_)
        winner, _ = timed_fit(alone, X)
        row = {
            "winner": model.method_,
            "AutoTwoWay()": seconds,
            "the winner alone": winner,
            "ratio": seconds / winner,
        }
        if UMAP is not None:
            UMAP().fit(warm)
            row["umap-learn"] = timed_fit(UMAP(), X)[0]
        found[name] = row
        print(name, row, flush=True)
    return found


def seconds(most):
    """Return the seconds that fits take, by table and budget."""
    found = {}
    for name, X in tables(most):
        if len(X) not in (1_000, 1_797, 10_000, 100_000):
            continue
        AutoTwoWay(random_state=0).fit(X[:5_000])
        row = {}
        for budget in BUDGETS:
            took, model = timed_fit(AutoTwoWay(effort=budget, random_state=0), X)
            row[f"{budget:g} s"] = took
            row[f"rows, {budget:g} s"] = len(model.embedding_)
        found[name] = row
        print(name, row, flush=True)
    return found


def winners(most):
    """Return how often each method wins, by set of the comparison with rivals."""
    found = {}
    for data in catalogue(quick=False):
        if data.on_request:
            continue
        X = data.load().X_train
        if len(X) > most:
            continue
        X = (X - X.mean(axis=0)) / (np.asarray(X, dtype=float).std() or 1.0)
        names = [AutoTwoWay(random_state=seed).fit(X).method_ for seed in SEEDS]
        method, times = Counter(names).most_common(1)[0]
        others = sorted(set(names) - {method})
        found[data.name] = {
            "winner": method,
            "of five": times,
            "others": ", ".join(others),
        }
        print(data.name, found[data.name], flush=True)
    return found


def section(parts):
    """Return the tables of the page."""
    said = []
    for part, record in parts.items():
        text = origin(f"python -m benchmarks.front_door {part}", record)
        first = "set" if part == "winners" else "table"
        said.append(f"{PARTS[part]}: {text}\n\n{figures_table(first, record['figures'])}")
    return "\n\n".join(said)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), help="of what to measure")
    parser.add_argument("--most", type=int, default=ROWS[-1], help="rows of the largest table")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--publish", action="store_true", help="write docs/guide/auto.md")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {sorted(unknown)}; there are {list(PARTS)}")
    measure = {"cost": cost, "seconds": seconds, "winners": winners}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            part: recorded(measure[part](options.most), "umap-learn") for part in options.parts
        }
    if options.json:
        write_json(options.json, found)
    if options.publish:
        publish(KEPT, found, list(PARTS), PAGE, MARKS, section)


if __name__ == "__main__":
    main()

"""Seconds of fits, of new rows and of pages on named tables, beside umap-learn.

    python -m benchmarks.speed [CASE ...] [--repeats 3] [--output speed.json] [--publish]

Each case runs in a process of its own and is fitted once before the clock starts, on at most 6,000
rows, so that compiled code is loaded. Figures of fits are medians of ``--repeats``, fewer if they
take 20 seconds together: wall seconds, CPU seconds, peak memory of the process, and errors of
held-out rows. ``--publish`` writes the table into docs/guide/costs.md and keeps the records beside
this file. Cases of real data need the folder that ``TWOFOLD_DATA`` names.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.growth.sheet import make_sheet
from benchmarks.harness import ROOT, memory
from benchmarks.harness.jobs import Limits, run_job
from benchmarks.harness.machine import is_installed
from benchmarks.harness.records import described, write_json
from benchmarks.harness.sections import write_section
from benchmarks.rivals.catalogue import catalogue
from twofold.numerics.threads import n_threads

KEPT = ROOT / "benchmarks" / "speed.json"
BEGIN = "<!-- speed: written by python -m benchmarks.speed --publish; do not edit -->"
END = "<!-- speed: end -->"
SHEETS = (500, 1_000, 2_000, 4_000, 6_000, 10_000)
NEW_ROWS = 1_000
WARM_ROWS = 6_000
ONE_ROW_CALLS = 20
SECONDS = 900.0
ENOUGH_SECONDS = 20.0
"""Of fits of one case, after which no more are made."""


def _sheet(rows, columns):
    return lambda: (make_sheet(rows, columns).X, make_sheet(NEW_ROWS, columns, seed=1).X)


def _roll(rows):
    def load():
        from twofold.datasets import make_swiss_roll

        X = make_swiss_roll(rows + NEW_ROWS, noise=0.1, random_state=0)[0]
        return X[:rows], X[rows:]

    return load


def _named(name):
    def load():
        (found,) = (one for one in catalogue(quick=False) if one.name == name)
        split = found.load()
        return split.X_train.astype(np.float64), split.X_test.astype(np.float64)

    return load


TABLES = {
    "digits, 1,438 x 64": _named("digits"),
    "COIL-20, 1,152 x 1,024": _named("COIL-20"),
    "sheet, 2,800 x 2,000": _sheet(2_800, 2_000),
    "MNIST, 60,000 x 784": _named("MNIST"),
    "Swiss roll, 100,000 x 3": _roll(100_000),
    "Swiss roll, 1,000,000 x 3": _roll(1_000_000),
    "sheet, 200,000 x 16": _sheet(200_000, 16),
} | {f"sheet, {rows:,} x 50": _sheet(rows, 50) for rows in SHEETS}

CASES = (
    [("UKR()", table) for table in ("digits, 1,438 x 64", "COIL-20, 1,152 x 1,024")]
    + [("umap-learn", "digits, 1,438 x 64")]
    + [(method, f"sheet, {n:,} x 50") for n in SHEETS for method in ("UKR()", "umap-learn")]
    + [("UKR()", "sheet, 2,800 x 2,000")]
    + [
        (method, "MNIST, 60,000 x 784")
        for method in (
            "UKR()",
            "umap-learn",
            'TwoWay("tsne")',
            'TwoWay("isomap")',
            "SNE()",
            "PrincipalManifold()",
        )
    ]
    + [("PrincipalManifold()", "Swiss roll, 100,000 x 3")]
    + [(method, "Swiss roll, 1,000,000 x 3") for method in ('TwoWay("isomap")', "UKR()")]
    + [(method, "sheet, 200,000 x 16") for method in ("DRUR()", "UKR()")]
)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("cases", nargs="*", help="words of a case, such as UKR or MNIST")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("speed.json"), metavar="FILE.json")
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    records = measured(options.cases, options.repeats)
    write_json(options.output, records)
    print(table(records))
    if options.publish:
        write_json(KEPT, records)
        write_section(ROOT / "docs" / "guide" / "costs.md", BEGIN, END, table(records))


def measured(words, repeats):
    """Run the cases that contain one of the words, or all."""
    results = []
    for method, name in CASES:
        if words and not any(word in f"{method} {name}" for word in words):
            continue
        if method == "umap-learn" and not is_installed("umap"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            job = {"method": method, "table": name, "repeats": repeats}
            limits = Limits(seconds=SECONDS, threads=n_threads())
            record = run_job("benchmarks.speed:measure", job, folder, limits)
        results.append(
            {"method": method, "table": name, "status": record["status"], **record["figures"]}
        )
        print(method, name, record["status"], record["figures"].get("fit"), flush=True)
    return described("umap-learn") | {"repeats": repeats, "results": results}


def measure(notes, method, table, repeats):
    """Measure one case; a function of a process of its own."""
    X, new = TABLES[table]()
    make = _maker(method)
    notes.step("warm-up")
    make().fit(X[:WARM_ROWS])
    notes.step("fit")
    timings = []
    while len(timings) < repeats:
        began, processor = time.perf_counter(), time.process_time()
        model = make().fit(X)
        timings.append((time.perf_counter() - began, time.process_time() - processor))
        if sum(seconds for seconds, _ in timings) > ENOUGH_SECONDS:
            break
    seconds, cpu = (statistics.median(column) for column in zip(*timings, strict=True))
    notes.add(fit=seconds, cpu=cpu, spread=max(timings)[0] - min(timings)[0])
    if method == "umap-learn":
        return
    notes.add(peak_gb=memory.peak_bytes() / 2**30)
    notes.step("new rows")
    notes.add(error=1.0 - model.score(new[:NEW_ROWS]))
    notes.add(transform=_seconds(lambda: model.transform(new)), n_new=len(new))
    calls = [_seconds(lambda row=row: model.transform(row[None])) for row in new[:ONE_ROW_CALLS]]
    notes.add(one_row=statistics.median(calls))
    if table == "sheet, 200,000 x 16":
        from twofold.export import explorer

        page = Path(tempfile.gettempdir()) / f"speed-{os.getpid()}.html"
        try:
            notes.add(page=_seconds(lambda: explorer.write(model, X, path=page)))
        finally:
            page.unlink(missing_ok=True)


def _maker(method):
    if method == "umap-learn":
        import umap

        return umap.UMAP
    import twofold

    name, _, arguments = method.partition("(")
    words = [word.strip('"') for word in arguments[:-1].split(",") if word]
    return lambda: getattr(twofold, name)(*words, random_state=0)


def _seconds(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def table(records):
    """Return the figures as a table of Markdown."""
    lines = [
        "| table | method | fit, s | CPU, s | GB | error | new rows, ms each | one row, ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    pages = []
    for one in records["results"]:
        if one["status"] != "ok":
            lines.append(f"| {one['table']} | `{one['method']}` | {one['status']} | | | | | |")
            continue
        cells = [one["table"], f"`{one['method']}`", f"{one['fit']:.3g}", f"{one['cpu']:.3g}"]
        if "error" in one:
            each = 1e3 * one["transform"] / one["n_new"]
            cells += [
                f"{one['peak_gb']:.1f}",
                f"{one['error']:.3g}",
                f"{each:.2g}",
                f"{1e3 * one['one_row']:.2g}",
            ]
        else:
            cells += [""] * 4
        lines.append(f"| {' | '.join(cells)} |")
        if "page" in one:
            pages.append(
                f"The page of `twofold explore` for {one['table']} and `{one['method']}` takes "
                f"{one['page']:.2g} s."
            )
    machine = records["machine"]
    about = (
        f"Medians of {records['repeats']} (one fit from 20 s on), {machine['cores']} cores "
        f"({machine['processor']}), commit {records['commit']}."
    )
    return "\n".join([*lines, "", *pages, "", about])


if __name__ == "__main__":
    main()

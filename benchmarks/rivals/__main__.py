"""The command line: ``python -m benchmarks.rivals [--quick | --full] [--data mine.npz] ...``."""

import argparse
import json
import os
import shutil
import signal
import sys
from pathlib import Path

from benchmarks.harness import ROOT, memory
from benchmarks.rivals import goal, summary
from benchmarks.rivals.catalogue import catalogue
from benchmarks.rivals.data import from_file
from benchmarks.rivals.page import verdicts_of, write_page
from benchmarks.rivals.readme import write_section, write_start
from benchmarks.rivals.run import OtherRunError, Run, Settings

QUICK = {"seeds": (0,), "seconds": 60.0, "repeat_within": 2.0}
FULL = {"seeds": (0, 1, 2), "seconds": 120.0, "repeat_within": 2.0}


def main(arguments=None):
    options = _options(arguments)
    if options.report_only:
        results = options.report_only
    else:
        try:
            results = _measured(options)
        except (OtherRunError, ValueError) as error:
            sys.exit(f"rivals: {error}")
        except KeyboardInterrupt:
            sys.stderr.write("rivals: interrupted; the same command continues where it stopped\n")
            sys.exit(130)
        if results is None:
            return
    try:
        verdicts = report(results, options.folder, publish=options.publish)
    except UnpublishableError as error:
        sys.exit(f"rivals: {error}")
    if not verdicts:
        sys.exit("rivals: no set could be measured")
    if options.check and not all(v.holds for v in verdicts):
        sys.exit(1)


class UnpublishableError(ValueError):
    """A run that must not replace the published one."""


def _interrupt(number, frame):  # noqa: ARG001 - the signature of a handler
    raise KeyboardInterrupt


def report(path, folder, *, publish=False):
    """Write the page and the pictures of a run, print the goal set by set; return the verdicts.

    With ``publish`` they replace the page in ``docs``, the results beside this file, and the tables
    in the README and on the documentation's start page.
    """
    results = summary.read(path)
    if publish:
        _check_publishable(results)
    folder = Path(folder)
    page = ROOT / "docs" / "rivals.md" if publish else folder / "rivals.md"
    picture = None
    try:
        from benchmarks.rivals import overview, plots

        rows = summary.rows_of(results)
        drawn = plots.draw_all(rows, folder / "images")
        overall = overview.draw(verdicts_of(results), rows, folder / "images" / "rivals.png")
    except ImportError as error:
        sys.stderr.write(f"rivals: no pictures: {error}\n")
        drawn, overall = [], None
    if overall is not None:
        picture = "images/rivals.png"
        if publish:
            shutil.copy(overall, ROOT / "docs" / picture)
    verdicts = write_page(results, page, picture)
    if publish:
        kept = ROOT / "benchmarks" / "rivals" / "results.json"
        kept.write_text(json.dumps(results, indent=1) + "\n")
        write_section(ROOT / "README.md", verdicts, results)
        write_start(ROOT / "docs" / "index.md", verdicts, results)
    for verdict in verdicts:
        print(goal.sentence(verdict))
    print(goal.count(verdicts))
    print(f"{page} and {len(drawn)} pictures")
    return verdicts


def _check_publishable(results):
    """Raise an error unless the run measured sets of the catalogue in full size."""
    known = {data.name for data in catalogue(quick=False)}
    own = [entry["name"] for entry in results["sets"] if entry["name"] not in known]
    if results["settings"]["mode"] != "full" or own or not results["sets"]:
        raise UnpublishableError(
            "--publish is for runs with --full on the benchmark's own sets; the page of this run "
            "is not published"
        )


def _measured(options):
    """Run the jobs and return the path of the results; None if ``--list`` only asked for names."""
    given = dict(QUICK if options.mode == "quick" else FULL)
    if options.seeds is not None:
        given["seeds"] = tuple(range(options.seeds))
    if options.seconds is not None:
        given["seconds"] = options.seconds
    settings = Settings(
        mode=options.mode,
        registry=options.registry,
        threads=options.threads,
        most_bytes=int(options.memory * 2**30),
        methods=tuple(_named(options.methods or (), options.registry)),
        **given,
    )
    if absent := [path for path in options.data if not Path(path).is_file()]:
        raise ValueError(f"--data {absent[0]}: there is no such file")
    sets = [from_file(path) for path in options.data] or catalogue(options.mode == "quick")
    all_names = [data.name for data in sets]
    if options.sets:
        unknown = set(options.sets) - set(all_names)
        if unknown:
            names = ", ".join(map(repr, all_names))
            raise ValueError(f"no set is called {sorted(unknown)}; there are {names}")
        sets = [data for data in sets if data.name in options.sets]
    if options.list:
        said = [f"{data.name}{' (on request)' if data.on_request else ''}" for data in sets]
        print("sets:", *said, sep="\n  ")
        print("methods:", *(method.name for method in settings.chosen()), sep="\n  ")
        return None
    if not options.sets:
        sets = [data for data in sets if not data.on_request]
    if options.restart:
        for name in ("about.json", "jobs.jsonl", "results.json"):
            (options.folder / name).unlink(missing_ok=True)
    chosen = {data.name for data in sets}
    left_out = [name for name in all_names if name not in chosen]
    return Run(options.folder, settings, say=_say).measure_all(sets, left_out)


def _named(words, registry):
    """Return the names of methods, with the words for groups of them replaced."""
    known = Settings("", registry=registry).registered()
    groups = {
        "ours": [one.name for one in known if one.ours],
        "references": [one.name for one in known if one.reference],
        "rivals": [one.name for one in known if not one.ours and not one.reference],
    }
    return [name for word in words for name in groups.get(word, [word])]


def _say(line):
    print(line, flush=True)


def _options(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rivals",
        description="Measure twofold and its rivals side by side, on quality and on cost.",
    )
    add = parser.add_argument
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick",
        dest="mode",
        action="store_const",
        const="quick",
        default="quick",
        help="everything at reduced sizes, one seed (the default)",
    )
    size.add_argument(
        "--full", dest="mode", action="store_const", const="full", help="all sizes, three seeds"
    )
    add("--data", action="append", default=[], metavar="FILE.npz", help="your own set instead")
    add("--sets", nargs="+", metavar="NAME", help="only these sets")
    add(
        "--methods",
        nargs="+",
        metavar="NAME",
        help="only these: names, or ours, rivals, references",
    )
    add("--list", action="store_true", help="print the names of sets and methods and stop")
    add("--seeds", type=int, metavar="N", help="number of seeds on small sets")
    add("--threads", type=int, default=min(2, os.cpu_count() or 1), help="for every method")
    add("--seconds", type=float, help="cap on the time of a job")
    memory_gb = (memory.machine_bytes() or 20 * 2**30) / 2**30
    default = round(min(12.0, 0.6 * memory_gb), 1)
    add("--memory", type=float, default=default, metavar="GB", help="cap on its memory")
    add("--registry", default=Settings.registry, help="module with other METHODS")
    add("--folder", type=Path, default=Path("rivals-run"), help="for results, page and pictures")
    add("--restart", action="store_true", help="forget what the folder holds of an earlier run")
    add("--report-only", type=Path, metavar="RESULTS.json", help="only write page and pictures")
    add("--publish", action="store_true", help="write docs/rivals.md and keep the results")
    add("--check", action="store_true", help="exit with 1 where AutoTwoWay() is behind")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    main()

"""How cost grows with the size of the table.

    python -m benchmarks.growth [--sizes N ...] [--columns D ...] [--methods NAME ...]
                                [--budget SECONDS] [--repeats 3] [--output growth.json]
    python -m benchmarks.growth first [--output growth.json]
    python -m benchmarks.growth busy [--output growth.json]
    python -m benchmarks.growth check growth.json [--tolerance 0.25]
    python -m benchmarks.growth plot growth.json [--folder elsewhere]

The first command measures the curves: wall seconds, CPU seconds and peak memory of ``fit``, of
``transform`` of 1,000 rows and of one row, and of ``inverse_transform`` of 1,000 latents, of every
estimator beside rivals. *first* measures the import and first fits of fresh processes, *busy* a fit
beside four busy processes. All three write into the same file after each measurement; the same
command continues where it was interrupted. *check* lists the places where a table is slower than
the next larger one, and exits with 1 if one is ours. *plot* writes the picture and the section of
the documentation, or with ``--folder`` a picture and all tables into a folder.
"""

import argparse
import shutil
import signal
import sys
from pathlib import Path

from benchmarks.growth import check, curves, page
from benchmarks.growth.busy import measure_busy
from benchmarks.growth.first import ROWS, measure_first
from benchmarks.growth.plots import draw
from benchmarks.growth.records import OtherRunError, Records, read
from benchmarks.harness import ROOT, memory
from benchmarks.harness.sections import write_section
from twofold.numerics.threads import n_threads

COMMANDS = ("curves", "first", "busy", "check", "plot")


def main(arguments=None):
    options = _options(sys.argv[1:] if arguments is None else arguments)
    if options.command == "plot":
        plot(options.file, options.folder)
    elif options.command == "check":
        found = check.kinks(read(options.file), options.tolerance)
        print(*found or ["no kinks"], sep="\n")
        if any(kink.ours for kink in found):
            sys.exit(1)
    else:
        try:
            _measure(options)
        except (OtherRunError, ValueError) as error:
            sys.exit(f"growth: {error}")
        except KeyboardInterrupt:
            sys.stderr.write("growth: interrupted; the same command continues where it stopped\n")
            sys.exit(130)


def plot(path, folder=None):
    """Write picture and tables of a run into a folder; None means the documentation.

    Then the records are kept beside this file.
    """
    content = read(path)
    if not content["curves"]:
        sys.exit(f"growth: {path} has no curves to draw; python -m benchmarks.growth measures them")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        draw(content, folder / "growth.svg")
        (folder / "growth.md").write_text(page.tables(content), encoding="utf-8")
        return
    docs, kept = ROOT / "docs", ROOT / "benchmarks" / "growth" / "results.json"
    draw(content, docs / "images" / "growth.svg")
    written = page.section(content, "../images/growth.svg")
    write_section(docs / "guide" / "costs.md", page.BEGIN, page.END, written)
    if path.resolve() != kept:
        shutil.copy(path, kept)


def _measure(options):
    if options.restart:
        options.output.unlink(missing_ok=True)
    records = Records(options.output, options.threads)
    shared = {"repeats": options.repeats, "threads": options.threads}
    if options.command == "first":
        measure_first(records, rows=options.sizes, say=_say, **shared)
    elif options.command == "busy":
        measure_busy(records, say=_say, **shared)
    else:
        settings = curves.Settings(
            sizes=tuple(options.sizes),
            columns=tuple(options.columns),
            methods=tuple(options.methods),
            registry=options.registry,
            budget=options.budget,
            most_bytes=int(options.memory * 2**30),
            **shared,
        )
        curves.measure_curves(records, settings, say=_say)


def _say(line):
    print(line, flush=True)


def _interrupt(number, frame):  # noqa: ARG001 - the signature of a handler
    raise KeyboardInterrupt


def _options(arguments):
    """Parse the command line; without a command it is "curves"."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth",
        description="Measure how cost grows with the size of the table.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    parsers = {name: commands.add_parser(name) for name in COMMANDS}
    for name in ("curves", "first", "busy"):
        add = parsers[name].add_argument
        add("--repeats", type=int, default=3, help="of which the median is shown")
        add("--threads", type=int, default=n_threads(), help="for every method")
        add("--output", type=Path, default=Path("growth.json"), metavar="FILE.json")
        add("--restart", action="store_true", help="forget what the file holds")
    add = parsers["curves"].add_argument
    add("--sizes", type=int, nargs="+", default=curves.SIZES, metavar="N")
    add("--columns", type=int, nargs="+", default=curves.COLUMNS, metavar="D")
    add("--methods", nargs="+", default=(), metavar="NAME", help="only these")
    add("--registry", default=curves.Settings.registry, help="module with other METHODS")
    add(
        "--budget",
        type=float,
        default=curves.Settings.budget,
        metavar="SECONDS",
        help="a step that took longer is not run with more rows",
    )
    machine_gb = (memory.machine_bytes() or 20 * 2**30) / 2**30
    add("--memory", type=float, default=round(min(12.0, 0.6 * machine_gb), 1), metavar="GB")
    parsers["first"].add_argument("--sizes", type=int, nargs="+", default=ROWS, metavar="N")
    parsers["check"].add_argument("--tolerance", type=float, default=check.TOLERANCE)
    help_folder = "for growth.svg and growth.md, instead of the documentation"
    parsers["plot"].add_argument("--folder", type=Path, help=help_folder)
    for name in ("check", "plot"):
        parsers[name].add_argument("file", type=Path, metavar="FILE.json")
    if not arguments or arguments[0] not in (*COMMANDS, "-h", "--help"):
        arguments = ["curves", *arguments]
    return parser.parse_args(arguments)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    main()

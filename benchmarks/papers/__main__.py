"""The command line: run experiments, or publish the results of runs.

python -m benchmarks.papers NAME ... [--quick] [--output FOLDER]
python -m benchmarks.papers publish FOLDER ...
"""

import argparse
import logging
import sys
from pathlib import Path

from benchmarks.papers import NAMES, ExperimentsFailed, main


def run(arguments=None):
    """Read the command line, run the experiments, and return the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["publish"]:
        return publish_runs(words[1:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description="Run the papers' experiments and write a report with their numbers beside "
        "ours.",
        epilog="python -m benchmarks.papers publish FOLDER ... keeps the results of full runs in "
        "the repository and writes the documentation from them.",
    )
    add = parser.add_argument
    names = f"{', '.join(NAMES)}, a single experiment such as ukr2005:spiral, or all"
    add("names", nargs="+", metavar="NAME", help=names)
    add("--quick", action="store_true", help="fewer seeds, repeats and iterations")
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("twofold-papers"),
        metavar="FOLDER",
        help="folder for the report and its pictures (default: twofold-papers)",
    )
    options = parser.parse_args(words)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        report = main(options.names, quick=options.quick, folder=options.output)
    except ExperimentsFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (ValueError, OSError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; results.json holds the finished experiments\n")
        return 130
    print(report)
    return 0


def publish_runs(words):
    """Keep the results of runs in the repository and write the documentation from them."""
    from benchmarks.papers.publishing import publish

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers publish",
        description="Keep the results of runs, and write the documentation's pages from all that "
        "are kept.",
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="output of a run")
    options = parser.parse_args(words)
    for folder in options.folders:
        if not (folder / "results.json").is_file():
            parser.error(f"{folder} has no results.json; name the output folder of a run.")
    try:
        pages = publish(options.folders)
    except ValueError as error:
        parser.error(str(error))
    for page in pages:
        print(page)
    return 0


if __name__ == "__main__":
    sys.exit(run())

"""The command line: ``python -m benchmarks.papers NAME ... [--quick] [--output FOLDER]``."""

import argparse
import logging
import sys
from pathlib import Path

from benchmarks.papers import NAMES, ExperimentsFailed, main


def run(arguments=None):
    """Read the command line, run the experiments, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description="Run the papers' experiments and write a report with their numbers beside "
        "ours.",
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
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        report = main(options.names, quick=options.quick, folder=options.output)
    except ExperimentsFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except ValueError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; results.json holds the finished experiments\n")
        return 130
    print(report)
    return 0


if __name__ == "__main__":
    sys.exit(run())

"""``python -m twofold.reproduce NAME ... [--quick] [--output FOLDER]``."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from twofold.reproduce import NAMES, ExperimentsFailed, main


def run() -> int:
    """Read the command line, run, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m twofold.reproduce",
        description="Run the papers' experiments and write one report with their numbers beside ours.",
    )
    parser.add_argument(
        "names", nargs="+", metavar="NAME", help=f"{', '.join(NAMES)}, ukr2005:spiral, or all"
    )
    parser.add_argument("--quick", action="store_true", help="fewer seeds, repeats and iterations")
    parser.add_argument("-o", "--output", type=Path, default=Path("twofold-papers"))
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        report = main(options.names, quick=options.quick, folder=options.output)
    except ExperimentsFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except ValueError as error:
        parser.error(str(error))
    sys.stdout.write(f"{report}\n")
    return 0


if __name__ == "__main__":
    sys.exit(run())

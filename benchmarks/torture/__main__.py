"""Run the tests of the torture table, and write the table of docs/guide/reliability.md.

    python -m benchmarks.torture [ROW ...] [--publish]

The slow tests of estimators by their defaults run too. Without ``--publish`` the section is
printed. Rows that are run again replace their former outcomes. The exit code is that of pytest.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.harness.kept import origin, publish, read, recorded
from benchmarks.torture.page import section
from benchmarks.torture.rows import ROWS, tests

KEPT = ROOT / "benchmarks" / "torture" / "results.json"
PAGE = ROOT / "docs" / "guide" / "reliability.md"
MARKS = (
    "<!-- torture: written by python -m benchmarks.torture --publish; do not edit -->",
    "<!-- torture: end -->",
)
PART = "table"


def run(rows):
    """Run the tests of rows, and return the exit code of pytest and the outcomes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outcomes.json"
        pytest = [sys.executable, "-m", "pytest", "-p", "benchmarks.torture.recorder"]
        ended = subprocess.run(
            [*pytest, f"--torture={path}", "-q", "-m", "", *dict.fromkeys(tests(rows))],
            cwd=ROOT,
            check=False,
        )
        return ended.returncode, json.loads(path.read_text(encoding="utf-8"))


def content(kept):
    """Return the section of what is kept."""
    record = kept[PART]
    figures = record["figures"]
    return section(
        figures["outcomes"],
        figures["estimators"],
        origin("python -m benchmarks.torture --publish", record),
    )


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, metavar="ROW")
    parser.add_argument("--publish", action="store_true", help="keep the outcomes, write the page")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"no such row: {sorted(unknown)}; rows are 1 to {max(ROWS)}")
    code, outcomes = run(options.rows or list(ROWS))
    sys.path.append(str(ROOT / "tests" / "support"))
    from registry import DEFAULTS, ESTIMATORS

    if options.rows and KEPT.is_file():
        outcomes = read(KEPT)[PART]["figures"]["outcomes"] | outcomes
    measured = {PART: recorded({"outcomes": outcomes, "estimators": [*ESTIMATORS, *DEFAULTS]})}
    if options.publish:
        publish(KEPT, measured, [PART], PAGE, MARKS, content)
    else:
        print(content(measured))
    sys.exit(code)


if __name__ == "__main__":
    main()

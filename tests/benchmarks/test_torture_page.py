"""The table of bad input and faults: its rows name tests that exist, its page names everything."""

import ast
import json
from types import SimpleNamespace

from registry import CANNOT, DEFAULTS, ESTIMATORS

from benchmarks.harness import ROOT
from benchmarks.harness.kept import read
from benchmarks.torture.__main__ import KEPT, MARKS, PAGE, PART, content
from benchmarks.torture.page import section
from benchmarks.torture.recorder import ONCE, Recorder
from benchmarks.torture.rows import MAIN, ROWS, row_of


def names_in(path):
    """Return the tests of a file, and its classes, as in node ids."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
            found |= {f"{node.name}::{one.name}" for one in node.body if hasattr(one, "name")}
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return found


def test_every_row_has_tests_that_exist():
    assert list(ROWS) == list(range(1, 37))
    in_main = {row_of(f"{MAIN}::{name}") for name in names_in(MAIN)} - {None}
    for number, row in ROWS.items():
        assert row.tests or number in in_main
        for test in row.tests:
            path, _, name = test.partition("::")
            assert (ROOT / path).is_file(), test
            assert not name or name in names_in(path), test
            assert row_of(f"{test}[some-parameters]") == number


def test_the_page_is_what_was_kept():
    _, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    published = rest.split(MARKS[1])[0].strip()
    assert published == content(read(KEPT))
    for number, row in ROWS.items():
        assert f"| {number} | {row.name} |" in published
    for name in ESTIMATORS:
        assert f"| `{name}` |" in published
    assert "FAILED" not in published
    assert "failed" not in published


def test_the_page_has_the_expected_failures_of_the_registry():
    outcomes = read(KEPT)[PART]["figures"]["outcomes"]
    published = {
        (name, reason)
        for found in outcomes.values()
        for name, entry in found.items()
        if entry.get("expected failures")
        for reason in entry["reasons"]
    }
    elsewhere = ("smooth", "euclidean")
    assert published == {
        (name, reason)
        for (name, row), reason in CANNOT.items()
        if (name in ESTIMATORS or name in DEFAULTS)
        and row not in elsewhere
        and not row.startswith("check_")
    }


def report(test, name, outcome, **more):
    return SimpleNamespace(
        nodeid=test,
        when="call",
        user_properties=[("estimator", name)],
        passed=outcome == "passed",
        skipped=outcome == "skipped",
        **more,
    )


def test_outcomes_are_recorded_by_row_and_estimator(tmp_path):
    recorder = Recorder(tmp_path / "outcomes.json")
    for one in (
        report(f"{MAIN}::test_05_order[ukr]", "ukr", "passed"),
        report(f"{MAIN}::test_05_order[drur]", "drur", "skipped", wasxfail="reason: swaps"),
        report(f"{MAIN}::test_05_order[sne]", "sne", "skipped", longrepr=("", 1, "Skipped: none")),
        report(f"{MAIN}::test_05_order[auto]", "auto", "failed"),
        report(f"{MAIN}::test_refit[ukr]", "ukr", "passed"),  # of no row
        report("tests/cli/test_cli_torture.py::test_bad_tables[a]", ONCE, "passed"),
    ):
        recorder.pytest_runtest_logreport(one)
    recorder.pytest_sessionfinish()
    outcomes = json.loads((tmp_path / "outcomes.json").read_text())
    assert outcomes == {
        "5": {
            "ukr": {"passed": 1},
            "drur": {"expected failures": 1, "reasons": ["swaps"]},
            "sne": {"skipped": 1, "reasons": ["none"]},
            "auto": {"failed": 1},
        },
        "36": {ONCE: {"passed": 1}},
    }
    written = section(outcomes, ["ukr", "drur", "sne", "auto"], "A run.").splitlines()
    assert "| | 5 |" in written
    for line in ("| `ukr` | ✓ |", "| `drur` | ✗ |", "| `sne` | – |", "| `auto` | FAILED |"):
        assert line in written
    assert "| 36 | bad tables and faults on the command line |  | 1 passed |" in written
    assert "* 5, `drur`: swaps." in written

"""A pytest plugin that records outcomes by row of the torture table and by estimator.

pytest -p benchmarks.torture.recorder --torture FILE ...
"""

import json
from pathlib import Path

import pytest

from benchmarks.torture.rows import row_of

FEW = "-few"
"""The ending of an estimator's name in tests with few rows."""

ONCE = "once"
"""Stands for the estimator of tests that run once for all of them."""


def pytest_addoption(parser):
    parser.addoption("--torture", type=Path, help="the file for the outcomes of the torture table")


def pytest_configure(config):
    if config.getoption("--torture") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config.getoption("--torture")))


def pytest_collection_modifyitems(items):
    """Tell reports, which may come from another process, the estimator of their test."""
    from registry import DEFAULTS, ESTIMATORS

    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        name = str(params.get("name", ONCE)).removesuffix(FEW)
        known = name in ESTIMATORS or name in DEFAULTS
        item.user_properties.append(("estimator", name if known else ONCE))


class Recorder:
    """Collects the outcomes of a run: by row and estimator, how often each, and the reasons."""

    def __init__(self, path):
        self.path = path
        self.found = {}

    def pytest_runtest_logreport(self, report):
        """Count a test once: its call, or what kept it from running."""
        row = row_of(report.nodeid)
        if row is None or (report.when != "call" and report.passed) or report.when == "teardown":
            return
        outcome, reason = _outcome(report)
        estimator = dict(report.user_properties)["estimator"]
        entry = self.found.setdefault(str(row), {}).setdefault(estimator, {})
        entry[outcome] = entry.get(outcome, 0) + 1
        if reason and reason not in entry.setdefault("reasons", []):
            entry["reasons"].append(reason)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self):
        """Write the outcomes."""
        self.path.write_text(json.dumps(self.found, sort_keys=True), encoding="utf-8")


def _outcome(report):
    """Return the outcome of a test, and the reason if it says one."""
    if hasattr(report, "wasxfail"):
        reason = report.wasxfail.removeprefix("reason: ")
        return ("expected failures" if report.skipped else "failed"), reason
    if report.skipped:
        return "skipped", report.longrepr[2].removeprefix("Skipped: ")
    return ("passed" if report.passed else "failed"), None

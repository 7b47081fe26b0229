"""A pytest plugin: binds the peer's name to an adapter, and writes what became of each test.

The name is replaced in the namespace of the collected module, and in a copy of ``manifold`` where
the module reaches the class through its package. A test that passes without fitting a model of ours
says nothing about it and counts as not applicable.
"""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.peers.adapters import COLUMNS, Adapter, NotShared

UNTOUCHED = "does not fit the estimator: it tests functions of the peer's own module"
SKIPPED = "the peer skips it here"
SOLVERS = ("eigen_solver", "path_method", "solver")
"""Parameters of tests that choose between algorithms for one result: the first value is run."""

PASSED, FAILED, NOT_APPLICABLE = "passes", "fails", "not applicable"
_records = []


def pytest_collection_modifyitems(config, items):
    column = COLUMNS[os.environ["PEERS_COLUMN"]]
    for module in {item.module for item in items}:
        replace(module, column.peer, column.make)
    first = {}
    for item in items:
        first.setdefault(_without_solver(item), item)
    repeated = [item for item in items if first[_without_solver(item)] is not item]
    items[:] = first.values()
    config.hook.pytest_deselected(items=repeated)


def _without_solver(item):
    """Return test and parameters of a case, but for those that choose the peer's algorithm."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    kept = {key: str(value) for key, value in parameters.items() if key not in SOLVERS}
    return item.originalname, tuple(sorted(kept.items()))


def replace(module, name, made):
    """Bind a name in a module, also where it is an attribute of the imported ``manifold``."""
    if hasattr(module, name):
        setattr(module, name, made)
    package = getattr(module, "manifold", None)
    if package is not None and hasattr(package, name):
        module.manifold = SimpleNamespace(**(vars(package) | {name: made}))


def pytest_runtest_setup():
    Adapter.used = 0


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" or report.outcome == "skipped":
        _records.append(_judged(item, call, report))


def _judged(item, call, report):
    record = {"test": item.originalname, "case": item.name, "seconds": call.duration}
    if report.outcome == "skipped":
        return record | {"outcome": NOT_APPLICABLE, "reason": SKIPPED}
    if report.outcome == "passed":
        if Adapter.used:
            return record | {"outcome": PASSED, "reason": ""}
        return record | {"outcome": NOT_APPLICABLE, "reason": UNTOUCHED}
    error = call.excinfo.value
    if isinstance(error, NotShared):
        return record | {"outcome": NOT_APPLICABLE, "reason": str(error)}
    lines = str(error).strip().splitlines() or [""]
    return record | {"outcome": FAILED, "reason": f"{type(error).__name__}: {lines[0]}"}


def pytest_sessionfinish():
    Path(os.environ["PEERS_RECORDS"]).write_text(json.dumps(_records), encoding="utf-8")

"""A few hostile tables through the commands; ``python -m benchmarks.fuzz tables`` has all."""

import subprocess
import sys

import numpy as np
import pytest

from benchmarks.fuzz import _table_runs, tables
from benchmarks.harness import ROOT

SMALL = [kind for kind in _table_runs.KINDS if not kind.startswith(("file: 10,000", "file: one"))]
SHORT = [kind for kind in SMALL if "bomb" not in kind and "far" not in kind][::6]
COMMANDS = list(_table_runs.COMMANDS)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return _table_runs.good_model(tmp_path_factory.mktemp("good"))


@pytest.mark.parametrize("number", range(0, len(SHORT), 8))
def test_hostile_tables(number, model, tmp_path):
    problems = []
    for at, kind in enumerate(SHORT[number : number + 8], start=number):
        folder = tmp_path / str(at)
        folder.mkdir()
        one = [COMMANDS[at % len(COMMANDS)]]
        problems += _table_runs.attack(kind, np.random.default_rng(at), folder, model, one)[1]
    assert problems == []


def test_at_least_a_hundred_kinds():
    assert len(set(_table_runs.KINDS)) > 350
    assert tables.kind_of(10**6, "") in _table_runs.RANDOM


def test_problems_are_found(tmp_path, monkeypatch):
    from twofold.cli.commands import info

    def hurt(*_):
        print("\x1b[31m", file=sys.stderr)
        (tmp_path / "left.csv").touch()
        raise KeyError("a bug")

    monkeypatch.setattr(info, "load_model", hurt)
    code, problems = _table_runs.problems_of(("info", "m.twofold"), tmp_path)
    assert code == 1
    assert [what.split(" [")[0][:20] for what in problems] == [
        "is called a bug: Err",
        "prints '\\x1b[31m'",
        "prints another line:",
        "fails and leaves lef",
    ]


def test_a_child_that_dies_is_found_and_replaced(monkeypatch):
    started = []

    def start(options, first):
        started.append(first)
        die = 'import os; print(\'{"number": 0, "kind": "x"}\', flush=True); os.abort()'
        good = (
            'print(\'{"number": 1, "kind": "x"}\'); '
            'print(\'{"number": 1, "code": 0, "problems": []}\')'
        )
        command = [sys.executable, "-c", die if first == 0 else good]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(tables, "start_child", start)
    found = list(tables.outcomes(type("Options", (), {"first": 0, "count": 2})))
    assert started == [0, 1]
    assert "the process ends with code -6" in found[0]["problems"][0]
    assert found[1]["code"] == 0

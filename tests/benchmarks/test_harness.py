"""The benchmarks' harness: processes and facts about the machine.

Limits on time and memory are tested by ``test_rivals.py``.
"""

import subprocess

import pytest

from benchmarks.harness import worker
from benchmarks.harness.jobs import alone
from benchmarks.harness.machine import commit, describe_machine, versions
from benchmarks.harness.parallel import in_processes


def test_in_order():
    assert in_processes(abs, [-3, 2, -1]) == [3, 2, 1]


def test_alone():
    found = alone(describe_machine)
    assert found["cores"] == describe_machine()["cores"]
    assert 0.01 < found["peak_gb"] < 1.0
    with pytest.raises(RuntimeError, match="TypeError"):
        alone(describe_machine, nothing=1)


def test_only_functions_of_the_benchmarks_run_alone():
    with pytest.raises(ValueError, match="not in the benchmarks"):
        worker.found("os:getcwd")


def test_machine(tmp_path, monkeypatch):
    assert versions(["twofold", "nobody-has-it"]).keys() == {"python", "twofold", "nobody-has-it"}
    assert versions(["nobody-has-it"])["nobody-has-it"] is None
    assert describe_machine()["cores"] >= 1
    # Inside another repository, the commit of that repository is not ours.
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr("benchmarks.harness.machine.__file__", str(tmp_path / "machine.py"))
    assert commit() is None

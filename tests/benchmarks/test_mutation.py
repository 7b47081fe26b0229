"""The mutation tests: what is changed, and that a planted mutant is killed and a survivor told."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks.harness import ROOT
from benchmarks.harness.kept import read
from benchmarks.mutation import record
from benchmarks.mutation.mutants import drawn, mutant, places
from benchmarks.mutation.targets import TARGETS

SOURCE = '''"""Text 1 + 1."""

def clipped(value: "1 + 1", low: float = 0.0) -> float:
    """Return 2 * 3."""
    if value < low:
        raise ValueError("no" * 3)
    return max(value - 1, low)
'''

TESTS = """
from tiny.clipping import clipped

def test_clipped():
    assert clipped(5.0) == 4.0
"""

RUN = """
import json, sys
from pathlib import Path
from benchmarks.mutation.forked import Tests, inherit
from benchmarks.mutation.mutants import drawn

path = Path("src/tiny/clipping.py")
inherit(["pytest", "xdist.plugin"])
tests = Tests(Path(sys.argv[1]), "tiny", ["tests"])
mutants = drawn(Path(sys.argv[1], path).read_text(), 99, 0)
mutants = [one for one in mutants if one.before == "value < low"]
print(json.dumps([[one.before, one.after, tests.outcome(path, one.source)] for one in mutants]))
"""


def test_code_is_changed_and_neither_text_nor_types_nor_errors():
    found = [mutant(SOURCE, *place) for place in places(SOURCE)]
    assert [(one.line, one.before, one.after) for one in found] == [
        (3, "0.0", "1.0"),
        (5, "value < low", "value <= low"),
        (5, "value < low", "value >= low"),
        (7, "return max(value - 1, low)", "return None"),
        (7, "max", "min"),
        (7, "value - 1", "value + 1"),
        (7, "1", "2"),
    ]
    for one in found:
        compile(one.source, "mutant", "exec")
        assert one.source != SOURCE
    assert len({one.source for one in found}) == len(found)
    assert drawn(SOURCE, 3, "seed") == drawn(SOURCE, 3, "seed")
    assert len(drawn(SOURCE, 3, "seed")) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_planted_mutant_is_killed_and_a_survivor_is_told(tmp_path):
    for name, text in (("src/tiny/clipping.py", SOURCE), ("tests/test_clipping.py", TESTS)):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", RUN, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    outcomes = {(before, after): outcome for before, after, outcome in json.loads(done.stdout)}
    assert outcomes["value < low", "value >= low"] == "killed"
    assert outcomes["value < low", "value <= low"] == "survived"
    assert (tmp_path / "src/tiny/clipping.py").read_text(encoding="utf-8") == SOURCE


def test_equivalent_mutants_do_not_count(tmp_path):
    examined = tmp_path / "examined.toml"
    examined.write_text(
        '[[equivalent]]\nfile = "a.py"\ncode = "if value < low:"\nbefore = "value < low"\n'
        'after = "value <= low"\nwhy = "Both bounds are the same."\n'
    )
    every = [mutant(SOURCE, *place) for place in places(SOURCE)]
    outcomes = [(one, "survived" if one.line in (3, 5) else "killed") for one in every]
    files, known = {"a.py": record.summarized(outcomes)}, record.reasons(examined)
    assert record.counted(files, known) == (7, 4, 1, 2)
    assert record.share(files, known) == 4 / 6
    again = [(one, "killed") for one in every if one.line == 3]
    files = {"a.py": record.merged(files["a.py"], again)}
    assert record.counted(files, known) == (7, 5, 1, 1)


def test_the_record_has_enough_mutants_and_the_guide_its_table():
    parts = read(record.KEPT)
    files = {file: part["figures"] for file, part in parts.items()}
    assert set(files) == set(TARGETS)
    assert record.counted(files, {})[0] >= 200
    assert record.share(files, record.reasons()) >= 0.9
    assert record.section(parts) in record.PAGE.read_text(encoding="utf-8")


def test_every_target_and_its_tests_exist():
    for file, arguments in TARGETS.items():
        assert (ROOT / "src" / "twofold" / file).is_file()
        assert all((ROOT / one).is_file() for one in arguments if one.startswith("tests/"))

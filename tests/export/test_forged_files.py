"""A short run of forged model files; `python -m benchmarks.fuzz files` is the long one."""

import sys

import numpy as np
import pytest

from benchmarks.fuzz import _models, _outcomes, files, guided
from benchmarks.fuzz._file_worker import forged
from benchmarks.fuzz._forging import WAYS, Forged, NothingLeftError, forge

QUICK = ("two_way-nw", "kplanes", "points", "table", "twister", "first", "ukr-columns", "drur-axes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    assert len(_models.save_all(folder, QUICK)) == len(QUICK)
    return folder


def test_outcomes_are_documented(folder):
    found = files.run(folder, 100, seed=1)
    assert not found.bad
    assert sum(found.counts.values()) == 100
    assert found.counts["refused"] > 50
    assert found.counts["used"] > 5


def test_files_can_be_forged_again(folder):
    again = [forged(folder, 5, number)[1:] for number in (0, 1, 0)]
    assert again[0] == again[2] != again[1]


def test_every_change_changes(folder):
    for way in set(WAYS):
        for number in range(20):
            one = Forged((folder / "two_way-nw.twofold").read_bytes())
            before, rng = one.signed(), np.random.default_rng(number)
            try:
                made = way(one, rng)
            except NothingLeftError:
                continue
            if (made[0] if isinstance(made, tuple) else one.signed()) != before:
                break
        else:
            pytest.fail(f"{way.__name__} changes nothing")


def test_a_model_that_is_not_changed_is_used(folder, tmp_path):
    for path in folder.glob("*.twofold"):
        content = Forged(path.read_bytes()).signed()
        former = path.stem.startswith("format-1")  # whose models fill no gaps
        expected = "an error" if former else "used"
        assert _outcomes.outcome_of(content, path, tmp_path / "same.twofold") == expected


def test_undocumented_outcomes_are_found(folder, tmp_path, monkeypatch):
    path = folder / "two_way-nw.twofold"
    content, _ = forge(path.read_bytes(), np.random.default_rng(0))
    for error in (TypeError("odd"), MemoryError("much")):

        def failing(path, error=error):
            raise error

        monkeypatch.setattr("twofold.load", failing)
        with pytest.raises(_outcomes.Bad, match="load: "):
            _outcomes.outcome_of(content, path, tmp_path / "one.twofold")
    monkeypatch.undo()
    content = Forged(path.read_bytes()).signed()
    for name, found in (
        ("transform", lambda self, X: X[:1]),
        ("inverse_transform", lambda self, Z: Z * np.nan),
        ("score", lambda self, X: [1.0]),
        ("sample", lambda self, n, random_state: 1 / 0),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(f"twofold.TwoWay.{name}", found)
            with pytest.raises(_outcomes.Bad):
                _outcomes.outcome_of(content, path, tmp_path / "one.twofold")


def test_children_that_end_are_noted(folder, monkeypatch, capsys):
    """A child that is killed at each file: all files are bad, and the run comes to its end."""
    dying = "import sys, os; print('{\"begins\": ' + sys.argv[4] + '}', flush=True); os.abort()"
    popen, python = files.subprocess.Popen, sys.executable

    def start(arguments, **options):
        return popen([python, "-c", dying, *arguments[2:]], **options)

    monkeypatch.setattr(files.subprocess, "Popen", start)
    assert files.main(["--folder", str(folder), "--count", "2"]) == 1
    said = capsys.readouterr().out
    assert said.count("ended with -6") == 2
    assert "2 files: {'bad': 2}" in said


def test_guided_fuzzing_needs_atheris(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(guided, "atheris", None)
    guided.run(1, tmp_path)
    assert "pip install atheris" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())

"""What type checkers say about a script that uses the library, and that it runs."""

import importlib.util
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "user_script.py"

WRONG = """
from twofold import UKR
UKR(n_componets=2)
UKR().fit([[0.0]]).embedding_.shape.nonsense
UKR(verbose="loud")
"""


def checked(path, folder):
    """Return what mypy says about a script of a user who has no settings of ours."""
    settings = folder / "mypy.ini"
    settings.write_text("[mypy]\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(settings)]
    command += ["--cache-dir", str(folder / "cache"), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_the_marker_is_inside():
    assert (files("twofold") / "py.typed").is_file()


def test_the_script_runs(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("user_script", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    with pytest.warns(UserWarning, match="The error was still falling"):
        total = script.main(tmp_path)
    assert 1.0 < total < 5.0
    assert "LBFGS" in capsys.readouterr().out


def test_mypy(tmp_path):
    pytest.importorskip("mypy")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG, encoding="utf-8")
    done = checked(SCRIPT, tmp_path)
    assert done.returncode == 0, done.stdout
    done = checked(wrong, tmp_path)
    lines = [line for line in done.stdout.splitlines() if " error: " in line]
    assert [int(line.split(":")[1]) for line in lines] == [3, 4, 5]

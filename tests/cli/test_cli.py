"""Start, exit codes and shell completion of the program."""

import json
import os
import signal
import subprocess
import sys
import time

import click
import pytest
from cli_runs import QUICK, ROLES, fails, files_in, run, write_flowers
from click.shell_completion import BashComplete
from click.testing import CliRunner

import twofold.cli
from twofold import __version__
from twofold.cli.application import cli


def complete(*words):
    *before, incomplete = words
    found = BashComplete(cli, {}, "twofold", "_TWOFOLD_COMPLETE").get_completions(
        before, incomplete
    )
    return [item.value for item in found]


def run_main(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["twofold", *arguments])
    with pytest.raises(SystemExit) as exit_:
        twofold.cli.main()
    return exit_.value.code


def test_installed_command():
    done = subprocess.run(
        [sys.executable, "-m", "twofold", "--version"], capture_output=True, text=True, check=True
    )
    assert __version__ in done.stdout


def test_help_of_every_command_is_short_and_has_examples():
    for name in cli.commands:
        help_ = run(name, "-h").stdout
        assert f"Usage: twofold {name}" in help_
        assert "..." not in cli.commands[name].get_short_help_str(limit=60), name
        assert "Examples:" in help_ or name == "demo"


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (click.Abort(), 130, "interrupted\n"),
        (OSError("No space left on device"), 1, "Error: No space left on device\n"),
        (PermissionError(13, "Permission denied", "a.csv"), 1, "Error: a.csv: Permission denied\n"),
        (ValueError("two\n lines"), 1, "Error: two lines\n"),
        (MemoryError(), 1, "Error: MemoryError\n"),
        (click.exceptions.Exit(3), 3, ""),
    ],
)
def test_exit_codes(monkeypatch, capsys, raised, code, said):
    def leave(**_):
        raise raised

    monkeypatch.setattr(cli.commands["demo"], "callback", leave)
    assert run_main(monkeypatch, "demo") == code
    assert capsys.readouterr().err == said


def test_a_bug_is_one_line_that_says_where_to_look(monkeypatch, capsys):
    def stumble(**_):
        raise KeyError("nothing there")

    monkeypatch.setattr(cli.commands["demo"], "callback", stumble)
    assert run_main(monkeypatch, "demo") == 1
    assert (
        "unexpected KeyError: 'nothing there' (a bug; TWOFOLD_TRACEBACK=1"
        in capsys.readouterr().err
    )
    monkeypatch.setenv("TWOFOLD_TRACEBACK", "1")
    monkeypatch.setattr(sys, "argv", ["twofold", "demo"])
    with pytest.raises(KeyError):
        twofold.cli.main()


def test_wrong_usage_is_one_line(monkeypatch, capsys):
    assert run_main(monkeypatch, "fit", "--nonsense") == 2
    error = capsys.readouterr().err
    assert error.startswith("Error: No such option")
    assert error.endswith("(see 'twofold fit -h')\n")
    assert error.count("\n") == 1
    assert run_main(monkeypatch) == 2
    assert "Commands:" in capsys.readouterr().err
    assert run_main(monkeypatch, "--version") == 0


def test_ctrl_c_while_the_program_is_loaded(monkeypatch, capsys):
    class Interrupting:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "twofold.cli.application", Interrupting())
    assert run_main(monkeypatch, "demo") == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_without_the_extra(monkeypatch):
    for name in ("click", "twofold.cli.application"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "twofold.cli.application")
    assert 'pip install "twofold[cli]"' in run_main(monkeypatch, "demo")


def test_ctrl_c_in_a_fit_leaves_nothing(tmp_path):
    data = write_flowers(tmp_path, n_rows=400)
    # The number of iterations is large enough that the fit cannot end before the signal.
    command = [sys.executable, "-m", "twofold", "fit", data, *ROLES]
    settings = [
        "-m",
        "sne",
        "--set",
        "max_iter=1000000",
        "--set",
        "tol=1e-300",
        "--set",
        "guidance=null",
    ]
    outputs = ["-o", tmp_path / "model.twofold", "--embedding", tmp_path / "latents.csv"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A suite started in the background may ignore SIGINT, and its children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen([*command, *settings, *outputs], **pipes)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        told = ""
        while "minimization" not in told:
            told = process.stderr.readline()
            assert told, "it ended by itself"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=20)
    assert process.returncode == 130
    assert error.splitlines()[-1] == "interrupted"
    assert "Traceback" not in error
    assert out == ""
    assert files_in(tmp_path) == ["flowers.csv"]


def test_a_reader_who_leaves_is_no_error(model):
    command = [sys.executable, "-m", "twofold", "sample", model, "-n", "5000"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    processes = [  # both at a time, since each takes a second to start
        subprocess.Popen(command, env=os.environ | {"PYTHONUNBUFFERED": unbuffered}, **pipes)
        for unbuffered in ("", "1")
    ]
    for process in processes:
        with process:
            assert process.stdout.read(5) == b"width"
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 1


def test_completion():
    assert complete("tr") == ["transform"]
    assert complete("fit", "x.csv", "-m", "s") == ["sne", "supervised-isomap"]
    assert complete("fit", "x.csv", "-m", "sne", "--set", "per") == ["perplexity="]
    assert complete("fit", "x.csv", "-m", "ukr", "--set", "leave") == ["leave_out="]
    assert complete("fit", "x.csv", "--set", "meth") == ["methods="]
    assert complete("fit", "x.csv", "-m", "a") == ["auto"]
    assert complete("fit", "x.csv", "--effort", "b") == ["balanced", "best"]
    assert complete("fit", "x.csv", "--set", "max_iter=1") == []
    assert complete("plot", "m.twofold", "--kind", "dec") == ["decoded"]


def test_completion_script():
    environment = {"_TWOFOLD_COMPLETE": "bash_source"}
    result = CliRunner(env=environment).invoke(cli, [], prog_name="twofold")
    assert "_TWOFOLD_COMPLETE=bash_complete" in result.stdout


def test_errors_name_what_to_install(model, data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert 'pip install "twofold[plot]"' in fails("plot", model, "-o", tmp_path / "map.png")
    assert 'pip install "twofold[plot]"' in fails("demo", "-o", tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert 'pip install "twofold[cli]"' in fails("transform", model, data)


def test_json_is_alone_on_standard_output(tmp_path):
    data = write_flowers(tmp_path)
    model = tmp_path / "m.twofold"
    for command in (
        ("fit", data, *QUICK, *ROLES, "-o", model),
        ("info", model),
        ("transform", model, data, *ROLES),
        ("reconstruct", model, data, *ROLES),
        ("sample", model, "-n", "3"),
        ("score", model, data, *ROLES),
        ("plot", model, data, *ROLES, "-o", tmp_path / "map.png"),
        ("impute", model, data),
        ("bench", data, *ROLES, "-m", "pca"),
    ):
        document = json.loads(run(*command, "--json").stdout)
        assert isinstance(document, dict)
        assert document

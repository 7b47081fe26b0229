"""Ctrl-C in each phase of a command: code 130, one line, and no partial file."""

import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_runs import QUICK, ROLES, files_in, write_flowers

import twofold
import twofold.cli

SOURCE = str(Path(twofold.__file__).parent)
TIMES = np.linspace(0.0, 0.9, 7)
"""Shares of the calls of a command after which it is interrupted."""

COMMANDS = {
    "fit": ("fit", "{data}", *QUICK, *ROLES, "-o", "{out}/m.twofold", "--embedding", "{out}/z.csv"),
    "transform": ("transform", "{model}", "{data}", "-o", "{out}/z.npz"),
    "impute": ("impute", "{model}", "{data}", "--std", "-o", "{out}/i.parquet"),
    "plot": ("plot", "{model}", "{data}", "-o", "{out}/p.png"),
    "explore": ("explore", "{model}", "{data}", "-o", "{out}/e.html"),
    "export": ("export", "{model}", "--map", "up", "-o", "{out}/x.onnx"),
}


class Interrupt:
    """Count the calls of functions of the library, and interrupt the one of a number.

    Generators do not count: Python ignores what is raised while it closes one.
    """

    def __init__(self, at=None):
        self.at, self.calls = at, 0

    def __call__(self, frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and code.co_name != "<genexpr>":
            self.calls += 1
            if self.calls == self.at:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)


def run(arguments, interrupt, monkeypatch):
    """Run the program, and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["twofold", *arguments, "--quiet"])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.setprofile(interrupt)
    try:
        twofold.cli.main()
    except SystemExit as exit_:
        return exit_.code
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_in_each_phase(name, model, tmp_path, monkeypatch, capsys):
    whole, out = tmp_path / "whole", tmp_path / "out"
    whole.mkdir()
    out.mkdir()
    data = write_flowers(tmp_path)

    def arguments(folder):
        return [word.format(model=model, data=data, out=folder) for word in COMMANDS[name]]

    counts = [Interrupt() for _ in range(3)]  # some calls are made by other threads or only once
    assert [run(arguments(whole), count, monkeypatch) for count in counts] == [0, 0, 0]
    n_calls = min(count.calls for count in counts)
    capsys.readouterr()
    for share in TIMES:
        # The first call is that of the program itself.
        interrupt = Interrupt(2 + int(share * n_calls))
        assert run(arguments(out), interrupt, monkeypatch) == 130
        assert capsys.readouterr().err == "interrupted\n"
        # A file that is there was complete before the interrupt.
        for file in files_in(out):
            assert (out / file).read_bytes() == (whole / file).read_bytes()
            (out / file).unlink()

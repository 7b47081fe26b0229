"""The page on the command line is true: its commands run, and say what the page says they say, but for the numbers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from twofold.cli.application import cli

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
PROGRESS = re.compile(r"\w+: [a-z ]+|[a-z ]+: iteration .*")
"""What stands for the progress bar where there is no terminal."""


def steps():
    """Return the commands of the page, each with the lines that follow it."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def said(lines):
    """Return lines with a mark for each number."""
    return [re.sub(r"-?\d+(\.\d+)*(e[-+]?\d+)?", "#", line) for line in lines]


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Return a function that runs a command as a shell would, in one folder."""
    folder = tmp_path_factory.mktemp("page")
    programs = folder / "bin"
    programs.mkdir()
    for name, call in {"python": "", "twofold": " -m twofold"}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{call} "$@"\n')
        (programs / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def run(command):
        if (
            command.startswith("twofold ") and "|" not in command
        ):  # within this process: no second start
            before = Path.cwd()
            os.chdir(folder)
            try:
                result = CliRunner().invoke(cli, command.split()[1:], prog_name="twofold")
            finally:
                os.chdir(before)
            return result.exit_code, result.output
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    run.folder = folder
    return run


def test_the_transcript(shell):
    for command, expected in steps():
        code, output = shell(command)
        assert code == int(any(line.startswith("Error: ") for line in expected)), (command, output)
        lines = [line for line in output.splitlines() if not PROGRESS.fullmatch(line)]
        assert said(lines) == said(expected), command
    assert (shell.folder / "map.png").read_bytes().startswith(b"\x89PNG")


def test_every_command_and_option_of_the_page_exists():
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `([a-z]+)", text, flags=re.MULTILINE))
    assert named == set(cli.commands)
    known = {
        opt
        for command in cli.commands.values()
        for one in command.params
        for opt in one.opts + one.secondary_opts
    }
    assert set(re.findall(r"--[a-z][a-z-]+", text)) <= known

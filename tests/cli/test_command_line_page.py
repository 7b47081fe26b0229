"""The commands of the page on the command line run, and print what the page shows.

Numbers may differ. Commands of twofold and Python run within this process, others in a shell.
"""

import re
import shlex
import subprocess
from pathlib import Path

from click.testing import CliRunner

from twofold.auto.contenders import CONTENDERS
from twofold.cli.application import cli

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
PROGRESS = re.compile(
    r"\w+: [a-z\d ]+(:\d+)?|[a-z ]+: iteration .*|[a-z\d ]+: \d+ s so far|race, round .*"
)
"""Lines that replace the progress bar if there is no terminal."""

RACE = re.compile(rf"(winner +)?({'|'.join(CONTENDERS)})\b.*")
"""Lines about a race, whose winner depends on rounding."""


def steps():
    """Return the commands of the page, each with the lines that follow it."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def said(lines):
    """Return lines with a mark for each number; of races only the number of lines."""
    lines = [RACE.sub("race", line) for line in lines]
    return [re.sub(r"-?\d+(\.\d+)*(e[-+]?\d+)?", "#", line) for line in lines]


def run(command):
    """Run a command as a shell would; return its exit code and its output."""
    if command.startswith("python -c "):
        exec(shlex.split(command)[2], {})
        return 0, ""
    if not command.startswith("twofold "):
        shell = ["bash", "-o", "pipefail", "-c", command]
        done = subprocess.run(shell, stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout
    result = None
    for part in command.split(" | "):
        stdin = None if result is None else result.stdout_bytes
        arguments = shlex.split(part)[1:]
        result = CliRunner().invoke(cli, arguments, input=stdin, prog_name="twofold")
    return result.exit_code, result.output


def test_the_transcript(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command, expected in steps():
        code, output = run(command)
        assert code == int(any(line.startswith("Error: ") for line in expected)), (command, output)
        lines = [line for line in output.splitlines() if not PROGRESS.fullmatch(line)]
        assert said(lines) == said(expected), command
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


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

"""Run the command line within the process of the tests, on a small table."""

import io

import numpy as np
import pandas as pd
from click.testing import CliRunner

from twofold.cli.application import cli

QUICK = ("-m", "two-way", "--set", "embedding=pca", "--set", "up=nw", "--set", "down=nw")
"""A method that takes a few hundredths of a second."""

ROLES = ("--label", "kind", "--id", "plant")
FEATURES = ["width", "height", "leaf length"]


def run(*arguments, stdin=None, code=0):
    """Run a command, check its exit code, and return its result."""
    result = CliRunner().invoke(
        cli, [str(one) for one in arguments], input=stdin, prog_name="twofold"
    )
    unexpected = result.exception if not isinstance(result.exception, SystemExit) else None
    assert result.exit_code == code, (result.output, unexpected)
    return result


def fails(*arguments, stdin=None, code=1):
    """Run a command that fails with one line on standard error, and return that line."""
    result = run(*arguments, "--quiet", stdin=stdin, code=code)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("Error: ")
    return result.stderr.removeprefix("Error: ").strip()


def read_csv(source):
    """Read a table that a command has written, with all digits of its numbers."""
    text = io.StringIO(source) if isinstance(source, str) else source
    return pd.read_csv(text)


def flowers(n_rows=40):
    """Return a small table with a label and names for its rows."""
    rng = np.random.default_rng(0)
    place = rng.uniform(size=n_rows)
    data = np.column_stack([np.cos(3 * place), np.sin(3 * place), place]) + 0.01 * rng.normal(
        size=(n_rows, 3)
    )
    frame = pd.DataFrame(data, columns=FEATURES)
    frame["kind"] = np.where(place < 0.5, "aster", "rose")
    frame.insert(0, "plant", [f"p{number}" for number in range(n_rows)])
    return frame


def write_flowers(folder, name="flowers.csv", n_rows=40):
    path = folder / name
    flowers(n_rows).to_csv(path, index=False)
    return path


def files_in(folder):
    """Return the names of all files, hidden ones too."""
    return sorted(path.name for path in folder.iterdir())

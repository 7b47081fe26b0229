"""Run commands on hostile tables, and judge the outcome.

Allowed are exit code 0 with a complete result, and exit code 1 or 2 with one line on standard error
and no file. The child process in which the tables run may not end, wait, or need much memory.
"""

import io
import re
import signal
import time
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
from click.testing import CliRunner

from benchmarks.fuzz._binary_tables import BYTES, FILE_NAMES, PLACES
from benchmarks.fuzz._text_tables import NAMES, TEXTS, composed, damaged
from twofold import load
from twofold.cli.application import cli
from twofold.numerics.plain_text import printable

QUICK = ("-m", "two-way", "--set", "embedding=pca", "--set", "up=nw", "--set", "down=nw")
"""A method that takes a few hundredths of a second."""

SECONDS, CPU_SECONDS = 300, 30
"""What a command on one of these tables may take, also on a busy machine."""

LONGEST_LINE = 3_000

SHARE_OF_RACES = 0.05
"""Share of random tables for which all methods race, which takes seconds."""

COMMANDS = {
    "transform": lambda model, data, out: ("transform", model, data, "-o", out / "z.csv"),
    "score": lambda model, data, out: ("score", model, data, "-o", out / "s.parquet"),
    "impute": lambda model, data, out: ("impute", model, data, "--std", "-o", out / "i.csv"),
    "reconstruct": lambda model, data, out: ("reconstruct", model, data, "-o", out / "r.npz"),
    "from latents": lambda model, data, out: (
        ("reconstruct", model, data, "--from-latents", "-o", out / "l.tsv")
    ),
    "explore": lambda model, data, out: ("explore", model, data, "-o", out / "e.html"),
    "plot": lambda model, data, out: ("plot", model, data, "-o", out / "p.png"),
    "export": lambda model, data, out: (
        ("export", model, data, "--map", "up", "-o", out / "x.onnx")
    ),
    "to standard output": lambda model, data, out: ("transform", model, data),
    "json": lambda model, data, out: ("transform", model, data, "--json"),
}
"""Commands on a model and a table; they write into a folder."""

WITHOUT_TABLE = {
    "info": lambda model, out: ("info", model),
    "sample": lambda model, out: ("sample", model, "-n", "5", "-o", out / "n.feather"),
}


class Hang(BaseException):
    """A command that takes too long."""


@contextmanager
def at_most(seconds):
    """Raise a Hang after so many seconds."""

    def stop(*_):
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def problems_of(arguments, out):
    """Run a command that writes into the folder ``out``; return its exit code and what is wrong."""
    before = {path.name for path in out.iterdir()}
    words = [str(word) for word in arguments] + ["--quiet"]
    began = time.process_time()
    try:
        with at_most(SECONDS):
            result = CliRunner().invoke(cli, words, prog_name="twofold")
    except Hang:
        return None, [f"takes more than {SECONDS} seconds [{' '.join(words)!a:.300}]"]
    taken = time.process_time() - began
    found = [f"takes {taken:.0f} seconds"] if taken > CPU_SECONDS else []
    new = {path.name for path in out.iterdir()} - before
    lines = result.stderr.split("\n")[:-1]
    if isinstance(result.exception, Exception):
        found.append(f"raises {result.exception!r}")
    found += [f"is called a bug: {line}" for line in lines if "(a bug;" in line]
    found += [f"prints {line[:200]!r}" for line in lines if printable(line) != line]
    found += [f"prints {len(line)} characters" for line in lines if len(line) > LONGEST_LINE]
    found += [f"warns: {line[:200]}" for line in lines if re.search(r"\w+Warning\b", line)]
    others = [line for line in lines if not line.startswith(("Error: ", "warning: "))]
    found += [f"prints another line: {line[:200]!r}" for line in others]
    errors = sum(line.startswith("Error: ") for line in lines)
    if result.exit_code == 0:
        found += [f"prints {errors} errors and succeeds"] if errors else []
        found += [f"writes {name}: {why}" for name in new if (why := _flaw(out / name))]
        if not new and not result.stdout:
            found.append("has no result")
    elif result.exit_code in (1, 2):
        found += [] if errors == 1 else [f"prints {errors} errors"]
        found += [f"fails and leaves {name}" for name in new]
        found += ["fails and prints a result"] if result.stdout else []
    else:
        found.append(f"has exit code {result.exit_code}")
    return result.exit_code, [f"{what} [{' '.join(words)!a:.300}]" for what in found]


def _flaw(path):
    """Return what is wrong with a written file, or nothing."""
    if path.name.startswith("."):
        return "an unfinished file"
    content = path.read_bytes()
    if path.suffix == ".twofold":
        load(path)
    elif path.suffix in (".csv", ".tsv"):
        separator = "," if path.suffix == ".csv" else "\t"
        frame = pd.read_csv(io.BytesIO(content), sep=separator, low_memory=False)
        latents = [name for name in frame.columns if re.fullmatch(r"twoway\d", name)]
        if len(frame) == 0:
            return "no rows"
        if path.name == "z.csv" and not np.isfinite(frame[latents].to_numpy(dtype=float)).all():
            return "latents that are not finite"
    elif path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            if not all(len(arrays[name]) for name in arrays.files if arrays[name].ndim):
                return "empty arrays"
    elif path.suffix in (".parquet", ".feather"):
        len(getattr(pd, f"read_{path.suffix[1:]}")(path))
    starts = {".html": b"<!doctype html>", ".png": b"\x89PNG"}
    if not content.startswith(starts.get(path.suffix, b"")):
        return "wrong first bytes"
    return ""


def written(kind, rng, folder):
    """Write a table of a kind into a folder, and return its path."""
    if kind in TEXTS:
        return _write(folder / "table.csv", TEXTS[kind](rng))
    if kind in BYTES:
        suffix = kind.split(":")[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zipfile's, of names that come twice
            return _write(folder / f"table.{suffix}", BYTES[kind](rng))
    if kind.startswith("place: "):
        path = folder / "table.csv"
        path = path / "table.csv" if kind.endswith("below a file") else path
        PLACES[kind.removeprefix("place: ")](path)
        return path
    if kind.startswith("called: "):
        name = FILE_NAMES[int(kind.removeprefix("called: "))]
        return _write(folder / name, TEXTS["cells: words"](rng))
    if kind == "damaged":
        some = [name for name in BYTES if not name.endswith("bomb")]
        chosen = str(rng.choice(some))
        suffix = chosen.split(":", maxsplit=1)[0]
        return _write(folder / f"table.{suffix}", damaged(rng, BYTES[chosen](rng)))
    return _write(folder / "table.csv", composed(rng))


def _write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


KINDS = (
    *TEXTS,
    *BYTES,
    *(f"place: {name}" for name in PLACES),
    *(f"called: {number}" for number in range(len(FILE_NAMES))),
)
"""All kinds of tables that have a name."""

RANDOM = ("composed", "damaged")
"""Kinds that are random every time."""


def good_model(folder):
    """Fit a model of numbers and words, and return its path."""
    rng = np.random.default_rng(0)
    data = _write(folder / "good.csv", TEXTS["cells: words"](rng))
    path = folder / "good.twofold"
    code, problems = problems_of(("fit", data, *QUICK, "-o", path), folder)
    assert (code, problems) == (0, [])
    return path


def options_for(rng):
    """Return options that name columns, as users may give them."""
    names = [name for pair in NAMES.values() for name in pair] + ["c0", "c1", "c2", "y", "a", "b"]
    found = []
    for option in ("--label", "--id", "--drop"):
        if rng.random() < 0.15:
            found.append(f"{option}={rng.choice(names)}")
    if rng.random() < 0.15:
        kinds = ["number", "log", "category", "ordered", "boolean", "date", "drop", "1,2,3", "a,b"]
        found.append(f"--kind={rng.choice(names)}={rng.choice(kinds)}")
    if rng.random() < 0.1:
        found.append("--no-header" if rng.random() < 0.5 else "--header")
    if rng.random() < 0.1:
        found.append("--decimal=,")
    return found


def attack(kind, rng, folder, model, commands=None):
    """Fit a table of a kind, and use it with its model, or if none is fitted, with a good one.

    ``folder`` is empty; the files in it are left there. ``commands`` are names of those to run, all
    of them by default. Return the exit code of the fit and what is wrong.
    """
    path, out = written(kind, rng, folder), folder / "out"
    out.mkdir()
    options = options_for(rng) if kind in RANDOM else []
    data = ("--", path) if path.name.startswith("-") else (path,)
    own = out / "m.twofold"
    code, problems = problems_of(("fit", *QUICK, *options, "-o", own, *data), out)
    if code == 0:
        for make in WITHOUT_TABLE.values():
            problems += problems_of(make(own, out), out)[1]
        model = own
    for name in COMMANDS if commands is None else commands:
        if code is not None and not (kind.startswith("place: a pipe") or path.name.startswith("-")):
            problems += problems_of(COMMANDS[name](model, path, out), out)[1]
    if kind in RANDOM and rng.random() < SHARE_OF_RACES:
        race = ("explore", path, "--effort", "fast", "-o", out / "race.html")
        problems += problems_of(race, out)[1]
    return code, [f"{kind}: {problem}" for problem in problems]

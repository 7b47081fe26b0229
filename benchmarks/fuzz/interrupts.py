"""Ctrl-C at random times in commands of the program.

    python -m benchmarks.fuzz interrupts [--count 60] [--seed 0]

Each run is a process of its own that gets SIGINT at a random time of its life. It has to end with
code 130 and one line, or with 0 if it was done, and may leave no partial file. The first moments,
in which Python itself starts, do not count.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import twofold

SOURCE = str(Path(twofold.__file__).resolve().parents[1])

STARTED = 0.3
"""Seconds that Python may take to start; several times as long on a busy machine."""

MOST_SECONDS = 60
"""What a process may take to end after the signal."""

COMMANDS = {
    "fit": "fit data.csv --effort fast -o out/m.twofold --embedding out/z.csv",
    "fit isomap": "fit data.csv -m isomap --label kind -o out/m.twofold",
    "transform": "transform m.twofold data.csv -o out/z.parquet",
    "impute": "impute m.twofold data.csv --std -o out/i.csv",
    "score": "score m.twofold data.csv -o out/s.csv",
    "sample": "sample m.twofold -n 200000 -o out/n.csv",
    "plot": "plot m.twofold data.csv -o out/p.png",
    "explore": "explore m.twofold data.csv -o out/e.html",
    "explore a table": "explore data.csv --effort fast -o out/e.html",
    "export": "export m.twofold data.csv --distill -o out/x.onnx",
    "read workbook": "transform m.twofold data.xlsx -o out/z.csv",
    "read standard input": "transform m.twofold - -o out/z.csv",
}


def make_inputs(folder):
    """Write a table of some thousand rows in two formats, and a model."""
    rng = np.random.default_rng(0)
    place = rng.uniform(size=2_000)
    curve = np.column_stack([np.cos(3 * place), np.sin(3 * place), place])
    frame = pd.DataFrame(curve + 0.01 * rng.normal(size=curve.shape), columns=["a", "b", "c"])
    frame["kind"] = np.where(place < 0.5, "x", "y")
    frame.loc[::50, "a"] = None
    frame.to_csv(folder / "data.csv", index=False)
    frame.to_excel(folder / "data.xlsx", index=False)
    (folder / "out").mkdir()
    process = start("fit data.csv -m drur -o m.twofold", folder)
    assert process.wait() == 0


def start(command, folder):
    """Start the program in a folder; standard input stays open."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which children inherit
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "twofold", *command.split()],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": SOURCE},
        )
    finally:
        signal.signal(signal.SIGINT, before)


def interrupt(command, after, folder):
    """Send a signal after some seconds; return the exit code and what is wrong."""
    process = start(command, folder)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    began = time.perf_counter()
    try:
        out, error = process.communicate(timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return None, [f"goes on for {MOST_SECONDS} seconds"]
    taken = time.perf_counter() - began
    code, found = process.returncode, []
    files = sorted((folder / "out").iterdir())
    done = bool(out) or "rows of" in error  # what is printed last
    if code == -signal.SIGINT and (done or error.endswith("interrupted\n")):
        # Python ends by the signal itself if it came late, or while it ran generated code.
        code = 0 if done else 130
    if code == 130:
        lines = error.splitlines()
        found += [] if lines and lines[-1] == "interrupted" else [f"ends with {lines[-1:]}"]
        found += [f"prints {out[:100]!r}"] if out else []
    elif code != 0:
        found.append(f"has exit code {code}: {error[-300:]!r}")
    found += [f"prints {error[-600:]!r}"] if re.search("Traceback|Exception ignored", error) else []
    found += [f"takes {taken:.1f} s to end"] if taken > 0.5 * MOST_SECONDS else []
    for path in files:
        found += [f"leaves {path.name}"] if path.name.startswith(".") else []
        if path.suffix == ".twofold":
            twofold.load(path)
        path.unlink()
    return code, found


def seconds_of(command, folder):
    """Return how long a command takes undisturbed; the one that waits for input gets a second."""
    began = time.perf_counter()
    process = start(command, folder)
    if " - " not in command:
        process.stdin.close()
        assert process.wait() == 0, process.stderr.read()
    else:
        time.sleep(4.0)
        process.kill()
        process.wait()
    for path in (folder / "out").iterdir():
        path.unlink()
    return time.perf_counter() - began


def main(arguments):
    """Interrupt commands, print what is wrong and a summary; return 1 if something is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz interrupts")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    rng, codes, n_wrong = np.random.default_rng(options.seed), {}, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_inputs(folder)
        seconds = {key: seconds_of(command, folder) for key, command in COMMANDS.items()}
        for number in range(options.count):
            key = list(COMMANDS)[number % len(COMMANDS)]
            after = rng.uniform(STARTED, 1.1 * seconds[key])
            code, found = interrupt(COMMANDS[key], after, folder)
            codes[code] = codes.get(code, 0) + 1
            n_wrong += bool(found)
            for what in found:
                print(f"{key} after {after:.2f} of {seconds[key]:.2f} s: {what}", flush=True)
    print(f"{options.count} interrupts, exit codes {codes}, {n_wrong} wrong")
    return int(n_wrong > 0)

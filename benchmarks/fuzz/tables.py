"""Hostile tables through the commands of the program.

    python -m benchmarks.fuzz tables [--count 1000] [--seed 0] [--only TEXT]

Each table is fitted, and the model, or another one if there is none, is used with it by ten
commands. The kinds that have a name come first; the rest of ``--count`` is made of random columns
under random names, and of damaged files. Nothing else than what `benchmarks.fuzz._table_runs` says
is allowed. The commands run in a child process, which may not end, wait or need more memory than
``MOST_BYTES``. What is wrong is printed with the seed of its table; ``--seed`` and ``--first``
repeat it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from shutil import rmtree

import numpy as np

import twofold.numerics.memory
from benchmarks.fuzz._table_runs import KINDS, RANDOM, attack, good_model
from benchmarks.harness import ROOT

FREE = 10**8
"""Bytes that the program takes for free memory: larger tables have to be errors."""

MOST_BYTES = 25 * FREE
"""Memory of the child process, with all packages."""

MOST_SECONDS = 900
"""What all commands on one table may take."""


def kind_of(number, only):
    """Return the kind of the table of a number."""
    kinds = [kind for kind in KINDS if only in kind]
    return kinds[number] if number < len(kinds) else RANDOM[number % len(RANDOM)]


def run_tables(options):
    """Run tables, and print a line of JSON for each when it begins and when it is done."""
    twofold.numerics.memory.available_memory = lambda: float(FREE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = good_model(folder)
        for number in range(options.first, options.first + options.count):
            kind = kind_of(number, options.only)
            print(json.dumps({"number": number, "kind": kind}), flush=True)
            rng = np.random.default_rng([options.seed, number])
            one = folder / str(number)
            one.mkdir()
            forget_peak()
            code, problems = attack(kind, rng, one, model)
            if (peak := peak_bytes()) > MOST_BYTES:
                problems.append(f"{kind}: needs {peak / 1e9:.1f} GB")
            rmtree(one)
            done = {"number": number, "code": code, "problems": problems}
            print(json.dumps(done), flush=True)


def peak_bytes():
    """Return the largest memory that this process has had since `forget_peak`."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def forget_peak():
    """Make the present memory of this process its peak."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def start_child(options, first):
    """Start a process that runs the tables from a number on."""
    words = ["--first", first, "--count", options.first + options.count - first]
    words += ["--seed", options.seed, "--only", options.only, "--child"]
    command = [sys.executable, "-X", "faulthandler", "-m", "benchmarks.fuzz", "tables"]
    return subprocess.Popen(
        [*command, *map(str, words)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def outcomes(options):
    """Yield the outcome of each table; a child that ends or waits is one, and is replaced."""
    number, last = options.first, options.first + options.count
    while number < last:
        child, begun = start_child(options, number), {"number": number, "kind": "start"}
        timer = threading.Timer(MOST_SECONDS, child.kill)
        timer.start()
        for line in child.stdout:
            found = json.loads(line)
            if "kind" in found:
                timer.cancel()
                timer = threading.Timer(MOST_SECONDS, child.kill)
                timer.start()
                begun = found
                continue
            number = found["number"] + 1
            yield found
        timer.cancel()
        child.stdout.close()
        if child.wait() or number < last:
            number = begun["number"] + 1
            why = f"{begun['kind']}: the process ends with code {child.returncode}"
            yield {"number": begun["number"], "code": None, "problems": [why]}


def main(arguments):
    """Run tables, print what is wrong and a summary; return 1 if something is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz tables")
    parser.add_argument("--count", type=int, default=1_000, help="number of tables")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first table")
    parser.add_argument("--only", default="", help="kinds whose name has this text")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        run_tables(options)
        return 0
    codes, n_wrong = {}, 0
    for found in outcomes(options):
        codes[found["code"]] = codes.get(found["code"], 0) + 1
        n_wrong += bool(found["problems"])
        for problem in found["problems"]:
            print(f"--seed {options.seed} --first {found['number']} --count 1: {problem}")
        sys.stdout.flush()
    print(f"{sum(codes.values())} tables, exit codes of the fits {codes}, {n_wrong} wrong")
    return int(n_wrong > 0)

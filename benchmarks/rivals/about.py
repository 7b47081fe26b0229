"""What a run must say of itself: machine, versions, commit, a digest of the code, the command."""

import hashlib
import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path

from benchmarks.rivals import ROOT, memory

COMMON = ("numpy", "scipy", "scikit-learn", "numba", "threadpoolctl")


def describe(packages, settings):
    """Return machine, versions, commit and command; ``conditions`` are what a resumed run must share.

    Parameters
    ----------
    packages : sequence of str
        Distributions whose versions matter; one that is missing has None.
    settings : dict
        Of the run, as plain values.
    """
    machine = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory.machine_bytes() / 2**30, 1),
    }
    versions = {"python": platform.python_version()}
    versions |= {name: _version(name) for name in sorted({*COMMON, *packages} - {"twofold"})}
    return {
        "commit": commit(),
        "command": command(sys.argv[1:]),
        "conditions": {
            "machine": machine,
            "versions": versions,
            "code": _digest(),
            "settings": {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()},
        },
    }


def command(arguments):
    """Return the command without the folders of this machine."""
    words = [
        Path(word).name if Path(word).is_absolute() else word
        for before, word in pairwise(["", *arguments])
        if "--folder" not in (before, word.partition("=")[0])
    ]
    return shlex.join(["python", "-m", "benchmarks.rivals", *words])


def commit():
    """Return the commit of the checkout, marked where it has been changed, or None."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _digest():
    """Return a digest of the code that is measured and of the code that measures.

    Report and command line do not count: changing them does not spoil a run.
    """
    measuring = ("adapters", "data", "measure", "memory", "methods", "process", "worker")
    files = sorted((ROOT / "src" / "twofold").rglob("*.py"))
    files += [Path(__file__).with_name(f"{name}.py") for name in measuring]
    hashed = hashlib.sha256()
    for file in files:
        hashed.update(file.relative_to(ROOT).as_posix().encode())
        hashed.update(file.read_bytes())
    return hashed.hexdigest()[:16]

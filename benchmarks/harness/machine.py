"""The machine, the versions and the commit of a run."""

import hashlib
import platform
import subprocess
from importlib.util import find_spec
from pathlib import Path

from benchmarks.harness import ROOT, memory
from twofold.cli.measurement import versions
from twofold.numerics.threads import usable_cores

__all__ = [
    "PACKAGES",
    "code_digest",
    "commit",
    "describe_machine",
    "files_digest",
    "is_installed",
    "usable_cores",
    "versions",
]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "threadpoolctl")
"""Distributions whose versions matter in every benchmark."""


def is_installed(module):
    """Return whether a module can be imported, without importing it."""
    return find_spec(module) is not None


def describe_machine():
    """Return system, processor, cores and, where it is known, memory."""
    described = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": usable_cores(),
    }
    total = memory.machine_bytes()
    return described if total is None else described | {"memory_gb": round(total / 2**30, 1)}


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def commit():
    """Return the commit of the checkout, marked if it has changes, or None.

    A copy without a repository of its own may lie inside another repository. Its commit would be
    wrong, so this file must be tracked.
    """
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    tracked = [*git, "ls-files", "--error-unmatch", here.name]
    described = [*git, "describe", "--always", "--dirty"]
    try:
        subprocess.run(tracked, capture_output=True, check=True)
        found = subprocess.run(described, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip() or None


def code_digest(measuring):
    """Return a digest of the code that is measured, twofold, and of the files that measure.

    Parameters
    ----------
    measuring : sequence of str
        Files, relative to the folder of the benchmarks.
    """
    files = sorted((ROOT / "src" / "twofold").rglob("*.py"))
    return files_digest([*files, *(ROOT / "benchmarks" / name for name in measuring)])


def files_digest(files):
    """Return a digest of the names and the content of files of the repository."""
    hashed = hashlib.sha256()
    for file in files:
        hashed.update(file.relative_to(ROOT).as_posix().encode())
        hashed.update(file.read_bytes())
    return hashed.hexdigest()[:16]

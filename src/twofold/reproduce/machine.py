"""Where and with what a run was made: versions, commit, machine, memory."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

__all__ = [
    "commit",
    "described_machine",
    "is_installed",
    "n_cores",
    "peak_gigabytes",
    "versions",
]

PACKAGES = (
    "twofold",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "matplotlib",
    "umap-learn",
    "ugtm",
    "torch",
)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that matter and are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def is_installed(module: str) -> bool:
    """Tell whether an optional module can be imported, without importing it."""
    return find_spec(module) is not None


def n_cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def described_machine() -> dict[str, str | int | float]:
    """Return the system, the processor, cores and memory, as far as they are known."""
    machine: dict[str, str | int | float] = {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": n_cores(),
    }
    try:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        machine["memory, GB"] = round(pages / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        pass  # not on this system
    return machine


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass  # not on this system
    return platform.processor() or platform.machine()


def commit() -> str | None:
    """Return the commit of the source this runs from; None for an installed package.

    A package installed inside somebody else's repository is not that repository's: this very file has to be tracked.
    """
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        subprocess.run(
            [*git, "ls-files", "--error-unmatch", here.name], capture_output=True, check=True
        )
        done = subprocess.run(
            [*git, "describe", "--always", "--dirty"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip() or None


def peak_gigabytes() -> float:
    """Return the most memory this process has held; nan where the system does not tell.

    Not ``ru_maxrss`` where it can be avoided: Linux lets a child begin with the peak of the process that started it.
    """
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) * 1024 / 1e9
    except OSError:
        pass  # not on this system
    try:
        import resource
    except ImportError:
        return float("nan")
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9

"""What a run says about itself: machine, versions, commit, a digest of the code, the command."""

import shlex
import sys
from itertools import pairwise
from pathlib import Path

from benchmarks.harness.machine import PACKAGES, code_digest, commit, describe_machine, versions

MEASURING = (
    *(f"harness/{name}.py" for name in ("jobs", "memory", "worker")),
    *(f"rivals/{name}.py" for name in ("adapters", "data", "jobs", "measure", "methods")),
)
"""The files that measure. Changes to the report and the command line do not spoil a run."""


def describe(packages, settings):
    """Return machine, versions, commit and command; a resumed run must share ``conditions``.

    Parameters
    ----------
    packages : sequence of str
        Distributions whose versions matter; a missing one has None.
    settings : dict
        Settings of the run, as plain values.
    """
    return {
        "commit": commit(),
        "command": command(sys.argv[1:]),
        "conditions": {
            "machine": describe_machine(),
            "versions": versions(sorted({*PACKAGES, *packages} - {"twofold"})),
            "code": code_digest(MEASURING),
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

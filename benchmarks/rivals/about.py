"""What a run says about itself: machine, versions, commit, a digest of the code, the command."""

import shlex
import sys
from itertools import pairwise
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.harness.machine import PACKAGES, commit, describe_machine, files_digest, versions
from benchmarks.rivals.probe import measures

MEASURING = (
    *(f"benchmarks/harness/{name}.py" for name in ("jobs", "memory", "worker")),
    *(
        f"benchmarks/rivals/{name}.py"
        for name in (
            "adapters",
            "catalogue",
            "continuum",
            "data",
            "jobs",
            "measure",
            "method",
            "networks",
            "references",
            "theirs",
            "ways_back",
        )
    ),
)
"""The files that measure: if one changes, all jobs of a run are void.

Changes to the report and the command line do not spoil a run. Of the library's measures only the
figures count, see `benchmarks.rivals.probe`.
"""
OF_OURS = ("src/twofold/**/*.py", "benchmarks/rivals/ours.py")
"""The files that our estimators depend on: if one changes, only our jobs are void."""


def digest(patterns):
    """Return a digest of the files of the repository that match the patterns."""
    return files_digest(sorted({file for one in patterns for file in ROOT.glob(one)}))


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
            "code": digest(MEASURING),
            "measures": measures(),
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

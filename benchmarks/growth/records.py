"""The JSON file of a run, written after each measurement, and what it says.

``curves``, ``first`` and ``busy`` are the parts of the file, each a dict of records by key. All
records of a file come from the same code, machine, versions and number of threads.
"""

import json
import statistics
from pathlib import Path

from benchmarks.harness.machine import code_digest
from benchmarks.harness.records import described, write_json

PACKAGES = ("umap-learn", "openTSNE", "pacmap")
MEASURING = (
    *(f"harness/{name}.py" for name in ("jobs", "memory", "worker")),
    *(f"growth/{name}.py" for name in ("busy", "first", "measure", "methods", "sheet")),
    *(f"rivals/{name}.py" for name in ("adapters", "method", "ours", "theirs")),
)
"""The files that measure. Changes to the report and the command line do not spoil a run."""
PARTS = ("curves", "first", "busy")


class OtherRunError(Exception):
    """The file holds a run under other conditions."""


class Records:
    """The file of a run.

    Parameters
    ----------
    path : Path
        The file; records that it holds already are kept.
    threads : int
        Number of threads of the run.
    """

    def __init__(self, path, threads):
        self.path = Path(path)
        about = described(*PACKAGES) | {"code": code_digest(MEASURING), "threads": threads}
        self.content = {"about": about} | {part: {} for part in PARTS}
        if self.path.exists():
            self.content = self._of_the_same_run(about)

    def keep(self, part, key, record):
        """Add or replace a record and write the file."""
        self.content[part][key] = record
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_json(self.path, self.content)

    def _of_the_same_run(self, about):
        content = read(self.path)
        differing = [
            name
            for name in ("machine", "versions", "code", "threads")
            if content["about"].get(name) != about[name]
        ]
        if differing:
            raise OtherRunError(
                f"{self.path} holds a run under other conditions ({', '.join(differing)}), and "
                "figures of two runs do not stand side by side. Give another --output, or "
                "--restart."
            )
        return content


def read(path):
    """Return the content of a file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def median(record, step, measure="seconds"):
    """Return the median of a measure of a step, or None if it was not measured."""
    values = record["figures"].get(step, {}).get(measure)
    return statistics.median(values) if values else None


def curves(content):
    """Return the records of the curves, ``{columns: {method: [record of each size, ...]}}``."""
    found = {}
    for record in sorted(content["curves"].values(), key=lambda one: one["rows"]):
        found.setdefault(record["columns"], {}).setdefault(record["method"], []).append(record)
    return dict(sorted(found.items()))

"""``results.json`` as rows: one for each method on each set, medians over the seeds."""

import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """A method on a set."""

    method: str
    label: str
    ours: bool
    figures: dict = field(default_factory=dict)
    """Medians over the finished seeds."""
    status: str = "ok"
    note: str = ""
    """Why figures are missing; empty if none are."""
    reference: bool = False
    """Whether it is a reference line without a bottleneck."""

    @property
    def error(self):
        return self.figures.get("error")

    @property
    def seconds(self):
        """Seconds to fit, and to encode and decode the held-out rows."""
        return self.figures.get("total_seconds")

    @property
    def is_two_way(self):
        return not self.reference and self.error is not None and self.seconds is not None


def read(path):
    return json.loads(Path(path).read_text())


def rows_of(results):
    """Return the rows of each set, ``{set: [Row, ...]}``, in the order of sets and methods."""
    jobs = [job for job in results["jobs"] if job["kind"] == "measure"]
    table = {}
    for data in results["sets"]:
        table[data["name"]] = [
            _row(method, mine)
            for method in results["methods"]
            if (
                mine := [
                    job
                    for job in jobs
                    if (job["data"], job["method"]) == (data["name"], method["name"])
                ]
            )
        ]
    return table


def first_calls(results):
    """Return the seconds to the first result of a fresh process, ``{method: {cache: seconds}}``."""
    found = {}
    for job in results["jobs"]:
        if job["kind"] == "first_call" and "first_call_seconds" in job["figures"]:
            found.setdefault(job["method"], {})[job["cache"]] = job["figures"]["first_call_seconds"]
    return found


def _row(method, jobs):
    parts = [_with_total(job["figures"]) for job in jobs]
    names = {name for figures in parts for name in figures}
    medians = {name: _middle([f[name] for f in parts if name in f]) for name in sorted(names)}
    bad = [job for job in jobs if job["status"] != "ok"]
    note = "; ".join(dict.fromkeys(_in_words(job) for job in bad))
    if bad and len(bad) < len(jobs):
        note = f"{len(bad)} of {len(jobs)} seeds: {note}"
    status = bad[0]["status"] if bad else "ok"
    reference = method.get("reference", False)
    return Row(method["name"], method["label"], method["ours"], medians, status, note, reference)


def _middle(values):
    """Return the median of numbers, or the most frequent text."""
    if isinstance(values[0], str):
        return statistics.mode(values)
    return statistics.median(values)


def _with_total(figures):
    steps = ("fit_seconds", "transform_seconds", "inverse_seconds")
    if not all(step in figures for step in steps):
        return figures
    return {**figures, "total_seconds": sum(figures[step] for step in steps)}


def _in_words(job):
    detail = " ".join(job["detail"].split())
    return {
        "missing": f"not installed ({detail})",
        "skipped": detail,
        "time": detail,
        "memory": detail if detail.startswith("over") else f"refused for memory: {detail}",
        "failed": f"failed in {job['step']}: {detail}",
        "crashed": f"crashed: {detail}",
    }[job["status"]]

"""The run: every method on every set for every seed, one process after the other, resumable.

Each finished job is one line of ``jobs.jsonl``. An interrupted run continues where it stopped if
nothing it depends on has changed. Our jobs also depend on the code of the library: those of another
version are measured again. At the end everything is written to ``results.json``. Two runs with
different methods may share a folder at the same time, each on cores of its own.
"""

import importlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.jobs import Limits, run_job
from benchmarks.harness.records import now, write_text
from benchmarks.rivals.about import OF_OURS, describe, digest
from benchmarks.rivals.data import slug

FEW_ROWS = 2_000
"""Up to this many rows a method runs for every seed, beyond only for the first."""
MANY_ROWS = 50_000
"""From this many rows on a job may take twice as long."""
TELLING_ROWS = 10_000
"""Fewer rows predict nothing for many: fixed costs dominate, and some methods switch algorithms."""
FAR_BEYOND = 2.0
"""A job is skipped if time in proportion to the rows exceeds its limit by this factor."""


class OtherRunError(Exception):
    """The folder holds a run under other conditions."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run."""

    mode: str
    registry: str = "benchmarks.rivals.methods"
    seeds: tuple[int, ...] = (0, 1, 2)
    threads: int = 2
    seconds: float = 300.0
    most_bytes: int = 12 * 2**30
    repeat_within: float = 20.0
    """A fit of at most these seconds is repeated for the first seed, to test that it repeats."""
    methods: tuple[str, ...] = ()
    """Names of the methods to run; empty means all."""

    def cap(self, rows):
        """Return the limit in seconds of a job with this number of rows."""
        return self.seconds * (2.0 if rows >= MANY_ROWS else 1.0)

    def registered(self):
        """Return all methods of the registry."""
        return importlib.import_module(self.registry).METHODS

    def packages(self):
        """Return the packages of all methods, chosen or not."""
        return sorted({method.package for method in self.registered()})

    def chosen(self):
        found = self.registered()
        unknown = set(self.methods) - {method.name for method in found}
        if unknown:
            names = ", ".join(repr(method.name) for method in found)
            raise ValueError(f"no method is called {sorted(unknown)}; there are {names}")
        return [method for method in found if not self.methods or method.name in self.methods]


class Run:
    """A run in a folder.

    Parameters
    ----------
    folder : Path
        For the data, the lines of the jobs and the results.
    settings : Settings
    say : callable
        Gets a line of text at each job.
    """

    def __init__(self, folder: Path, settings: Settings, say=print):
        self.folder = Path(folder)
        self.settings = settings
        self.say = say
        self.methods = settings.chosen()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lines = self.folder / "jobs.jsonl"
        self._about = self._agreed_about()
        self._code_of_ours = digest(OF_OURS)
        self._end_last_line()
        self.records = self._finished()
        self._scratch = self.folder / f"scratch-{os.getpid()}"
        self._sets = []

    def measure_all(self, sets: Sequence, left_out: Sequence[str] = ()):
        """Run the unfinished jobs on the given sets and write ``results.json``; return its path.

        ``left_out`` are the names of sets that are not asked for, which the page has to say.
        """
        missing = [{"name": name, "reason": "not part of this run"} for name in left_out]
        for data in sets:
            try:
                prepared = data.prepare(self._scratch)
            except (FileNotFoundError, ValueError) as error:
                self.say(f"{data.name}: left out, {error}")
                missing.append({"name": data.name, "reason": _without_paths(error)})
                continue
            self._sets.append(prepared.summary())
            self._measure_set(prepared)
            Path(prepared.path).unlink()
            self.write(missing)
        self._first_calls()
        shutil.rmtree(self._scratch, ignore_errors=True)
        return self.write(missing)

    def write(self, missing=()):
        """Write everything measured so far to ``results.json``; return its path."""
        self.records = self._finished()
        versions = {(entry["name"], entry["digest"]) for entry in self._sets}
        jobs = [
            record
            for record in self.records.values()
            if record["kind"] != "measure" or (record["data"], record["digest"]) in versions
        ]
        # Also methods of an earlier call: more can be added to a run.
        measured = {record["method"] for record in jobs} | {method.name for method in self.methods}
        content = {
            "about": {**self._about, "finished": now()},
            "settings": vars(self.settings),
            "sets": self._sets,
            "missing_sets": list(missing),
            "methods": [
                {
                    "name": method.name,
                    "label": method.label,
                    "ours": method.ours,
                    "reference": method.reference,
                    "settings": method.settings,
                    "package": method.package,
                }
                for method in self.settings.registered()
                if method.name in measured
            ],
            "jobs": jobs,
        }
        return write_text(self.folder / "results.json", json.dumps(content, indent=1))

    def _measure_set(self, prepared):
        few = prepared.rows <= FEW_ROWS
        for method in self.methods:
            seeds = self.settings.seeds if few and method.seeded else self.settings.seeds[:1]
            for seed in seeds:
                # A job of another version of the set, by its digest, is another job.
                key = f"{prepared.name}|{prepared.digest}|{method.name}|{seed}"
                if key in self.records:
                    continue
                reason = method.refusal(
                    prepared.rows, self.settings.most_bytes, prepared.features
                ) or self._outgrown(method, prepared)
                about = {"data": prepared.name, "method": method.name, "seed": seed}
                about |= {"kind": "measure", "rows": prepared.rows, "family": prepared.family}
                about["digest"] = prepared.digest
                record = (
                    {"status": "skipped", "detail": reason, "step": "start", "figures": {}}
                    if reason
                    else self._run(method, prepared, seed)
                )
                self._keep(key, about | record, method)
                if record["status"] in ("missing", "skipped", "time", "memory"):
                    break  # another seed would say the same

    def _run(self, method, prepared, seed):
        settings = self.settings
        first = seed == settings.seeds[0]
        more = {
            "data": str(Path(prepared.path).resolve()),
            "repeat_within": settings.repeat_within if first else 0,
        }
        seconds = settings.cap(prepared.rows)
        return self._run_job("measure_method", method, seed, seconds, more)

    def _run_job(self, function, method, seed, seconds, more=None, environment=None):
        """Run a function of ``benchmarks.rivals.jobs`` for a method within the limits."""
        settings = self.settings
        arguments = {
            "registry": settings.registry,
            "method": method.name,
            "threads": settings.threads,
            "seed": seed,
        }
        limits = Limits(seconds, settings.most_bytes, settings.threads)
        place = f"benchmarks.rivals.jobs:{function}"
        return run_job(place, arguments | (more or {}), self._scratch, limits, environment)

    def _outgrown(self, method, prepared):
        """Return why a method is skipped after trouble with fewer rows of its family, or None."""
        cap = self.settings.cap(prepared.rows)
        smaller = [
            record
            for record in self.records.values()
            if record["kind"] == "measure"
            and (record["family"], record["method"]) == (prepared.family, method.name)
            and record["rows"] < prepared.rows
        ]
        for record in smaller:
            if record["status"] in ("time", "memory"):
                return f"not run: {record['detail']} with {record['rows']:,} rows already"
        telling = [one for one in smaller if one["rows"] >= TELLING_ROWS and one["status"] == "ok"]
        if telling:
            largest = max(telling, key=lambda one: one["rows"])
            seconds = largest["figures"]["fit_seconds"]
            if seconds * prepared.rows / largest["rows"] > FAR_BEYOND * cap:
                return (
                    f"not run: {seconds:.0f} s with {largest['rows']:,} rows, so far beyond the "
                    f"cap of {cap:g} s here"
                )
        return None

    def _first_calls(self):
        """Time the first transform of fresh processes, with an empty and a full compile cache."""
        settings = self.settings
        for method in self.methods:
            if not method.times_first_call:
                continue
            cache = self.folder / "numba" / slug(method.name)
            if all(f"first|{state}|{method.name}" in self.records for state in ("empty", "full")):
                continue
            shutil.rmtree(cache, ignore_errors=True)
            for state in ("empty", "full"):
                about = {"data": "", "method": method.name, "seed": settings.seeds[0]}
                about |= {"kind": "first_call", "cache": state}
                record = self._run_job(
                    "first_call",
                    method,
                    about["seed"],
                    settings.seconds,
                    environment={"NUMBA_CACHE_DIR": str(cache.resolve())},
                )
                self._keep(f"first|{state}|{method.name}", about | record, method)
            shutil.rmtree(cache, ignore_errors=True)

    def _keep(self, key, record, method):
        record["key"] = key
        if method.ours:
            record["code"] = self._code_of_ours
        self.records[key] = record
        with self._lines.open("a") as file:
            file.write(json.dumps(record) + "\n")
        figures = record["figures"]
        shown = ", ".join(
            f"{name} {figures[name]:.4g}"
            for name in ("fit_seconds", "error", "accuracy", "first_call_seconds")
            if name in figures
        )
        where = record["data"] or f"first call, {record['cache']} cache"
        outcome = (
            record["status"] if not record["detail"] else f"{record['status']}: {record['detail']}"
        )
        self.say(f"{where} | {record['method']} | seed {record['seed']} | {outcome} | {shown}")

    def _finished(self):
        """Return the records of finished jobs.

        A line that was cut off is left out, and so are our jobs with other code of the library.
        """
        records = {}
        if self._lines.exists():
            for line in self._lines.read_text().splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    continue
                if record.get("code", self._code_of_ours) == self._code_of_ours:
                    records[record["key"]] = record
        return records

    def _end_last_line(self):
        """End a line that was cut off: what is appended must not join it."""
        if self._lines.exists() and not self._lines.read_text().endswith("\n"):
            with self._lines.open("a") as file:
                file.write("\n")

    def _agreed_about(self):
        """Return machine, versions and settings; raise an error if they differ from the run's."""
        path = self.folder / "about.json"
        # Which methods and seeds are run changes no figure of a job: a run can be extended by more
        # of them.
        conditions = {
            key: value
            for key, value in vars(self.settings).items()
            if key not in ("methods", "seeds")
        }
        described = describe(self.settings.packages(), conditions)
        if not path.exists():
            described["started"] = now()
            path.write_text(json.dumps(described, indent=1))
            return described
        before = json.loads(path.read_text())
        if before["conditions"] != json.loads(json.dumps(described["conditions"])):
            differing = [
                k for k, v in described["conditions"].items() if before["conditions"].get(k) != v
            ]
            raise OtherRunError(
                f"{self.folder} holds a run under other conditions ({', '.join(differing)}), and "
                "figures of two runs do not stand side by side. Give another --folder, or "
                "--restart."
            )
        commands = [*before.get("commands", [before["command"]]), described["command"]]
        before["commands"] = list(dict.fromkeys(commands))
        # That of our jobs, which all have the same code.
        before["commit"] = described["commit"]
        write_text(path, json.dumps(before, indent=1))
        return before


def _without_paths(error):
    """Return an error's first line without the folders of this machine."""
    words = str(error).splitlines()[0].split()
    return " ".join(Path(w).name if w.startswith("/") else w for w in words)

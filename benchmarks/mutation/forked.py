"""Run tests on mutants, each in a forked process.

Source and tests are copied to a temporary folder, where one file at a time is replaced. The parent
imports the large libraries, and never the code that is mutated; its children inherit them.
"""

import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

COPIED = ("src", "tests", "benchmarks", "pyproject.toml")
INHERITED = (
    "pytest", "numba", "scipy.optimize", "scipy.sparse", "scipy.spatial",
    "scipy.special", "scipy.stats", "sklearn.cluster", "sklearn.kernel_ridge", "sklearn.neighbors",
    "sklearn.neural_network", "sklearn.utils.estimator_checks",
)  # fmt: skip
OPTIONS = ["-n", "0", "-x", "-q", "--tb=no", "--no-showlocals", "-p", "no:cacheprovider"]
MEMORY = 8 * 2**30
"""Bytes of address space: what a mutant may ask for."""


@contextmanager
def copied(root):
    """Copy source and tests into a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            path = root / name
            if path.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
                shutil.copytree(path, Path(folder, name), ignore=ignored)
            elif path.exists():
                shutil.copy(path, folder)
        yield Path(folder)


def inherit(modules=INHERITED):
    """Import what the tests need, so that each child has it."""
    for name in modules:
        with suppress(ImportError):
            import_module(name)


class Tests:
    """The tests of one file, in a copy of the project."""

    def __init__(self, folder, package, arguments):
        self._folder, self._package, self._arguments = folder, package, arguments
        self._log = folder / "tests.log"
        # Twice: the first run compiles loops and writes what later ones read from caches.
        for _ in range(2):
            began, cpu = time.monotonic(), _cpu_of_children()
            status = self._run(86_400, 86_400, writes=True)
            seconds, cpu = time.monotonic() - began, _cpu_of_children() - cpu
        if status != 0:
            shown = self._log.read_text(encoding="utf-8")[-2000:]
            raise RuntimeError(f"the tests {arguments} fail without a mutant.\n{shown}")
        self.cpu = cpu
        self._limits = round(5.0 * cpu) + 10, 60.0 + 10.0 * seconds

    def outcome(self, path, source):
        """Return what the tests make of another text of a file: killed, survived, timed out."""
        path = self._folder / path
        kept = path.read_text(encoding="utf-8")
        cached = list((path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"))
        for one in cached:
            one.unlink()
        path.write_text(source, encoding="utf-8")
        try:
            status = self._run(*self._limits)
        finally:
            path.write_text(kept, encoding="utf-8")
        return {0: "survived", None: "timed out"}.get(status, "killed")

    def _run(self, cpu_seconds, seconds, *, writes=False):
        """Return pytest's exit status; None if the time is over."""
        child = os.fork()
        if child == 0:
            status = 70
            try:
                os.setsid()
                status = self._in_child(cpu_seconds, writes)
            except BaseException:  # noqa: BLE001 - the child ends here, whatever happened
                traceback.print_exc()
            finally:
                os._exit(status)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                over = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
                return None if over else os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None

    def _in_child(self, cpu_seconds, writes):
        import pytest

        log = os.open(self._log, os.O_CREAT | os.O_TRUNC | os.O_RDWR)
        for stream in range(3):
            os.dup2(log, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sys.dont_write_bytecode = not writes
        for name in list(sys.modules):
            if name.partition(".")[0] == self._package:
                del sys.modules[name]
        os.chdir(self._folder)
        sys.path.insert(0, str(self._folder / "src"))
        return int(pytest.main([*OPTIONS, *self._arguments]))


def _cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

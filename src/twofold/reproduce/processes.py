"""Runs side by side in processes, and runs alone in a fresh one."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config

from twofold.reproduce.machine import n_cores

__all__ = ["alone", "in_processes"]

Task = TypeVar("Task")
Found = TypeVar("Found")


def in_processes(function: Callable[[Task], Found], tasks: Iterable[Task]) -> list[Found]:
    """Return the results in order; as many processes as cores, each with one thread."""
    with parallel_config(backend="loky", inner_max_num_threads=1):
        found: list[Found] = Parallel(n_jobs=n_cores())(
            delayed(_quietly)(function, task) for task in tasks
        )
    return found


def _quietly(function: Callable[[Task], Found], task: Task) -> Found:
    """Run one task; the warnings of runs that are cut short on purpose are not for the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(task)


def alone(function: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
    """Run a function in a fresh process, so that its memory and its warm-up are its own.

    Parameters
    ----------
    function : callable
        At the top of a module; returns a dict that JSON can hold.
    **arguments
        Its arguments, which JSON can hold.

    Returns
    -------
    dict
        What it returned, and "peak_gb", the most memory that process held.
    """
    place = f"{function.__module__}:{function.__qualname__}"
    done = subprocess.run(
        [sys.executable, "-m", "twofold.reproduce.alone", place],
        input=json.dumps(arguments),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise RuntimeError(
            f"{place} failed in a process of its own: {said[-1] if said else done.returncode}"
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found

"""One process of a run: the four steps of one method on one table, each several times.

Nothing here imports twofold or a rival before the clock of a first call runs.
"""

import contextlib
import ctypes
import gc
import importlib
import sys
import time

import numpy as np

from benchmarks.growth.sheet import make_sheet
from benchmarks.harness import memory

STEPS = ("fit", "transform", "transform_one", "inverse_transform")
NEW_ROWS = 1_000
"""Rows that ``transform`` encodes and ``inverse_transform`` decodes."""
FEW_LATENTS = 20
"""Latents that are decoded before the clock starts: umap-learn needs seconds for more."""
WARM_ROWS = 6_000
"""Most rows of the fit before the clock starts. Smaller tables are fitted whole, so that this fit
takes the same path through the code; 6,000 rows take the path of many."""


def measure(notes, registry, method, rows, columns, threads, repeats=3, budget=np.inf, left_out=()):
    """Measure a method on a sheet; a step is repeated as long as its sum is within the budget.

    A method with ``first_call`` is fitted once, by a process in which nothing has run.
    """
    method = find(registry, method)
    notes.step("data")
    sheet, new = make_sheet(rows, columns), make_sheet(NEW_ROWS, columns, seed=1).X
    if method.first_call:
        timed(notes, "fit", lambda: _fitted(method, threads, sheet.X, sheet.y), 1, budget)
        return
    notes.step("warm-up")
    _warm_up(method, threads, sheet, new)
    model = timed(notes, "fit", lambda: _fitted(method, threads, sheet.X, sheet.y), repeats, budget)
    latents = None
    for step, argument in (("transform", new), ("transform_one", new[:1])):
        encode = getattr(model, "transform", None)
        if encode is not None and step not in left_out:
            found = _tried(notes, step, encode, argument, repeats, budget)
            latents = found if step == "transform" else latents
    decode = getattr(model, "inverse_transform", None)
    if decode is not None and latents is not None and "inverse_transform" not in left_out:
        _tried(notes, "inverse_transform", decode, latents, repeats, budget)


def find(registry, name):
    """Return the method of that name."""
    methods = importlib.import_module(registry).METHODS
    return next(method for method in methods if method.name == name)


def timed(notes, step, function, repeats, budget=np.inf):
    """Call a function several times; note seconds, CPU seconds and memory; return its result.

    CPU seconds are those of all threads of this process. ``extra_bytes`` is the peak memory above
    the memory in use before the call.
    """
    notes.step(step)
    figures = {"seconds": [], "cpu_seconds": [], "extra_bytes": []}
    while len(figures["seconds"]) < repeats and sum(figures["seconds"]) <= budget:
        result = None
        _release_memory()
        before = memory.start_counting()
        began, processor = time.perf_counter(), time.process_time()
        result = function()
        figures["seconds"].append(time.perf_counter() - began)
        figures["cpu_seconds"].append(time.process_time() - processor)
        figures["extra_bytes"].append(max(0, memory.peak_bytes() - before))
        notes.add(**{step: figures})
    return result


def _fitted(method, threads, X, y):
    model = method.make(0, threads)
    model.fit(*((X, y) if method.labels else (X,)))
    return model


def _warm_up(method, threads, sheet, new):
    """Import the package, and compile or load its code."""
    some = slice(None, WARM_ROWS)
    model = _fitted(method, threads, sheet.X[some], sheet.y[some])
    for step in (
        lambda: model.transform(new[:1]),
        lambda: model.inverse_transform(model.transform(new)[:FEW_LATENTS]),
    ):
        with contextlib.suppress(Exception):  # what fails is noted when its clock runs
            step()


def _tried(notes, step, function, argument, repeats, budget):
    """Time a step; return its result, or None if it raises, which is noted."""
    try:
        return timed(notes, step, lambda: function(argument), repeats, budget)
    except Exception as error:  # noqa: BLE001 - some cannot take one row, each in its own way
        notes.add(**{step: {"failed": f"{type(error).__name__}: {error}"}})
        return None


def _release_memory():
    """Return freed memory to the system, or the next call would seem to need less."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
        if trim is not None:
            trim(0)

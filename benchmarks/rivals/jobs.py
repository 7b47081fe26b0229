"""What a job does in its own process: measure one method on one set, or time its first call."""

import contextlib
import importlib
import time

import numpy as np

FIRST_CALL_ROWS = 200


def measure_method(notes, registry, method, seed, threads, data, repeat_within):
    """Measure a method on the set in a file."""
    # Not at the top: the first call of a rival must not wait for the import of twofold.
    from benchmarks.rivals.data import Split
    from benchmarks.rivals.measure import measure, measure_reference

    method = _find(registry, method)
    notes.step("data")
    split = Split.load(data)
    np.random.seed(seed)  # noqa: NPY002 - some rivals draw from the global state
    notes.step("import")
    with _naming(method.package):
        method.make(seed, threads)  # imports its package
        if method.reference:
            measure_reference(lambda: method.make(seed, threads), split, notes)
            return
        measure(
            lambda: method.make(seed, threads),
            split,
            notes,
            warm_up=method.warm_up,
            repeat_within=repeat_within,
        )


def first_call(notes, registry, method, seed, threads):
    """Note when the first transform of a fresh process has ended, on a small curved sheet."""
    method = _find(registry, method)
    rng = np.random.default_rng(0)
    plane = rng.uniform(-1.5, 1.5, (FIRST_CALL_ROWS, 2))
    lift = rng.standard_normal((4, 10))
    X = np.hstack([np.sin(2 * plane), plane]) @ lift + 0.05 * rng.standard_normal((len(plane), 10))
    with _naming(method.package):
        model = method.make(seed, threads)
        notes.step("fit")
        model.fit(X)
        notes.step("transform")
        if getattr(model, "transform", None) is not None:
            model.transform(X[:10])
    notes.add(first_call_seconds=time.time() - notes.started)


def _find(registry, name):
    methods = importlib.import_module(registry).METHODS
    return next(method for method in methods if method.name == name)


@contextlib.contextmanager
def _naming(package):
    """Let an error about a missing module name the package that needs it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{package}: {error}") from error

"""The promises of the maps, checked for one fuzzed fit.

``failures(case)`` fits the case twice and returns what broke, as pairs of a short kind (which
groups failures of one cause) and details.
"""

import pickle
import signal
import tempfile
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import twofold
from benchmarks.fuzz._fit_cases import NOT_IN_FILES
from benchmarks.fuzz._fit_outcomes import ERRORS, WARNINGS, documented

ROWS = 12
"""Rows of the fit, and as many others, that a fitted model maps."""

TOLERANCE = 1e-7
"""What the other rows of a batch may change, as a share of the largest value."""


KEEP_GAPS = ("LogCounts",)
"""Estimators whose outputs have gaps where their inputs do, as documented."""


class TooSlow(BaseException):
    """A case ran into its time limit; no ``except Exception`` takes it for an error of the code."""


def failures(case, seconds=60.0):
    """Return the broken promises of a case, as pairs of kind and details."""
    found = []
    try:
        with _time_limit(seconds), _warnings_into(found):
            _check(case, found)
    except TooSlow:
        found.append(("slow", f"more than {seconds:g} s of the processor"))
    except Exception as error:  # noqa: BLE001 - any other error is a finding
        if not (isinstance(error, ValueError) and documented(str(error), ERRORS)):
            found.append(_described(error))
    return found


def _check(case, found):
    X, other, y = case.data()
    before = X.tobytes()
    model = case.model().fit(X, y)
    rows = np.concatenate([X[:ROWS], other[:ROWS]])
    rows = rows[~np.isnan(rows.astype(float)).all(axis=1)]
    given = rows.tobytes()
    pickled = pickle.dumps(model)
    outputs = outputs_of(model, rows)
    if pickle.dumps(model) != pickled:
        found.append(("not pure", "a call changed the model"))
    if X.tobytes() != before or rows.tobytes() != given:
        found.append(("not pure", "a call changed its argument"))
    for name, output in outputs.items():
        finite = np.isfinite(output)
        if case.estimator in KEEP_GAPS and output.shape == rows.shape:
            finite |= np.isnan(rows)
        if not finite.all():
            found.append((f"{name} not finite", f"{finite.mean():.0%} finite"))
    _compare(found, "not deterministic", outputs_of(case.model().fit(X, y), rows), outputs)
    _compare(found, "pickle differs", outputs_of(pickle.loads(pickled), rows), outputs)
    if case.estimator not in NOT_IN_FILES and hasattr(model, "save"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.twofold"
            model.save(path)
            _compare(found, "saved differs", outputs_of(twofold.load(path), rows), outputs)
    _check_batches(found, model.transform if hasattr(model, "transform") else None, rows)
    if "inverse_transform" in outputs:
        _check_batches(found, model.inverse_transform, outputs["transform"])


def outputs_of(model, rows):
    """Return everything that a fitted model gives for rows, by name."""
    found = {}
    if hasattr(model, "embedding_"):
        found["embedding_"] = model.embedding_
    for name in ("transform", "reconstruct", "reconstruction_error", "impute", "predict_proba"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(rows)
    if "transform" in found:
        for name in ("inverse_transform", "log_density"):
            if hasattr(model, name):
                found[name] = getattr(model, name)(found["transform"])
        if hasattr(model, "score"):
            found["score"] = model.score(rows)
    if hasattr(model, "sample"):
        found["sample"] = model.sample(5, random_state=0)
    return {name: np.asarray(value, dtype=float) for name, value in found.items()}


def _compare(found, kind, outputs, expected):
    different = [
        name
        for name, output in outputs.items()
        if not np.array_equal(output, expected[name], equal_nan=True)
    ]
    if different:
        found.append((kind, ", ".join(different)))


def _check_batches(found, method, rows):
    """Compare a method on all rows, on single rows, and on every other row in reverse."""
    if method is None:
        return
    whole = _filled(method(rows))
    alone = _filled(np.concatenate([method(rows[i : i + 1]) for i in range(len(rows))]))
    reverse = _filled(method(rows[::-2]))
    extent = np.abs(whole).max(axis=0)
    precision = np.finfo(np.float32).eps if rows.dtype == np.float32 else 0.0
    allowed = max(TOLERANCE, 2.0 * precision) * extent
    for kind, one, two in (("alone", alone, whole), ("reversed", reverse, whole[::-2])):
        worst = np.abs(0.5 * one - 0.5 * two) > 0.5 * allowed  # halves cannot overflow
        if worst.any():
            n_rows = int(worst.any(axis=1).sum())
            unit = np.where(extent > 0.0, extent, 1.0)
            share = np.abs(one / unit - two / unit).max()
            details = f"{kind}: {n_rows} of {len(one)} rows differ, by up to {share:.1g}"
            found.append((f"{method.__name__} depends on the batch", details))
            return


def _filled(values):
    """Return values as floats, with 0 for gaps."""
    return np.nan_to_num(np.asarray(values, dtype=float), posinf=np.inf, neginf=-np.inf)


@contextmanager
def _warnings_into(found):
    """Add warnings that are not documented to the findings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            undocumented = {
                f"{one.category.__name__}: {str(one.message)[:160]}": one
                for one in caught
                if not documented(str(one.message), WARNINGS)
            }
            for message, one in undocumented.items():
                place = f"{Path(one.filename).name}:{one.lineno}"
                found.append((f"warning in {place}", message))


def _described(error):
    """Return kind and details of an error; the kind has the last line of twofold on its way."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "twofold" in frame.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    return f"{type(error).__name__} in {place}", str(error)[:300]


@contextmanager
def _time_limit(seconds):
    """Raise `TooSlow` in the main thread when the process has computed for so long."""

    def stop(*_):
        raise TooSlow

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, old)

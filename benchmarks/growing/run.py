"""Fit a model to the first batch, update it by the others, and fit another one to all rows."""

import time
import warnings

import numpy as np

from benchmarks.growing.tables import TABLES
from benchmarks.harness.kept import recorded
from twofold import DRUR, UKR, PrincipalManifold

METHODS = {
    "UKR": lambda seed: UKR(random_state=seed, n_jobs=1),
    "DRUR": lambda seed: DRUR(random_state=seed, n_jobs=1),
    "PrincipalManifold": lambda seed: PrincipalManifold(2, random_state=seed, n_jobs=1),
}
WARM_UP = 400


def part(name, method):
    """Return the name under which the runs of a table and a method are kept."""
    return f"{name}, {method}"


def run(names, methods, rows, seeds, say):
    """Return the records of tables and methods, by `part`."""
    found = {}
    for name in names:
        for method in methods:
            _warm_up(method)
            records = []
            for seed in seeds:
                one = measured(TABLES[name](rows[name], seed), METHODS[method], seed)
                records.append({"method": method, "seed": seed, "rows": rows[name]} | one)
                say(f"{name}, {method}, seed {seed}: {_line(one)}")
            found[part(name, method)] = recorded({"runs": records})
    return found


def measured(stream, make, seed):
    """Return errors, shifts and seconds of one model that grows, and of one fit to all rows.

    Seconds are those of the processor. The shift of the rows of the first batch is measured over
    all updates together; the others are the medians of single updates.
    """
    model = make(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(stream.batches[0])
        first = model.score(stream.test)
        start, updates = model.embedding_.copy(), []
        for batch in stream.batches[1:]:
            began = time.process_time()
            report = model.update(batch).update_report_
            updates.append({"seconds": time.process_time() - began} | _figures(report))
        began = time.process_time()
        once = make(seed).fit(np.concatenate(stream.batches))
        seconds = time.process_time() - began
    n = len(start)
    moved = np.linalg.norm(model.embedding_[:n] - start, axis=1)
    error, error_once = 1.0 - model.score(stream.test), 1.0 - once.score(stream.test)
    return {
        "first_error": 1.0 - first,
        "error": error,
        "error_once": error_once,
        "ratio": error / error_once,
        "median_shift": max(one["median_shift"] for one in updates),
        "largest_shift": max(one["largest_shift"] for one in updates),
        "shift_of_first": float(np.median(moved) / np.linalg.norm(np.ptp(start, axis=0))),
        "seconds_once": seconds,
        "share_of_refit": float(np.median([one["seconds"] for one in updates]) / seconds),
        "largest_share_of_refit": max(one["seconds"] for one in updates) / seconds,
        "off_known": _mean(updates, stream.late, late=False),
        "off_late": _mean(updates, stream.late, late=True),
        "updates": updates,
    }


def _figures(report):
    return {name: value for name, value in report if name != "seconds"}


def _mean(updates, numbers, *, late):
    """Return the mean share of rows off the manifold in updates with new regions, or without."""
    chosen = [one for k, one in enumerate(updates, start=1) if (k in numbers) == late]
    return float(np.mean([one["share_off"] for one in chosen])) if chosen else None


def _warm_up(method):
    """Compile what is compiled: small fits do not count."""
    X = np.random.default_rng(0).standard_normal((2 * WARM_UP, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        METHODS[method](0).fit(X[:WARM_UP]).update(X[WARM_UP:]).score(X)


def _line(one):
    return (
        f"error {one['error']:.4g}, once {one['error_once']:.4g}, ratio {one['ratio']:.3f}, shift "
        f"{100 * one['median_shift']:.2f} %, of a refit {one['share_of_refit']:.3f}, at most "
        f"{one['largest_share_of_refit']:.3f}"
    )

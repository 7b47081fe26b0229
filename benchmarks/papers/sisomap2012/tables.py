"""Classification after supervised Isomap: KRR, GRNN and direct classifiers.

Two collections: the ten UCI tables in the data folder, on which the abstract's claims are tested,
and tables with 24 rows a class. Tables with more than 600 rows (150 in quick runs) are reduced to a
stratified sample, drawn again for each repeat.

The defaults of `twofold.SupervisedIsomap` (the graph, the choice of the map) were chosen on
subsamples of optdigits, segment, vehicle, satimage, on glass, ionosphere and sonar, on COIL-20 and
on drawn curves, with other seeds than here. USPS, MNIST, scikit-learn's digits, iris, wine and wdbc
were not used for that; other samples of them were tried with the settings fixed.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.papers.records import Absent, Outcome, Row
from benchmarks.papers.sisomap2012 import small_classes
from benchmarks.papers.sisomap2012.comparison import (
    Accuracies,
    against_grnn,
    against_raw,
    as_table,
    bars,
    by_labels,
    compared,
    repeated,
)
from benchmarks.papers.sisomap2012.protocol import (
    KINDS,
    METHODS,
    Embedding,
    Setting,
    coordinates,
    scaled,
)
from twofold import AgglomerativeIsomap, SupervisedIsomap
from twofold.datasets import UCI_NAMES, data_folder, load_uci
from twofold.protocols import AnyArray, Array

MOST_ROWS, MOST_ROWS_QUICK = 600, 150
N_FOLDS, N_FOLDS_QUICK = 5, 2
SEEDS = (501, 502, 503)

PAIRS = (
    ("literal KRR", "literal GRNN"),
    ("literal KRR", "raw"),
    ("literal KRR", "literal A-Isomap"),
    ("default", "default, GRNN"),
    ("default, KRR", "default, GRNN"),
    ("default", "raw"),
    ("default", "default A-Isomap"),
    ("default", "literal KRR"),
)


@cache
def _table_of(name: str) -> tuple[Array, AnyArray]:
    data = load_uci(name)
    if "X" in data:
        X, y = data.X, data.y
    else:
        X, y = np.vstack([data.X_train, data.X_test]), np.append(data.y_train, data.y_test)
    return X.astype(float), y


def _rows_of(name: str, seed: int, most: int) -> tuple[Array, AnyArray]:
    X, y = _table_of(name)
    if len(X) > most:
        X, _, y, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=seed)
    return X, y


def _names() -> list[str]:
    """Return the tables in the data folder."""
    names = [name for name in UCI_NAMES if (data_folder() / f"uci/{name}.npz").is_file()]
    if not names:
        raise Absent(
            "none of the UCI tables is in the data folder (the environment variable TWOFOLD_DATA "
            "names it)"
        )
    return names


def _seeds(quick: bool) -> tuple[int, ...]:
    return SEEDS[:1] if quick else SEEDS


@cache
def _uci(quick: bool) -> Accuracies:
    """Measure the UCI tables; "gain" and "table" share the result."""
    most = MOST_ROWS_QUICK if quick else MOST_ROWS

    def arguments(name: str) -> Any:
        return lambda seed: (_rows_of, (name, seed, most))

    tables = {name: arguments(name) for name in _names()}
    return repeated(tables, tuple(METHODS), N_FOLDS_QUICK if quick else N_FOLDS, _seeds(quick))


def _numbers(values: Accuracies) -> dict[str, Any]:
    found: dict[str, Any] = {"table": as_table(values)}
    for kind, (first, second) in product(KINDS, PAIRS):
        found[f"{first} over {second}, {kind}"] = compared(values, first, second, kind)
    return found


def _absent_tables(values: Accuracies) -> list[Row]:
    absent = [name for name in UCI_NAMES if name not in values]
    return (
        [Row("tables that are not in the data folder", None, ", ".join(absent))] if absent else []
    )


def gain(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Compare KRR with GRNN on ten tables: three repeats of five folds."""
    values = _uci(quick)
    rows = [*against_grnn(values, tested=True), *_absent_tables(values)]
    return Outcome(rows=rows, numbers=_numbers(values), seeds=list(_seeds(quick)))


def table(quick: bool, folder: Path) -> Outcome:
    """Compare supervised Isomap with direct classifiers and with A-Isomap, in the same runs."""
    values = _uci(quick)
    rows = [*against_raw(values, tested=True), *by_labels(values)]
    pictures = bars(values, folder / "table.png", "accuracies by table and method")
    seeds = list(_seeds(quick))
    return Outcome(rows=rows, numbers=as_table(values), pictures=pictures, seeds=seeds)


def few(quick: bool, folder: Path) -> Outcome:
    """Compare all methods on tables with 24 rows a class."""

    def arguments(name: str) -> Any:
        return lambda seed: (small_classes.TABLES[name], (seed,))

    names = list(small_classes.TABLES)[-1:] if quick else list(small_classes.TABLES)
    values = repeated(
        {name: arguments(name) for name in names},
        tuple(METHODS),
        N_FOLDS_QUICK if quick else N_FOLDS,
        _seeds(quick),
    )
    rows = [*against_grnn(values, tested=False), *against_raw(values, tested=False)]
    pictures = bars(values, folder / "few.png", "accuracies with 24 rows a class")
    return Outcome(
        rows=rows, numbers=_numbers(values), pictures=pictures, seeds=list(_seeds(quick))
    )


def _estimator(method: str, how: Embedding, d: int) -> Any:
    """Return the estimator that a method of the protocol stands for."""
    if method == "default A-Isomap":
        return AgglomerativeIsomap(d, cross_fit=True)
    if method == "default":
        return SupervisedIsomap(d)
    literal: dict[str, Any] = {
        "n_neighbors": how.neighbors,
        "graph": "knn",
        "out_of_sample": "grnn" if method == "literal GRNN" else "krr",
        "cross_fit": "embedding",
    }
    if how.labels is None:
        return AgglomerativeIsomap(d, **literal)
    return SupervisedIsomap(d, alpha=how.alpha, beta="literal", **literal)


def check(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures, it is quick
    """Compare the shared loops with the estimators: largest differences, in latent deviations."""
    found: dict[str, dict[str, float]] = {"literal": {}, "default": {}}
    methods = ("literal KRR", "literal GRNN", "literal A-Isomap", "default", "default A-Isomap")
    for name, method, d in product(("wine", "glass"), methods, (2, 4)):
        X, y = _table_of(name)
        train, query = scaled(X[::2], X[1::2])
        how = METHODS[method].embeddings[-1]
        setting: Setting = how, d
        model = _estimator(method, how, d)
        left_out = model.fit_transform(train, y[::2])
        predicted = model.transform(query)
        ((_, _, Z, Q),) = coordinates(train, y[::2], query, {method: [setting]})
        off = max(np.abs(Z - left_out).max(), np.abs(Q - predicted).max())
        column = found[method.split()[0]]
        column[f"{name}, {method}, d = {d}"] = float(off / model.embedding_.std())
    rows = [
        Row(
            "largest difference of the protocol's loops and the estimators, over the latents' "
            "spread",
            "the same method",
            max(found["literal"].values()),
            "lower",
            default=max(found["default"].values()),
            bound=1e-6,
        )
    ]
    return Outcome(rows=rows, numbers=found)

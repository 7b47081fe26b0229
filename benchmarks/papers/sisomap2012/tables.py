"""Classification after supervised Isomap on ten UCI tables: KRR, GRNN, direct classifiers.

Tables with more than 600 rows (200 in quick runs) are reduced to a stratified sample, drawn again
for each repeat.

What was planned, and what was not. "gain" ran as it was planned, on seeds that nothing had been
tried on. For "table" one split (seed 0) was planned. It failed: k-NN gained 0.9 points over raw
data where 1 was asked for and was as good on five tables of ten (seven), and support vector
machines lost 1.2 (1) and were within a point on five (six). Repeats (seeds 1 and 2) were added
after that was seen. So there are now three fresh seeds, 201 to 203, and results of seeds 0 to 2 are
to be read with this in mind.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, wilcoxon
from sklearn.model_selection import train_test_split

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Absent, Outcome, Row
from benchmarks.papers.sisomap2012.protocol import KINDS, accuracies, coordinates, scaled
from twofold import AgglomerativeIsomap, SupervisedIsomap
from twofold.datasets import UCI_NAMES, data_folder, load_uci
from twofold.protocols import AnyArray, Array

MOST_ROWS, MOST_ROWS_QUICK = 600, 200
TABLE_SEEDS = (201, 202, 203)
FRESH_SEEDS = (101, 102, 103, 104, 105)

Accuracies = dict[str, dict[tuple[str, str], float]]
"""By table, then by method and classifier, in percent."""


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


def _run(task: tuple[str, tuple[str, ...], int, int, int]) -> dict[tuple[str, str], float]:
    name, methods, n_folds, seed, most = task
    X, y = _rows_of(name, seed, most)
    return accuracies(X, y, methods, n_folds, seed)


def _repeated(
    methods: tuple[str, ...], n_folds: int, seeds: tuple[int, ...], most: int
) -> Accuracies:
    """Return the mean accuracies over repeats."""
    names = _names()
    tasks = [(name, methods, n_folds, seed, most) for name in names for seed in seeds]
    found = in_processes(_run, tasks)
    values: Accuracies = {}
    for name in names:
        here = [one for task, one in zip(tasks, found, strict=True) if task[0] == name]
        values[name] = {key: float(np.mean([one[key] for one in here])) for key in here[0]}
    return values


def _compared(values: Accuracies, first: str, second: str, kind: str) -> dict[str, Any]:
    """Return the mean gain of one method over another, sets won, and the signed-rank test."""
    gains = np.array([row[first, kind] - row[second, kind] for row in values.values()])
    p_value = wilcoxon(gains, alternative="greater").pvalue if gains.any() else 1.0
    return {
        "mean gain": float(gains.mean()),
        "gains": dict(zip(values, gains.round(2).tolist(), strict=True)),
        "at least as good on": int((gains >= 0.0).sum()),
        "within a point on": int((gains >= -1.0).sum()),
        "one-sided Wilcoxon p": float(p_value),
    }


def _shown(values: Accuracies) -> dict[str, Any]:
    """Return the table as nested dictionaries, with mean ranks."""
    keys = list(next(iter(values.values())))
    found: dict[str, Any] = {
        name: {f"{m}, {k}": round(row[m, k], 2) for m, k in keys} for name, row in values.items()
    }
    for kind in KINDS:
        columns = [key for key in keys if key[1] == kind]
        ranks = [rankdata([-row[key] for key in columns]) for row in values.values()]
        found[f"mean ranks, {kind}"] = dict(
            zip((m for m, _ in columns), np.mean(ranks, axis=0).round(2).tolist(), strict=True)
        )
    return found


def _mean(values: Accuracies, method: str, kind: str) -> float:
    return float(np.mean([row[method, kind] for row in values.values()]))


def _absent_tables(values: Accuracies) -> list[Row]:
    absent = [name for name in UCI_NAMES if name not in values]
    return (
        [Row("tables that are not in the data folder", None, ", ".join(absent))] if absent else []
    )


def _against_grnn(values: Accuracies, found: dict[str, Any]) -> list[Row]:
    rows = []
    for kind in KINDS:
        compared = found[f"KRR over GRNN, {kind}"]
        rows += [
            Row(
                f"{kind}: mean gain of KRR over GRNN, points",
                "“out-of-sample mapping based on KRR consistently dominates its GRNN counterpart”",
                compared["mean gain"],
                "higher",
                bound=0.0,
                beside=f"KRR {_mean(values, 'KRR', kind):.1f} %, GRNN "
                f"{_mean(values, 'GRNN', kind):.1f} %",
            ),
            Row(
                f"{kind}: one-sided Wilcoxon p over the tables",
                "“statistical evidence”",
                compared["one-sided Wilcoxon p"],
                "lower",
                bound=0.05,
            ),
        ]
    return rows


def _against_raw(values: Accuracies, found: dict[str, Any]) -> list[Row]:
    most = len(values) // 2 + 1
    return [
        Row(
            f"{kind}: tables on which supervised Isomap with KRR is at least as good",
            "“a higher accuracy than direct classification methods on most data sets”",
            found[f"KRR over raw, {kind}"]["at least as good on"],
            "higher",
            bound=most,
            beside=f"KRR {_mean(values, 'KRR', kind):.1f} %, raw data "
            f"{_mean(values, 'raw', kind):.1f} %",
            note=f"Of {len(values)}; mean gain {found[f'KRR over raw, {kind}']['mean gain']:+.1f} "
            "points.",
        )
        for kind in KINDS
    ]


def gain(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Compare KRR with GRNN: five repeats of five folds, cross-fitted and on exact latents."""
    seeds = FRESH_SEEDS[:1] if quick else FRESH_SEEDS
    methods = ("KRR", "GRNN") if quick else ("KRR", "GRNN", "KRR, exact", "GRNN, exact")
    most = MOST_ROWS_QUICK if quick else MOST_ROWS
    values = _repeated(methods, 3 if quick else 5, seeds, most)
    found: dict[str, Any] = {"table": _shown(values)}
    found["rows"] = {name: len(_rows_of(name, 0, most)[0]) for name in values}
    pairs = [("KRR", "GRNN"), ("KRR", "raw")]
    if not quick:
        pairs += [("KRR, exact", "GRNN, exact"), ("KRR", "KRR, exact")]
    for kind, (first, second) in product(KINDS, pairs):
        found[f"{first} over {second}, {kind}"] = _compared(values, first, second, kind)
    rows = [*_against_grnn(values, found), *_against_raw(values, found), *_absent_tables(values)]
    if not quick:
        quantity = "mean gain over GRNN, both trained on the exact embedding, points"
        words = "the literal recipe of section 3"
        rows += _gains(found, "KRR, exact over GRNN, exact", quantity, words)
    return Outcome(rows=rows, numbers=found, seeds=list(seeds))


def _gains(found: dict[str, Any], pair: str, quantity: str, words: str) -> list[Row]:
    """Return the mean gain of a pair of methods for each classifier, read as at least 0."""
    return [
        Row(
            f"{kind}: {quantity}", words, found[f"{pair}, {kind}"]["mean gain"], "higher", bound=0.0
        )
        for kind in KINDS
    ]


def table(quick: bool, folder: Path) -> Outcome:
    """Ten stratified folds, three times: direct classifiers, KRR, GRNN, A-Isomap."""
    seeds = TABLE_SEEDS[:1] if quick else TABLE_SEEDS
    most = MOST_ROWS_QUICK if quick else MOST_ROWS
    values = _repeated(("KRR", "GRNN", "A-Isomap"), 2 if quick else 10, seeds, most)
    found: dict[str, Any] = {"table": _shown(values)}
    found["rows"] = {name: len(_rows_of(name, 0, most)[0]) for name in values}
    for kind, other in product(KINDS, ("raw", "GRNN", "A-Isomap")):
        found[f"KRR over {other}, {kind}"] = _compared(values, "KRR", other, kind)
    quantity = "mean gain by labels (over A-Isomap), points"
    words = "“class labels are used to improve the embedding”"
    by_labels = _gains(found, "KRR over A-Isomap", quantity, words)
    rows = [*_against_raw(values, found), *by_labels, *_absent_tables(values)]

    def paint(figure: Any) -> None:
        places = np.arange(len(values))
        for ax, kind in zip(figure.subplots(1, 2, sharey=True), KINDS, strict=True):
            for number, method in enumerate(("raw", "A-Isomap", "GRNN", "KRR")):
                heights = [row[method, kind] for row in values.values()]
                ax.bar(places + 0.2 * number - 0.3, heights, 0.2, label=method)
            ax.set_xticks(places, values, rotation=45, ha="right")
            ax.set(title=kind, ylim=(50, 101))
        figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=4)
        figure.axes[0].set_ylabel("accuracy, percent")

    pictures = draw(folder / "table.png", "accuracies by table and method", (13, 4.6), paint)
    return Outcome(rows=rows, numbers=found, pictures=pictures, seeds=list(seeds))


def check(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures, it is quick
    """Compare the shared loops with the estimators: largest differences, in latent deviations."""
    found = {}
    settings: tuple[Any, ...] = ((5, (0.5, 1.0), 4), (15, (1.0, 2.0), 8), (5, None, 2))
    for name, setting in product(("wine", "glass"), settings):
        X, y = _table_of(name)
        neighbors, labels, d = setting
        train, query = scaled(X[::2], X[1::2])
        for method, kind in (("KRR", "krr"), ("GRNN", "grnn")):
            options: dict[str, Any] = {
                "n_neighbors": neighbors,
                "graph": "knn",
                "out_of_sample": kind,
                "cross_fit": True,
            }
            if labels is None:
                model: Any = AgglomerativeIsomap(d, **options)
            else:
                model = SupervisedIsomap(d, alpha=labels[0], beta=labels[1], **options)
            left_out = model.fit_transform(train, y[::2])
            predicted = model.transform(query)
            ((_, _, Z, Q),) = coordinates(train, y[::2], query, {method: [setting]})
            off = max(np.abs(Z - left_out).max(), np.abs(Q - predicted).max())
            found[f"{name}, {setting}, {method}"] = float(off / model.embedding_.std())
    rows = [
        Row(
            "largest difference of the protocol's loops and the estimators, over the latents' "
            "spread",
            "the same method",
            max(found.values()),
            "lower",
            bound=1e-6,
        )
    ]
    return Outcome(rows=rows, numbers=found)

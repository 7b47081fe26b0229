"""Accuracies of all methods over tables and repeats, and the rows that compare them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, wilcoxon

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Picture, Row
from benchmarks.papers.sisomap2012.protocol import KINDS, Key, accuracies
from twofold.protocols import AnyArray, Array

Accuracies = dict[str, dict[Key, float]]
"""By table, then by method and classifier, in percent: means over repeats."""

LITERAL_NOTE = (
    "Literal: Eq. (1) with beta the mean distance of the standardized data, h in (5, 15), alpha in "
    "(0, 0.75) and d in (2, 4, 8, 16) by inner folds, classifiers trained on the exact embedding."
)
DEFAULT_NOTE = (
    "Defaults: SupervisedIsomap(d), d in (2, 4, 8, 16) by inner folds, nothing else is set."
)
NOTE = f"{LITERAL_NOTE} {DEFAULT_NOTE}"

DOMINATES = "“out-of-sample mapping based on KRR consistently dominates its GRNN counterpart”"
MOST_SETS = "“a higher accuracy than direct classification methods on most data sets”"

SHOWN = {
    "raw": "raw data",
    "literal GRNN": "literal, GRNN",
    "literal KRR": "literal, KRR",
    "default, GRNN": "defaults with GRNN",
    "default": "defaults",
}


def _run(task: tuple[Callable[..., Any], Any, tuple[str, ...], int, int]) -> dict[Key, float]:
    table, arguments, methods, n_folds, seed = task
    X, y = table(*arguments)
    return accuracies(X, y, methods, n_folds, seed)


def repeated(
    tables: dict[str, Callable[[int], tuple[Callable[..., tuple[Array, AnyArray]], Any]]],
    methods: tuple[str, ...],
    n_folds: int,
    seeds: tuple[int, ...],
) -> Accuracies:
    """Return the mean accuracies over repeats; a table gives a function and its arguments."""
    keys = [(name, seed) for name in tables for seed in seeds]
    tasks = [(*tables[name](seed), methods, n_folds, seed) for name, seed in keys]
    found = in_processes(_run, tasks)
    values: Accuracies = {}
    for name in tables:
        here = [one for key, one in zip(keys, found, strict=True) if key[0] == name]
        values[name] = {key: float(np.mean([one[key] for one in here])) for key in here[0]}
    return values


def mean(values: Accuracies, method: str, kind: str) -> float:
    """Return the mean accuracy of a method over the tables."""
    return float(np.mean([row[method, kind] for row in values.values()]))


def compared(values: Accuracies, first: str, second: str, kind: str) -> dict[str, Any]:
    """Return the mean gain of one method over another, sets won, and the signed-rank test."""
    gains = np.array([row[first, kind] - row[second, kind] for row in values.values()])
    p_value = wilcoxon(gains, alternative="greater").pvalue if gains.any() else 1.0
    return {
        "mean gain": float(gains.mean()),
        "least gain": float(gains.min()),
        "gains": dict(zip(values, gains.round(2).tolist(), strict=True)),
        "at least as good on": int((gains >= 0.0).sum()),
        "within a point on": int((gains >= -1.0).sum()),
        "one-sided Wilcoxon p": float(p_value),
    }


def as_table(values: Accuracies) -> dict[str, Any]:
    """Return the accuracies as nested dictionaries, with means and mean ranks."""
    keys = list(next(iter(values.values())))
    found: dict[str, Any] = {
        name: {f"{m}, {k}": round(row[m, k], 2) for m, k in keys} for name, row in values.items()
    }
    found["mean"] = {f"{m}, {k}": round(mean(values, m, k), 2) for m, k in keys}
    for kind in KINDS:
        columns = [key for key in keys if key[1] == kind]
        ranks = [rankdata([-row[key] for key in columns]) for row in values.values()]
        found[f"mean ranks, {kind}"] = dict(
            zip((m for m, _ in columns), np.mean(ranks, axis=0).round(2).tolist(), strict=True)
        )
    return found


def against_grnn(values: Accuracies, *, tested: bool) -> list[Row]:
    """Return the gain of ridge regression, or of the map that is the default, over a GRNN.

    ``tested`` adds the signed-rank test, for the tables that stand for the paper's.
    """
    rows = []
    for kind in KINDS:
        literal = compared(values, "literal KRR", "literal GRNN", kind)
        default = compared(values, "default", "default, GRNN", kind)
        rows.append(
            Row(
                f"{kind}: mean gain over GRNN, points",
                DOMINATES,
                literal["mean gain"],
                "higher",
                default=default["mean gain"],
                bound=0.0,
                beside=f"literal: KRR {mean(values, 'literal KRR', kind):.1f} %, GRNN "
                f"{mean(values, 'literal GRNN', kind):.1f} %; defaults: "
                f"{mean(values, 'default', kind):.1f} %, with KRR "
                f"{mean(values, 'default, KRR', kind):.1f} %, with GRNN "
                f"{mean(values, 'default, GRNN', kind):.1f} %",
                note=f"{NOTE} By default labels choose between KRR and GRNN.",
                highlight=tested,
            )
        )
        if tested:
            rows.append(
                Row(
                    f"{kind}: one-sided Wilcoxon p of that gain over the tables",
                    "“statistical evidence”",
                    literal["one-sided Wilcoxon p"],
                    "lower",
                    default=default["one-sided Wilcoxon p"],
                    bound=0.05,
                )
            )
        worst = [min(one["gains"], key=one["gains"].get) for one in (literal, default)]
        rows.append(
            Row(
                f"{kind}: gain over GRNN on the table where it is least, points",
                None,
                literal["least gain"],
                default=default["least gain"],
                beside=f"literal: {worst[0]}; defaults: {worst[1]}",
            )
        )
    return rows


def against_raw(values: Accuracies, *, tested: bool) -> list[Row]:
    """Return on how many tables supervised Isomap is as good as raw data, and by how much.

    ``tested`` marks the tables that stand for the paper's.
    """
    rows = []
    for kind in KINDS:
        literal = compared(values, "literal KRR", "raw", kind)
        default = compared(values, "default", "raw", kind)
        rows += [
            Row(
                f"{kind}: tables of {len(values)} on which supervised Isomap is at least as good "
                "as raw data",
                MOST_SETS,
                literal["at least as good on"],
                "higher",
                default=default["at least as good on"],
                bound=len(values) // 2 + 1,
                note=NOTE,
                highlight=tested,
            ),
            Row(
                f"{kind}: mean gain over raw data, points",
                None,
                literal["mean gain"],
                default=default["mean gain"],
                beside=f"raw data {mean(values, 'raw', kind):.1f} %, literal "
                f"{mean(values, 'literal KRR', kind):.1f} %, defaults "
                f"{mean(values, 'default', kind):.1f} %",
            ),
            Row(
                f"{kind}: mean accuracy of SupervisedIsomap(), two dimensions, percent",
                None,
                None,
                default=mean(values, "default, 2 dimensions", kind),
                beside=f"d by inner folds: {mean(values, 'default', kind):.1f} %",
                note="Every setting is the default: two dimensions are for plots.",
            ),
        ]
    return rows


def by_labels(values: Accuracies) -> list[Row]:
    """Return the gain over A-Isomap, which does not see labels."""
    rows = []
    for kind in KINDS:
        literal = compared(values, "literal KRR", "literal A-Isomap", kind)
        default = compared(values, "default", "default A-Isomap", kind)
        rows.append(
            Row(
                f"{kind}: mean gain by labels (over A-Isomap), points",
                "“class labels are used to improve the embedding”",
                literal["mean gain"],
                "higher",
                default=default["mean gain"],
                bound=0.0,
                note="Literal: A-Isomap with h and d by inner folds. Defaults: "
                "AgglomerativeIsomap(d, cross_fit=True), d by inner folds.",
            )
        )
    return rows


def bars(values: Accuracies, path: Path, caption: str) -> list[Picture]:
    """Draw the accuracies of each table."""

    def paint(figure: Any) -> None:
        places, width = np.arange(len(values)), 0.85 / len(SHOWN)
        lowest = min(row[m, k] for row in values.values() for m in SHOWN for k in KINDS)
        for ax, kind in zip(figure.subplots(1, 2, sharey=True), KINDS, strict=True):
            for number, (method, label) in enumerate(SHOWN.items()):
                heights = [row[method, kind] for row in values.values()]
                shift = width * (number - 0.5 * (len(SHOWN) - 1))
                ax.bar(places + shift, heights, width, label=label)
            ax.set_xticks(places, values, rotation=45, ha="right")
            ax.set(title=kind, ylim=(max(0.0, lowest - 5.0), 101))
        figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=5)
        figure.axes[0].set_ylabel("accuracy, percent")

    return draw(path, caption, (13, 4.6), paint)

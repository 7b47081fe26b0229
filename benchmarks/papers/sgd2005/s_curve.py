"""The noisy S-curve: SNE guided by two affinities in two forms (section 6.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Better, Outcome, Row
from benchmarks.papers.sgd2005.learning_curves import curve, descend, paint_curves
from benchmarks.papers.statistics import quartiles
from twofold.datasets import make_s_curve
from twofold.numerics.probabilities import transition_probabilities
from twofold.optimize import SpectralGuidance
from twofold.sne.divergence import NeighborEmbedding

BANDWIDTH = 0.5
N_STARTS = 20
KEYS = ("spec-clus", "pow-clus", "spec-kpca", "pow-kpca")
PAPERS_NU = 20

Setting = tuple[int, int, int]
"""Points, first power, iterations."""

FULL: tuple[Setting, ...] = ((200, 20, 200), (200, 5, 200), (500, 20, 200), (500, 5, 200))
QUICK: tuple[Setting, ...] = ((200, 20, 200), (200, 5, 30), (500, 20, 30), (500, 5, 30))


def _run(task: tuple[Setting, int]) -> dict[str, list[float]]:
    (n, first, n_iter), start = task
    X, _ = make_s_curve(n, noise=0.05, random_state=0)
    objective = NeighborEmbedding(transition_probabilities(X, BANDWIDTH))
    Z0 = np.random.default_rng([3, start]).standard_normal((n, 2))
    curves = {"plain": curve(descend(objective, Z0, n_iter=n_iter), n_iter)}
    for affinity, short in (("clustering", "clus"), ("kpca", "kpca")):
        for form, prefix in (("power", "spec"), ("deflated", "pow")):
            guidance = SpectralGuidance(affinity, BANDWIDTH, form, schedule=(first, 0))
            result = descend(objective, Z0, guidance.prepare(X), n_iter)
            curves[f"{prefix}-{short}"] = curve(result, n_iter)
    return curves


def s_curve(quick: bool, folder: Path) -> Outcome:
    """Figs. 5-6: nu from 20 as in the paper, and from 5."""
    settings = QUICK if quick else FULL
    n_starts = 3 if quick else N_STARTS
    tasks = [(setting, start) for setting in settings for start in range(n_starts)]
    runs = in_processes(_run, tasks)
    curves: dict[Setting, dict[str, Any]] = {}
    for setting in settings:
        here = [run for run, task in zip(runs, tasks, strict=True) if task[0] == setting]
        curves[setting] = {name: np.array([run[name] for run in here]) for name in here[0]}
    report = {f"n {n}, nu from {nu}": _figures(one) for (n, nu, _), one in curves.items()}
    rows: list[Row] = []
    for n, nu, n_iter in settings:
        rows += _rows(report[f"n {n}, nu from {nu}"], n, nu, ended=n_iter == FULL[0][2])

    def paint(figure: Any) -> None:
        for ax, ((n, nu, _), one) in zip(figure.subplots(2, 2).flat, curves.items(), strict=True):
            paint_curves(ax, one, f"N = {n}, nu from {nu}")

    pictures = draw(folder / "s_curve.png", "learning curves (Figs. 5-6)", (11, 8), paint)
    return Outcome(rows=rows, numbers=report, pictures=pictures, seeds=[0])


def _figures(curves: dict[str, Any]) -> dict[str, Any]:
    """Return each curve's ends, and its excess at 10 and 20 relative to the plain curve's."""
    best = min(values[:, -1].min() for values in curves.values())

    def above(name: str, step: int) -> float:
        return float(np.median(curves[name][:, step]) - best)

    end = float(np.median(curves["plain"][:, -1]))
    return {
        name: {
            "excess of plain's at 10": above(name, 10) / above("plain", 10),
            "excess of plain's at 20": above(name, 20) / above("plain", 20),
            "end": quartiles(values[:, -1]),
            "end of plain's": float(np.median(values[:, -1])) / end,
        }
        for name, values in curves.items()
    }


def _rows(figures: dict[str, Any], n: int, nu: int, *, ended: bool) -> list[Row]:
    """Return the claims on one setting; those on the ends only if the runs were long enough."""
    setting = f"N = {n}, nu from {nu}"
    beginnings: list[tuple[str, int, str, Better]] = [
        ("spec-clus", 10, "“a significant speed-up at the beginning”", "lower"),
        ("spec-clus", 20, "“a significant speed-up at the beginning”", "lower"),
        ("spec-kpca", 10, "“convergence is slower at the beginning”", "higher"),
    ]
    rows = [
        Row(
            f"{setting}, {name}: excess over the best end at {step}, over the plain one's",
            words if nu == PAPERS_NU else "nu from 20 in the paper",
            figures[name][f"excess of plain's at {step}"],
            better,
            bound=1.0,
        )
        for name, step, words, better in beginnings
        if nu == PAPERS_NU or name == "spec-clus"
    ]
    if ended and nu == PAPERS_NU:
        claims: dict[int, dict[str, tuple[str, Better]]] = {
            200: {
                "spec-clus": ("“an improvement with respect to the local minimum”", "lower"),
                "spec-kpca": ("“results in an improved local optimum”", "lower"),
                "pow-clus": ("“able to significantly improve the local minimum”", "lower"),
            },
            500: {"pow-clus": ("“slightly degrades the performance”", "higher")},
        }
        rows += [
            Row(
                f"{setting}, {name}: error at the end over the plain one's",
                words,
                figures[name]["end of plain's"],
                better,
                bound=1.0,
                form=".4f",
            )
            for name, (words, better) in claims[n].items()
        ]
    return rows

"""The noisy S-curve: SNE guided by two affinities in two forms (section 6.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Better, Outcome, Picture, Row
from benchmarks.papers.sgd2005.learning_curves import curve, over_plain, paint_curves
from benchmarks.papers.sgd2005.problems import N_ITER, SNE_NOTE, SNE_PROTOCOL, default_sne, descend
from benchmarks.papers.sgd2005.problems import s_curve as s_curve_problem
from benchmarks.papers.statistics import quartiles

SIZES = {200: 10, 500: 4}
"""Data sets of each size; two starts on each."""

FIRST_SEED = 400
SHOWN = (1, 2, 5, 10, 20, 50, 100, N_ITER)
FORMS = {
    "spec-clus": ("clustering", "power"),
    "pow-clus": ("clustering", "deflated"),
    "spec-kpca": ("kpca", "power"),
    "pow-kpca": ("kpca", "deflated"),
}
OURS = "SNE by default"
SPEED = "“a significant speed-up at the beginning of the optimization”"
SLOWER = "“convergence is slower at the beginning of the optimization”"


def _run(task: tuple[int, int, int]) -> dict[str, list[float]]:
    n, seed, start = task
    problem = s_curve_problem(seed, n)
    Z0 = problem.start(2, 3, seed, start)
    curves = {"plain": curve(descend(problem.objective, Z0).history, N_ITER)}
    for name, (affinity, form) in FORMS.items():
        guide = problem.guide(affinity=affinity, form=form)
        curves[name] = curve(descend(problem.objective, Z0, guide).history, N_ITER)
    if start == 0:
        curves[OURS] = curve(default_sne(problem.X, 0.5, seed).history_, N_ITER)
    return curves


def s_curve(quick: bool, folder: Path) -> Outcome:
    """Figs. 4-6: nu from 20 to 0, fresh data sets and starts."""
    sets = {200: 3, 500: 1} if quick else SIZES
    tasks = [
        (n, FIRST_SEED + number, start)
        for n, n_sets in sets.items()
        for number in range(n_sets)
        for start in range(1 if quick else 2)
    ]
    runs = in_processes(_run, tasks)
    rows: list[Row] = []
    pictures = _figure_4(folder)
    numbers: dict[str, Any] = {}
    for figure, n in zip((5, 6), sets, strict=True):
        here = [run for run, task in zip(runs, tasks, strict=True) if task[0] == n]
        curves = {name: [run[name] for run in here if name in run] for name in here[0]}
        rows += _rows(curves, n)
        numbers[f"N = {n}"] = {
            name: {str(step): quartiles(np.array(one)[:, step]) for step in SHOWN}
            for name, one in curves.items()
        }
        shown = {name: one for name, one in curves.items() if name != OURS}
        title = f"Fig. {figure}: N = {n}, nu from 20, {len(here)} runs"
        pictures += draw(
            folder / f"s_curve_{n}.png",
            f"learning curves (Fig. {figure}), medians and quartiles",
            (6.5, 4.6),
            lambda at, shown=shown, title=title: paint_curves(at.add_subplot(), shown, title),
        )
    seeds = sorted({seed for _, seed, _ in tasks})
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)


def _figure_4(folder: Path) -> list[Picture]:
    problem = s_curve_problem(FIRST_SEED, 500)

    def paint(figure: Any) -> None:
        ax = figure.add_subplot(projection="3d")
        ax.scatter(*problem.X[:, [0, 1, 2]].T, s=6, c=problem.truth[:, 0])
        ax.view_init(elev=12, azim=-75)
        ax.set_title("noisy S-curve, N = 500")

    return draw(folder / "s_curve_data.png", "data (Fig. 4)", (5, 4.2), paint)


def _rows(curves: dict[str, Any], n: int) -> list[Row]:
    """Return the paper's claims on one size."""
    note = f"SNE, h = 1/2 in P and M, nu from 20 to 0, k = i as printed; {SNE_PROTOCOL}."
    rows = []
    beginnings: list[tuple[str, str, Better]] = [
        ("spec-clus", SPEED, "lower"),
        ("spec-kpca", SLOWER, "higher"),
    ]
    for name, words, better in beginnings:
        for step in (2, 5, 10, 20):
            ours = over_plain(curves, OURS, step) if name == "spec-clus" else None
            rows.append(
                Row(
                    f"N = {n}, {name}: error at {step}, over the plain one's",
                    words,
                    over_plain(curves, name, step),
                    better,
                    default=ours,
                    bound=1.0,
                    beside=f"plain {np.median(np.array(curves['plain'])[:, step]):.3g}",
                    note=f"{note} {SNE_NOTE}" if ours is not None and step == 2 else "",
                    highlight=n == 200 and name == "spec-clus" and step in (2, 10),
                )
            )
    ends: dict[int, list[tuple[str, int, str, Better, float]]] = {
        200: [
            ("spec-clus", N_ITER, "“an improvement with respect to the local minimum”", "lower", 1),
            ("spec-kpca", N_ITER, "“results in an improved local optimum”", "lower", 1),
            ("pow-clus", N_ITER, "“able to significantly improve the local minimum”", "lower", 1),
        ],
        500: [("pow-clus", N_ITER, "“slightly degrades the performance”", "higher", 1)],
    }
    for name, step, words, better, bound in [
        ("spec-kpca", 50, "“the method catches up later”", "lower", 1.05),
        *ends[n],
    ]:
        rows.append(
            Row(
                f"N = {n}, {name}: error at {step}, over the plain one's",
                words,
                over_plain(curves, name, step),
                better,
                default=over_plain(curves, OURS, step) if name == "spec-clus" else None,
                bound=float(bound),
                beside=f"plain {np.median(np.array(curves['plain'])[:, step]):.4g}",
                form=".4f" if step == N_ITER else ".3g",
                highlight=n == 200 and name == "spec-clus",
            )
        )
    rows.append(
        Row(
            f"N = {n}, pow-clus: error at {N_ITER}, over that of spec-clus",
            "“comparable to the plain spectral gradient approach”",
            over_plain(curves, "pow-clus", N_ITER) / over_plain(curves, "spec-clus", N_ITER),
            form=".4f",
        )
    )
    return rows

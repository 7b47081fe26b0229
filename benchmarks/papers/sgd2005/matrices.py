"""Section 5: the clustering against the kernel PCA matrix, and one latent dimension or two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.sgd2005.learning_curves import curve, over_plain, paint_curves
from benchmarks.papers.sgd2005.problems import MADE, N_ITER, SNE_PROTOCOL, UKR_PROTOCOL, descend
from benchmarks.papers.statistics import quartiles

FIRST_SEED = 600
N_SETS = 8
STEPS = (10, N_ITER)
AUTO = "clustering, auto"
NOTE = f"UKR of the helix: {UKR_PROTOCOL}; SNE of the others: {SNE_PROTOCOL}."


def _run(task: tuple[str, int, int]) -> dict[str, list[float]]:
    name, q, seed = task
    problem = MADE[name][0](seed)
    Z0 = problem.start(q, 9, seed, q)
    guides = {
        "plain": None,
        "clustering": problem.guide(),
        "kpca": problem.guide(affinity="kpca"),
        AUTO: problem.guide(bandwidth="auto", schedule="auto"),
    }
    return {
        way: curve(descend(problem.objective, Z0, guide).history, N_ITER)
        for way, guide in guides.items()
    }


def _measured(quick: bool) -> tuple[dict[tuple[str, int], dict[str, Any]], list[int]]:
    seeds = [FIRST_SEED + number for number in range(1 if quick else N_SETS)]
    tasks = [(name, q, seed) for name in MADE for q in (1, 2) for seed in seeds]
    runs = in_processes(_run, tasks)
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for (name, q, _), run in zip(tasks, runs, strict=True):
        for way, values in run.items():
            found.setdefault((name, q), {}).setdefault(way, []).append(values)
    return found, seeds


def matrices(quick: bool, folder: Path) -> Outcome:
    """Guide by powers of both matrices, with one and with two latent dimensions."""
    found, seeds = _measured(quick)
    rows = []
    for name, (_, q) in MADE.items():
        curves = found[name, q]
        for step in STEPS:
            ratio = over_plain(curves, "clustering", step) / over_plain(curves, "kpca", step)
            beside = ", ".join(
                f"{way} {np.median(np.array(curves[way])[:, step]):.3g}"
                for way in ("plain", "clustering", "kpca")
            )
            rows.append(
                Row(
                    f"{name}, q = {q}: error at {step}, clustering matrix over kernel PCA matrix",
                    "“clearly in favor of the clustering matrix”",
                    ratio,
                    "lower",
                    bound=1.0,
                    beside=beside,
                    note=NOTE,
                )
            )
    for name in MADE:
        for step in STEPS:
            one, two = (over_plain(found[name, q], "clustering", step) for q in (1, 2))
            auto = [over_plain(found[name, q], AUTO, step) for q in (1, 2)]
            rows.append(
                Row(
                    f"{name}: guided over plain error at {step}, that of q = 1 over that of q = 2",
                    "“works best for low-dimensional (in particular q = 1) latent spaces”",
                    one / two,
                    "lower",
                    default=auto[0] / auto[1],
                    bound=1.0,
                    beside=f"q = 1: {one:.3g}, q = 2: {two:.3g}",
                    note=f"{NOTE} Default: the same descents guided by SpectralGuidance().",
                )
            )
    numbers = {
        f"{name}, q = {q}": {
            way: {str(step): quartiles(np.array(values)[:, step]) for step in STEPS}
            for way, values in curves.items()
        }
        for (name, q), curves in found.items()
    }

    def paint(figure: Any) -> None:
        axes = figure.subplots(2, 3)
        for ax, ((name, q), curves) in zip(axes.T.flat, found.items(), strict=True):
            paint_curves(ax, curves, f"{name}, q = {q}")

    pictures = draw(
        folder / "matrices.png", "two matrices, one and two latent dimensions", (14, 7.5), paint
    )
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)

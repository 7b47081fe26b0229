"""Section 7: the influence of the number of rows and of the affinity's bandwidth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.sgd2005.learning_curves import curve, over_plain
from benchmarks.papers.sgd2005.problems import MADE, N_ITER, SNE_PROTOCOL, UKR_PROTOCOL, descend
from benchmarks.papers.statistics import median, quartiles

FIRST_SEED = 800
N_SETS = 7
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Bandwidths, as multiples of the paper's."""

SIZES = {"helix": (100, 300, 600), "S-curve": (100, 200, 400)}
EARLY = 5


def _run(task: tuple[str, int, int]) -> dict[str, Any]:
    name, n, seed = task
    make, q = MADE[name]
    problem = make(seed, n)
    Z0 = problem.start(q, 11, seed)
    found: dict[str, Any] = {"plain": curve(descend(problem.objective, Z0).history, N_ITER)}
    for factor in FACTORS:
        guide = problem.guide(bandwidth=factor * problem.settings["bandwidth"])
        found[str(factor)] = curve(descend(problem.objective, Z0, guide).history, N_ITER)
    auto = problem.guide(bandwidth="auto")
    found["auto"] = curve(descend(problem.objective, Z0, auto).history, N_ITER)
    found["auto's factor"] = auto.bandwidth / problem.settings["bandwidth"]
    return found


def sweep(quick: bool, folder: Path) -> Outcome:
    """Guide by affinities of five bandwidths, on three sizes of two problems."""
    seeds = [FIRST_SEED + number for number in range(1 if quick else N_SETS)]
    sizes = {name: some[:2] for name, some in SIZES.items()} if quick else SIZES
    tasks = [(name, n, seed) for name, some in sizes.items() for n in some for seed in seeds]
    runs = in_processes(_run, tasks)
    rows: list[Row] = []
    numbers: dict[str, Any] = {}
    ends: dict[tuple[str, int], list[float]] = {}
    for name, some in sizes.items():
        protocol = UKR_PROTOCOL if name == "helix" else SNE_PROTOCOL
        for n in some:
            here = [run for run, task in zip(runs, tasks, strict=True) if task[:2] == (name, n)]
            ways = ["plain", *map(str, FACTORS), "auto"]
            curves = {way: [run[way] for run in here] for way in ways}
            auto = median(run["auto's factor"] for run in here)
            ends[name, n] = [over_plain(curves, str(factor), N_ITER) for factor in FACTORS]
            for factor in FACTORS:
                paper = "“dataset size, kernel bandwidths”" if factor == 1.0 else None
                rows.append(
                    Row(
                        f"{name}, N = {n}, {factor:g} of the paper's bandwidth: error at {N_ITER}, "
                        "guided over plain",
                        paper,
                        over_plain(curves, str(factor), N_ITER),
                        default=over_plain(curves, "auto", N_ITER) if factor == 1.0 else None,
                        beside=f"at {EARLY}: {over_plain(curves, str(factor), EARLY):.3g}",
                        note=(
                            f'{protocol}. Default: bandwidth="auto", {auto:.2g} of the paper\'s.'
                            if factor == 1.0
                            else ""
                        ),
                    )
                )
            numbers[f"{name}, N = {n}"] = {
                way: {str(step): quartiles(np.array(one)[:, step]) for step in (EARLY, N_ITER)}
                for way, one in curves.items()
            } | {"auto's factor": auto}

    def paint(figure: Any) -> None:
        for ax, name in zip(figure.subplots(1, 2), sizes, strict=True):
            for n in sizes[name]:
                ax.loglog(FACTORS, ends[name, n], "o-", label=f"N = {n}")
            ax.axhline(1.0, color="0.5", lw=1)
            ax.set(title=name, xlabel="bandwidth over the paper's", ylabel="guided over plain")
            ax.legend(fontsize=8)

    caption = f"errors at {N_ITER} for sizes and bandwidths, medians"
    pictures = draw(folder / "sweep.png", caption, (10, 4), paint)
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)

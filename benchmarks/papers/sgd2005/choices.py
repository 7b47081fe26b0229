"""What the paper leaves open: the scale of starts, the line search, and k = i."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.sgd2005.learning_curves import curve, over_plain
from benchmarks.papers.sgd2005.problems import DOUBLINGS, MADE, N_ITER, descend
from benchmarks.papers.statistics import median, quartiles

FIRST_SEED = 500
N_SETS = 8
SPREADS = (0.1, 1.0)
LIMITS = (1, DOUBLINGS)
"""Numbers of doublings of a step."""

STEPS = (2, 10, N_ITER)


def _run(task: tuple[str, int]) -> dict[str, dict[str, list[float]]]:
    name, seed = task
    make, q = MADE[name]
    problem = make(seed)
    found = {}
    for spread in SPREADS:
        Z0 = problem.start(q, 8, seed, spread=spread)
        for limit in LIMITS:
            key = f"starts {spread:g} randn, at most {limit} doubling{'s' if limit > 1 else ''}"
            found[key] = _curves(problem, Z0, limit)
    if name != "helix":
        apart = make(seed, include_self=False)
        Z0 = apart.start(q, 8, seed)
        found["the paper's column, but without k = i"] = _curves(apart, Z0, DOUBLINGS)
    return found


def _curves(problem: Any, Z0: Any, limit: int) -> dict[str, list[float]]:
    return {
        way: curve(descend(problem.objective, Z0, guide, doublings=limit).history, N_ITER)
        for way, guide in (("plain", None), ("guided", problem.guide()))
    }


def choices(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Measure guided over plain errors for each choice, on the three problems."""
    seeds = [FIRST_SEED + number for number in range(1 if quick else N_SETS)]
    tasks = [(name, seed) for name in MADE for seed in seeds]
    runs = in_processes(_run, tasks)
    rows, numbers = [], {}
    for name in MADE:
        here = [run for run, task in zip(runs, tasks, strict=True) if task[0] == name]
        for choice in here[0]:
            curves = {way: [run[choice][way] for run in here] for way in ("plain", "guided")}
            ratios = [over_plain(curves, "guided", step) for step in STEPS]
            said = ", ".join(f"{ratio:.3g}" for ratio in ratios[:-1])
            end = median(one[-1] for one in curves["plain"])
            rows.append(
                Row(
                    f"{name}, {choice}: guided over plain at {N_ITER}",
                    None,
                    ratios[-1],
                    beside=f"at {STEPS[0]} and {STEPS[1]}: {said}; plain ends at {end:.3g}",
                )
            )
            numbers[f"{name}, {choice}"] = {
                way: {str(step): quartiles([one[step] for one in values]) for step in STEPS}
                for way, values in curves.items()
            }
    return Outcome(rows=rows, numbers=numbers, seeds=seeds)

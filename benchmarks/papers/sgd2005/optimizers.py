"""Section 7: guidance for conjugate gradients and L-BFGS, from the paper's random starts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.linalg import eigh

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.sgd2005.problems import MADE, SNE_PROTOCOL, UKR_PROTOCOL, Problem
from benchmarks.papers.statistics import median, quartiles
from twofold.optimize import LBFGS, ConjugateGradient, GradientDescent, guided_minimizer
from twofold.protocols import Array, Minimizer, Objective

FIRST_SEED = 700
N_SETS = 8
N_EVALUATIONS = 200
ONES: dict[str, Minimizer] = {
    "gradient descent": GradientDescent(max_iter=1_000, tol=0.0, max_doublings=30),
    "conjugate gradients": ConjugateGradient(max_iter=1_000, tol=0.0),
    "L-BFGS": LBFGS(max_iter=1_000, tol=0.0),
}
GUIDED_FIRST = "30 guided steps of gradient descent, then L-BFGS"
FROM_VECTOR = "L-BFGS from eigenvectors of the affinity"
QUOTED = "“quasi-Newton or conjugate gradient methods”"


class _Spent(Exception):
    """The evaluations are used up."""


class _Counted:
    """An objective that ends a run after some evaluations and remembers the best value."""

    def __init__(self, objective: Objective, most: int) -> None:
        self.objective, self.left, self.best = objective, most, np.inf

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        if self.left <= 0:
            raise _Spent
        self.left -= 1
        value, gradient = self.objective.value_and_grad(Z)
        self.best = min(self.best, value)
        return value, gradient


def _best_of(minimizers: list[Minimizer], objective: Objective, Z0: Array) -> float:
    """Return the lowest error of minimizers in a row, with 200 evaluations in all."""
    counted = _Counted(objective, N_EVALUATIONS)
    Z = Z0
    try:
        for minimizer in minimizers:
            Z = minimizer.minimize(counted, Z).Z
    except _Spent:
        pass
    return float(counted.best)


def _run(task: tuple[str, int]) -> dict[str, float]:
    name, seed = task
    make, q = MADE[name]
    problem: Problem = make(seed)
    Z0 = problem.start(q, 10, seed)
    first, _ = problem.settings["schedule"]
    given = problem.guide(schedule=(first, 0))
    auto = problem.guide(bandwidth="auto", schedule="auto")
    found = {}
    for one, minimizer in ONES.items():
        found[one] = _best_of([minimizer], problem.objective, Z0)
        for kind, guide in (("guided", given), ("by default", auto)):
            guided = guided_minimizer(minimizer, guide)
            found[f"{one}, {kind}"] = _best_of([guided], problem.objective, Z0)
    steps = GradientDescent(max_iter=30, tol=0.0, max_doublings=30, guide=problem.guide())
    found[GUIDED_FIRST] = _best_of([steps, ONES["L-BFGS"]], problem.objective, Z0)
    vectors = eigh(np.asarray(given.matrix))[1][:, -1 - q : -1]
    start = 3.0 * problem.unit * vectors / vectors.std()
    found[FROM_VECTOR] = _best_of([ONES["L-BFGS"]], problem.objective, start)
    return found


def optimizers(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Guide three minimizers, with 200 evaluations each."""
    seeds = [FIRST_SEED + number for number in range(2 if quick else N_SETS)]
    tasks = [(name, seed) for name in MADE for seed in seeds]
    runs = in_processes(_run, tasks)
    rows, numbers = [], {}
    for name in MADE:
        here = [run for run, task in zip(runs, tasks, strict=True) if task[0] == name]
        errors = {key: [run[key] for run in here] for key in here[0]}
        protocol = UKR_PROTOCOL if name == "helix" else SNE_PROTOCOL
        note = (
            f"{protocol.partition(',')[0]}; gradient descent guided iteration by iteration, the "
            "others in stages. Literal: the paper's bandwidth and first nu, down to 0. Default: "
            "SpectralGuidance()."
        )
        for one in ONES:
            plain = median(errors[one])
            rows.append(
                Row(
                    f"{name}, {one}: error at {N_EVALUATIONS} evaluations, guided over plain",
                    QUOTED,
                    median(errors[f"{one}, guided"]) / plain,
                    "lower",
                    default=median(errors[f"{one}, by default"]) / plain,
                    bound=1.0,
                    beside=f"plain {plain:.3g}",
                    note=note,
                    highlight=name == "helix" and one == "L-BFGS",
                )
            )
        for key in (GUIDED_FIRST, FROM_VECTOR):
            rows.append(
                Row(
                    f"{name}, {key}: error over that of plain L-BFGS",
                    None,
                    median(errors[key]) / median(errors["L-BFGS"]),
                )
            )
        numbers[name] = {key: quartiles(values) for key, values in errors.items()}
    return Outcome(rows=rows, numbers=numbers, seeds=seeds)

"""The projection step: Gauss-Newton, gradient descent and the fixed-point iteration (section 2.1).

The paper's loop runs by Gauss-Newton. In every iteration the two other methods solve the same
problems from the same latents, so all three are compared step by step.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.parallel import in_processes
from benchmarks.papers.pdrur2010.literal import default, literal
from benchmarks.papers.pictures import draw
from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.statistics import median
from twofold.datasets import make_swiss_roll
from twofold.drur.settings import PROJECTIONS, SHORT_PROJECTION, RowMinimizer
from twofold.optimize import RowProblem, RowsResult
from twofold.protocols import Array, IntArray, NormalTerms

N = 1_000
SEEDS = range(20, 25)
RIVALS = ("gradient", "fixed_point")


class _Counted:
    """A row problem that counts steps and those of them whose full length was not lower.

    After the normal equations of a step the solver asks for losses: first at the full step, then at
    halves of it for rows that were refused.
    """

    def __init__(self, problem: RowProblem) -> None:
        self.problem = problem
        self.steps, self.cut, self.trials = 0, 0, 0

    def normal_terms(self, Z: Array, rows: IntArray) -> NormalTerms:
        self.trials = 0
        return self.problem.normal_terms(Z, rows)

    def losses(self, Z: Array, rows: IntArray) -> Array:
        if self.trials == 0:
            self.steps += len(rows)
        elif self.trials == 1:
            self.cut += len(rows)
        self.trials += 1
        return self.problem.losses(Z, rows)


class Watched:
    """A minimizer that records its steps, and those of rivals on the same problems."""

    def __init__(self, minimizer: RowMinimizer, rivals: tuple[str, ...] = ()) -> None:
        self.minimizer, self.rivals = minimizer, rivals
        self.calls: list[dict[str, Any]] = []

    def minimize_rows(self, problem: RowProblem, Z0: Array) -> RowsResult:
        counted = _Counted(problem)
        self.minimizer.minimize_rows(counted, Z0)
        result, seconds = self._timed(self.minimizer, problem, Z0)
        record = {"rows": len(Z0), "steps": counted.steps, "cut": counted.cut}
        record["gauss_newton"] = self._of(result, seconds)
        for name in self.rivals:
            record[name] = self._of(*self._timed(PROJECTIONS[name], problem, Z0))
        self.calls.append(record)
        return result

    @staticmethod
    def _timed(minimizer: RowMinimizer, problem: RowProblem, Z0: Array) -> tuple[RowsResult, float]:
        began = time.process_time()
        result = minimizer.minimize_rows(problem, Z0)
        return result, time.process_time() - began

    @staticmethod
    def _of(result: RowsResult, seconds: float) -> dict[str, Any]:
        return {"n_iter": result.n_iter, "converged": result.converged, "seconds": seconds}

    def turns(self) -> list[list[dict[str, Any]]]:
        """Return the calls of each iteration: a row is projected once in each."""
        turns: list[list[dict[str, Any]]] = [[]]
        for call in self.calls:
            if sum(one["rows"] for one in turns[-1]) >= N:
                turns.append([])
            turns[-1].append(call)
        return turns


def _run(task: tuple[int, int]) -> dict[str, Any]:
    seed, n_turns = task
    X, sheet = make_swiss_roll(N, random_state=seed)
    start = sheet + 10.0 * np.random.default_rng(seed).standard_normal(sheet.shape)
    watched = Watched(PROJECTIONS["gauss_newton"], RIVALS)
    literal(X, start, seed, n_centers=30, alpha=1e-5, max_iter=n_turns, optimizer=watched)
    ours = Watched(SHORT_PROJECTION)
    default(X, start, seed, optimizer=ours)
    turns = watched.turns()
    found: dict[str, Any] = {
        "full steps": [_full_steps(turn) for turn in turns],
        "default, full steps": [_full_steps(turn) for turn in ours.turns()],
    }
    for name in ("gauss_newton", *RIVALS):
        parts = [[call[name] for call in turn] for turn in turns]
        steps = [np.concatenate([one["n_iter"] for one in part]) for part in parts]
        found[name] = {
            "steps": [median(one) for one in steps],
            "within 4": [float(np.mean(one <= 4)) for one in steps],
            "converged": [
                float(np.mean(np.concatenate([one["converged"] for one in part]))) for part in parts
            ],
            "seconds": sum(one["seconds"] for part in parts for one in part),
        }
    return found


def _full_steps(calls: list[dict[str, Any]]) -> float:
    return 1.0 - sum(one["cut"] for one in calls) / sum(one["steps"] for one in calls)


def projection(quick: bool, folder: Path) -> Outcome:
    """Run the paper's loop on the roll of Fig. 4, and count the steps of three minimizers."""
    seeds = list(SEEDS)[: 1 if quick else None]
    runs = in_processes(_run, [(seed, 3 if quick else 10) for seed in seeds])
    newton = [run["gauss_newton"] for run in runs]
    slower = [run["gradient"]["seconds"] / run["gauss_newton"]["seconds"] for run in runs]
    rows = [
        Row(
            "rows that converge to 1e-4 within 4 Gauss-Newton steps, all iterations, mean",
            "“nearly all points [...] converged to a relative error of 10⁻⁴ in 4 or fewer "
            "iterations”",
            float(np.mean([one["within 4"] for one in newton])),
            "higher",
            bound=0.95,
            highlight=True,
        ),
        Row(
            "Gauss-Newton steps of a row, median, after the first iteration",
            "“most in 1-2”",
            median(step for one in newton for step in one["steps"][1:]),
            "lower",
            bound=2.0,
            default="at most 2",
        ),
        Row(
            "full steps accepted, first iteration, median",
            0.99,
            median(run["full steps"][0] for run in runs),
            "higher",
            0.01,
            default=median(run["default, full steps"][0] for run in runs),
            form=".4f",
        ),
        Row(
            "full steps accepted, later iterations, mean",
            0.999,
            float(np.mean([run["full steps"][1:] for run in runs])),
            "higher",
            0.0005,
            default=float(np.mean([one for run in runs for one in run["default, full steps"][1:]])),
            form=".4f",
        ),
        Row(
            "gradient descent with backtracking: steps of a row, median",
            "“far more (tens) iterations”",
            median(step for run in runs for step in run["gradient"]["steps"]),
            "higher",
            bound=10.0,
            beside=f"Gauss-Newton {median(s for one in newton for s in one['steps']):.0f}",
            note="On the same problems from the same latents, to the same tolerance.",
            form=".0f",
        ),
        Row(
            "gradient descent: CPU time over that of Gauss-Newton, median",
            "“overall slower by an order of magnitude”",
            median(slower),
            "higher",
            bound=10.0,
            note="Both in batches of rows, in one thread.",
        ),
        Row(
            "fixed-point iteration: share of rows that converge within 100 steps, mean",
            "“it did not converge in general”",
            float(np.mean([run["fixed_point"]["converged"] for run in runs])),
            "lower",
            bound=0.95,
            beside=f"Gauss-Newton {np.mean([one['converged'] for one in newton]):.3f}, gradient "
            f"descent {np.mean([run['gradient']['converged'] for run in runs]):.3f}",
            note="Read as: at least one row in twenty does not converge.",
        ),
    ]

    def paint(figure: Any) -> None:
        steps, share = figure.subplots(1, 2)
        for name in ("gauss_newton", *RIVALS):
            steps.semilogy(
                range(1, len(newton[0]["steps"]) + 1), runs[0][name]["steps"], label=name
            )
            share.plot(
                range(1, len(newton[0]["steps"]) + 1), runs[0][name]["converged"], label=name
            )
        steps.set(xlabel="iteration", ylabel="steps of a row, median")
        share.set(xlabel="iteration", ylabel="share of rows that converge")
        steps.legend()

    pictures = draw(folder / "projection.png", "steps and convergence, one roll", (9, 3.4), paint)
    numbers = {f"seed {seed}": run for seed, run in zip(seeds, runs, strict=True)}
    return Outcome(rows=rows, numbers=numbers, pictures=pictures, seeds=seeds)

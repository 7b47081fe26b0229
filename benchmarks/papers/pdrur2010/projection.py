"""The projection step: Gauss-Newton steps per row, and how many are full ones (section 2.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.records import Outcome, Row
from benchmarks.papers.statistics import median
from twofold.datasets import make_swiss_roll
from twofold.maps import RBFNetwork
from twofold.maps.projection import NearestImage
from twofold.optimize import GaussNewton, Pull
from twofold.protocols import Array, IntArray, NormalTerms

TOL = 1e-4
N_CENTERS = 30
MOST_STEPS = 300


class _Counted:
    """A row problem that counts steps and those of them whose full length was not lower.

    After the normal equations of a step the solver asks for losses: first at the full step, then at
    halves of it for rows that were refused.
    """

    def __init__(self, problem: Pull) -> None:
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


def _descended(problem: Pull, Z: Array) -> IntArray:
    """Return the backtracking gradient steps that each row takes to the same tolerance."""
    Z = Z.copy()
    active = np.arange(len(Z))
    n_iter = np.zeros(len(Z), dtype=np.intp)
    length = np.full(len(Z), 1.0)
    losses = problem.losses(Z, active)
    for _ in range(MOST_STEPS):
        _, descent, _ = problem.normal_terms(Z[active], active)
        n_iter[active] += 1
        moved = np.zeros(len(active), dtype=bool)
        step = np.zeros_like(descent)
        for _ in range(30):
            rows = active[~moved]
            step[~moved] = length[rows, None] * descent[~moved]
            found = problem.losses(Z[rows] + step[~moved], rows)
            slope = np.square(descent[~moved]).sum(axis=1) * length[rows]
            lower = found <= losses[rows] - 0.2 * slope
            losses[rows[lower]] = found[lower]
            length[rows[~lower]] *= 0.5
            moved[np.flatnonzero(~moved)[lower]] = True
            if moved.all():
                break
        Z[active[moved]] += step[moved]
        length[active[moved]] *= 2.0
        short = np.linalg.norm(step, axis=1) <= TOL * np.linalg.norm(Z[active], axis=1)
        active = active[moved & ~short]
        if len(active) == 0:
            break
    return n_iter


def projection(quick: bool, folder: Path) -> Outcome:  # noqa: ARG001 - no pictures
    """Alternate regressions and projections as in the paper's Fig. 1, in its units, and count."""
    X, sheet = make_swiss_roll(1000, random_state=0)
    Z = sheet + 10.0 * np.random.default_rng(0).standard_normal(sheet.shape)
    Z, X = Z - Z.mean(axis=0), X - X.mean(axis=0)
    turns: list[dict[str, Any]] = []
    for turn in range(4 if quick else 10):
        networks = RBFNetwork(N_CENTERS, alpha=1e-5, random_state=0)
        down = networks.fit(X, Z).predict(X)
        up = RBFNetwork(N_CENTERS, alpha=1e-5, random_state=0).fit(Z, X)
        pull = Pull(NearestImage(up, X, np.arange(len(X)), 0.0), down)
        counted = _Counted(pull)
        result = GaussNewton(max_iter=50, tol=TOL).minimize_rows(counted, Z)
        turns.append(
            {
                "median steps": median(result.n_iter),
                "rows within 4 steps": float(np.mean(result.n_iter <= 4)),
                "full steps": 1.0 - counted.cut / counted.steps,
            }
        )
        if turn in (0, 1):
            turns[-1]["gradient descent, median steps"] = median(_descended(pull, Z))
        Z = result.Z
    first, later = turns[0], turns[1:]
    descent = turns[1]["gradient descent, median steps"]
    rows = [
        Row(
            "rows that converge within 4 steps, all turns",
            "“nearly all points [...] converged to a relative error of 10⁻⁴ in 4 or fewer "
            "iterations”",
            float(np.mean([one["rows within 4 steps"] for one in turns])),
            "higher",
            bound=0.95,
        ),
        Row(
            "steps of a row, median, after the first turn",
            "“most in 1-2”",
            median(one["median steps"] for one in later),
            "lower",
            bound=2.0,
        ),
        Row("full steps accepted, first turn", 0.99, first["full steps"], "higher", 0.01),
        Row(
            "full steps accepted, later turns",
            0.999,
            float(np.mean([one["full steps"] for one in later])),
            "higher",
            0.005,
            form=".4f",
        ),
        Row(
            "steps of gradient descent with backtracking, median, second turn",
            "“far more (tens)”",
            descent,
            beside=f"Gauss-Newton {turns[1]['median steps']:.0f}",
            note="A rival: no verdict. It depends on the data, which the paper does not name.",
            form=".0f",
        ),
    ]
    return Outcome(rows=rows, numbers={"turns": turns}, seeds=[0])

"""The final fit of a race's winner: to all rows, or to as many as given seconds allow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from twofold.auto.contenders import CONTENDERS, Contender, Task, for_all_rows, set_if_unset
from twofold.auto.effort import Clock
from twofold.auto.race import SAFETY, Outcome
from twofold.base.aligning import OldMap, learned_of
from twofold.base.estimator import TwoWayEstimator
from twofold.base.problem import Problem
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import drawn_rows
from twofold.numerics.validation import check_rng, warn_user
from twofold.protocols import IntArray

VALIDATED = {"isomap": 4.0}
"""How much longer final forms take than quick ones, if they choose more."""

KEPT_BACK = 0.9
LEAST_SLOPE = 0.2
"""Shares of the time that is left, and of the seconds of a row, that predictions keep to."""

WORTH_A_REFIT = 2.0
"""A fit to this many times the rows is worth its time."""


def fit_winner(
    contender: Contender,
    problem: Problem,
    outcome: Outcome,
    task: Task,
    clock: Clock,
    n_jobs: int | None,
    scale: Any = None,
) -> tuple[TwoWayEstimator, IntArray | None]:
    """Return the fitted winner, and the numbers of its rows if it was not fitted to all."""
    n_rows, anchors = len(problem.data), problem.anchors
    found = for_all_rows(outcome.winner.found, outcome.winner.n_rows / n_rows)
    n_fitted = _affordable(outcome, n_rows, clock)
    while True:
        best = contender.final(task, found)
        set_if_unset(best, random_state=task.seed, n_jobs=n_jobs, scale=scale)
        if n_fitted == n_rows:
            _fit_all(best, contender, problem, task)
            return best, None
        rows = drawn_rows(n_rows, n_fitted, np.random.default_rng(task.seed))
        frame = None if anchors is None else OldMap.known(anchors.take(rows))
        began = clock.elapsed()
        best.fit(problem.original[rows], align_to=frame)
        took = SAFETY * (clock.elapsed() - began)
        possible = n_fitted * KEPT_BACK * clock.left() / took
        if possible < WORTH_A_REFIT * n_fitted:
            break
        n_fitted = min(n_rows, int(possible))
    warn_user(
        f"effort: the seconds sufficed for {n_fitted} of {n_rows} rows, to which {contender.name} "
        "was fitted. Give more seconds to fit all rows.",
        UserWarning,
    )
    return best, rows


def _fit_all(best: TwoWayEstimator, contender: Contender, problem: Problem, task: Task) -> None:
    """Fit the winner to all rows."""
    if contender is not CONTENDERS.get(contender.name):  # an estimator with units of its own
        anchors = problem.anchors
        best.fit(problem.original, align_to=None if anchors is None else OldMap.known(anchors))
        return
    # The steps of its own fit, whose progress is that of this fit.
    learned = learned_of(best, replace(problem, rng=check_rng(task.seed)))
    variance = learned.variance
    if variance is None:
        variance = float(row_norms_sq(problem.data).mean())
    best._take(best._state(learned, problem.units, variance))


def _affordable(outcome: Outcome, n_rows: int, clock: Clock) -> int:
    """Return how many rows the winner can be fitted to in the time that is left.

    Its seconds are a line through those of its last two trials.
    """
    name = outcome.winner.name
    trials = [one for turn in outcome.rounds for one in turn.trials if one.name == name]
    if not clock.is_limited or not trials:
        return n_rows
    last = trials[-1]
    per_row, fixed = last.seconds / last.n_rows, 0.0
    if len(trials) > 1:
        before = trials[-2]
        slope = (last.seconds - before.seconds) / (last.n_rows - before.n_rows)
        slope = float(np.clip(slope, LEAST_SLOPE * per_row, per_row))
        per_row, fixed = slope, last.seconds - slope * last.n_rows
    longer = SAFETY * VALIDATED.get(name, 1.0)
    possible = (KEPT_BACK * clock.left() - longer * fixed) / (longer * per_row)
    return int(np.clip(possible, min(n_rows, last.n_rows), n_rows))

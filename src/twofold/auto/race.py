"""A race of methods by successive halving.

All methods are tried on a few rows. The better half is tried again on more rows, and the best of
the last round wins. Among methods that are about equally good, the order of
`twofold.auto.contenders.CONTENDERS` decides: the cheaper and smoother first.

Starts (PCA, Isomap, t-SNE) are computed once, for the rows of the last round, and shared by all
methods and rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from twofold.auto.contenders import Contender, Split, Task, Trial, can_run
from twofold.auto.effort import Clock, Effort
from twofold.base.problem import Problem
from twofold.maps.affine import Affine
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import drawn_rows, map_blocks
from twofold.protocols import Array, IntArray
from twofold.starts.named import attempt, resolve_init, unit_variance

STARTS = ("pca", "isomap", "tsne")
HELD_OUT_SHARE = 0.25
MOST_HELD_OUT = 500
FEW_ROWS, N_FOLDS = 300, 3
"""Up to this number of rows each of them is held out once."""

FEWEST_ROWS = 20
"""Fewer rows say nothing about a method."""

SAFETY = 1.3
"""Factor on predicted seconds."""


@dataclass(frozen=True)
class Round:
    """A round: its number, rows, and the trials of it, best first."""

    number: int
    n_rows: int
    n_held_out: int
    trials: list[Trial]


@dataclass(frozen=True)
class Outcome:
    """The result of a race: all rounds, the winner's trial and the reason.

    ``starts`` has the latents of all rows if the last round had all rows, else it is empty.
    ``linear`` is the trial of PCA.
    """

    rounds: list[Round]
    winner: Trial
    reason: str
    starts: dict[str, Array]
    linear: Trial | None


class Rows:
    """The rows of a race (n, r), at total variance one, with shared starts.

    They are the leading principal coordinates of some rows of the problem, ``numbers``.
    """

    def __init__(self, problem: Problem, n_rows: int, names: tuple[str, ...]) -> None:
        data = problem.data
        everyone = n_rows >= len(data)
        rng = problem.rng
        self.numbers = np.arange(len(data)) if everyone else drawn_rows(len(data), n_rows, rng)
        some = data[self.numbers]
        some = unit_variance(some - some.mean(axis=0))
        subspace = Affine.leading_subspace(some, problem.n_components)
        self.inside: Array = subspace.into(some)
        self.outside: Array = np.maximum(row_norms_sq(some) - row_norms_sq(self.inside), 0.0)
        self.order: IntArray = rng.permutation(len(some))
        seeds = dict(zip(names, rng.integers(2**31, size=len(names)), strict=True))

        def embed(name: str) -> Array | None:
            def named(one: object) -> Array:
                own = np.random.default_rng(int(seeds[str(one)]))
                return resolve_init(one, self.inside, problem.n_components, own)

            return attempt(named, name, auto=True)

        latents = map_blocks(embed, names)
        self.starts = {
            name: Z for name, Z in zip(names, latents, strict=True) if Z is not None and Z.any()
        }

    def splits(self, n_rows: int) -> list[Split]:
        """Return the splits of a round that sees this many of the rows."""
        order = self.order[:n_rows]
        if len(order) <= FEW_ROWS:
            folds = [order[fold::N_FOLDS] for fold in range(N_FOLDS)]
            return [self._split(np.setdiff1d(order, fold), np.sort(fold)) for fold in folds]
        n_held_out = min(int(HELD_OUT_SHARE * len(order)), MOST_HELD_OUT)
        return [self._split(np.sort(order[n_held_out:]), np.sort(order[:n_held_out]))]

    def _split(self, kept: IntArray, held_out: IntArray) -> Split:
        starts = {name: Z[kept] for name, Z in self.starts.items()}
        return Split(self.inside[kept], self.inside[held_out], self.outside[held_out], starts, kept)


def run_race(
    contenders: list[Contender],
    problem: Problem,
    effort: Effort,
    clock: Clock,
    task: Task,
    say: Callable[[str], None],
) -> Outcome:
    """Let methods race for the rows of a problem; ``say`` gets a line after each round."""
    n_rows = len(problem.data)
    last = effort.last(n_rows)
    if clock.is_limited and clock.left_for_race() < SAFETY:
        last = min(last, effort.first)
    with threadpool_limits(1, "openmp"), problem.progress.phase("starts of the race"):
        rows = Rows(problem, last, STARTS)
    running = [one for one in contenders if can_run(one.name, task.n_components, rows.starts)]
    sizes = [effort.first, last] if last > 2 * effort.first and len(running) > 2 else [last]
    rounds: list[Round] = []
    for number, size in enumerate(sizes, 1):
        splits = rows.splits(size)
        with problem.progress.phase(f"round {number} of the race"):
            trials = _run_all(running, task, splits, clock)
        if not trials:
            break
        trials.sort(key=lambda trial: -trial.judged.score)
        held_out = len(trials[0].judged.plain)
        rounds.append(Round(number, len(splits[0].rows), held_out, trials))
        say(_line(rounds[-1]))
        if number < len(sizes):
            kept = _better_half(trials, running)
            growth = size and sizes[number] / size
            cost = SAFETY * growth * sum(t.seconds for t in trials if t.name in kept)
            if clock.is_limited and cost > clock.left_for_race():
                break
            running = [one for one in running if one.name in kept]
    winner, reason = _decided(rounds[-1].trials, running)
    linear = next(
        (trial for one in reversed(rounds) for trial in one.trials if trial.name == "pca"), None
    )
    starts = rows.starts if last >= n_rows else {}
    return Outcome(rounds, winner, reason, starts, linear)


def _run_all(
    running: list[Contender], task: Task, splits: list[Split], clock: Clock
) -> list[Trial]:
    """Return the trials of all methods that do not fail; in given seconds, of those in time."""
    longest = 0.0

    def run(contender: Contender) -> Trial | None:
        nonlocal longest
        if clock.is_limited and longest and clock.left_for_race() < longest:
            return None
        began = clock.elapsed()
        try:
            trial = contender.run(task, splits)
        except (ValueError, np.linalg.LinAlgError, MemoryError):
            return None
        longest = max(longest, clock.elapsed() - began)
        return trial

    with threadpool_limits(1, "openmp"):
        return [trial for trial in map_blocks(run, running) if trial is not None]


def _better_half(trials: list[Trial], running: list[Contender]) -> set[str]:
    """Return the names of the better half, and PCA, with which the winner is compared."""
    kept = {trial.name for trial in trials[: math.ceil(len(trials) / 2)]}
    return kept | ({"pca"} & {one.name for one in running})


def _decided(trials: list[Trial], running: list[Contender]) -> tuple[Trial, str]:
    """Return the winner of a round and the reason.

    Methods are compared in their order. A later one replaces the best so far if its score is higher
    by more than its margin, and by more than the standard error of the difference.
    """
    found = {trial.name: trial for trial in trials}
    winner: Trial | None = None
    for contender in running:
        trial = found.get(contender.name)
        if trial is None:
            continue
        if winner is not None:
            ahead, standard_error = winner.judged.behind(trial.judged)
            if ahead <= max(contender.margin, standard_error):
                continue
        winner = trial
    assert winner is not None
    best = trials[0]
    if winner is best:
        return winner, "the best score"
    behind, standard_error = winner.judged.behind(best.judged)
    return winner, (
        f"as good as {best.name} ({behind:.3f} behind, standard error {standard_error:.3f}), "
        "cheaper or smoother"
    )


def _line(one: Round) -> str:
    """Return a line about a round for the log."""
    scores = ", ".join(f"{trial.name} {trial.judged.score:.3f}" for trial in one.trials)
    return f"race, round {one.number} ({one.n_rows} rows): {scores}"


def without_race(contender: Contender, n_rows: int) -> Outcome:
    """Return the outcome for a single method, or for too few rows to compare any."""
    from twofold.auto.judging import Judged

    nothing = Judged(np.full(1, np.nan), np.full(1, np.nan))
    trial = Trial(contender.name, nothing, 0.0, 0.0, n_rows, {"init": None, "smoothing": 1.0})
    return Outcome([], trial, "the only method", {}, None)

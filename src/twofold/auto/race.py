"""A race of methods by successive halving.

All methods are tried on a few rows. The better half is tried again on more rows, with very many
rows a third time, and the best of the last round wins. Among methods that are about equally good,
the order of `twofold.auto.contenders.CONTENDERS` decides: the cheaper and smoother first.

The same rows are held out in all rounds. Starts (PCA, Isomap, t-SNE) are computed once, without
these rows, and shared by all methods and rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from twofold.auto.contenders import Contender, Split, Task, Trial
from twofold.auto.effort import Clock, Effort
from twofold.auto.judging import Judged
from twofold.base.problem import Problem
from twofold.maps.affine import Affine
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.quiet import quiet
from twofold.numerics.threads import drawn_rows, map_blocks
from twofold.protocols import Array, IntArray
from twofold.starts.linear import pad
from twofold.starts.named import attempt, resolve_init, unit_variance

STARTS = ("pca", "isomap", "tsne")
HELD_OUT_SHARE = 0.25
MOST_HELD_OUT = 500
FEW_ROWS, N_FOLDS = 300, 4
"""Up to this number of rows each of them is held out once."""

FEWEST_ROWS = 20
"""Fewer rows say nothing about a method."""

SAFETY = 1.2
COST_POWER = 0.7
"""Factor on predicted seconds, and the power of the rows with which those of small rounds grow."""

NO_TIME = "not tried: no time"
FAILURES = (
    ValueError,
    TypeError,
    RuntimeError,
    ArithmeticError,
    np.linalg.LinAlgError,
    MemoryError,
)


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

    ``linear`` is the last trial of PCA. ``others`` has the reason for each method without a trial.
    """

    rounds: list[Round]
    winner: Trial
    reason: str
    linear: Trial | None = None
    others: dict[str, str] = field(default_factory=dict)


class Rows:
    """The rows of a race (n, r), at total variance one, with their splits.

    They are the leading principal coordinates of some rows of the problem.
    """

    def __init__(self, problem: Problem, n_rows: int, names: list[str], *, folds: bool) -> None:
        data, rng = problem.data, problem.rng
        numbers = np.arange(len(data))
        if n_rows < len(data):
            numbers = drawn_rows(len(data), n_rows, rng)
        some = data[numbers]
        some = unit_variance(some - some.mean(axis=0))
        subspace = Affine.leading_subspace(some, problem.n_components)
        inside = subspace.into(some)
        self._outside: Array = np.maximum(row_norms_sq(some) - row_norms_sq(inside), 0.0)
        self._n_components = problem.n_components
        # Estimators ask for as many columns as latent dimensions.
        self._inside: Array = pad(inside, max(inside.shape[1], self._n_components))
        order: IntArray = rng.permutation(len(some))
        self._seed = int(rng.integers(2**31))
        n_held_out = max(1, min(int(HELD_OUT_SHARE * len(order)), MOST_HELD_OUT))
        self._parts = [(order[:n_held_out], order[n_held_out:])]
        if folds and len(order) <= FEW_ROWS:
            held_out = [order[fold::N_FOLDS] for fold in range(N_FOLDS)]
            self._parts = [(part, order[~np.isin(order, part)]) for part in held_out]
        if problem.anchors is None:
            self._starts = [self._embedded(self._inside[kept], names) for _, kept in self._parts]
        else:  # all methods begin in the frame of the old model
            start = problem.anchors.start[numbers]
            named = [name for name in names if name != "pca"]
            self._starts = [dict.fromkeys(named, start[kept]) for _, kept in self._parts]

    @property
    def starts(self) -> dict[str, Array]:
        """The latents of the first split, by the names of those that all splits have."""
        first, *others = self._starts
        return {name: Z for name, Z in first.items() if all(name in one for one in others)}

    def splits(self, n_rows: int) -> list[Split]:
        """Return the splits of a round that sees this many of the rows, held-out ones included."""
        found = []
        for (held_out, kept), starts in zip(self._parts, self._starts, strict=True):
            n_kept = max(n_rows - len(held_out), len(held_out))
            first = {name: Z[:n_kept] for name, Z in starts.items()}
            rows, others = self._inside[kept[:n_kept]], self._inside[held_out]
            found.append(Split(rows, others, self._outside[held_out], first))
        return found

    def _embedded(self, rows: Array, names: list[str]) -> dict[str, Array]:
        """Return the latents of rows (n, r) by the methods that succeed and vary everywhere."""
        found = {}
        for name in names:

            def embed(one: object) -> Array:
                rng = np.random.default_rng(self._seed)
                return resolve_init(one, rows, self._n_components, rng)

            Z = attempt(embed, name, auto=True)
            if Z is not None and np.ptp(Z, axis=0).all():
                found[name] = Z
        return found


def run_race(
    contenders: list[Contender],
    problem: Problem,
    effort: Effort,
    clock: Clock,
    task: Task,
    say: Callable[[str], None],
) -> Outcome:
    """Let methods race for the rows of a problem; ``say`` gets a line after each round."""
    sizes = effort.sizes(len(problem.data))
    others = {one.name: NO_TIME for one in contenders if not effort.tries(one.name)}
    running = [one for one in contenders if one.name not in others] or contenders[:1]
    rows: Rows | None = None
    rounds: list[Round] = []
    for number, size in enumerate(sizes, 1):
        began = clock.elapsed()
        if rows is None or clock.is_limited:
            with problem.progress.phase("starts of the race"):
                most = size if clock.is_limited else sizes[-1]
                used = {name for one in running for name in one.uses}
                names = [name for name in STARTS if name in used]
                rows = Rows(problem, most, names, folds=not clock.is_limited)
            running = _able(running, task, rows, others)
        splits = rows.splits(size)
        with problem.progress.phase(f"round {number} of the race"):
            trials, failed = _run_all(running, task, splits, clock)
        unfinished = NO_TIME in failed.values()
        others |= failed
        if not trials or (rounds and unfinished):
            break
        trials.sort(key=lambda trial: -trial.judged.score)
        rounds.append(Round(number, len(splits[0].rows), len(trials[0].judged.plain), trials))
        say(_line(rounds[-1]))
        if number < len(sizes):
            kept = _better_half(trials, running)
            cost = SAFETY * (clock.elapsed() - began) * (sizes[number] / size) ** COST_POWER
            if clock.is_limited and cost * len(kept) / len(trials) > clock.left_for_race():
                break
            running = [one for one in running if one.name in kept]
    if not rounds:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in others.items())
        raise ValueError(f"methods: none could be tried ({reasons}).")
    winner, reason = decided(rounds[-1].trials, contenders)
    linear = {one.name for one in contenders if one.is_linear}
    known = [trial for one in rounds for trial in one.trials]
    others = {name: why for name, why in others.items() if name not in {t.name for t in known}}
    last = next((trial for trial in reversed(known) if trial.name in linear), None)
    return Outcome(rounds, winner, reason, last, others)


def _able(
    running: list[Contender], task: Task, rows: Rows, others: dict[str, str]
) -> list[Contender]:
    """Return the methods that suit the dimension and have their start; note the others."""
    able = [one for one in running if one.can_run(task.n_components, rows.starts)]
    for one in running:
        if one not in able:
            most = one.most_components
            others[one.name] = (
                f"not tried: its start {one.start!r} failed"
                if most is None
                else f"not tried: for at most {most} latent dimensions"
            )
    return able


def _run_all(
    running: list[Contender], task: Task, splits: list[Split], clock: Clock
) -> tuple[list[Trial], dict[str, str]]:
    """Return the trials of all methods, and the reasons of those without; see `NO_TIME`."""
    longest = 0.0

    def run(contender: Contender) -> Trial | str:
        nonlocal longest
        if clock.is_limited and longest and clock.left_for_race() < longest:
            return NO_TIME
        began = clock.elapsed()
        try:
            trial = contender.run(task, splits)
        except FAILURES as error:
            return f"failed: {str(error).splitlines()[0]}" if str(error) else "failed"
        longest = max(longest, clock.elapsed() - began)
        return trial

    # The errors judge, so warnings of trials say nothing; the final fit warns.
    with quiet(), threadpool_limits(1, "openmp"):
        results = map_blocks(run, running)
    named = list(zip(running, results, strict=True))
    trials = [one for one in results if isinstance(one, Trial)]
    return trials, {one.name: result for one, result in named if isinstance(result, str)}


def _better_half(trials: list[Trial], running: list[Contender]) -> set[str]:
    """Return the names of the better half, and those that are never left out."""
    kept = {trial.name for trial in trials[: math.ceil(len(trials) / 2)]}
    return kept | {one.name for one in running if one.is_kept}


def decided(trials: list[Trial], contenders: list[Contender]) -> tuple[Trial, str]:
    """Return the winner of a round and the reason.

    Methods are compared in their order. A later one replaces the best so far if its score is higher
    by more than its margin. To replace PCA, it must also be higher by the standard error of the
    difference: a bend that could be chance is not drawn.
    """
    found = {trial.name: trial for trial in trials}
    running = [one for one in contenders if one.name in found]
    winner = found[running[0].name]
    is_linear = running[0].is_linear
    for contender in running[1:]:
        trial = found[contender.name]
        ahead, standard_error = winner.judged.behind(trial.judged)
        if ahead > max(contender.margin, standard_error if is_linear else 0.0):
            winner, is_linear = trial, contender.is_linear
    best = trials[0]
    if winner is best:
        return winner, "the best score"
    behind, standard_error = winner.judged.behind(best.judged)
    return winner, (
        f"as good as {best.name} ({behind:.3f} behind, standard error {standard_error:.3f}), and "
        "before it in the order"
    )


def _line(one: Round) -> str:
    """Return a line about a round for the log."""
    scores = ", ".join(f"{trial.name} {trial.judged.score:.3f}" for trial in one.trials)
    return f"race, round {one.number} ({one.n_rows} rows): {scores}"


def without_race(contender: Contender, n_rows: int, reason: str) -> Outcome:
    """Return the outcome of a fit that compares nothing, with the reason."""
    nothing = Judged(np.full(1, np.nan), np.full(1, np.nan))
    trial = Trial(contender.name, nothing, 0.0, n_rows, {"init": None, "smoothing": 1.0})
    return Outcome([], trial, reason)

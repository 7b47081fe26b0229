"""One estimator for clusters, sheets, curves and noisy tables.

Methods race on a part of the rows (`twofold.auto.race`), held-out rows decide
(`twofold.auto.judging`), and the winner is fitted to all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from twofold.auto.contenders import (
    CONTENDERS,
    Contender,
    Task,
    Trial,
    of_estimator,
    set_if_known,
    weights_of_smoothing,
)
from twofold.auto.effort import Clock, Effort
from twofold.auto.race import FEWEST_ROWS, SAFETY, Outcome, run_race, without_race
from twofold.auto.report import RaceReport
from twofold.auto.worth import warn_of_linear, warn_of_units
from twofold.base.estimator import TwoWayEstimator
from twofold.base.problem import Learned, Problem
from twofold.numerics.codebooks import middle_size
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import drawn_rows
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import RandomLike, check_rng, is_auto, warn_user
from twofold.protocols import Array

VALIDATED = {"principal_manifold": 10.0, "isomap": 4.0}
"""How much longer the final forms take than the quick ones, because they choose more."""


class AutoTwoWay(TwoWayEstimator):
    """Find the method for a table, and fit it.

    Methods race on a part of the rows: all on a few hundred, the better half on one or two
    thousand. They start from the same initial latents. The score of the map on held-out rows
    decides, which sees both the details of rows and the map as a whole; of methods that are equally
    good, the cheaper and smoother wins. The winner is fitted to all rows.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Latent dimensions. "auto" takes the smallest number whose held-out score is within one
        standard error of the best, see `twofold.model_selection.dimension_curve`.
    methods : "auto", list of str, or mapping of str to estimators, default="auto"
        The methods to compare: names among "pca", "drur", "ukr", "tsne", "isomap" and
        "principal_manifold", or estimators of your own by name. "auto" means all that suit the
        number of dimensions. "tsne" and "isomap" are these embeddings with both maps (`TwoWay`),
        "pca" is linear. The order decides between methods that are equally good.
    effort : {"fast", "balanced", "best"} or float, default="balanced"
        What to spend on the race. "fast" compares on 500 rows, "best" on 5,000 and with all choices
        that methods have. A number is the seconds of the whole fit: the race takes less than half
        of them, and if they do not suffice for all rows, the winner is fitted to a part of them,
        with a warning. The time to compile code at first use is not included.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the parts of rows and all methods.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        1 logs the rounds of the race, the phases of the fit and, every few seconds, its progress;
        2 logs every iteration.

    Attributes
    ----------
    best_estimator_ : TwoWayEstimator
        The winner, fitted. It has more attributes, and methods of its own.
    method_ : str
        The name of the winner.
    report_ : RaceReport
        All methods compared, the winner first, with errors, seconds and the reason. It prints as a
        table, also in notebooks; ``report_.to_frame()`` is a data frame.
    held_out_error_, held_out_codebook_error_ : float
        Errors of the winner in the race, as shares of the variance; NaN without a race.
    embedding_ : ndarray of shape (n_samples, n_components)
        Latents of the training data.
    encoder_, decoder_, density_, n_features_in_, feature_names_in_
        As in every two-way estimator.

    See Also
    --------
    twofold.model_selection.dimension_curve : How many dimensions.
    TwoWay : Both maps for one embedding.

    Examples
    --------
    >>> from twofold import AutoTwoWay
    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(400, random_state=0)
    >>> model = AutoTwoWay(random_state=0).fit(X)
    >>> Z = model.transform(X)
    >>> Z.shape, model.inverse_transform(Z).shape, model.score(X) > 0.99
    ((400, 2), (400, 3), True)
    """

    best_estimator_: TwoWayEstimator
    report_: RaceReport

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        methods: Any = "auto",
        effort: str | float = "balanced",
        random_state: RandomLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.methods = methods
        self.effort = effort
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, problem: Problem) -> Learned:
        effort, contenders = Effort.of(self.effort), self._contenders()
        clock = Clock(effort.seconds)
        seed = int(problem.rng.integers(2**31))
        task = Task(problem.n_components, len(problem.data), seed, effort.thorough)
        if len(problem.data) < FEWEST_ROWS or len(contenders) == 1:
            outcome = without_race(contenders[0], len(problem.data))
        else:
            outcome = run_race(contenders, problem, effort, clock, task, problem.progress.note)
        contender = next(one for one in contenders if one.name == outcome.winner.name)
        learned = self._final(problem, contender, outcome, task, clock)
        warn_of_linear(outcome, problem.n_components)
        warn_of_units(learned.attributes["best_estimator_"], problem.data)
        return learned

    def _final(
        self, problem: Problem, contender: Contender, outcome: Outcome, task: Task, clock: Clock
    ) -> Learned:
        """Fit the winner to all rows, or to as many as the time allows."""
        trial, n_rows = outcome.winner, len(problem.data)
        found = weights_of_smoothing(trial.found, trial.n_rows / n_rows)
        best = contender.final(task, found)
        set_if_known(best, random_state=task.seed, n_jobs=self.n_jobs, verbose=self.verbose)
        n_fitted = self._affordable(trial, n_rows, clock)
        if n_fitted < n_rows:
            warn_user(
                f"effort={self.effort!r} seconds suffice for {n_fitted} of {n_rows} rows, to which "
                f"{contender.name} was fitted. Give more seconds to fit all rows.",
                UserWarning,
            )
            return self._fitted_to_part(problem, best, n_fitted, outcome)
        named = best.get_params(deep=False).get("init")
        shared = isinstance(named, str) and named in outcome.starts and outcome.rounds
        if shared:  # computed for all rows in the race
            best.set_params(init={named: outcome.starts[str(named)]})
        own = replace(problem, rng=check_rng(task.seed))
        learned = best._learn(own)
        if shared:
            best.set_params(init=named)
        variance = learned.variance
        if variance is None:
            variance = float(row_norms_sq(problem.data).mean())
        best._take(best._state(learned, problem.units, variance))
        self._share_features(best)
        return replace(learned, variance=variance, attributes=self._attributes(best, outcome))

    def _fitted_to_part(
        self, problem: Problem, best: TwoWayEstimator, n_fitted: int, outcome: Outcome
    ) -> Learned:
        """Fit the winner to some rows, and encode all."""
        rows = drawn_rows(len(problem.data), n_fitted, problem.rng)
        best.fit(problem.original[rows])
        latents = best._encode(problem.original)
        self._share_features(best)
        return Learned(
            latents,
            best._latent_units,
            best.encoder_,
            best.decoder_,
            best.density_,
            best._variance,
            self._attributes(best, outcome),
        )

    def _affordable(self, trial: Trial, n_rows: int, clock: Clock) -> int:
        """Return how many rows the winner can be fitted to in the time that is left."""
        if not clock.is_limited or not trial.seconds:
            return n_rows
        left = clock.left()
        per_row = SAFETY * VALIDATED.get(trial.name, 1.0) * trial.seconds / trial.n_rows
        if per_row * n_rows <= left:
            return n_rows
        of_latents = SAFETY * trial.encode_seconds * n_rows
        return int(np.clip((left - of_latents) / per_row, min(n_rows, trial.n_rows), n_rows))

    def _contenders(self) -> list[Contender]:
        """Return the methods to compare, in the order that decides between equally good ones."""
        methods = self.methods
        if is_auto(methods):
            return list(CONTENDERS.values())
        if isinstance(methods, str):
            methods = [methods]
        if isinstance(methods, Mapping):
            bad = [name for name, one in methods.items() if not isinstance(one, TwoWayEstimator)]
            if bad:
                raise TypeError(
                    f"methods[{bad[0]!r}]={methods[bad[0]]!r} must be an estimator of twofold."
                )
            found = [of_estimator(str(name), one) for name, one in methods.items()]
        else:
            unknown = [name for name in methods if name not in CONTENDERS]
            if unknown:
                raise ValueError(
                    f"methods: {unknown[0]!r} is unknown. Use names among {list(CONTENDERS)}, or a "
                    "mapping of names to estimators."
                )
            found = [CONTENDERS[name] for name in methods]
        if not found:
            raise ValueError("methods is empty: use 'auto', or name at least one.")
        return found

    def _share_features(self, best: TwoWayEstimator) -> None:
        """Let the winner know the columns of the data."""
        best.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            best.feature_names_in_ = self.feature_names_in_

    def _attributes(self, best: TwoWayEstimator, outcome: Outcome) -> dict[str, Any]:
        trial = outcome.winner
        return {
            "best_estimator_": best,
            "method_": trial.name,
            "report_": report_of(outcome),
            "held_out_error_": trial.judged.error,
            "held_out_codebook_error_": trial.judged.codebook_error,
        }

    def _learn_constant(self, problem: Problem) -> Learned:
        contender = self._contenders()[0]
        task = Task(problem.n_components, len(problem.data), 0)
        best = contender.final(task, {"init": "pca", "smoothing": 1.0})
        learned = best._learn_constant(problem)
        best._take(best._state(learned, problem.units, 0.0))
        self._share_features(best)
        outcome = without_race(contender, len(problem.data))
        return replace(learned, attributes=self._attributes(best, outcome))

    @staticmethod
    def _state(learned: Learned, units: CenteredUnits, variance: float) -> dict[str, Any]:
        """Return the attributes of a fitted model, in the units of the winner."""
        best = learned.attributes["best_estimator_"]
        state = TwoWayEstimator._state(learned, units, variance)
        shared = ("_data_units", "_latent_units", "_variance")
        return state | {name: getattr(best, name) for name in shared}

    @property
    def _unwrapped(self) -> TwoWayEstimator:
        return self.best_estimator_

    def _encode(self, data: Array) -> Array:
        return self.best_estimator_._encode(data)

    def _decode(self, latents: Array) -> Array:
        return self.best_estimator_._decode(latents)

    def _unit_distances(self, data: Array) -> Array:
        return self.best_estimator_._unit_distances(data)

    def _distances(self, data: Array) -> Array:
        return self.best_estimator_._distances(data)

    def _known_score(self) -> tuple[float, str] | None:
        """Return the share of the variance kept in held-out rows of the race."""
        if not np.isfinite(self.held_out_error_):
            return None
        return 1.0 - self.held_out_error_, "held-out rows"


def report_of(outcome: Outcome) -> RaceReport:
    """Return the table of a race: the last trial of each method, the winner first."""
    rows: dict[str, dict[str, Any]] = {}
    for one in reversed(outcome.rounds):
        for trial in one.trials:
            if trial.name in rows:
                continue
            last = one is outcome.rounds[-1]
            verdict = "behind in the last round" if last else f"left out after round {one.number}"
            won = trial is outcome.winner
            rows[trial.name] = {
                "method": trial.name,
                "round": one.number,
                "rows": one.n_rows,
                "score": trial.judged.score,
                "error": trial.judged.error,
                "codebook_error": trial.judged.codebook_error,
                "seconds": trial.seconds,
                "verdict": f"won: {outcome.reason}" if won else verdict,
            }
    table = sorted(rows.values(), key=lambda row: not row["verdict"].startswith("won"))
    if not outcome.rounds:
        return RaceReport([{"method": outcome.winner.name, "verdict": outcome.reason}])
    last = outcome.rounds[-1]
    return RaceReport(table, last.n_held_out, middle_size(last.n_rows))

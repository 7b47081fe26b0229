"""One estimator for clusters, sheets, curves and noisy tables.

Methods race on a part of the rows (`twofold.auto.race`), held-out rows decide
(`twofold.auto.judging`), and the winner is fitted to all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from twofold.auto.contenders import (
    CONTENDERS,
    Contender,
    Task,
    of_estimator,
)
from twofold.auto.effort import Clock, Effort
from twofold.auto.final import fit_winner
from twofold.auto.race import FEWEST_ROWS, Outcome, run_race, without_race
from twofold.auto.report import COLUMNS, RaceReport
from twofold.auto.worth import (
    FEWEST_FOR_DIMENSION,
    warn_of_few_rows,
    warn_of_linear,
    warn_of_noise,
    warn_of_units,
)
from twofold.base.dimensions import check_n_components
from twofold.base.estimator import TwoWayEstimator
from twofold.base.growth import Growth
from twofold.base.problem import Learned, Problem
from twofold.base.progress import FitProgress
from twofold.model_selection import DimensionChoice, choose_dimension
from twofold.numerics.codebooks import middle_size
from twofold.numerics.threads import some_rows
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import RandomLike, is_auto, warn_user
from twofold.protocols import Array, IntArray

MOST_COMPONENTS = 10
"""The largest number of dimensions that "auto" considers."""

FEW_FOR_DIMENSION = 600
"""Rows that decide on the number of dimensions if a fit has given seconds."""

TIME_OF_TEST = 0.5
"""Seconds that must be left for the test of noise."""


SHARED = (
    "embedding_",
    "encoder_",
    "decoder_",
    "density_",
    "_data_units",
    "_latent_units",
    "_variance",
)
"""Attributes of the winner that are those of the model."""


class AutoTwoWay(TwoWayEstimator):
    """Find the method for a table, and fit it.

    Methods race on a part of the rows: all on a few hundred, the better half on one or two
    thousand, and of very many rows on up to six thousand. They start from the same initial latents.
    The score of the map on held-out rows decides, which sees both the details of rows and the map
    as a whole; of methods that are about equally good, the cheaper and smoother wins. The winner is
    fitted to all rows.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Latent dimensions. "auto" takes the smallest number whose held-out score is about as good as
        that of more, see `twofold.model_selection.choose_dimension`. It needs some 400 rows.
    methods : "auto", list of str, or mapping of str to estimators, default="auto"
        The methods to compare: names among "pca", "drur", "ukr", "tsne", "isomap" and
        "principal_manifold", or estimators of your own by name. "auto" means all that suit the
        number of dimensions. "tsne" and "isomap" are these embeddings with both maps (`TwoWay`),
        "pca" is linear. The order decides between methods that are equally good.
    effort : {"fast", "balanced", "best"} or float, default="balanced"
        What to spend on the race. "fast" compares on 500 rows, "best" on 5,000 and with all choices
        that methods have. A number is the seconds of the whole fit: the race takes less than half
        of them, and if they do not suffice for all rows, the winner is fitted to a part of them,
        with a warning. The time to compile code at first use is not included. What is compared then
        depends on the speed of the machine, also for an int ``random_state``.
    scale : {"standard", "robust"}, array-like of shape (n_features,) or None, default=None
        Units of the columns, for tables whose columns have different units. "standard" divides each
        column by its standard deviation, "robust" by its interquartile range over 1.349, an array
        by its values. None leaves the columns as they are. Scaling is part of the model: methods
        take and return data in their own units. Only ``reconstruction_error`` and ``score`` measure
        distances in units of the scaled columns.
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
    dimension_choice_ : DimensionChoice or None
        How ``n_components="auto"`` was decided, with the held-out scores.
    held_out_error_, held_out_codebook_error_ : float
        Errors of the winner in the race, as shares of the variance; NaN without a race.
    fitted_rows_ : ndarray of shape (n_fitted,) or None
        The numbers of the rows to which the winner was fitted, if the seconds of ``effort`` did not
        suffice for all; else None.
    embedding_ : ndarray of shape (n_samples, n_components)
        Latents of the training data; with ``fitted_rows_`` of these rows.
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

    _aligns_itself = True

    best_estimator_: TwoWayEstimator
    report_: RaceReport
    dimension_choice_: DimensionChoice | None

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        methods: Any = "auto",
        effort: str | float = "balanced",
        scale: Any = None,
        random_state: RandomLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.methods = methods
        self.effort = effort
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _requested_components(self, data: Array) -> int:
        if is_auto(self.n_components):
            return 1  # until the data have been looked at
        return check_n_components(self.n_components, *data.shape)

    def _learn(self, problem: Problem) -> Learned:
        effort, contenders = Effort.of(self.effort), self._contenders()
        if problem.anchors is not None:
            contenders = without_linear(contenders)
        clock, choice = Clock(effort.seconds), None
        if is_auto(self.n_components) and problem.anchors is None:
            with problem.progress.phase("number of dimensions"):
                choice = self._dimensions(problem, clock)
            problem = replace(problem, n_components=choice.n_components)
            warn_of_few_rows(len(problem.data), choice.n_components)
        seed = int(problem.rng.integers(2**31))
        task = Task(problem.n_components, len(problem.data), seed, effort.thorough)
        if len(problem.data) < FEWEST_ROWS:
            outcome = without_race(contenders[0], len(problem.data), "too few rows for a race")
        elif len(contenders) == 1 and not clock.is_limited:
            outcome = without_race(contenders[0], len(problem.data), "the only method")
        else:
            outcome = run_race(contenders, problem, effort, clock, task, problem.progress.note)
        contender = next(one for one in contenders if one.name == outcome.winner.name)
        best, rows = fit_winner(contender, problem, outcome, task, clock, self.n_jobs, self.scale)
        self._share_features(best)
        self._warn(problem, outcome, choice, clock)
        attributes = self._attributes(best, outcome, choice, rows)
        if problem.anchors is not None:
            attributes["alignment_"] = best.alignment_
        maps = best._latent_units, best.encoder_, best.decoder_, best.density_
        return Learned(best.embedding_, *maps, best._variance, attributes)

    @staticmethod
    def _dimensions(problem: Problem, clock: Clock) -> DimensionChoice:
        """Choose the number of dimensions; of few rows without structure two, if there are two."""
        n_rows, n_columns = problem.data.shape
        rows = some_rows(n_rows, FEW_FOR_DIMENSION if clock.is_limited else n_rows)
        most = min(MOST_COMPONENTS, n_columns, len(rows) - 1)
        choice = choose_dimension(problem.data[rows], max_components=most, random_state=problem.rng)
        if choice.is_noise and n_rows < FEWEST_FOR_DIMENSION:
            return replace(choice, n_components=min(2, most))
        return choice

    def _warn(
        self, problem: Problem, outcome: Outcome, choice: DimensionChoice | None, clock: Clock
    ) -> None:
        """Warn where the map is not worth having."""
        for name, reason in outcome.others.items():
            if reason.startswith("failed") and not is_auto(self.methods):
                warn_user(f"methods: {name!r} {reason}", UserWarning)
        names = getattr(self, "feature_names_in_", None)
        if warn_of_units(problem.data, problem.units, names):
            return  # then the others say the same in other words
        structure = None if choice is None else choice.structure
        if structure is None and (not outcome.rounds or clock.left() < TIME_OF_TEST):
            return
        if not warn_of_noise(problem.data, structure) and outcome.rounds:
            warn_of_linear(outcome, problem.n_components)

    def _contenders(self) -> list[Contender]:
        """Return the methods to compare, in the order that decides between equally good ones."""
        methods = self.methods
        if is_auto(methods):
            return list(CONTENDERS.values())
        if isinstance(methods, str):
            methods = [methods]
        if not isinstance(methods, Mapping | list | tuple):
            raise TypeError(
                f"methods={methods!r} must be 'auto', a list of names, or a mapping of names to "
                "estimators."
            )
        if isinstance(methods, Mapping):
            bad = [name for name, one in methods.items() if not isinstance(one, TwoWayEstimator)]
            if bad:
                raise TypeError(
                    f"methods[{bad[0]!r}]={methods[bad[0]]!r} must be an estimator of twofold."
                )
            self._check_scalable(methods)
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

    def _check_scalable(self, methods: Mapping[str, Any]) -> None:
        """Raise an error for an estimator that cannot take over the parameter ``scale``."""
        for name, one in methods.items():
            if self.scale is not None and "scale" not in one.get_params(deep=False):
                raise TypeError(
                    f"scale={self.scale!r}: methods[{name!r}]={one!r} has no parameter 'scale'. "
                    "Use scale=None, and scale the data before."
                )

    def _share_features(self, best: TwoWayEstimator) -> None:
        """Let the winner know the columns of the data."""
        best.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            best.feature_names_in_ = self.feature_names_in_

    @staticmethod
    def _attributes(
        best: TwoWayEstimator,
        outcome: Outcome,
        choice: DimensionChoice | None = None,
        rows: IntArray | None = None,
    ) -> dict[str, Any]:
        trial = outcome.winner
        return {
            "best_estimator_": best,
            "method_": trial.name,
            "report_": report_of(outcome),
            "dimension_choice_": choice,
            "fitted_rows_": rows,
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
        outcome = without_race(contender, len(problem.data), "all rows are equal")
        return replace(learned, attributes=self._attributes(best, outcome))

    @staticmethod
    def _state(learned: Learned, units: CenteredUnits, variance: float) -> dict[str, Any]:
        """Return the attributes of a fitted model, in the units of the winner."""
        best = learned.attributes["best_estimator_"]
        state = TwoWayEstimator._state(learned, units, variance)
        shared = ("_data_units", "_latent_units", "_variance")
        return state | {name: getattr(best, name) for name in shared}

    def _grown(self, data: Array, rng: np.random.Generator, progress: FitProgress) -> Growth:
        best = copy(self.best_estimator_)
        before = len(best.embedding_)
        growth = best._grown(data, rng, progress)
        best.__dict__.update(growth.state)
        rows = self.fitted_rows_
        if rows is not None:  # the new rows get the numbers that follow
            rows = np.concatenate([rows, rows.max() + 1 + np.arange(len(best.embedding_) - before)])
        state = {name: getattr(best, name) for name in SHARED if name in growth.state}
        return replace(growth, state=state | {"best_estimator_": best, "fitted_rows_": rows})

    def _take_growth(self, state: dict[str, Any]) -> None:
        if "_gap_filling" in state:  # the same for both
            state["best_estimator_"]._gap_filling = state["_gap_filling"]
        super()._take_growth(state)

    def _take(self, state: dict[str, Any]) -> None:
        best = state["best_estimator_"]
        filling = getattr(best, "_gap_filling", None) or state.get("_gap_filling")
        best._gap_filling = filling  # the same for both; the winner's own if it has some rows only
        super()._take(state | {"_gap_filling": filling})

    def _in_units(self, units: CenteredUnits, variance: float | None) -> Self:
        made = super()._in_units(units, variance)
        made.best_estimator_ = self.best_estimator_._in_units(units, variance)
        made._variance = made.best_estimator_._variance
        return made

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


def without_linear(contenders: list[Contender]) -> list[Contender]:
    """Return the contenders that can begin at given latents: all but PCA."""
    found = [one for one in contenders if one is not CONTENDERS["pca"]]
    if not found:
        raise ValueError("methods=['pca'] cannot be aligned. Add a method that is not linear.")
    return found


def report_of(outcome: Outcome) -> RaceReport:
    """Return the table of a race: the last trial of each method, the winner first."""
    rows: dict[str, dict[str, Any]] = {}
    for one in reversed(outcome.rounds):
        for trial in one.trials:
            if trial.name in rows:
                continue
            verdict = f"left out after round {one.number}"
            if one is outcome.rounds[-1]:
                better = trial.judged.score > outcome.winner.judged.score
                verdict = "better by less than its margin" if better else "behind"
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
    nothing = dict.fromkeys(COLUMNS)
    others = outcome.others.items()
    table += [nothing | {"method": name, "verdict": reason} for name, reason in others]
    if not outcome.rounds:
        only = {"method": outcome.winner.name, "verdict": outcome.reason}
        return RaceReport([nothing | only])
    last = outcome.rounds[-1]
    return RaceReport(table, last.n_held_out, middle_size(last.n_rows))

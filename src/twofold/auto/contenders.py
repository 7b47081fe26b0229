"""The methods that race: a quick form for some rows, and the form that is fitted to all rows.

The quick form starts from latents that all methods share, and chooses less: fixed instead of
validated penalties, one pair of maps instead of twelve.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from twofold.auto.judging import Judged, codes_of
from twofold.base.estimator import TwoWayEstimator
from twofold.drur import DRUR
from twofold.maps import LinearMap, NadarayaWatson, Projection
from twofold.principal_manifold import PrincipalManifold
from twofold.protocols import Array
from twofold.two_way import TwoWay
from twofold.ukr import UKR

SMOOTHINGS = (1.25, 1.5, 2.0)
MOST_WORSE = 1.03
"""Ratio to the lowest error up to which a smoother map of kernel regression is preferred."""

MANY_ROWS = 10_000
LONG_TOL = 1.5e-3
"""With more rows, kernel regression gains from a longer descent. With fewer, it tears the map."""

ALPHAS: tuple[dict[str, Any], ...] = ({"alpha": 1e-4}, {"alpha": 1e-2})
"""Penalties of principal manifolds that are tried."""

QUICK_TOL = 1e-2
MOST_OF_GRIDS, MOST_OF_SUMS = 3, 5
"""Latent dimensions up to which the nodes of principal manifolds, and the cells of kernel
regression, are few enough."""


@dataclass(frozen=True)
class Split:
    """Rows (n, r) of a trial and held-out rows (m, r), in units of the data's deviation.

    ``starts`` has shared latents (n, q) by name, ``outside`` (m,) the squared distances of the
    held-out rows to the space of the coordinates.
    """

    rows: Array
    held_out: Array
    outside: Array
    starts: Mapping[str, Array]


@dataclass(frozen=True)
class Task:
    """What all trials of a race share; ``n_rows`` is the number of rows of the final fit."""

    n_components: int
    n_rows: int
    seed: int
    thorough: bool = False


@dataclass(frozen=True)
class Trial:
    """The result of a method on one or several splits: errors, what was found, seconds."""

    name: str
    judged: Judged
    seconds: float
    n_rows: int
    found: dict[str, Any] = field(default_factory=dict)


Found = dict[str, Any]
"""What a trial has found: the name of the best start as "init", the "smoothing", the "alpha"."""

Quick = Callable[[Task, Split, Found], TwoWayEstimator]


@dataclass(frozen=True)
class Contender:
    """A method by name: its quick form, and its final one for what a trial has found.

    Each of the ``variants``, settings for the quick form, is tried, and the best score counts. It
    must be higher by ``margin`` than that of a method before it in the list. It takes part with at
    most ``most_components`` latent dimensions, and if its ``start`` could be computed; it ``uses``
    these starts. A method that ``is_kept`` is in all rounds.
    """

    name: str
    quick: Quick
    final: Callable[[Task, Found], TwoWayEstimator]
    margin: float = 0.03
    variants: tuple[Found, ...] = ({},)
    most_components: int | None = None
    start: str | None = None
    uses: tuple[str, ...] = ()
    is_linear: bool = False
    is_kept: bool = False

    def can_run(self, n_components: int, starts: Mapping[str, Array]) -> bool:
        """Tell whether it suits this number of latent dimensions and has its start."""
        if self.most_components is not None and n_components > self.most_components:
            return False
        return self.start is None or self.start in starts

    def run(self, task: Task, splits: list[Split]) -> Trial:
        """Fit the quick form to each split, and judge it on the held-out rows."""
        trials = [self._run(task, splits, variant) for variant in self.variants]
        best = max(trials, key=lambda trial: trial.judged.score)
        return replace(best, seconds=sum(trial.seconds for trial in trials))

    def _run(self, task: Task, splits: list[Split], variant: Found) -> Trial:
        began = time.perf_counter()
        judged: list[dict[float, Judged]] = []
        found = dict(variant)
        for split in splits:
            model = self.quick(task, split, variant).fit(split.rows)
            judged.append(_judged(model, task, split))
            found.setdefault("init", getattr(model, "init_", None))
        widths = {w: Judged.joined([one[w] for one in judged]) for w in judged[0]}
        width = _best_width(widths)
        found["smoothing"] = width
        seconds = time.perf_counter() - began
        return Trial(self.name, widths[width], seconds, len(splits[0].rows), found)


def _judged(model: TwoWayEstimator, task: Task, split: Split) -> dict[float, Judged]:
    """Return the held-out errors of a fitted model; of kernel regression for several widths."""
    latents = model.embedding_
    codes = codes_of(latents, task.seed)

    def judge(decode: Any, found: Array) -> Judged:
        return Judged.of(decode, codes, found, split.held_out, split.outside)

    judged = {1.0: judge(model._decode, model._encode(split.held_out))}
    for width in SMOOTHINGS if isinstance(model, UKR) else ():
        decoder = NadarayaWatson(bandwidth=width, n_jobs=1).fit(latents, split.rows)
        projection = Projection(decoder).fit(split.rows, latents)
        judged[width] = judge(decoder.predict, projection.predict(split.held_out))
    return judged


def _best_width(widths: dict[float, Judged]) -> float:
    """Return the largest width of about the lowest error; codebook errors fall with it."""
    lowest = min(one.error for one in widths.values())
    return max(width for width, one in widths.items() if one.error <= MOST_WORSE * lowest)


def _ukr(task: Task, split: Split, variant: Found) -> TwoWayEstimator:
    del variant
    starts = {name: Z for name, Z in split.starts.items() if name != "pca"} or "pca"
    return UKR(task.n_components, init=starts, random_state=task.seed, n_jobs=1)


def _final_ukr(task: Task, found: Found) -> TwoWayEstimator:
    model = UKR(task.n_components, init=found["init"] or "auto", smoothing=found["smoothing"])
    return model.set_params(tol=LONG_TOL) if task.n_rows > MANY_ROWS else model


def _drur(task: Task, split: Split, variant: Found) -> TwoWayEstimator:
    del variant
    init = "auto" if task.thorough else dict(split.starts) or "auto"
    return DRUR(task.n_components, init=init, random_state=task.seed, n_jobs=1)


def _final_drur(task: Task, found: Found) -> TwoWayEstimator:
    return DRUR(task.n_components, init=found["init"] or "auto")


def _manifold(task: Task, split: Split, variant: Found) -> TwoWayEstimator:
    model = PrincipalManifold(task.n_components, random_state=task.seed, n_jobs=1, **variant)
    if not task.thorough:
        model.set_params(tol=QUICK_TOL, init=split.starts.get("isomap", "auto"))
    return model


def _final_manifold(task: Task, found: Found) -> TwoWayEstimator:
    return PrincipalManifold(task.n_components, alpha=found.get("alpha", "cv"))


def _tsne(task: Task, split: Split, variant: Found) -> TwoWayEstimator:
    del variant
    latents = split.starts["tsne"]
    return TwoWay(latents, up="rbf", down="projection", random_state=task.seed, n_jobs=1)


def _final_tsne(task: Task, found: Found) -> TwoWayEstimator:
    del found
    return TwoWay("tsne", up="rbf", down="projection", n_components=task.n_components)


def _isomap(task: Task, split: Split, variant: Found) -> TwoWayEstimator:
    del variant
    model = TwoWay(split.starts["isomap"], random_state=task.seed, n_jobs=1)
    return model if task.thorough else model.set_params(up="rbf", down="projection")


def _final_isomap(task: Task, found: Found) -> TwoWayEstimator:
    del found
    return TwoWay("isomap", n_components=task.n_components)


def _linear(task: Task, *given: object) -> TwoWayEstimator:
    del given
    return TwoWay("pca", n_components=task.n_components, up=LinearMap(), down=LinearMap())


CONTENDERS: dict[str, Contender] = {
    one.name: one
    for one in (
        Contender("pca", _linear, _linear, is_linear=True, is_kept=True),
        Contender("drur", _drur, _final_drur, uses=("pca", "isomap", "tsne")),
        Contender(
            "ukr",
            _ukr,
            _final_ukr,
            margin=0.01,
            most_components=MOST_OF_SUMS,
            uses=("isomap", "tsne"),
            is_kept=True,
        ),
        Contender("tsne", _tsne, _final_tsne, margin=0.06, start="tsne", uses=("tsne",)),
        Contender("isomap", _isomap, _final_isomap, margin=0.06, start="isomap", uses=("isomap",)),
        Contender(
            "principal_manifold",
            _manifold,
            _final_manifold,
            margin=0.06,
            variants=ALPHAS,
            most_components=MOST_OF_GRIDS,
            uses=("isomap",),
        ),
    )
}
"""The methods by name, the cheaper and smoother first. A later one must be better by its margin, a
share of the errors. PCA is kept for comparison, kernel regression because it gains most from more
rows."""


def of_estimator(name: str, estimator: TwoWayEstimator) -> Contender:
    """Return a contender for a given estimator, fitted as it is both times."""

    def final(task: Task, found: object) -> TwoWayEstimator:
        del found
        model: TwoWayEstimator = clone(estimator)
        if "n_components" in model.get_params(deep=False):
            model.set_params(n_components=task.n_components)
        return model

    def quick(task: Task, split: Split, variant: Found) -> TwoWayEstimator:
        del split, variant
        model = final(task, None)
        set_if_unset(model, random_state=task.seed, n_jobs=1)
        if "scale" in model.get_params(deep=False):  # the rows of a trial are not its columns
            model.set_params(scale=None)
        return model

    return Contender(name, quick, final)


def set_if_unset(model: TwoWayEstimator, **parameters: Any) -> None:
    """Set those of the parameters that an estimator has and that are None."""
    known = model.get_params(deep=False)
    unset = [name for name in parameters if name in known and known[name] is None]
    model.set_params(**{name: parameters[name] for name in unset})


def for_all_rows(found: Found, share: float) -> Found:
    """Return what a trial has found, with a smoothing for more rows than it saw.

    With more rows smoothing costs more: on MNIST a width of 1.25 changes the held-out error by
    -0.2 % of 1,000 rows and by +2 % of 10,000. ``share`` is that of the trial's rows in all.
    """
    excess = (found.get("smoothing", 1.0) - 1.0) * float(np.sqrt(min(1.0, share)))
    return {**found, "smoothing": 1.0 + excess}

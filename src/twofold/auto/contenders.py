"""The methods that race: a quick form for some rows, and the form that is fitted to all rows.

The quick form starts from latents that all methods share, and chooses less: fixed instead of
validated penalties, one pair of maps instead of twelve.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from twofold.auto.judging import Judged, codes_of
from twofold.base.estimator import TwoWayEstimator
from twofold.drur import DRUR
from twofold.maps import LinearMap, NadarayaWatson, Projection
from twofold.principal_manifold import PrincipalManifold
from twofold.protocols import Array, IntArray
from twofold.two_way import TwoWay
from twofold.ukr import UKR

SMOOTHINGS = (1.25, 1.5, 2.0)
MOST_WORSE = 1.03
"""Ratio to the lowest error up to which a smoother map of kernel regression is preferred."""

MANY_ROWS = 10_000
LONG_TOL = 3e-3
"""Of more rows kernel regression gains from a longer descent; of fewer the map tears."""

MIDDLE_ALPHA = 1e-3
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
    numbers: IntArray


@dataclass(frozen=True)
class Task:
    """What all trials of a race share; ``n_rows`` is the number of rows of the final fit."""

    n_components: int
    n_rows: int
    seed: int
    thorough: bool = False


@dataclass(frozen=True)
class Trial:
    """The result of a method on one or several splits: errors, what was found, CPU-free seconds."""

    name: str
    judged: Judged
    seconds: float
    encode_seconds: float
    n_rows: int
    found: dict[str, Any] = field(default_factory=dict)


Quick = Callable[[Task, Split], TwoWayEstimator]


@dataclass(frozen=True)
class Contender:
    """A method by name: its quick form, and its final one for what a trial has found.

    Its score must be higher by ``margin`` than that of a method before it in the list.
    """

    name: str
    quick: Quick
    final: Callable[[Task, dict[str, Any]], TwoWayEstimator]
    margin: float = 0.03

    def run(self, task: Task, splits: list[Split]) -> Trial:
        """Fit the quick form to each split, and judge it on the held-out rows."""
        began = time.perf_counter()
        judged: list[dict[float, Judged]] = []
        found: dict[str, Any] = {}
        encoding = 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the errors judge; the final fit warns
            for split in splits:
                model = self.quick(task, split).fit(split.rows)
                began_encoding = time.perf_counter()
                judged.append(_judged(model, task, split))
                encoding += time.perf_counter() - began_encoding
                found.setdefault("init", getattr(model, "init_", None))
        widths = {w: Judged.joined([one[w] for one in judged]) for w in judged[0]}
        width = _best_width(widths)
        found["smoothing"] = width
        n_splits = len(splits)
        return Trial(
            self.name,
            widths[width],
            (time.perf_counter() - began) / n_splits,
            encoding / (n_splits * len(widths) * max(1, len(splits[0].held_out))),
            len(splits[0].rows),
            found,
        )


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


def _ukr(task: Task, split: Split) -> TwoWayEstimator:
    starts = {name: Z for name, Z in split.starts.items() if name != "pca"} or "pca"
    return UKR(task.n_components, init=starts, random_state=task.seed, n_jobs=1)


def _final_ukr(task: Task, found: dict[str, Any]) -> TwoWayEstimator:
    tol = {"tol": LONG_TOL} if task.n_rows > MANY_ROWS else {}
    return UKR(task.n_components, init=found["init"], smoothing=found["smoothing"], **tol)


def _drur(task: Task, split: Split) -> TwoWayEstimator:
    init = "auto" if task.thorough else dict(split.starts)
    return DRUR(task.n_components, init=init, random_state=task.seed, n_jobs=1)


def _manifold(task: Task, split: Split) -> TwoWayEstimator:
    quick: dict[str, Any] = {}
    if not task.thorough:
        quick = {"alpha": MIDDLE_ALPHA, "tol": QUICK_TOL}
        if "isomap" in split.starts:
            quick["init"] = split.starts["isomap"]
    return PrincipalManifold(task.n_components, **quick, random_state=task.seed, n_jobs=1)


def _two_way(name: str, **maps: Any) -> Quick:
    """Return the quick form of both maps for shared latents."""

    def quick(task: Task, split: Split) -> TwoWayEstimator:
        latents = split.starts[name]
        chosen = {} if task.thorough and name == "isomap" else maps
        return TwoWay(latents, **chosen, random_state=task.seed, n_jobs=1)

    return quick


def _linear(task: Task, split: Split | None = None) -> TwoWayEstimator:
    del split
    maps = {"up": LinearMap(), "down": LinearMap()}
    return TwoWay("pca", n_components=task.n_components, **maps)


SMOOTH = {"up": "rbf", "down": "projection"}

CONTENDERS: dict[str, Contender] = {
    one.name: one
    for one in (
        Contender("pca", _linear, lambda task, found: _linear(task)),
        Contender("drur", _drur, lambda task, found: DRUR(task.n_components, init=found["init"])),
        Contender("ukr", _ukr, _final_ukr),
        Contender(
            "tsne",
            _two_way("tsne", **SMOOTH),
            lambda task, found: TwoWay("tsne", n_components=task.n_components, **SMOOTH),
            margin=0.06,
        ),
        Contender(
            "isomap",
            _two_way("isomap", **SMOOTH),
            lambda task, found: TwoWay("isomap", n_components=task.n_components),
            margin=0.06,
        ),
        Contender(
            "principal_manifold",
            _manifold,
            lambda task, found: PrincipalManifold(task.n_components),
            margin=0.1,
        ),
    )
}
"""The methods by name, the cheaper and smoother first. A later one must be better by its margin: by
three percent of the errors, by six if it costs more, by ten if it costs ten times as much."""


def of_estimator(name: str, estimator: TwoWayEstimator) -> Contender:
    """Return a contender for a given estimator, fitted as it is both times."""

    def make(task: Task, given: Any) -> TwoWayEstimator:
        model: TwoWayEstimator = clone(estimator)
        set_if_known(model, n_components=task.n_components)
        if not isinstance(given, dict):
            set_if_known(model, random_state=task.seed, n_jobs=1)
        return model

    return Contender(name, make, make)


def set_if_known(model: TwoWayEstimator, **parameters: Any) -> None:
    """Set those of the parameters that an estimator has."""
    known = model.get_params(deep=False)
    model.set_params(**{name: value for name, value in parameters.items() if name in known})


def can_run(name: str, n_components: int, starts: Mapping[str, Array]) -> bool:
    """Tell whether a method suits this number of latent dimensions and has its start."""
    if name in ("tsne", "isomap"):
        return name in starts
    if name == "principal_manifold":
        return n_components <= MOST_OF_GRIDS
    return name != "ukr" or n_components <= MOST_OF_SUMS


def weights_of_smoothing(found: dict[str, Any], share: float) -> dict[str, Any]:
    """Return what a trial has found, with a smoothing for more rows than it saw.

    Smoothing pays if rows are few or noisy. ``share`` is that of the trial's rows in all.
    """
    excess = (found.get("smoothing", 1.0) - 1.0) * float(np.sqrt(np.sqrt(min(1.0, share))))
    return {**found, "smoothing": 1.0 + excess}

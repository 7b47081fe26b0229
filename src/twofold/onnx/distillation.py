r"""A regression in place of a projection.

The projection onto a manifold is a search, for which ONNX has no node. What can be written down is a map that was fitted to what the search
finds. Four kinds are compared:

* "rbf", "krr", "mlp": a radial basis network, kernel ridge regression, a perceptron from rows to the latents they project to;
* "images": means of these latents, weighted by how near a row lies to their *images* ``f(z_m)``. With a narrow kernel that is the
  nearest of so many points of the manifold: the projection, up to their spacing. It does not average over places that are apart, as
  regressions do where a map is torn into clusters.

Rows are split in three: the candidates are fitted to some, chosen by others, and the one that was chosen is fitted to both and
judged by the rest. That judgement is what is reported.

On a domain with circles the regressions give cosines and sines, and places come from these (`twofold.onnx.angles`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from twofold._blocks import some_rows
from twofold._linalg import row_norms_sq
from twofold._units import CentredUnits
from twofold.closed_forms import ClosedForm, IntoDomain, NoClosedForm, closed_form
from twofold.domains import PERIOD, Domain, Points
from twofold.estimators._feature_maps import PreimageDecoder
from twofold.maps import GRNN, MLP, KernelExpansion, NadarayaWatson, RBFNetwork
from twofold.onnx.angles import Angles, on_circles
from twofold.protocols import Array, IntArray
from twofold.widths import width_grid

__all__ = ["CANDIDATES", "Distillation", "distilled"]

CANDIDATES = ("rbf", "krr", "mlp", "images")
FEWEST_ROWS = 20
MOST_ROWS = 6_000
"""Rows that are projected and learned from; of more, some."""

HELD_OUT_SHARE = 0.2
MOST_HELD_OUT = 1_000
MOST_RBF_CENTERS = 300
MOST_KRR_CENTERS = 1_000
N_HIDDEN = 50
HIDDEN_ITERATIONS = 200
DECAY = 1e-2
NARROWEST = 8.0
"""Below the spacing of images, by so many times, a weighted mean of them is that of the nearest."""
MOST_WIDTHS = 3
"""From that spacing on."""

logger = logging.getLogger("twofold")


@dataclass(frozen=True)
class Distillation:
    """How well a regression stands for a projection, on rows that it was neither fitted nor chosen by.

    Attributes
    ----------
    kind : str
        "rbf", "krr", "mlp", "images", or "own", the down-map that `DRUR` learned itself.
    n_rows, n_held_out : int
        Rows that it learned from and that it is judged by.
    deviation : float
        Root mean square distance between its latents and the model's, in the latents' units.
    relative_deviation : float
        The same in units of the latents' spread, the root of their total variance.
    median_deviation : float
        The median distance in these units; far below the one above where a few rows end up elsewhere on the map.
    error, distilled_error : float or None
        Shares of the rows' variance that are lost when they are taken down by the model and by the regression, and up again by the
        model; None for models without a way up.
    candidates : dict
        The kinds that were compared, with the relative deviations they were chosen by.
    """

    kind: str
    n_rows: int
    n_held_out: int
    deviation: float
    relative_deviation: float
    median_deviation: float
    error: float | None
    distilled_error: float | None
    candidates: dict[str, float]


def distilled(
    estimator: Any, rows: Array | None, kind: bool | str
) -> tuple[ClosedForm, Distillation]:
    """Fit a regression to the latents that a model finds by a search.

    Parameters
    ----------
    estimator : TwoWayEstimator
        The fitted model.
    rows : ndarray of shape (n, D) or None
        Rows to learn from; None means those that the model keeps.
    kind : bool or str
        A name of `CANDIDATES`, or True for the best.
    """
    rows = _rows_of(estimator) if rows is None else rows
    if len(rows) < FEWEST_ROWS:
        raise ValueError(
            f"X has {len(rows)} rows; distilling needs {FEWEST_ROWS} at least, some of them held out."
        )
    rows = rows[some_rows(len(rows), MOST_ROWS)]
    lesson = _Lesson.of(estimator, rows)
    order = np.random.default_rng(0).permutation(len(rows))
    n_held_out = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * len(rows)))
    held_out, chosen_by, train = np.split(order, [n_held_out, 2 * n_held_out])
    fits = _candidates(lesson, kind)
    judged = [lesson.relative_deviation(fit(train), chosen_by) for _, fit in fits]
    name, fit = fits[int(np.argmin(judged))]
    form = lesson.form(fit(np.concatenate([train, chosen_by])))
    candidates: dict[str, float] = {}
    for (one, _), deviation in zip(fits, judged, strict=True):
        candidates[one] = min(deviation, candidates.get(one, np.inf))
    report = _judgement(name, form, lesson, held_out, candidates)
    logger.info(
        "distilled by %s: on %d held-out rows latents deviate by %.3g of their spread (median %.3g)",
        name,
        n_held_out,
        report.relative_deviation,
        report.median_deviation,
    )
    return form, report


@dataclass(frozen=True)
class _Lesson:
    """What is to be learned: the latents of some rows.

    Attributes
    ----------
    estimator : TwoWayEstimator
        Whose latents.
    data : ndarray of shape (n, D)
        The rows, in the caller's units.
    latents : ndarray of shape (n, q)
        Their latents, likewise.
    inputs, targets : ndarray of shape (n, D') and (n, q')
        The same as a regression sees them.
    images : ndarray of shape (n, D') or None
        The latents' images, likewise.
    domain : Domain or None
        Where latents lie, if there are bounds or circles.
    """

    estimator: Any
    data: Array
    latents: Array
    inputs: Array
    targets: Array
    images: Array | None
    domain: Domain | None

    @classmethod
    def of(cls, estimator: Any, rows: Array) -> _Lesson:
        """Ask a model for the latents of rows."""
        domain = getattr(estimator.decoder_, "domain", None)
        if isinstance(domain, Points):
            raise NoClosedForm(
                f"Latents of {domain!r} are numbers of points, which no regression gives. The nearest of "
                "model.inverse_transform(range(k)) is the projection."
            )
        latents = estimator._encode(rows)
        units = estimator._data_units
        try:
            images = units.into(estimator._decode(latents))
        except NotImplementedError:  # a feature space without a way back
            images = None
        if domain is None:
            targets = estimator._latent_units.into(latents)
        else:
            targets = on_circles(latents, domain.wrapped)
        return cls(estimator, rows, latents, units.into(rows), targets, images, domain)

    def form(self, encoder: Any) -> ClosedForm:
        """Return the closed form of a fitted regression, from the caller's units to the caller's units."""
        model = copy(self.estimator)
        model.encoder_ = encoder
        q = self.latents.shape[1]
        if self.domain is None:
            return closed_form(model, "down")
        model._latent_units = CentredUnits.identity(self.targets.shape[1])
        form = closed_form(model, "down")
        angles = (Angles(self.domain.wrapped),) if any(self.domain.wrapped) else ()
        return ClosedForm((*form.steps, *angles, IntoDomain(self.domain)), form.n_inputs, q)

    def distances(self, found: Array, numbers: IntArray) -> Array:
        """Return how far latents lie from those of some rows, the short way around circles."""
        offsets = found - self.latents[numbers]
        if self.domain is not None:
            wrapped = np.array(self.domain.wrapped)
            around = np.mod(offsets + 0.5 * PERIOD, PERIOD) - 0.5 * PERIOD
            offsets = np.where(wrapped, around, offsets)
        return np.sqrt(row_norms_sq(offsets))

    def relative_deviation(self, encoder: Any, numbers: IntArray) -> float:
        """Return the root mean square of these distances, in units of the latents' spread."""
        found = self.form(encoder)(self.data[numbers])
        return float(np.sqrt(np.square(self.distances(found, numbers)).mean())) / self.spread

    @property
    def spread(self) -> float:
        """The root of the latents' total variance."""
        centred = self.latents - self.latents.mean(axis=0)
        return float(np.sqrt(row_norms_sq(centred).mean())) or 1.0


def _rows_of(estimator: Any) -> Array:
    """Return the training rows that a model keeps as targets of its up-map."""
    decoder = estimator.decoder_
    if isinstance(decoder, NadarayaWatson | GRNN):
        return estimator._data_units.back(decoder.targets_)  # type: ignore[no-any-return]
    if isinstance(decoder, PreimageDecoder):
        return estimator._data_units.back(decoder.space.data)  # type: ignore[no-any-return]
    raise ValueError(
        f"X=None: this {type(estimator).__name__} keeps no training rows to distill from. Pass X, the rows it was fitted to or others like them."
    )


def _candidates(lesson: _Lesson, kind: bool | str) -> list[tuple[str, Callable[[IntArray], Any]]]:
    """Return kinds of maps, each with a function that fits one to rows of given numbers."""
    names = CANDIDATES if kind is True else (kind,)
    fits: list[tuple[str, Callable[[IntArray], Any]]] = []
    for name, build in (("rbf", _network), ("krr", _ridge), ("mlp", _perceptron)):
        if name in names:
            fits.append((name, partial(_fitted, lesson, build)))
    if "images" in names and lesson.images is not None:
        fits += [("images", partial(_means, lesson, width)) for width in _widths(lesson.images)]
    if kind is True and hasattr(lesson.estimator, "_ways"):
        own = lesson.estimator._ways["map"]
        with suppress(NoClosedForm):
            lesson.form(own)
            fits.append(("own", lambda _: own))
    if not fits:
        raise ValueError(
            f"distill={kind!r} needs the images of latents, and this model has no way up. Use distill='krr'."
        )
    return fits


def _fitted(lesson: _Lesson, build: Callable[[Array], Any], numbers: IntArray) -> Any:
    inputs = lesson.inputs[numbers]
    return build(inputs).fit(inputs, lesson.targets[numbers])


def _network(inputs: Array) -> Any:
    n_centers = max(1, min(len(inputs) // 4, MOST_RBF_CENTERS))
    return RBFNetwork(n_centers, random_state=0)


def _ridge(inputs: Array) -> Any:
    if len(inputs) <= MOST_KRR_CENTERS:
        return KernelExpansion()
    return KernelExpansion(centers=inputs[some_rows(len(inputs), MOST_KRR_CENTERS)])


def _perceptron(inputs: Array) -> Any:  # noqa: ARG001 - as the others
    return MLP(N_HIDDEN, alpha=DECAY, max_iter=HIDDEN_ITERATIONS, random_state=0)


def _widths(images: Array) -> list[float]:
    grid = width_grid(images)[:MOST_WIDTHS]
    return [grid[0] / NARROWEST * 2.0**k for k in range(3)] + grid


def _means(lesson: _Lesson, width: float, numbers: IntArray) -> Any:
    assert lesson.images is not None
    return NadarayaWatson(bandwidth=width).fit(lesson.images[numbers], lesson.targets[numbers])


def _judgement(
    kind: str, form: ClosedForm, lesson: _Lesson, held_out: IntArray, candidates: dict[str, float]
) -> Distillation:
    found = form(lesson.data[held_out])
    distances = lesson.distances(found, held_out)
    deviation = float(np.sqrt(np.square(distances).mean()))
    error = distilled_error = None
    if lesson.images is not None:
        inside, units = lesson.inputs[held_out], lesson.estimator._data_units
        variance = float(row_norms_sq(inside - inside.mean(axis=0)).mean()) or 1.0
        again = units.into(lesson.estimator._decode(found))
        error, distilled_error = (
            float(row_norms_sq(inside - image).mean()) / variance
            for image in (lesson.images[held_out], again)
        )
    return Distillation(
        kind,
        len(lesson.data) - len(held_out),
        len(held_out),
        deviation,
        deviation / lesson.spread,
        float(np.median(distances)) / lesson.spread,
        error,
        distilled_error,
        candidates,
    )

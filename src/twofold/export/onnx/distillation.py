r"""A regression in place of a projection.

The projection onto a manifold is a search, for which ONNX has no node. What can be written down is a map that was fitted to what the search
finds. Four kinds are compared:

* "rbf", "krr", "mlp": a radial basis network, kernel ridge regression, a perceptron from rows to the latents they project to;
* "images": means of latents, weighted by how near a row lies to their *images* ``f(z_m)``. With a narrow kernel that is the
  nearest of so many points of the manifold: the projection, up to their spacing. So more latents than those of the rows are drawn from
  their density. It does not average over places that are apart, as regressions do where a map is torn into clusters.

Rows are split in three: the candidates are fitted to some, chosen by others, and the one that was chosen is fitted to both and
judged by the rest. That judgement is what is reported. They are chosen by how far the images of their latents lie from the images of
the projections: of two places of the map that rebuild a row equally well either will do, a place between the two will not.

On a domain with circles the regressions give cosines and sines, and places come from these (`twofold.export.onnx.angles`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from twofold.export.onnx.lessons import Lesson, root_mean_square, spread_of
from twofold.export.programs import ClosedForm, NoClosedForm
from twofold.maps import MLP, KernelRidgeMap, NadarayaWatson, RBFNetwork
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import warn_user
from twofold.protocols import Array, IntArray

__all__ = ["CANDIDATES", "Distillation", "distilled"]

CANDIDATES = ("rbf", "krr", "mlp", "images")
HELD_OUT_SHARE = 0.2
MOST_HELD_OUT = 1_000
MOST_RBF_CENTERS = 300
MOST_KRR_CENTERS = 1_000
N_HIDDEN = 50
HIDDEN_ITERATIONS = 200
DECAY = 1e-2
NARROWEST = 8.0
"""Below the spacing of images, by so many times, a weighted mean of them is that of the nearest."""
MUCH = 0.1
"""Share of the variance that a regression may lose beyond the projection without a warning."""
POOR = 0.25
"""Relative deviation of latents without images that is worth one."""
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
    rows : str
        "given", or "kept" by the model, which it was fitted to. A model may rebuild the rows it has seen much better than new ones; the
        figures are then those of rows that it has seen.
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
        The kinds that were compared, with what they were chosen by: distances between the images of their latents and of the
        model's, in units of the data's spread.

    Examples
    --------
    A projection is a search; a regression that stands for it is a formula:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import twofold.export.onnx
    >>> from twofold import UKR
    >>> from twofold.datasets import make_noisy_spiral
    >>> X, _ = make_noisy_spiral(100, random_state=0)
    >>> model = UKR(1, init="isomap", random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "down.onnx")
    ...     report = twofold.export.onnx.export(model, path, map="down", distill="images", n_images=500)
    >>> distillation = report.distillation
    >>> distillation.kind, distillation.rows, distillation.n_rows + distillation.n_held_out
    ('images', 'kept', 100)
    >>> distillation.median_deviation < 0.1
    True
    """

    kind: str
    rows: str
    n_rows: int
    n_held_out: int
    deviation: float
    relative_deviation: float
    median_deviation: float
    error: float | None
    distilled_error: float | None
    candidates: dict[str, float]


def distilled(
    estimator: Any, rows: Array | None, kind: bool | str, n_images: int
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
    n_images : int
        Points of the manifold that "images" compares a row with, at least.
    """
    lesson = Lesson.of(estimator, rows, n_images)
    order = np.random.default_rng(0).permutation(len(lesson.data))
    n_held_out = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * len(order)))
    held_out, chosen_by, train = np.split(order, [n_held_out, 2 * n_held_out])
    fits = _candidates(lesson, kind)
    judged = [lesson.distance_of_images(fit(train), chosen_by) for _, fit in fits]
    name, fit = fits[int(np.argmin(judged))]
    form = lesson.form(fit(np.concatenate([train, chosen_by])))
    candidates: dict[str, float] = {}
    for (one, _), deviation in zip(fits, judged, strict=True):
        candidates[one] = min(deviation, candidates.get(one, np.inf))
    report = _judgement(name, form, lesson, held_out, candidates)
    _warn_if_poor(report)
    logger.info(
        "distilled by %s: on %d held-out rows latents deviate by %.3g of their spread (median %.3g)",
        name,
        n_held_out,
        report.relative_deviation,
        report.median_deviation,
    )
    return form, report


def _warn_if_poor(report: Distillation) -> None:
    if report.error is None or report.distilled_error is None:
        is_poor = report.relative_deviation > POOR
    else:
        is_poor = report.distilled_error > report.error + MUCH
    if is_poor:
        warn_user(
            f"The best regression found ({report.kind}) is a poor substitute for the projection: on held-out rows its latents deviate by "
            f"{report.relative_deviation:.2g} of their spread. See `distillation` in the report; give more rows (X) or more images (n_images), or choose a "
            "model whose down-map has a closed form.",
            UserWarning,
        )


def _candidates(lesson: Lesson, kind: bool | str) -> list[tuple[str, Callable[[IntArray], Any]]]:
    """Return kinds of maps, each with a function that fits one to rows of given numbers."""
    names = CANDIDATES if kind is True else (kind,)
    fits: list[tuple[str, Callable[[IntArray], Any]]] = []
    for name, build in (("rbf", _network), ("krr", _ridge), ("mlp", _perceptron)):
        if name in names:
            fits.append((name, partial(_fitted, lesson, build)))
    if "images" in names and lesson.images is not None:
        every = np.concatenate([lesson.images, lesson.drawn[0]])
        fits += [("images", partial(_means, lesson, width)) for width in _widths(every)]
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


def _fitted(lesson: Lesson, build: Callable[[Array], Any], numbers: IntArray) -> Any:
    inputs = lesson.inputs[numbers]
    return build(inputs).fit(inputs, lesson.targets[numbers])


def _network(inputs: Array) -> Any:
    n_centers = max(1, min(len(inputs) // 4, MOST_RBF_CENTERS))
    return RBFNetwork(n_centers, random_state=0)


def _ridge(inputs: Array) -> Any:
    if len(inputs) <= MOST_KRR_CENTERS:
        return KernelRidgeMap()
    return KernelRidgeMap(centers=inputs[some_rows(len(inputs), MOST_KRR_CENTERS)])


def _perceptron(inputs: Array) -> Any:  # noqa: ARG001 - as the others
    return MLP(N_HIDDEN, alpha=DECAY, max_iter=HIDDEN_ITERATIONS, random_state=0)


def _widths(images: Array) -> list[float]:
    grid = width_grid(images)[:MOST_WIDTHS]
    return [grid[0] / NARROWEST * 2.0**k for k in range(3)] + grid


def _means(lesson: Lesson, width: float, numbers: IntArray) -> Any:
    assert lesson.images is not None
    images, targets = (
        np.concatenate([own[numbers], further])
        for own, further in zip((lesson.images, lesson.targets), lesson.drawn, strict=True)
    )
    return NadarayaWatson(bandwidth=width).fit(images, targets)


def _judgement(
    kind: str, form: ClosedForm, lesson: Lesson, held_out: IntArray, candidates: dict[str, float]
) -> Distillation:
    found = form(lesson.data[held_out])
    distances = lesson.distances(found, held_out)
    deviation, spread = root_mean_square(distances), spread_of(lesson.latents)
    error = distilled_error = None
    if lesson.images is not None:
        inside, units = lesson.inputs[held_out], lesson.estimator._data_units
        variance = spread_of(inside) ** 2
        again = units.into(lesson.estimator._decode(found))
        error, distilled_error = (
            float(row_norms_sq(inside - image).mean()) / variance
            for image in (lesson.images[held_out], again)
        )
    return Distillation(
        kind,
        lesson.origin,
        len(lesson.data) - len(held_out),
        len(held_out),
        deviation,
        deviation / spread,
        float(np.median(distances)) / spread,
        error,
        distilled_error,
        candidates,
    )

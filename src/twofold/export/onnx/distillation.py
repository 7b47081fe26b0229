r"""A regression in place of a projection.

The projection onto a manifold is a search, for which ONNX has no node. A map fitted to the results
of the search can be written instead. Four kinds are compared:

* "rbf", "krr", "mlp": a radial basis network, kernel ridge regression, a perceptron from rows to
  the latents they project to;
* "images": means of latents, weighted by the distance of a row from their *images* ``f(z_m)``. With
  a narrow kernel this is the nearest of many points of the manifold: the projection, up to their
  spacing. So further latents are drawn from the density. Unlike regressions, it does not average
  over distant places where a map is torn into clusters.

Rows are split in three. The candidates are fitted to the first part and chosen by the second; the
chosen one is fitted to both and judged by the third, and this judgement is reported. They are
chosen by the distance of their images from the images of the projections: if two places of the map
rebuild a row equally well, either is fine, but a place between them is not.

On a domain with circles the regressions predict cosines and sines (`twofold.export.onnx.angles`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from twofold.base.estimator import TwoWayEstimator
from twofold.drur import DRUR
from twofold.export.onnx.distillation_data import DistillationData, root_mean_square, spread_of
from twofold.export.programs.translation import ClosedForm, NoClosedForm
from twofold.maps import MLP, KernelRidgeMap, NadarayaWatson, RBFNetwork
from twofold.maps.affine import Predictor
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import warn_user
from twofold.protocols import Array, IntArray, Map

CANDIDATES = ("rbf", "krr", "mlp", "images")
HELD_OUT_SHARE = 0.2
MOST_HELD_OUT = 1_000
MOST_RBF_CENTERS = 300
MOST_KRR_CENTERS = 1_000
N_HIDDEN = 50
HIDDEN_ITERATIONS = 200
DECAY = 1e-2
NARROWEST = 8.0
"""Spacing of images over the narrowest bandwidth, whose weighted mean is the nearest image."""
MOST_WIDTHS = 3
"""Bandwidths to try, from the spacing of images on."""
MUCH = 0.1
"""Share of the variance that a regression may lose beyond the projection without a warning."""
POOR = 0.25
"""Relative deviation of latents, for models without a decoder, that causes a warning."""

Fit = Callable[[IntArray], Predictor]
"""Fits a candidate to rows of given numbers."""

logger = logging.getLogger("twofold")


@dataclass(frozen=True)
class Distillation:
    """How well a regression replaces a projection, measured on rows not used to fit or choose it.

    Attributes
    ----------
    kind : str
        "rbf", "krr", "mlp", "images", or "own", the down-map that `DRUR` learned itself.
    rows : str
        "given", or "kept" for rows that the model was fitted to. A model may rebuild those much
        better than new rows.
    n_rows, n_held_out : int
        Rows it learned from, and rows it is judged by.
    deviation : float
        Root mean square distance between its latents and the model's, in the latents' units.
    relative_deviation : float
        The same in units of the latents' spread, the root of their total variance.
    median_deviation : float
        The median distance in these units. It is much smaller if only a few rows land elsewhere.
    error, distilled_error : float or None
        Share of the rows' variance lost when they are encoded by the model and by the regression,
        and decoded by the model; None for models without a decoder.
    candidates : dict
        The kinds compared, with the distances between the images of their latents and of the
        model's, in units of the data's spread.

    Examples
    --------
    A projection is a search; a regression that replaces it is a formula:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from twofold import UKR
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.export.onnx import export
    >>> X, _ = make_noisy_spiral(100, random_state=0)
    >>> model = UKR(1, init="isomap", random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "down.onnx")
    ...     report = export(model, path, map="down", distill="images", n_images=500)
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
    estimator: TwoWayEstimator, rows: Array | None, kind: bool | str, n_images: int
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
        Least number of points of the manifold that "images" compares a row with.
    """
    data = DistillationData.of(estimator, rows, n_images)
    order = np.random.default_rng(0).permutation(len(data.data))
    n_held_out = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * len(order)))
    held_out, chosen_by, train = np.split(order, [n_held_out, 2 * n_held_out])
    fits = _candidates(data, kind)
    judged = [data.distance_of_images(fit(train), chosen_by) for _, fit in fits]
    name, fit = fits[int(np.argmin(judged))]
    form = data.form(fit(np.concatenate([train, chosen_by])))
    candidates: dict[str, float] = {}
    for (one, _), deviation in zip(fits, judged, strict=True):
        candidates[one] = min(deviation, candidates.get(one, np.inf))
    report = judgement(name, form, data, held_out, candidates)
    _warn_if_poor(report)
    logger.info(
        "distilled by %s: on %d held-out rows latents deviate by %.3g of their spread "
        "(median %.3g)",
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
            f"The best regression found ({report.kind}) is a poor substitute for the projection: "
            f"on held-out rows its latents deviate by {report.relative_deviation:.2g} of their "
            "spread. See `distillation` in the report; give more rows (X) or more images "
            "(n_images), or choose a model whose down-map has a closed form.",
            UserWarning,
        )


def _candidates(data: DistillationData, kind: bool | str) -> list[tuple[str, Fit]]:
    names = CANDIDATES if kind is True else (kind,)
    fits: list[tuple[str, Fit]] = [
        (name, partial(_fitted, data, name)) for name in ("rbf", "krr", "mlp") if name in names
    ]
    if "images" in names and data.images is not None:
        every = np.concatenate([data.images, data.drawn[0]])
        fits += [("images", partial(_means, data, width)) for width in _widths(every)]
    if kind is True and isinstance(data.estimator, DRUR):
        own: Predictor = data.estimator._ways["map"]
        with suppress(NoClosedForm):
            data.form(own)
            fits.append(("own", lambda _: own))
    if not fits:
        raise ValueError(
            f"distill={kind!r} needs the images of latents, but this model has no decoder. Use "
            "distill='krr'."
        )
    return fits


def _fitted(data: DistillationData, name: str, numbers: IntArray) -> Predictor:
    inputs, targets = data.inputs[numbers], data.targets[numbers]
    n = len(inputs)
    regression: Map
    if name == "rbf":
        regression = RBFNetwork(max(1, min(n // 4, MOST_RBF_CENTERS)), random_state=0)
    elif name == "krr":
        centers = None if n <= MOST_KRR_CENTERS else inputs[some_rows(n, MOST_KRR_CENTERS)]
        regression = KernelRidgeMap(centers=centers)
    else:
        regression = MLP(N_HIDDEN, alpha=DECAY, max_iter=HIDDEN_ITERATIONS, random_state=0)
    return regression.fit(inputs, targets)


def _widths(images: Array) -> list[float]:
    grid = width_grid(images)[:MOST_WIDTHS]
    return [grid[0] / NARROWEST * 2.0**k for k in range(3)] + grid


def _means(data: DistillationData, width: float, numbers: IntArray) -> Predictor:
    assert data.images is not None
    images, targets = (
        np.concatenate([own[numbers], further])
        for own, further in zip((data.images, data.targets), data.drawn, strict=True)
    )
    return NadarayaWatson(bandwidth=width).fit(images, targets)


def judgement(
    kind: str,
    form: ClosedForm,
    data: DistillationData,
    held_out: IntArray,
    candidates: dict[str, float],
) -> Distillation:
    """Return how far a form's latents lie from the model's on held-out rows of the data."""
    found = form(data.data[held_out])
    distances = data.distances(found, held_out)
    deviation, spread = root_mean_square(distances), spread_of(data.latents)
    error = distilled_error = None
    if data.images is not None:
        inside = data.inputs[held_out]
        again = data.estimator._data_units.into(data.estimator._decode(found))
        error, distilled_error = (
            float(row_norms_sq(inside - image).mean()) / spread_of(inside) ** 2
            for image in (data.images[held_out], again)
        )
    return Distillation(
        kind,
        data.origin,
        len(data.data) - len(held_out),
        len(held_out),
        deviation,
        deviation / spread,
        float(np.median(distances)) / spread,
        error,
        distilled_error,
        candidates,
    )

r"""The down-map as the page evaluates it, for rows that are pasted into it.

A down-map with a closed form is packed like the decoder. A projection is a search and has none. It
is distilled into the nearest of many points of the manifold, the kind "images" of
`twofold.export.onnx.distillation` with a narrow kernel,

.. math:: z(x) = z_m, \quad m = \arg\min_m |x - f(z_m)|,

where the :math:`z_m` are the latents of the page's own rows, which the browser decodes itself: this
costs no bytes. Its error is measured here on held-out rows and shown on the page. From the nearest
images the browser then searches as the projection does (``static/projection.js``).
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from twofold.base.aligning import domain_of
from twofold.base.estimator import TwoWayEstimator
from twofold.export.explorer._packing import Packer, as_multiples
from twofold.export.explorer._program import needs_doubles, plain, program
from twofold.export.onnx.angles import on_circles
from twofold.export.onnx.distillation import (
    HELD_OUT_SHARE,
    MOST_HELD_OUT,
    Distillation,
    judgement,
)
from twofold.export.onnx.distillation_data import FEWEST_ROWS, DistillationData
from twofold.export.programs.exported import Exported
from twofold.export.programs.steps import RadialFeatures, RadialMeans, RadialMedians, Step, Take
from twofold.export.programs.translation import (
    SEARCHES,
    ClosedForm,
    NoClosedForm,
    around,
    closed_form,
)
from twofold.maps import NadarayaWatson
from twofold.maps.affine import Chain
from twofold.maps.nadaraya_watson import SMALLEST_WIDTH
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.threads import some_rows
from twofold.principal_manifold.domains import Domain, Points
from twofold.protocols import Array
from twofold.ukr.feature_space import FeatureEncoder

MOST_BYTES = 100_000
"""Size in base64 up to which ``new_rows="auto"`` writes a closed form into the page."""

MOST_IMAGES = 6_000
"""Rows of the page whose images are compared with a new row; a sample of more."""

MOST_NUMBERS = 10**7
"""Numbers in these images, which the browser keeps in memory; wide data have fewer images."""

MARGIN = 8.0
"""How far below the lowest log density of the latents the search may go, as in `Projection`."""


@dataclass(frozen=True)
class DownMap:
    """What the browser computes for a new row.

    Attributes
    ----------
    form : ClosedForm
        The map from the caller's columns to latents, before the search.
    is_formula : bool
        Whether it is the model's own map, in closed form; otherwise the nearest of many images.
    searches : bool
        Whether the model's map is a search for the nearest point, which the browser repeats.
    report : Distillation or None
        The error of the nearest image, if there are rows to judge it by.
    """

    form: ClosedForm
    is_formula: bool
    searches: bool = False
    report: Distillation | None = None


def new_rows_of(
    found: Exported, complete: Array, latents: Array, asked: bool | str, packer: Packer
) -> dict[str, Any]:
    """Return the parts of the page's content for distances between rows and for new rows.

    Parameters
    ----------
    found : Exported
        The model.
    complete : ndarray of shape (n, D)
        The page's rows as the model sees them, without gaps.
    latents : ndarray of shape (n, q)
        Their latents.
    asked : bool or "auto"
        Whether the page takes new rows. With "auto", a closed form beyond 100 kB is replaced by the
        nearest image.
    packer : Packer
        Takes the arrays.
    """
    factors = found.model._data_units.column_factors()
    content: dict[str, Any] = {
        "metric": {
            "into": [plain(step, packer, True) for step in found.into],
            "n_back": len(found.back),
            "factors": factors.tolist() if isinstance(factors, np.ndarray) else None,
        }
    }
    if not (isinstance(asked, bool) or asked == "auto"):
        raise ValueError(f"new_rows={asked!r} must be True, False or 'auto'.")
    if asked is False:
        return content
    down = down_map(found, complete, latents)
    if down.is_formula:
        rows = found.show(complete[some_rows(len(complete), 1_000)])
        trial = deepcopy(packer)
        steps = _formula(found, down.form, rows, trial)
        new = trial.texts[len(packer.texts) :]
        if asked is True or sum(map(len, new)) <= MOST_BYTES:
            packer.adopt(trial)
            content["down"] = {"kind": "formula", "program": steps}
            return content
        down = _nearest_image(found, complete, latents)
    content["down"] = _packed(found, down, latents, packer)
    return content


def down_map(found: Exported, complete: Array, latents: Array) -> DownMap:
    """Return the down-map that a page of a model evaluates; see `new_rows_of`."""
    try:
        return DownMap(_folded(closed_form(found, "down")), True)
    except NoClosedForm:
        encoder: Any = found.model.encoder_
        last = encoder.maps[-1] if isinstance(encoder, Chain) else encoder
        # A feature space has a distance of its own: the nearest image is all that is offered.
        searches = isinstance(last, SEARCHES) and not isinstance(last, FeatureEncoder)
        return replace(_nearest_image(found, complete, latents), searches=searches)


def _nearest_image(found: Exported, complete: Array, latents: Array) -> DownMap:
    """Return the latent of the nearest image as a map, judged on rows held out from the images."""
    model = found.model
    domain = domain_of(model)
    if isinstance(domain, Points):
        latents = np.arange(domain.n_points, dtype=np.float64)[:, None]
        complete, domain = model._decode(latents), None
    numbers = some_rows(len(complete), _most_images(model))
    data = _distillation_data(found, complete[numbers], latents[numbers], domain)
    n = len(numbers)
    report = None
    if n >= FEWEST_ROWS and not isinstance(getattr(model.decoder_, "domain", None), Points):
        order = np.random.default_rng(0).permutation(n)
        n_held_out = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * n))
        judged = data.form(_nearest(data, order[n_held_out:]))
        report = judgement("images", judged, data, order[:n_held_out], {})
    form = around(found, data.form(_nearest(data, np.arange(n))), "down")
    return DownMap(form, False, report=report)


def _distillation_data(
    found: Exported, complete: Array, latents: Array, domain: Domain | None
) -> DistillationData:
    """Return what a regression would learn from, with the latents that the page has already."""
    model = found.model
    units = model._data_units
    if domain is None:
        targets = model._latent_units.into(latents)
    else:
        targets = on_circles(latents, domain.wrapped)
    images = units.into(model._decode(latents))
    none = (images[:0], targets[:0])
    return DistillationData(
        model, complete, latents, units.into(complete), targets, images, none, domain, "given"
    )


def _most_images(model: TwoWayEstimator) -> int:
    return min(MOST_IMAGES, max(100, MOST_NUMBERS // int(model.n_features_in_)))


def _nearest(data: DistillationData, numbers: Any) -> NadarayaWatson:
    """Return the mean with so narrow a kernel that the nearest image has all the weight."""
    assert data.images is not None
    return NadarayaWatson(bandwidth=SMALLEST_WIDTH).fit(data.images[numbers], data.targets[numbers])


def _folded(form: ClosedForm) -> ClosedForm:
    """Return a form whose centers are in the data's own units, if that makes them multiples.

    Training rows of pixels or counts then take one byte a number instead of four.
    """
    for at, (take, radial) in enumerate(zip(form.steps, form.steps[1:], strict=False)):
        if not isinstance(take, Take) or not isinstance(
            radial, RadialFeatures | RadialMeans | RadialMedians
        ):
            continue
        if isinstance(take.factor, np.ndarray):
            return form
        centers = (radial.centers + take.shift) / take.factor
        if as_multiples(centers)[2] is None:
            return form
        first = replace(take, factor=1.0, shift=np.zeros(len(take.columns)))
        moved = replace(radial, centers=centers, width=radial.width / take.factor)
        return replace(form, steps=(*form.steps[:at], first, moved, *form.steps[at + 2 :]))
    return form


def _formula(
    found: Exported, form: ClosedForm, rows: Array, packer: Packer
) -> list[dict[str, Any]]:
    """Return a closed form as plain data.

    Centers in the data's own units get the constant columns, too. If they are the rows of the page,
    as those of kernel regression often are, the packer stores them only once.
    """
    units = found.model._data_units
    take, radial = (*form.steps, None, None)[:2]
    if (
        found.into
        or isinstance(units, AffineUnits)
        or not isinstance(take, Take)
        or not isinstance(radial, RadialFeatures | RadialMeans | RadialMedians)
        or np.any(take.factor != 1.0)
        or take.shift.any()
    ):
        return program(form, rows, packer)
    exact = needs_doubles(form, rows)
    whole = np.tile(units.constants, (len(radial.centers), 1))
    whole[:, take.columns] = radial.centers
    centers = {"centers": packer.pack(whole, by_column=True), "columns": take.columns.tolist()}
    rest = replace(radial, centers=radial.centers[:0])
    steps = [plain(step, packer, exact) for step in (take, rest, *form.steps[2:])]
    steps[1] |= centers
    return steps


def _packed(found: Exported, down: DownMap, latents: Array, packer: Packer) -> dict[str, Any]:
    """Return the search for the nearest image as plain data; images and latents are the page's."""
    inside: tuple[Step, ...] = down.form.steps[len(found.into) :]
    before = next(at for at, step in enumerate(inside) if isinstance(step, RadialMeans))
    model = found.model
    domain = getattr(model.decoder_, "domain", None)
    content: dict[str, Any] = {
        "kind": "images",
        "units": [plain(step, packer, True) for step in inside[:before]],
        "searches": down.searches and not isinstance(domain, Points),
        "report": None if down.report is None else asdict(down.report),
        "floor": None,
    }
    if isinstance(domain, Points):
        content["n_points"] = domain.n_points
    elif len(latents) > _most_images(model):
        content["rows"] = packer.pack(some_rows(len(latents), _most_images(model)), exact=True)
    if domain is None:
        content["floor"] = -MARGIN  # from the border of the landscape
    return content

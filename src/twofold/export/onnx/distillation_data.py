"""The data that a regression in place of a projection learns from."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from twofold.base.aligning import domain_of
from twofold.base.estimator import TwoWayEstimator
from twofold.export.onnx.angles import Angles, on_circles
from twofold.export.programs.steps import IntoDomain
from twofold.export.programs.translation import ClosedForm, NoClosedForm, closed_form
from twofold.maps import NadarayaWatson
from twofold.maps.affine import Predictor
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import some_rows
from twofold.numerics.units import CenteredUnits
from twofold.principal_manifold.domains import PERIOD, Domain, Points
from twofold.protocols import Array, IntArray
from twofold.ukr.feature_space import PreimageDecoder

FEWEST_ROWS = 20
MOST_ROWS = 6_000
"""Rows that are projected and learned from; a sample of more."""


@dataclass(frozen=True)
class DistillationData:
    """Rows, the latents that a model finds for them, and points of its manifold.

    Attributes
    ----------
    estimator : TwoWayEstimator
        The model.
    data, latents : ndarray of shape (n, D) and (n, q)
        The rows and their latents, in the caller's units.
    inputs, targets : ndarray of shape (n, D') and (n, q')
        The rows and their latents, in the units of a regression.
    images : ndarray of shape (n, D') or None
        The decoded latents, in the same units; None for a model without a decoder.
    drawn : tuple of ndarray of shape (k, D') and (k, q')
        Images of further latents, and these latents, in the same units.
    domain : Domain or None
        Where latents lie, if there are bounds or circles.
    origin : str
        "given" for rows of the caller, "kept" for those of the model.
    """

    estimator: TwoWayEstimator
    data: Array
    latents: Array
    inputs: Array
    targets: Array
    images: Array | None
    drawn: tuple[Array, Array]
    domain: Domain | None
    origin: str

    @classmethod
    def of(cls, estimator: TwoWayEstimator, rows: Array | None, n_images: int) -> DistillationData:
        """Encode rows, by default those that the model keeps, and draw points of its manifold."""
        origin = "kept" if rows is None else "given"
        rows = _rows_of(estimator) if rows is None else rows
        if len(rows) < FEWEST_ROWS:
            raise ValueError(
                f"X has {len(rows)} rows; distilling needs at least {FEWEST_ROWS}, some of them "
                "held out."
            )
        rows = rows[some_rows(len(rows), MOST_ROWS)]
        domain = domain_of(estimator)
        if isinstance(domain, Points):
            raise NoClosedForm(
                f"Latents of {domain!r} are numbers of points, which no regression gives. Use the "
                "nearest of model.inverse_transform(range(k)), which is the projection."
            )
        units, latent_units = estimator._data_units, estimator._latent_units

        def targets(latents: Array) -> Array:
            if domain is not None:
                return on_circles(latents, domain.wrapped)
            inside: Array = latent_units.into(latents)
            return inside

        latents = estimator._encode(rows)
        sample = estimator.density_.sample(max(1, n_images - len(rows)), random_state=0)
        drawn = latent_units.back(sample)
        try:
            images = units.into(estimator._decode(latents))
            further = units.into(estimator._decode(drawn))
        except NotImplementedError:  # a feature space without a decoder
            images, further = None, np.empty((0, 0))
        pairs = (further, targets(drawn))
        return cls(
            estimator,
            rows,
            latents,
            units.into(rows),
            targets(latents),
            images,
            pairs,
            domain,
            origin,
        )

    def form(self, encoder: Predictor) -> ClosedForm:
        """Return the closed form of a fitted regression, in the caller's units."""
        model = copy(self.estimator)
        model.encoder_ = encoder
        if self.domain is None:
            return closed_form(model, "down")
        model._latent_units = CenteredUnits.identity(self.targets.shape[1])
        form = closed_form(model, "down")
        angles = (Angles(self.domain.wrapped),) if any(self.domain.wrapped) else ()
        steps = (*form.steps, *angles, IntoDomain(self.domain))
        return ClosedForm(steps, form.n_inputs, self.latents.shape[1])

    def distances(self, found: Array, numbers: IntArray) -> Array:
        """Return the distances of latents from those of some rows, the short way on circles."""
        offsets = found - self.latents[numbers]
        if self.domain is not None:
            wrapped = np.array(self.domain.wrapped)
            around = np.mod(offsets + 0.5 * PERIOD, PERIOD) - 0.5 * PERIOD
            offsets = np.where(wrapped, around, offsets)
        return np.sqrt(row_norms_sq(offsets))

    def distance_of_images(self, encoder: Predictor, numbers: IntArray) -> float:
        """Return the distance of a regression's images from the model's, in units of the spread.

        Root mean square over some rows; distance of the latents for a model without a decoder.
        """
        found = self.form(encoder)(self.data[numbers])
        if self.images is None:
            return root_mean_square(self.distances(found, numbers)) / spread_of(self.latents)
        images = self.estimator._data_units.into(self.estimator._decode(found))
        offsets = np.sqrt(row_norms_sq(images - self.images[numbers]))
        return root_mean_square(offsets) / spread_of(self.inputs)


def spread_of(rows: Array) -> float:
    """Return the root of the rows' total variance."""
    return float(np.sqrt(row_norms_sq(rows - rows.mean(axis=0)).mean())) or 1.0


def root_mean_square(values: Array) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.square(values).mean()))


def _rows_of(estimator: TwoWayEstimator) -> Array:
    """Return the training rows that a model keeps as targets of its decoder, or to fill gaps."""
    decoder = estimator.decoder_
    compressed = hasattr(estimator, "compression_")  # whose decoder has prototypes
    if isinstance(decoder, NadarayaWatson) and not compressed:
        return estimator._data_units.back(decoder.targets_)
    if isinstance(decoder, PreimageDecoder):
        return estimator._data_units.back(decoder.space.data)
    filling = getattr(estimator, "_gap_filling", None)  # which old model files lack
    if filling is not None:
        return estimator._data_units.back(filling.donors.rows.astype(np.float64))
    raise ValueError(
        f"X=None: this {type(estimator).__name__} keeps no training rows to distill from. Pass X, "
        "the rows it was fitted to or similar ones."
    )

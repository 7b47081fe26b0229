"""What a regression in place of a projection is to learn: the latents that a model finds for some rows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.export.onnx.angles import Angles, on_circles
from twofold.export.programs import ClosedForm, IntoDomain, NoClosedForm, closed_form
from twofold.maps import GRNN, NadarayaWatson
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import some_rows
from twofold.numerics.units import CentredUnits
from twofold.principal_manifold.domains import PERIOD, Domain, Points
from twofold.protocols import Array, IntArray
from twofold.ukr.feature_space import PreimageDecoder

__all__ = ["Lesson", "root_mean_square", "spread_of"]

FEWEST_ROWS = 20
MOST_ROWS = 6_000
"""Rows that are projected and learned from; of more, some."""


@dataclass(frozen=True)
class Lesson:
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
    drawn : tuple of ndarray of shape (k, D') and (k, q')
        Images of further latents, and these, likewise.
    domain : Domain or None
        Where latents lie, if there are bounds or circles.
    origin : str
        Where the rows come from: "given" by the caller or "kept" by the model.
    """

    estimator: Any
    data: Array
    latents: Array
    inputs: Array
    targets: Array
    images: Array | None
    drawn: tuple[Array, Array]
    domain: Domain | None
    origin: str

    @classmethod
    def of(cls, estimator: Any, rows: Array | None, n_images: int) -> Lesson:
        """Ask a model for the latents of rows, by default of those it keeps, and for points of its manifold."""
        origin = "kept" if rows is None else "given"
        rows = _rows_of(estimator) if rows is None else rows
        if len(rows) < FEWEST_ROWS:
            raise ValueError(
                f"X has {len(rows)} rows; distilling needs {FEWEST_ROWS} at least, some of them held out."
            )
        rows = rows[some_rows(len(rows), MOST_ROWS)]
        domain = getattr(estimator.decoder_, "domain", None)
        if isinstance(domain, Points):
            raise NoClosedForm(
                f"Latents of {domain!r} are numbers of points, which no regression gives. The nearest of "
                "model.inverse_transform(range(k)) is the projection."
            )
        units = estimator._data_units

        def targets(latents: Array) -> Array:
            if domain is not None:
                return on_circles(latents, domain.wrapped)
            inside: Array = estimator._latent_units.into(latents)
            return inside

        latents = estimator._encode(rows)
        sample = estimator.density_.sample(max(1, n_images - len(rows)), random_state=0)
        drawn = estimator._latent_units.back(sample)
        try:
            images = units.into(estimator._decode(latents))
            further = units.into(estimator._decode(drawn))
        except NotImplementedError:  # a feature space without a way back
            images, further = None, np.empty((0, 0))
        inputs = units.into(rows)
        pairs = (further, targets(drawn))
        return cls(
            estimator, rows, latents, inputs, targets(latents), images, pairs, domain, origin
        )

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

    def distance_of_images(self, encoder: Any, numbers: IntArray) -> float:
        """Return how far the images of a regression's latents lie from those of the model's, in units of the data's spread.

        Root mean squares over some rows; of the latents themselves where the model has no way up.
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

r"""What an explanation compares with: training latents, their images, and spreads of features.

The *spread* of a feature is its standard deviation over the training rows. It makes features of
different units comparable, and unlike a range it does not depend on single rows. The *explained
share* is the part of its variance that the images of the training latents have,

.. math:: \rho_j = \operatorname{var} f_j(z_i) / s_j^2 .

It is near 0 for a feature that has nothing to do with the map, whose images vary by noise alone.

A feature may have several columns, as a category of a table has indicators. Its spread is then the
root of the sum of their variances.

A model does not keep its training table. It keeps up to 2,000 rows to fill gaps, and the spread is
measured on those. Without them (large sparse tables, precomputed kernels, old model files), and for
what principal components leave out, only the total variance is known. It is shared evenly by all
columns, and no spread is below that of the images.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from twofold.maps.affine import Predictor
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import some_rows
from twofold.numerics.units import CenteredUnits
from twofold.protocols import Array, IntArray

MOST_LATENTS = 2_000
MOST_VALUES = 10**7
"""Training latents that are decoded, and cells of their images."""

SCALE = 0.25
"""Default width of neighborhoods, in extents of the map."""

SMALLEST_SCALE = 1e-6
"""Smaller widths count as this, which leaves the nearest latent alone."""

PERIOD = 2.0
"""The circumference of a circular latent dimension."""

FARTHEST = 1e100
"""Offsets are clipped at this many extents, so that their squares stay finite."""

SMALLEST = 1e-150
"""Smaller spreads and extents count as this, so that their squares do not vanish."""


class Fitted(Protocol):
    """A fitted two-way estimator."""

    embedding_: Array
    encoder_: Predictor
    decoder_: Predictor
    density_: Any
    n_features_in_: int
    _data_units: CenteredUnits
    _latent_units: CenteredUnits

    def _threads(self) -> AbstractContextManager[None]: ...


@dataclass(frozen=True)
class Reference:
    """The training latents of a model, their images and the spreads of its features.

    Images are in centered units, which are within floats for any data; see `FeatureColumns`.

    Attributes
    ----------
    latents : ndarray of shape (m, q)
        Training latents, at most 2,000, in the model's latent units.
    images : ndarray of shape (m, k)
        Their images in centered units, without columns that are constant in the fit.
    columns : FeatureColumns
        Which of these columns belong to which feature.
    spreads : ndarray of shape (n_features,)
        The spread of each feature in centered units; 0 for constant features.
    explained : ndarray of shape (n_features,)
        The share of its variance that the images have, between 0 and 1.
    wrapped : ndarray of bool, shape (q,)
        Which latent dimensions are circles.
    """

    latents: Array
    images: Array
    columns: FeatureColumns
    spreads: Array
    explained: Array
    wrapped: Array

    @classmethod
    def of(cls, model: Any, features: IntArray | None = None) -> Reference:
        """Measure a fitted model; ``features`` (D,) are the numbers of its columns' features.

        None means that each column is a feature.
        """
        columns = FeatureColumns.of(model._data_units, features)
        latents = _training_latents(model, len(columns.numbers))
        images = columns.images(model, latents)
        variances = images.var(axis=0)
        own = np.maximum(_variances(model, columns), variances)
        totals, decoded = columns.sums(own[None])[0], columns.sums(variances[None])[0]
        spreads = np.sqrt(totals)
        explained = decoded / np.maximum(totals, SMALLEST**2)
        return cls(latents, images, columns, spreads, explained, _wrapped(model))

    @property
    def divisors(self) -> Array:
        """The spreads (n_features,), with a safe divisor instead of 0."""
        return np.maximum(self.spreads, SMALLEST)

    @property
    def covariance(self) -> Array:
        """The covariance matrix (q, q) of the training latents."""
        deviations = self.latents - self.latents.mean(axis=0)
        found: Array = deviations.T @ deviations / len(deviations)
        return found

    @property
    def extent(self) -> float:
        """The extent of the map: the root mean square deviation of a latent coordinate."""
        deviations = self.latents - self.latents.mean(axis=0)
        size = float(np.sqrt(row_norms_sq(deviations).mean() / deviations.shape[1]))
        return max(size, SMALLEST)

    def offsets(self, place: Array, column: int) -> Array:
        """Return the offsets (n, m) of the training latents from places (n, q) in one dimension.

        They are in extents of the map.
        """
        found: Array = self.latents[:, column] - place[:, column, None]
        if self.wrapped[column]:
            found = np.mod(found + 0.5 * PERIOD, PERIOD) - 0.5 * PERIOD
        return np.clip(found / self.extent, -FARTHEST, FARTHEST)


@dataclass(frozen=True)
class FeatureColumns:
    """The columns of centered units, or of data behind an affine map, and their features.

    Attributes
    ----------
    units : CenteredUnits
        The units of the model's data.
    numbers : ndarray of shape (k,)
        The columns of the data that vary.
    features : ndarray of shape (k,)
        The feature of each.
    n_features : int
        The number of features.
    """

    units: CenteredUnits
    numbers: IntArray
    features: IntArray
    n_features: int

    @classmethod
    def of(cls, units: CenteredUnits, features: IntArray | None) -> FeatureColumns:
        """Find the columns that vary; ``features`` (D,) as in `Reference.of`."""
        numbers: IntArray = np.arange(units.n_features)
        if not isinstance(units, AffineUnits):
            numbers = np.flatnonzero(units.varying)
        own = numbers if features is None else features[numbers]
        count = units.n_features if features is None else int(features.max(initial=-1)) + 1
        return cls(units, numbers, own, count)

    @property
    def is_plain(self) -> bool:
        """Whether each column is a feature, in order."""
        return self.n_features == len(self.features)

    def images(self, model: Fitted, latents: Array) -> Array:
        """Return the images (n, k) of latents, in centered units."""
        with model._threads():
            inside = model.decoder_.predict(model._latent_units.into(latents))
            return self.centered(inside)

    def centered(self, inside: Array) -> Array:
        """Return centered units of the model (n, r) as the columns (n, k)."""
        if not isinstance(self.units, AffineUnits):
            return inside
        data = (self.units.back(inside) - self.units.offset) / self.units.column_units
        scaled: Array = np.ldexp(data, -self.units.exponent)
        return scaled

    def rows(self, X: Array) -> Array:
        """Return data (n, D) as the columns (n, k)."""
        if not isinstance(self.units, AffineUnits):
            return self.units.into(X)
        scaled: Array = (X - self.units.offset) / self.units.column_units
        return np.ldexp(scaled, -self.units.exponent)

    @property
    def factors(self) -> Array:
        """What a column (k,) is multiplied by for the data's own units."""
        if isinstance(self.units, AffineUnits):
            own = self.units.column_units
        elif self.units.factors is not None:
            own = self.units.factors[self.numbers]
        else:
            own = np.ones(len(self.numbers))
        return in_own_units(own, self.units.exponent)

    def derivative(self) -> Array | None:
        """Return the derivative (r, k) of the model's centered units by the columns.

        None means the identity.
        """
        units = self.units
        if not isinstance(units, AffineUnits):
            return None
        kept = np.flatnonzero(units.varying)
        own = np.ones(len(kept)) if units.factors is None else units.factors[kept]
        found: Array = (units.matrix[:, kept] * units.column_units[:, None] / own).T
        return found

    def sums(self, squares: Array) -> Array:
        """Return the sums (n, n_features) of columns (n, k) over the columns of each feature."""
        if self.is_plain:
            return squares
        found = np.zeros((len(squares), self.n_features))
        for column, feature in enumerate(self.features):
            found[:, feature] += squares[:, column]
        return found


def in_own_units(values: Array, exponent: int) -> Array:
    """Return centered values in the data's own units, kept finite."""
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(values, exponent), -largest, largest)


def _training_latents(model: Fitted, n_columns: int) -> Array:
    """Return training latents, or draws from their density if the model has not kept them.

    Prototypes of a compressed model stand for different numbers of rows, so the rows that the model
    keeps are placed by its encoder instead.
    """
    most = max(50, min(MOST_LATENTS, MOST_VALUES // max(1, n_columns)))
    latents = np.asarray(model.embedding_, dtype=np.float64)
    donors = getattr(getattr(model, "_gap_filling", None), "donors", None)
    if donors is not None and len(donors.rows) and int(donors.numbers.max()) >= len(latents) > 0:
        rows = donors.rows[some_rows(len(donors.rows), most)].astype(np.float64)
        with model._threads():
            return model._latent_units.back(model.encoder_.predict(rows))
    if len(latents):
        return latents[some_rows(len(latents), most)]
    drawn: Array = model.density_.sample(most, 0)
    return model._latent_units.back(drawn)


def _variances(model: Any, columns: FeatureColumns) -> Array:
    """Return the variances (k,) of the columns over the training rows.

    What is known only of all columns together is shared evenly.
    """
    filling = getattr(model, "_gap_filling", None)
    known = np.zeros(len(columns.numbers))
    is_whole = False
    if filling is not None and filling.donors.rows.shape[1] == int(columns.units.varying.sum()):
        known = columns.centered(filling.donors.rows.astype(np.float64)).var(axis=0)
        is_whole = not isinstance(columns.units, AffineUnits)
    rest = 0.0 if is_whole else max(0.0, float(model._variance) - float(known.sum()))
    found: Array = known + rest / max(1, len(known))
    return found


def _wrapped(model: Fitted) -> Array:
    """Return which latent dimensions are circles."""
    domain = getattr(model.decoder_, "domain", None)
    q = model.embedding_.shape[1]
    flags = getattr(domain, "wrapped", (False,) * q)
    return np.array(flags if len(flags) == q else (False,) * q, dtype=bool)

"""The maps of a principal manifold, its coordinates, and the density on its domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from twofold.calibration.left_out import ForgetfulMaps
from twofold.kernels import Gaussian
from twofold.manifold_geometry.metric import Behind, pulled_back
from twofold.maps.affine import Affine
from twofold.numerics.density import LatentDensity, likelihood_cv_bandwidth
from twofold.numerics.linalg import row_norms_sq, spatial_median
from twofold.principal_manifold.domains import PERIOD, Domain, Points
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import DomainProjection
from twofold.protocols import Array

FAR = 1e3
"""Units from the center beyond which rows are moved closer before they are projected."""

MOST_OF_BANDWIDTH = 2_000
"""Latents that choose the bandwidth of the density."""


def robust_frame(data: Array, *, of_columns: bool = True) -> Affine:
    """Return coordinates in one unit: the root of the median variance of a column, or of a row.

    With this unit the weight of a penalty does not depend on the data's units or on repeated
    columns: the penalty, the squared loss and the city-block loss grow with the number of columns.
    The length of a residual grows with its root only, so losses of lengths take the unit of a row.
    """
    squares = row_norms_sq(data - spatial_median(data))
    size = float(squares.mean())
    # If most rows are equal, only the others count.
    elsewhere = squares[squares > 1e-6 * size]
    if len(elsewhere):
        size = float(np.median(elsewhere))
    return Affine.one_unit(size, data.shape[1] if of_columns else 1)


@dataclass(frozen=True)
class ManifoldEncoder:
    """Data to the nearest place of the domain.

    Rows further than 1,000 units from the center are first moved to that distance along a straight
    line. Their nearest place hardly changes, and differences of distances do not round to zero.
    """

    frame: Affine
    projection: DomainProjection

    def predict(self, data: Array) -> Array:
        """Return the latents (n, q)."""
        rows = self.frame.into(data)
        largest = np.abs(rows).max(axis=1, initial=0.0)
        far = largest > FAR
        if far.any():
            rows = np.array(rows)
            rows[far] *= (FAR / largest[far])[:, None]
        return self.projection.predict(rows)

    def without_fold(self, maps: ForgetfulMaps, fold: int) -> ManifoldEncoder:
        """Return the encoder without the rows of a fold."""
        projection = self.projection
        up = _without_fold(projection.up, self.frame, projection.domain, maps, fold)
        return replace(self, projection=replace(projection, up=up))


@dataclass(frozen=True)
class ManifoldDecoder:
    """Places of the domain to data; latents outside move to its edge, or around its circle."""

    frame: Affine
    up: NodeExpansion
    domain: Domain | Points

    def predict(self, latents: Array) -> Array:
        """Return the images (n, D)."""
        return self.frame.back(self.up.predict(self.domain.into(latents)))

    def without_fold(self, maps: ForgetfulMaps, fold: int) -> ManifoldDecoder:
        """Return the decoder without the rows of a fold."""
        return replace(self, up=_without_fold(self.up, self.frame, self.domain, maps, fold))

    def pulled_back(self, latents: Array, behind: Behind) -> Array:
        """Return the metric (n, q, q) at latents, without length across the edge of the domain."""
        if self.domain.is_discrete:  # nothing is between its places
            return np.zeros((len(latents), latents.shape[1], latents.shape[1]))
        metric = pulled_back(self.up, self.domain.into(latents), behind.after(self.frame))
        moves = (np.abs(latents) <= self.domain.ends) | np.array(self.domain.wrapped)
        inside: Array = metric * (moves[:, :, None] & moves[:, None, :])
        return inside


def _without_fold(
    up: NodeExpansion, frame: Affine, domain: Domain | Points, maps: ForgetfulMaps, fold: int
) -> NodeExpansion:
    known = maps.known
    inputs, targets = domain.into(known.latents), frame.into(known.data)
    found: NodeExpansion = maps.lowered(up, inputs, targets, fold)
    return found


class DomainDensity:
    """A density on a domain; it continues around circles.

    Parameters
    ----------
    domain : Domain or Points
        The domain.

    Attributes
    ----------
    density_ : LatentDensity
        Of the latents and, on circles, of copies one turn to either side.
    """

    def __init__(self, domain: Domain | Points) -> None:
        self.domain = domain

    def fit(self, latents: Array) -> DomainDensity:
        """Fit the density of latents (n, q)."""
        bandwidth = likelihood_cv_bandwidth(latents, Gaussian(), most=MOST_OF_BANDWIDTH)
        turns = [(-PERIOD, 0.0, PERIOD) if wrapped else (0.0,) for wrapped in self.domain.wrapped]
        shifts = np.array(list(product(*turns)))
        copies = (latents[None] + shifts[:, None]).reshape(-1, latents.shape[1])
        self.density_ = LatentDensity(bandwidth=bandwidth).fit(copies)
        self._log_copies = float(np.log(len(shifts)))
        return self

    def log_density(self, Z: Array) -> Array:
        """Return the log densities (n,)."""
        if any(self.domain.wrapped):
            around = self.domain.into(Z)
            Z = np.where(np.array(self.domain.wrapped), around, Z)
        return self.density_.log_density(Z) + self._log_copies

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw places of the domain (n_samples, q)."""
        return self.domain.into(self.density_.sample(n_samples, random_state))

"""The parts a principal manifold is assembled from: its frame, its maps, the density on its domain."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import principal_axes, row_norms_sq, spatial_median
from twofold.principal_manifold.domains import PERIOD, Domain, Points
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import DomainProjection
from twofold.protocols import Array

__all__ = ["DomainDensity", "Frame", "ManifoldDecoder", "ManifoldEncoder"]


FAR = 1e3


@dataclass(frozen=True)
class Frame:
    """Coordinates in which a manifold is fitted: a unit that is the same for all columns, or whitened axes.

    Attributes
    ----------
    forth : float or ndarray of shape (D, r)
        What data are multiplied by.
    back : float or ndarray of shape (r, D)
        What takes images back.
    """

    forth: Any
    back: Any

    @classmethod
    def scaled(cls, data: Array, *, robust: bool, of_columns: bool = True) -> Frame:
        """Take the root of the mean variance of the columns as unit, or of the median where outliers should not count.

        So a weight of the penalty means the same whatever the data's units, and however often columns repeat: the penalty, the
        squared and the city-block loss grow with the number of columns. The length of a residual grows with its root alone; for
        losses of that kind the unit is that of the whole row.
        """
        squares = row_norms_sq(data - spatial_median(data)) if robust else row_norms_sq(data)
        size = float(squares.mean())
        # Of rows most of which are one, those count that are elsewhere.
        elsewhere = squares[squares > 1e-6 * size]
        if robust and len(elsewhere):
            size = float(np.median(elsewhere))
        return cls.of_size(size, data.shape[1] if of_columns else 1)

    @classmethod
    def of_size(cls, size: float, n_columns: int) -> Frame:
        """Take the unit of so large a variance over so many columns."""
        unit = float(np.sqrt(size / n_columns))
        return cls(1.0 / unit, unit)

    @classmethod
    def whitened(cls, data: Array) -> Frame:
        """Take the principal axes, each in units of its standard deviation: distances are Mahalanobis's."""
        return cls.of_axes(*principal_axes(data, min(data.shape)))

    @classmethod
    def of_axes(cls, axes: Array, variances: Array) -> Frame:
        """Take principal axes (k, D), leading first, and the variances along them."""
        kept = variances > 1e-10 * variances[0]
        deviations = np.sqrt(variances[kept])
        return cls(axes[kept].T / deviations, axes[kept] * deviations[:, None])

    def into(self, data: Array) -> Array:
        """Return coordinates (n, r) of data."""
        return _times(data, self.forth)

    def out(self, images: Array) -> Array:
        """Return data (n, D) of coordinates."""
        return _times(images, self.back)


def _times(A: Array, factor: Any) -> Array:
    result: Array = A * factor if isinstance(factor, float) else A @ factor
    return result


@dataclass(frozen=True)
class ManifoldEncoder:
    """Data to the nearest place of the domain.

    Rows further than 1,000 units from the data's centre are first taken there along a straight line: which place is nearest hardly
    depends on the distance any more, and differences of distances would vanish in rounding.
    """

    frame: Frame
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


@dataclass(frozen=True)
class ManifoldDecoder:
    """Places of the domain to data; what lies outside is taken to its edge, or around its circle."""

    frame: Frame
    up: NodeExpansion
    domain: Domain | Points

    def predict(self, latents: Array) -> Array:
        """Return the images (n, D)."""
        return self.frame.out(self.up.predict(self.domain.into(latents)))


class DomainDensity:
    """A density on a domain: around circles it goes on at the other end.

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
        bandwidth = LatentDensity().fit(latents).bandwidth_
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

"""Maps between the data, the coordinates in which unsupervised regression works, and its latents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.maps.projection import Projection
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import row_norms_sq, row_product
from twofold.protocols import Array, Map

__all__ = [
    "Coordinates",
    "FinalMaps",
    "FromCoordinates",
    "ToCoordinates",
    "errors_of_ways",
    "projection_of",
    "ways_down",
]

MARGIN = 8.0
"""Log density below the lowest at a latent where the projection's domain ends."""


@dataclass(frozen=True)
class Coordinates:
    """Data along some orthonormal axes, in units of their spread.

    Attributes
    ----------
    axes : ndarray of shape (rank, D)
        Orthonormal rows.
    spread : float
        Root of the data's total variance.
    """

    axes: Array
    spread: float

    @classmethod
    def of(cls, axes: Array, data: Array) -> Coordinates:
        """Measure the spread of centred data."""
        return cls(axes, float(np.sqrt(row_norms_sq(data).mean())) or 1.0)

    @property
    def is_whole(self) -> bool:
        """Whether the axes are those of the data."""
        rank, n_features = self.axes.shape
        return bool(rank == n_features)

    def predict(self, data: Array) -> Array:
        """Return the coordinates (n, rank) of data."""
        inside = data if self.is_whole else row_product(data, self.axes.T)
        return inside / self.spread

    def back(self, coordinates: Array) -> Array:
        """Return the data (n, D) of coordinates."""
        inside = coordinates * self.spread
        return inside if self.is_whole else row_product(inside, self.axes)


@dataclass(frozen=True)
class FromCoordinates:
    """A down-map behind the coordinates."""

    coordinates: Coordinates
    way: Any

    def predict(self, data: Array) -> Array:
        """Return the latents (n, q) of data."""
        latents: Array = self.way.predict(self.coordinates.predict(data))
        return latents


@dataclass(frozen=True)
class ToCoordinates:
    """An up-map in front of the coordinates."""

    coordinates: Coordinates
    up: Any

    def predict(self, latents: Array) -> Array:
        """Return the data (n, D) of latents."""
        return self.coordinates.back(self.up.predict(latents))


@dataclass(frozen=True)
class FinalMaps:
    """The maps of a fit.

    Attributes
    ----------
    up, down : Map
        Between latents and coordinates.
    decoder : Map
        From latents to all columns of the data.
    """

    up: Any
    down: Any
    decoder: Any


def projection_of(up: Map, down: Map, domain: LatentDensity) -> Projection:
    """Return the projection onto an up-map, which starts from the down-map's value and from latents of the domain."""
    bound = domain.log_threshold() - MARGIN
    projection = Projection(up, density=domain, log_threshold=bound, guess=down)
    return projection.fit(domain.points_, domain.points_)


def ways_down(
    coordinates: Coordinates, maps: FinalMaps, domain: LatentDensity
) -> dict[str, FromCoordinates]:
    """Return both ways from data to latents, by name."""
    projection = projection_of(maps.up, maps.down, domain)
    return {
        "map": FromCoordinates(coordinates, maps.down),
        "project": FromCoordinates(coordinates, projection),
    }


def errors_of_ways(
    up: Map, down: Map, data: Array, coordinates: Coordinates, domain: LatentDensity
) -> dict[str, float]:
    """Return the share of variance that each way down loses on some rows.

    All that lies outside the coordinates counts as lost, though the up-map to all columns follows some of it.

    Parameters
    ----------
    up, down : Map
        The maps between latents and coordinates.
    data : ndarray of shape (n, D)
        Centred rows.
    coordinates : Coordinates
        What the maps see of them.
    domain : LatentDensity
        Where projections may end.
    """
    inside = coordinates.predict(data)
    outside = row_norms_sq(data) / coordinates.spread**2 - row_norms_sq(inside)
    ways = {"map": down, "project": projection_of(up, down, domain)}
    return {
        name: float(
            row_norms_sq(inside - up.predict(way.predict(inside))).mean()
            + np.maximum(outside, 0.0).mean()
        )
        for name, way in ways.items()
    }

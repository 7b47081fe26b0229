"""Maps between the data and the coordinates in which unsupervised regression works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold._linalg import row_norms_sq, row_product
from twofold.maps import RBFNetwork
from twofold.maps.radial_regression import RadialRegression
from twofold.protocols import Array

__all__ = ["Coordinates", "FromCoordinates", "lifted"]


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


def lifted(up: Any, latents: Array, data: Array, coordinates: Coordinates) -> Any:
    """Return the up-map to all columns: a radial network refitted to them, another map led through the axes.

    Parameters
    ----------
    up : Map
        The map to coordinates.
    latents : ndarray of shape (n, q)
        The latents that the map was fitted to.
    data : ndarray of shape (n, D)
        The data in all columns.
    coordinates : Coordinates
        Where the map was learned.
    """
    if not isinstance(up, RBFNetwork):
        return ToCoordinates(coordinates, up)
    regression = RadialRegression(latents, up.centers_)
    return regression.fit(data, up.bandwidth_, up.alpha_)

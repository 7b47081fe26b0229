"""The maps of kernel regression in feature space: down through coordinates, up through pre-images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.maps import NadarayaWatson
from twofold.maps.projection import Projection
from twofold.numerics.threads import row_blocks
from twofold.protocols import Array
from twofold.ukr.feature_space import FeatureSpace

__all__ = ["FeatureEncoder", "PreimageDecoder"]


@dataclass(frozen=True)
class FeatureEncoder:
    """Data to latents: into coordinates of feature space, then onto the manifold there."""

    space: FeatureSpace
    regression: NadarayaWatson
    projection: Projection

    def predict(self, data: Array) -> Array:
        """Return the latents (m, q) of data."""
        coordinates, _ = self.space.locate(data)
        return self.projection.predict(coordinates)

    def squared_errors(self, data: Array) -> Array:
        """Return the squared feature-space distances (m,) of data to the manifold."""
        coordinates, excess = self.space.locate(data)
        images = self.regression.predict(self.projection.predict(coordinates))
        errors: Array = np.square(coordinates - images).sum(axis=1) + excess
        return errors


@dataclass(frozen=True)
class PreimageDecoder:
    """Latents to data: the data nearest to the manifold's point in feature space."""

    space: FeatureSpace
    regression: NadarayaWatson

    def predict(self, latents: Array) -> Array:
        """Return the pre-images (m, D)."""
        blocks = row_blocks(len(latents), 4 * 8 * len(self.space.data))
        parts = [self.space.preimages(self.regression.weights(latents[rows])) for rows in blocks]
        return np.concatenate(parts)

"""The maps of a DRUR fit: between latents, the coordinates it works in, and the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.maps.affine import Affine, Chain, Predictor
from twofold.maps.projection import MARGIN, Projection
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import row_norms_sq
from twofold.protocols import Array, Map


@dataclass(frozen=True)
class FinalMaps:
    """The maps of a fit.

    Attributes
    ----------
    up, down : Map
        Between latents and coordinates.
    decoder : Predictor
        From latents to all columns of the data.
    """

    up: Map
    down: Map
    decoder: Predictor


def projection_of(up: Map, down: Map, domain: LatentDensity) -> Projection:
    """Return the projection onto an up-map, with starts from the down-map and the domain."""
    bound = domain.log_threshold() - MARGIN
    projection = Projection(up, density=domain, log_threshold=bound, guess=down)
    return projection.fit(domain.points_, domain.points_)


def encoders_of(coordinates: Affine, maps: FinalMaps, domain: LatentDensity) -> dict[str, Chain]:
    """Return both encoders, the down-map and the projection, by name."""
    projection = projection_of(maps.up, maps.down, domain)
    return {"map": Chain((coordinates, maps.down)), "project": Chain((coordinates, projection))}


def errors_of_encoders(
    up: Map, down: Map, data: Array, coordinates: Affine, domain: LatentDensity
) -> dict[str, float]:
    """Return the share of the variance of centered rows (n, D) that each encoder loses.

    Everything outside the coordinates counts as lost, although the final decoder maps to all
    columns.
    """
    inside = coordinates.into(data)
    outside = row_norms_sq(data) / coordinates.unit**2 - row_norms_sq(inside)
    encoders = {"map": down, "project": projection_of(up, down, domain)}
    return {
        name: float(
            row_norms_sq(inside - up.predict(encoder.predict(inside))).mean()
            + np.maximum(outside, 0.0).mean()
        )
        for name, encoder in encoders.items()
    }

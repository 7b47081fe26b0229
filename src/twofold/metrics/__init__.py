"""Measures of a map: preserved neighborhoods, reconstruction, agreement with the truth.

Data are shifted and scaled by a power of two first, so data far from the origin and squares that
overflow do no harm.
"""

from twofold.metrics.alignment import procrustes_r2
from twofold.metrics.labels import nearest_neighbor_accuracy
from twofold.metrics.neighborhoods import (
    continuity,
    neighborhood_preservation,
    trustworthiness,
)
from twofold.metrics.reconstruction import relative_reconstruction_error, round_trip_error

__all__ = [
    "continuity",
    "nearest_neighbor_accuracy",
    "neighborhood_preservation",
    "procrustes_r2",
    "relative_reconstruction_error",
    "round_trip_error",
    "trustworthiness",
]

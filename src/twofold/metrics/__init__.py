"""Measures of a map: what it loses, how smooth it is, what it preserves, agreement with the truth.

Data are shifted and scaled by a power of two first, so data far from the origin and squares that
overflow do no harm.
"""

from twofold.metrics.alignment import procrustes_r2
from twofold.metrics.codebook import (
    RateDistortion,
    codebook_error,
    codebook_score,
    map_score,
    rate_distortion,
)
from twofold.metrics.global_structure import (
    density_preservation,
    random_triplet_accuracy,
    spearman_distance_correlation,
)
from twofold.metrics.labels import nearest_neighbor_accuracy
from twofold.metrics.neighborhoods import (
    continuity,
    neighborhood_preservation,
    trustworthiness,
)
from twofold.metrics.reconstruction import relative_reconstruction_error, round_trip_error
from twofold.metrics.roughness import jitter_error, neighbor_placement_error

__all__ = [
    "RateDistortion",
    "codebook_error",
    "codebook_score",
    "continuity",
    "density_preservation",
    "jitter_error",
    "map_score",
    "nearest_neighbor_accuracy",
    "neighbor_placement_error",
    "neighborhood_preservation",
    "procrustes_r2",
    "random_triplet_accuracy",
    "rate_distortion",
    "relative_reconstruction_error",
    "round_trip_error",
    "spearman_distance_correlation",
    "trustworthiness",
]

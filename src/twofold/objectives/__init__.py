"""Objectives: differentiable functions of the latents, each holding its data."""

from twofold.objectives.neighbour_embedding import NeighbourEmbedding, SparseNeighbourEmbedding
from twofold.objectives.neighbour_probabilities import (
    calibrated_neighbours,
    neighbour_matrix,
    transition_probabilities,
)
from twofold.objectives.reconstruction import (
    Barrier,
    CheaperReconstruction,
    GramReconstruction,
    Reconstruction,
)

__all__ = [
    "Barrier",
    "CheaperReconstruction",
    "GramReconstruction",
    "NeighbourEmbedding",
    "Reconstruction",
    "SparseNeighbourEmbedding",
    "calibrated_neighbours",
    "neighbour_matrix",
    "transition_probabilities",
]

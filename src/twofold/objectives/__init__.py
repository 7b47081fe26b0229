"""Objectives: differentiable functions of the latents, each holding its data."""

from twofold.objectives.neighbour_embedding import NeighbourEmbedding
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
]

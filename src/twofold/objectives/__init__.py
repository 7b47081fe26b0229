"""Objectives: differentiable functions of the latents, each holding its data."""

from twofold.objectives.reconstruction import Barrier, GramReconstruction, Reconstruction

__all__ = ["Barrier", "GramReconstruction", "Reconstruction"]

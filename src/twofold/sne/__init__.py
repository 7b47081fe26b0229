"""Stochastic neighbor embedding with both maps (Memisevic & Hinton 2005)."""

from twofold.sne.estimator import SNE

__all__ = ["SNE"]

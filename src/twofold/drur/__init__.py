"""Dimensionality reduction by unsupervised regression (Carreira-Perpinan & Lu 2008, 2010)."""

from twofold.drur.estimator import DRUR

__all__ = ["DRUR"]

"""Unsupervised kernel regression (Meinicke et al. 2005)."""

from twofold.ukr.estimator import UKR
from twofold.ukr.extent import ManifoldExtent
from twofold.ukr.homotopy import Homotopy

__all__ = ["UKR", "Homotopy", "ManifoldExtent"]

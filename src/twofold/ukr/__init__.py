"""Unsupervised kernel regression (Meinicke et al. 2005)."""

from twofold.ukr.estimator import UKR

__all__ = ["UKR"]

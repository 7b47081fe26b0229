"""Regressions from inputs to targets, with Jacobians: the maps of the two-way estimators.

Maps are building blocks: finite float64 arrays in, float64 arrays out. Validation happens once, in
the estimators that compose them.
"""

from twofold.maps.kernel_ridge import KernelRidgeMap
from twofold.maps.linear import LinearMap
from twofold.maps.mlp import MLP
from twofold.maps.nadaraya_watson import GRNN, NadarayaWatson
from twofold.maps.projection import Projection
from twofold.maps.rbf_network import RBFNetwork

__all__ = [
    "GRNN",
    "MLP",
    "KernelRidgeMap",
    "LinearMap",
    "NadarayaWatson",
    "Projection",
    "RBFNetwork",
]

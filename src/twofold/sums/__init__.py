"""Kernel sums ``sum_j k(|z_i - s_j|^2) v_j`` and their gradients: the heart of speed.

Between two sets of points: `KernelSums`, computed by `DenseSums`. Among the points of one set, each
leaving itself out: `SelfWeights`, held by `DenseWeights` or `PairWeights`. Ways of computing the same
thing have one signature and are tested against each other.
"""

from twofold.sums.base import KernelSums, Sums
from twofold.sums.dense import DenseSums
from twofold.sums.weights import DenseWeights, PairWeights, SelfWeights, kernel_radius

__all__ = [
    "DenseSums",
    "DenseWeights",
    "KernelSums",
    "PairWeights",
    "SelfWeights",
    "Sums",
    "kernel_radius",
]

"""Kernel sums ``sum_j k(|z_i - s_j|^2) v_j`` and their gradients: the heart of speed.

Between two sets of points: `KernelSums`, computed by `DenseSums` or `NeighbourSums`. Among the points of one set, each
leaving itself out: `SelfWeights`, held by `DenseWeights` or `PairWeights`. Ways of computing the same
thing have one signature and are tested against each other.
"""

from twofold.sums.base import KernelSums, Sums
from twofold.sums.dense import DenseSums
from twofold.sums.neighbours import LocalWeights, Neighbours, NeighbourSums, target_blocks
from twofold.sums.pairs import PairWeights
from twofold.sums.reach import kernel_radius, share_in_reach
from twofold.sums.weights import DenseWeights, SelfWeights

__all__ = [
    "DenseSums",
    "DenseWeights",
    "KernelSums",
    "LocalWeights",
    "NeighbourSums",
    "Neighbours",
    "PairWeights",
    "SelfWeights",
    "Sums",
    "kernel_radius",
    "share_in_reach",
    "target_blocks",
]

"""Kernel sums ``sum_j k(|z_i - s_j|^2) v_j`` and their gradients: the heart of speed.

Between two sets of points: `KernelSums`, computed by `DenseSums` or `NeighbourSums`. Among the points of one set, each
leaving itself out: `SelfWeights`, held by `DenseWeights`, `PairWeights` or, for many points, `CellWeights`
and `GridWeights`. Ways of computing the same
thing have one signature and are tested against each other.
"""

from twofold.numerics.sums.base import KernelSums, Sums
from twofold.numerics.sums.cells import Cells, CellWeights, sorted_into_columns
from twofold.numerics.sums.dense import DenseSums
from twofold.numerics.sums.grid import GridWeights, error_bound
from twofold.numerics.sums.local import LocalMeans
from twofold.numerics.sums.many import weigh_many
from twofold.numerics.sums.neighbours import LocalWeights, Neighbours, NeighbourSums, target_blocks
from twofold.numerics.sums.pairs import PairWeights
from twofold.numerics.sums.reach import kernel_radius, share_in_reach
from twofold.numerics.sums.weights import DenseWeights, GramWeights, SelfWeights

__all__ = [
    "CellWeights",
    "Cells",
    "DenseSums",
    "DenseWeights",
    "GramWeights",
    "GridWeights",
    "KernelSums",
    "LocalMeans",
    "LocalWeights",
    "NeighbourSums",
    "Neighbours",
    "PairWeights",
    "SelfWeights",
    "Sums",
    "error_bound",
    "kernel_radius",
    "share_in_reach",
    "sorted_into_columns",
    "target_blocks",
    "weigh_many",
]

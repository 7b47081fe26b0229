"""Kernel sums ``sum_j k(|z_i - s_j|^2) v_j`` and their gradients: most of the time of a fit.

Between two sets of points: `DenseSums` over all pairs, `Neighbors` over the sources within reach.
Among the points of one set, each leaving itself out: `DenseWeights`, `PairWeights` and, for many
points, `CellWeights` and `GridWeights`. All ways of computing the same sums share one signature and
are tested against each other.
"""

from twofold.numerics.sums.cells import Cells, CellWeights, sorted_into_columns
from twofold.numerics.sums.dense import DenseSums, DenseWeights, ShiftedSums
from twofold.numerics.sums.grid import GridWeights, weigh_many
from twofold.numerics.sums.neighbors import LocalMeans, LocalWeights, Neighbors, target_blocks
from twofold.numerics.sums.pairs import PairWeights
from twofold.numerics.sums.reach import kernel_radius, share_in_reach
from twofold.numerics.sums.weights import SelfWeights

__all__ = [
    "CellWeights",
    "Cells",
    "DenseSums",
    "DenseWeights",
    "GridWeights",
    "LocalMeans",
    "LocalWeights",
    "Neighbors",
    "PairWeights",
    "SelfWeights",
    "ShiftedSums",
    "kernel_radius",
    "share_in_reach",
    "sorted_into_columns",
    "target_blocks",
    "weigh_many",
]

"""Kernel sums ``sum_j k(|z_i - s_j|^2) v_j`` and their gradients: most of the time of a fit.

Between two sets of points: `DenseSums` over all pairs, `Neighbors` over the sources within reach.
Among the points of one set, each leaving itself out: `DenseWeights`, `PairWeights` and, for many
points, `CellWeights` and `GridWeights`. All ways of computing the same sums share one signature and
are tested against each other.
"""

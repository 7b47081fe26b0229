r"""How wide an affinity may be before it reaches across a gap.

Guidance makes rows move together that the affinity ``K_ij = e^{-|x_i - x_j|^2 / h}`` links. On a helix a wide ``h`` links neighbouring turns, and
moving them together is wrong; a narrow one links each row to a few others, and guides little. The two are told apart by
geodesic distances ``g_ij``, shortest paths in a graph of neighbours: a link is a *leak* where

.. math:: g_{ij} > 2 |x_i - x_j|,

the way along the data being twice the way across. Chosen is the widest ``h`` for which leaks have at most a twelfth of the affinity, and rows reach
at most an eighth of all rows. It is never so narrow that the fifth distinct neighbour is out of reach: in many dimensions paths
along noisy data are long, and every link looks like a leak.

At most 1,000 rows are looked at, chosen by their numbers: beyond, the order of the rows is felt in the second digit.
"""

from __future__ import annotations

import numpy as np

from twofold.geodesics.graph import connect_components, geodesic_distances, knn_graph
from twofold.numerics.linalg import sqdist
from twofold.protocols import Array

__all__ = ["bandwidth_within_gaps"]

MOST_ROWS = 1_000
N_NEIGHBORS = 10
FEW_NEIGHBORS = 5
DETOUR = 2.0
LARGEST_LEAK = 1.0 / 12.0
LARGEST_REACH = 1.0 / 8.0
ROUNDING = 1e-12
WIDER = 2.0**0.25
MOST_STEPS = 60


def bandwidth_within_gaps(X: Array) -> float:
    """Return the widest bandwidth that does not leak, of data (n, D)."""
    some = np.asarray(X[:: -(-len(X) // MOST_ROWS)], dtype=np.float64)
    n = len(some)
    squares = np.maximum(sqdist(some, some), 0.0)
    equal = squares <= ROUNDING * float(
        squares.max()
    )  # distances of equal rows are off by rounding
    distinct = np.where(equal, np.inf, squares)
    rank = min(FEW_NEIGHBORS, n - 1) - 1
    least = float(np.median(np.partition(distinct, rank, axis=1)[:, rank]))
    if not np.isfinite(least):  # fewer distinct rows than that
        others = distinct[np.isfinite(distinct)]
        return float(np.median(others)) if others.size else 1.0
    np.fill_diagonal(squares, np.inf)
    graph, _ = connect_components(knn_graph(some, min(N_NEIGHBORS, n - 1)), some)
    leaks = geodesic_distances(graph) > DETOUR * np.sqrt(squares)
    chosen = least
    for step in range(1, MOST_STEPS):
        bandwidth = least * WIDER**step
        affinity = np.exp(-squares / bandwidth)
        total = float(affinity.sum())
        if affinity[leaks].sum() > LARGEST_LEAK * total or total > LARGEST_REACH * n * n:
            break
        chosen = bandwidth
    return chosen

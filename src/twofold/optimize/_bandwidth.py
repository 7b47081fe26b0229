r"""The widest affinity that does not reach across gaps in the data.

Guidance moves rows together that the affinity ``K_ij = e^{-|x_i - x_j|^2 / h}`` links. On a helix a
wide ``h`` links neighboring turns, which must not move together. A narrow ``h`` links each row to
few others and guides little. Geodesic distances ``g_ij``, shortest paths in a neighborhood graph,
tell the two apart: a link is a *leak* if

.. math:: g_{ij} > 2 |x_i - x_j|,

that is, if the path along the data is twice as long as the straight line. The result is the widest
``h`` for which leaks have at most a twelfth of the affinity and rows reach at most an eighth of all
rows. The fifth distinct neighbor always stays in reach: in many dimensions paths along noisy data
are long, and every link looks like a leak.

At most 1,000 rows are used, spread evenly over the row numbers. With more rows, the order of the
rows changes the second digit of the result.
"""

from __future__ import annotations

import numpy as np

from twofold.geodesics.graph import connect_components, geodesic_distances, knn_graph
from twofold.numerics.linalg import sqdist
from twofold.protocols import Array

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
    equal = squares <= ROUNDING * float(squares.max())  # equal rows differ by rounding
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

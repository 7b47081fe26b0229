"""Neighborhood graphs: edges, the joining of components, geodesics, affinities.

The graph has a vertex per sample and an edge ``{i, j}`` of length ``d(i, j)`` whenever one end is
among the ``k`` nearest neighbors of the other. Path lengths in it estimate the geodesic distances
along the manifold, ``g(i, j) = min over paths of the sum of d``, which are finite only if the graph
is connected.

If it is not, the agglomerative rule joins it: while there are two components, add the closest pair
of points that lie in different ones. That is single linkage started from the components, in other
words Kruskal's algorithm on the complete graph with the components contracted, so the edges it adds
are a minimum spanning tree of the components. Boruvka's algorithm finds the same tree in fewer
rounds: in each round every component (the largest may sit out) picks its own shortest edge outward.
By the cut property each pick belongs to a minimum spanning tree, and each round at least halves
the components that pick. The tree is unique except for ties in length.

A point of noise between two sheets of a roll is linked to both, and one such short circuit spoils
all geodesic distances. `mutual_graph` leaves them out. It starts from the minimum spanning tree and
the edges whose ends are among the five nearest neighbors of *each other*: few enough to have no
short circuits, but with gaps that paths must go around. Then the neighborhoods grow by one neighbor
at a time. A new mutual edge is accepted if its ends are already linked by at most six edges. The
ends of a short circuit are far from each other along the sheet and stay so; the gaps close from
their ends. On 40 fresh rolls with noise, 20 of each of two kinds, Isomap on this graph with 20
neighbors explains at least 0.99 of the variance of the true sheet in 39. On all mutual edges it
does so only for a number of neighbors that must be known, 8 for one kind and 10 for the other. The
agglomerative rule is the special case without neighbors.

With lengths on the edges, a Gaussian turns them into affinities ``W_ij = exp(-d(i, j)^2 / h)``,
``W_ii = 1``. With the degrees ``D_ii = sum_j W_ij``, the normalized affinity
``D^(-1/2) W D^(-1/2)`` has its spectrum in [-1, 1].

Graphs are symmetric ``scipy.sparse.csr_array`` of lengths. An absent entry is no edge; a *stored*
zero is an edge of length zero (duplicate points), so nothing here may drop stored zeros.

Notation
--------
=============================================  =================================================
``S_m``, ``m``, ``h`` (Orsenigo & Vercellis)   ``X``, ``n_samples``, ``n_neighbors``
``Q = [q_ij]``, dissimilarities                ``X`` as `Dissimilarities`
``G = [g_ij]``                                 the result of `geodesic_distances`
``K``, ``h`` (Memisevic & Hinton)              affinity ``W``, ``bandwidth``
``M``                                          the result of `normalized_affinity`
=============================================  =================================================

References
----------
* C. Orsenigo and C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised
  manifold learning. *Expert Systems with Applications* 39(9), 2012.
* R. Memisevic and G. Hinton. Improving dimensionality reduction with spectral gradient descent.
  *Neural Networks* 18(5-6), 2005.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from twofold.geodesics.dissimilarities import Dissimilarities, as_dissimilarities
from twofold.numerics.sums._compiled import compiled
from twofold.numerics.threads import BLOCK_BYTES, map_blocks, row_blocks
from twofold.protocols import AnyArray, Array, IntArray

FEWER_CALLS = 1_000
"""Compiled loops elsewhere are called hundreds of times and save most of the time. Paths are
computed once and save a quarter of it, so they must be this much more work to pay for an import."""

VISITS = 20
"""Samples that the search for a path of few edges visits for each edge of the graph, about."""

FIRST_NEIGHBORS = 5
"""Mutual neighbors that are linked without a test: too few to reach another sheet."""

MUTUAL_NEIGHBORS = 20
"""Neighbors for `mutual_graph` by default: with 10 or 12, gaps cost accuracy; with 25, some rolls
have short circuits."""

FEWEST_MUTUAL = 10
SHARE_OF_SAMPLES = 8
"""Of few samples an eighth are neighbors: 20 of 80 would reach all around."""

N_BLOCKS = 16
"""Blocks of rows, at the most, in which compiled loops search paths."""

MOST_STEPS = 3
"""Steps from both ends of a new edge to a sample between them."""


def knn_graph(
    X: ArrayLike | Dissimilarities,
    n_neighbors: int,
    *,
    n_jobs: int | None = None,
) -> csr_array:
    """Return the symmetric graph (n_samples, n_samples) that links samples to nearest neighbors.

    ``X`` holds samples or dissimilarities. An edge exists if either end is a neighbor of the
    other. There are no self-edges; duplicates are linked by stored zeros.
    """
    points = as_dissimilarities(X)
    check_n_neighbors(n_neighbors, points.n_samples)
    return _linked(points, points.neighbors(n_neighbors, n_jobs))


def check_n_neighbors(n_neighbors: int, n_samples: int) -> None:
    """Raise an error unless each sample has this many others."""
    if not 1 <= n_neighbors < n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be at least 1 and less than n_samples={n_samples}: "
            "change n_neighbors or give more samples."
        )


def graph_of_neighbors(X: ArrayLike | Dissimilarities, neighbors: IntArray) -> csr_array:
    """Return the graph of `knn_graph` for samples whose neighbors (n_samples, k) are known."""
    return _linked(as_dissimilarities(X), neighbors.astype(np.intp))


def mutual_graph(X: ArrayLike | Dissimilarities, neighbors: IntArray) -> tuple[csr_array, int]:
    """Return the connected graph of mutual neighbors, and the number of pieces that were joined.

    ``neighbors`` (n_samples, k) are the nearest neighbors of each sample, in any order. The graph
    has the minimum spanning tree of the graph of `knn_graph`, and edges between samples that are
    neighbors of each other: all of the first five neighbors, and the others if their ends are
    linked by at most six edges of the graph with one neighbor less. The components of the graph of
    `knn_graph`, the pieces, are joined by `connect_components`.

    A sample between two sheets has neighbors on both, but few samples of the sheets have it among
    theirs, and those that have it are far from it along the sheet. The tree keeps what is needed to
    reach every sample, by the shortest edges. Time and memory are those of the neighbors.
    """
    points = as_dissimilarities(X)
    n_samples = points.n_samples
    lower, higher, position = _undirected(neighbors.astype(np.intp), n_samples)
    lengths = points.lengths(lower, higher)
    ranks = _mutual_ranks(lengths, position)
    # Only the order of the lengths matters for the tree. Its keys are positive, and distinct.
    order = np.empty(len(lengths))
    order[np.argsort(lengths, kind="stable")] = np.arange(1.0, len(lengths) + 1.0)
    tree = minimum_spanning_tree(_csr(order, lower, higher, n_samples))
    first = min(FIRST_NEIGHBORS, neighbors.shape[1])
    kept = np.isin(order, tree.data, kind="sort") | (ranks <= first)
    for rank in range(first + 1, neighbors.shape[1] + 1):
        new = np.flatnonzero((ranks <= rank) & ~kept)
        linked = _linked_by_few(lower[kept], higher[kept], lower[new], higher[new], n_samples)
        kept[new[linked]] = True
    graph = _graph(lower[kept], higher[kept], lengths[kept], n_samples)
    return connect_components(graph, points)


def default_mutual_neighbors(n_samples: int) -> int:
    """Return a number of neighbors for `mutual_graph`: 20, fewer for fewer than 160 samples."""
    share = max(FEWEST_MUTUAL, n_samples // SHARE_OF_SAMPLES)
    return min(MUTUAL_NEIGHBORS, share, n_samples - 1)


def _linked_by_few(
    lower: IntArray, higher: IntArray, starts: IntArray, ends: IntArray, n_samples: int
) -> AnyArray:
    """Return whether pairs of samples are linked by at most six edges of a graph.

    A path of six edges has a middle, three edges from both ends. Most pairs have a common neighbor,
    so only the others are followed further.
    """
    linked = np.zeros(len(starts), dtype=bool)
    loops = compiled(VISITS * len(lower), "twofold.geodesics.path_loops")
    if loops is not None:
        graph = _graph(lower, higher, np.ones(len(lower), dtype=np.float32), n_samples)
        loops.linked_by_few(graph.indptr, graph.indices, starts, ends, MOST_STEPS, linked)
        return linked
    everyone = np.arange(n_samples)
    rows = np.concatenate([lower, higher, everyone])
    cols = np.concatenate([higher, lower, everyone])
    step = _csr(np.ones(len(rows), dtype=np.float32), rows, cols, n_samples)
    # About as many samples are within three steps of another, each with a number and a count.
    reached = max(1.0, len(rows) / n_samples) ** MOST_STEPS
    for block in row_blocks(len(starts), int(2 * 2 * 8 * min(reached, n_samples))):
        open_pairs = np.arange(len(starts))[block]
        from_start, from_end = step[starts[block]], step[ends[block]]
        for number in range(MOST_STEPS):
            if number > 0:
                from_start, from_end = from_start @ step, from_end @ step
            met = np.asarray(from_start.multiply(from_end).sum(axis=1)).ravel() > 0
            linked[open_pairs[met]] = True
            open_pairs, from_start, from_end = open_pairs[~met], from_start[~met], from_end[~met]
    return linked


def _linked(points: Dissimilarities, neighbors: IntArray) -> csr_array:
    """Return the graph with an edge wherever one end is a neighbor of the other."""
    n_samples = points.n_samples
    lower, higher, _ = _undirected(neighbors, n_samples)
    return _graph(lower, higher, points.lengths(lower, higher), n_samples)


def _undirected(neighbors: IntArray, n_samples: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return each edge once, as (lower, higher), and the edge (n, k) of each neighbor."""
    # Arithmetic on sparse matrices, such as graph.maximum(graph.T), would drop the zero lengths
    # between duplicates.
    owners = np.arange(n_samples)[:, np.newaxis]
    pairs = np.minimum(owners, neighbors) * n_samples + np.maximum(owners, neighbors)
    edges, position = np.unique(pairs.ravel(), return_inverse=True)
    lower, higher = np.divmod(edges, n_samples)
    return lower, higher, position.reshape(neighbors.shape)


def _mutual_ranks(lengths: Array, position: IntArray) -> IntArray:
    """Return for how many neighbors the ends of each edge are mutual neighbors.

    That is the larger of the ranks of one end among the neighbors of the other, from 1. For edges
    that are not mutual it is the number of samples.
    """
    n_samples, n_neighbors = position.shape
    nearest_first = np.argsort(lengths[position], axis=1, kind="stable")
    ordered = np.take_along_axis(position, nearest_first, axis=1).ravel()
    ranks = np.zeros(len(lengths), dtype=np.intp)
    np.maximum.at(ranks, ordered, np.tile(np.arange(1, n_neighbors + 1), n_samples))
    ranks[np.bincount(ordered) < 2] = n_samples
    return ranks


def connect_components(graph: csr_array, X: ArrayLike | Dissimilarities) -> tuple[csr_array, int]:
    """Join the components of a graph by the shortest possible edges.

    Returns the graph with ``n_components - 1`` more edges (the argument itself if it is connected)
    and the number of components before. The rule is that of Orsenigo & Vercellis (2012): the
    closest pair of points in different components becomes an edge, until one component is left.
    Temporary memory is a fixed number of rows of distances.
    """
    points = as_dissimilarities(X)
    n_samples = points.n_samples
    if graph.shape != (n_samples, n_samples):
        raise ValueError(
            f"graph has shape {graph.shape}, but X has {n_samples} samples: pass the X that the "
            "graph was made from."
        )
    n_components, component = connected_components(graph, directed=False)
    if n_components <= 1:
        return graph, int(n_components)
    lower, higher = _bridges(points, component.astype(np.intp))
    added = _graph(lower, higher, points.lengths(lower, higher), n_samples)
    # Bridges lie where the graph has no entry, so merging the lists of entries adds nothing up.
    old, new = graph.tocoo(), added.tocoo()
    rows, cols = (np.concatenate(pair) for pair in zip(old.coords, new.coords, strict=True))
    lengths = np.concatenate([old.data, new.data])
    return _csr(lengths, rows, cols, n_samples), int(n_components)


def geodesic_distances(
    graph: csr_array, *, indices: ArrayLike | None = None, n_sources: int | None = None
) -> Array:
    """Return the lengths (n_sources, n_samples) of the shortest paths from some samples, or all.

    Lengths between components are infinite. ``n_sources`` is the total number of sources if this is
    one of several calls; it decides whether compiled loops pay.
    """
    # Orsenigo & Vercellis (2012), section 2.1, step 3. The graph is symmetric, so the cheaper
    # search of a directed graph finds the same paths.
    n = graph.shape[0]
    sources = np.arange(n)
    if indices is not None:
        sources = sources[np.atleast_1d(np.asarray(indices, dtype=np.intp))]
    work = graph.nnz * (n_sources or len(sources))
    loops = compiled(work // FEWER_CALLS, "twofold.geodesics.path_loops")
    if loops is None:
        distances: Array = dijkstra(graph, directed=True, indices=sources)
        return distances
    distances = np.empty((len(sources), n))
    loops.shortest_paths(graph.indptr, graph.indices, graph.data, sources, distances)
    return distances


def nearest_along(graph: csr_array, n_neighbors: int) -> tuple[IntArray, Array]:
    """Return each sample's nearest others (n, k) by path length, nearest first, and the lengths.

    The graph is connected. A search ends when it has found as many as asked, so the compiled loops
    are linear in the number of samples.
    """
    n = graph.shape[0]
    found = np.empty((n, n_neighbors), dtype=np.int32)
    lengths = np.empty((n, n_neighbors))
    loops = compiled(graph.nnz * n_neighbors, "twofold.geodesics.path_loops")

    def work(rows: slice) -> None:
        sources = np.arange(n)[rows]
        if loops is not None:
            edges = (graph.indptr, graph.indices, graph.data)
            loops.nearest_paths(*edges, sources, found[rows], lengths[rows])
            return
        paths = dijkstra(graph, directed=True, indices=sources)
        to_others = paths.copy()
        to_others[np.arange(len(sources)), sources] = np.inf
        best = np.argsort(to_others, axis=1, kind="stable")[:, :n_neighbors]
        found[rows], lengths[rows] = best, np.take_along_axis(paths, best, axis=1)

    # Each call of the compiled loops allocates arrays of all samples, so blocks are few and large.
    map_blocks(work, row_blocks(n, 3 * 8 * n if loops is None else BLOCK_BYTES * N_BLOCKS // n))
    return found, lengths


def heat_affinity(graph: csr_array, bandwidth: float | str = "auto") -> csr_array:
    """Return the Gaussian affinities ``exp(-length^2 / bandwidth)`` along the edges, diagonal 1.

    The bandwidth "auto" is the squared median of the positive lengths (1 if there are none), so the
    typical edge has affinity ``1 / e`` and a few far outliers do not matter.
    """
    edges = graph.tocoo()
    off_diagonal = edges.row != edges.col
    rows, cols, lengths = (part[off_diagonal] for part in (edges.row, edges.col, edges.data))
    if bandwidth == "auto":
        positive = lengths[lengths > 0]
        width = float(np.median(positive)) if positive.size else 1.0
    elif isinstance(bandwidth, str) or not 0 < bandwidth < np.inf:
        raise ValueError(
            f'bandwidth must be a positive finite number or "auto", got {bandwidth!r}.'
        )
    else:
        width = float(np.sqrt(bandwidth))
    vertices = np.arange(graph.shape[0])
    # Memisevic & Hinton (2005), Eq. (12): K. Lengths are divided before they are squared, which
    # keeps very long and very short units in range; an infinite square is an affinity of 0.
    with np.errstate(over="ignore"):
        weights = np.exp(-((lengths / width) ** 2))
    return _csr(
        np.concatenate([weights, np.ones(len(vertices))]),
        np.concatenate([rows, vertices]),
        np.concatenate([cols, vertices]),
        len(vertices),
    )


def normalized_affinity(W: Any) -> Any:
    """Return ``D^(-1/2) W D^(-1/2)``, with ``D`` the row sums of ``W`` (n_samples, n_samples).

    Sparse if ``W`` is, exactly symmetric if ``W`` is. A row of zeros stays a row of zeros.
    """
    if issparse(W):
        edges = csr_array(W).tocoo()
        root = _root_degrees(edges.sum(axis=1), edges.data)
        weights = edges.data / (root[edges.row] * root[edges.col])
        return _csr(weights, edges.row, edges.col, len(root))
    dense = np.asarray(W, dtype=np.float64)
    root = _root_degrees(dense.sum(axis=1), dense)
    return dense / (root[:, np.newaxis] * root)  # Memisevic & Hinton (2005), Eq. (12): M


def _graph(lower: IntArray, higher: IntArray, lengths: Array, n_samples: int) -> csr_array:
    """Return the symmetric graph with these undirected edges, stored zeros included."""
    rows, cols = np.concatenate([lower, higher]), np.concatenate([higher, lower])
    return _csr(np.tile(lengths, 2), rows, cols, n_samples)


def _csr(values: Array, rows: Any, cols: Any, n_samples: int) -> csr_array:
    """Return the sparse array with these entries, stored zeros included."""
    # Parts of scikit-learn, and of older versions of csgraph, take 32-bit indices only.
    ends = (np.asarray(rows, dtype=np.int32), np.asarray(cols, dtype=np.int32))
    return csr_array((values, ends), shape=(n_samples, n_samples))


def _bridges(points: Dissimilarities, component: IntArray) -> tuple[IntArray, IntArray]:
    """Return the ends ``(lower, higher)`` of the edges that join the components, by Boruvka.

    A sample's distance to the nearest sample of another component can only grow as components
    merge. So the result of an earlier round is a lower bound in later ones, and most samples need
    no second search.
    """
    from scipy.cluster.hierarchy import DisjointSet  # slow to import

    # Orsenigo & Vercellis (2012), section 2.1, step 2
    clusters = DisjointSet(range(component.max() + 1))
    labels = component
    nearest, bound = np.arange(len(labels)), np.zeros(len(labels))
    bridges: list[tuple[int, int]] = []
    while clusters.n_subsets > 1:
        # The largest component sits out: its search costs most, and the other picks suffice.
        searching = labels != np.bincount(labels).argmax()
        outdated = labels[nearest] == labels
        shortest = np.full(labels.max() + 1, np.inf)
        np.minimum.at(shortest, labels[~outdated], bound[~outdated])
        rows = np.flatnonzero(searching & outdated & (bound < shortest[labels]))
        nearest[rows] = _nearest_foreign(points, rows, labels)
        bound[rows] = points.lengths(rows, nearest[rows])

        candidates = np.flatnonzero(searching & (labels[nearest] != labels))
        candidates = candidates[np.lexsort((bound[candidates], labels[candidates]))]
        picks = candidates[np.unique(labels[candidates], return_index=True)[1]]
        # Shortest first and never within a cluster, or picks of equal length could close a cycle.
        for i in picks[np.argsort(bound[picks], kind="stable")]:
            if clusters.merge(component[i], component[nearest[i]]):
                bridges.append((min(i, nearest[i]), max(i, nearest[i])))
        roots = np.array([clusters[c] for c in range(component.max() + 1)])
        labels = np.unique(roots[component], return_inverse=True)[1]
    lower, higher = np.array(bridges, dtype=np.intp).T
    return lower, higher


def _nearest_foreign(points: Dissimilarities, rows: IntArray, labels: IntArray) -> IntArray:
    """Return, for each of ``rows``, the nearest sample that has another label."""
    nearest = np.empty(len(rows), dtype=np.intp)
    for block in row_blocks(len(rows), points.bytes_per_row):
        i = rows[block]
        farness = points.farness(i)
        np.copyto(farness, np.inf, where=labels[i, np.newaxis] == labels)
        nearest[block] = farness.argmin(axis=1)
    return nearest


def _root_degrees(degrees: Any, weights: Array) -> Array:
    """Return the square roots of the degrees, 1 for a row of zeros."""
    if weights.size and weights.min() < 0:
        raise ValueError(
            f"W must be nonnegative, but its smallest entry is {weights.min():.3g}: pass "
            "affinities, not distances or a Laplacian."
        )
    root = np.sqrt(np.asarray(degrees, dtype=np.float64).ravel())
    return np.where(root > 0, root, 1.0)

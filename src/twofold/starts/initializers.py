r"""Initial latents: random, linear, spectral, or a neighbor embedding.

An initializer is a function ``(X, n_components, rng, ...) -> Z`` of data ``X`` (n, D) that returns
latents ``Z`` (n, q). Missing directions give columns of zeros. ``n_neighbors`` is the number of
neighbors of each point in a graph; None means 12 for LLE, 10 for Laplacian eigenmaps, and 20 for
Isomap (of fewer than 160 points an eighth, at least 10), or all other points if there are fewer. A
graph of several components is joined at the closest pairs, with a warning.

Isomap links mutual neighbors, without short circuits (`mutual_graph`). With ten or twelve
neighbors, gaps in the graph still cost accuracy on noisy rolls; with 20 they are closed.

Of more than 5,000 points, 2,000 landmarks (Isomap: 5,000) are embedded, and the others are placed
by them; ``random``, ``pca`` and in up to two dimensions ``tsne``, whose cost is nearly linear in n,
embed all. Kernel PCA extends to other
points by the Nystrom formula. The other methods use the weights that best reconstruct a point from
its nearest landmarks (sum one, least squares, as in locally linear embedding); they are exact for
locally linear maps and need no bandwidth. Isomap finds the paths from 250 points only: that many
fix the coordinates of all (digits: R^2 of 0.999 to those of all paths).

References
----------
S. Roweis, L. Saul. Nonlinear dimensionality reduction by locally linear embedding. Science 290,
2000.
J. Tenenbaum, V. de Silva, J. Langford. A global geometric framework for nonlinear dimensionality
reduction. Science 290, 2000.
M. Belkin, P. Niyogi. Laplacian eigenmaps. Neural Computation 15, 2003.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.spatial import cKDTree

from twofold.geodesics.graph import (
    check_n_neighbors,
    connect_components,
    default_mutual_neighbors,
    heat_affinity,
    knn_graph,
    mutual_graph,
    normalized_affinity,
)
from twofold.geodesics.scaling import classical_scaling, landmark_scaling, squared_geodesics
from twofold.maps.affine import Affine
from twofold.numerics.linalg import fix_signs, sqdist
from twofold.numerics.neighbors import nearest, nearest_neighbors
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.numerics.validation import warn_user
from twofold.protocols import AnyArray, Array, IntArray
from twofold.starts.coarse_map import N_COARSE
from twofold.starts.linear import pad, pca, random
from twofold.starts.tsne import few_points, many_points

DENSE_EIGEN = 1_000
MOST_RESTARTS = 100
BEYOND_SPECTRUM = 1e-6
LEAST_WEIGHT = 1e-8
MAX_EXACT = 5_000
DEFAULT_LANDMARKS = 2_000
GEODESIC_LANDMARKS = 5_000
"""Paths need a dense sample; with fewer points the gaps between them are as wide as the sheets."""

MORE_THAN_FEW = 10
"""Of fewer distinct rows, copies are embedded too."""

PATH_SOURCES = 250
MOST_FIELD_DIMENSIONS = 2
FEW_FEATURES = 15
"""Up to here a tree finds neighbors faster than blocks of distances in single precision."""


Initializer = Callable[..., Array]


def kernel_pca(X: Array, n_components: int, rng: np.random.Generator) -> Array:
    """Return kernel principal components; the Gaussian's width is the median distance."""
    landmarks = choose_landmarks(len(X), None, rng)
    some = X[landmarks]
    distances = sqdist(some, some)
    width_sq = float(np.median(distances)) or 1.0
    K = np.exp(-0.5 * distances / width_sq)
    mean = K.mean(axis=0)
    centered = K - mean - mean[:, None] + mean.mean()
    n = len(some)
    first = max(0, n - n_components)
    values, vectors = linalg.eigh(centered, subset_by_index=(first, n - 1))
    values, vectors = np.maximum(values[::-1], 1e-15 * n), vectors[:, ::-1]
    vectors = fix_signs(vectors)
    if len(landmarks) == len(X):
        return pad(vectors * np.sqrt(values), n_components)

    def extend(rows: slice) -> Array:  # Nystrom: the eigenfunctions evaluated at the other points
        k = np.exp(-0.5 * sqdist(X[rows], some) / width_sq)
        k = k - k.mean(axis=1, keepdims=True) - mean + mean.mean()
        extended: Array = k @ (vectors / np.sqrt(values))
        return extended

    Z = np.concatenate(map_blocks(extend, row_blocks(len(X), 4 * 8 * n)))
    return pad(Z, n_components)


def _on_landmarks(embed: Initializer) -> Initializer:
    """Let an initializer embed the landmarks, and place the other points by them."""

    @wraps(embed)
    def initializer(X: Array, n_components: int, rng: np.random.Generator, **options: Any) -> Array:
        n_landmarks = GEODESIC_LANDMARKS if embed.__name__ == "isomap" else None
        chosen = choose_landmarks(len(X), n_landmarks, rng)
        if len(chosen) == len(X):
            return embed(X, n_components, rng, **options)
        # Neighbors in many columns are found among the leading principal coordinates.
        some = X[chosen]
        center = some.mean(axis=0)
        subspace = Affine.leading_subspace(some - center, n_components)
        some = subspace.into(some - center)
        latents = embed(some, n_components, rng, **options)
        Z = np.empty((len(X), n_components))

        def place(rows: slice) -> None:
            Z[rows] = extend_from_landmarks(subspace.into(X[rows] - center), some, latents)

        map_blocks(place, row_blocks(len(X), 8 * (2 * X.shape[1] + 24 * some.shape[1])))
        Z[chosen] = latents
        return Z

    return initializer


@_on_landmarks
def lle(
    X: Array, n_components: int, rng: np.random.Generator, *, n_neighbors: int | None = None
) -> Array:
    """Return scikit-learn's locally linear embedding."""
    from sklearn.manifold import LocallyLinearEmbedding

    model = LocallyLinearEmbedding(
        n_neighbors=min(12, len(X) - 1) if n_neighbors is None else n_neighbors,
        n_components=min(n_components, X.shape[1]),
        eigen_solver="dense" if len(X) <= DENSE_EIGEN else "arpack",
        random_state=int(rng.integers(2**31)),
    )
    return pad(fix_signs(model.fit_transform(X)), n_components)


@_on_landmarks
def isomap(
    X: Array,
    n_components: int,
    rng: np.random.Generator,
    *,
    n_neighbors: int | None = None,
) -> Array:
    """Return geodesic distances on a graph without short circuits, embedded by scaling.

    Copies of a row would be each other's only neighbors, so distinct rows are embedded.
    """
    distinct, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
    if MORE_THAN_FEW < len(distinct) < len(X):
        order = np.argsort(first)  # as in X
        fewer = None if n_neighbors is None else min(n_neighbors, len(distinct) - 1)
        few = isomap(distinct[order], n_components, rng, n_neighbors=fewer)
        latents: Array = few[np.argsort(order)[place.ravel()]]
        return latents
    k = default_mutual_neighbors(len(X)) if n_neighbors is None else n_neighbors
    check_n_neighbors(k, len(X))
    near = nearest(X, None, k)[0] if X.shape[1] <= FEW_FEATURES else nearest_neighbors(X, k, rng)
    graph, n_pieces = mutual_graph(X, near)
    _warn_of_pieces("isomap", n_pieces)
    sources = choose_landmarks(len(X), max(PATH_SOURCES, n_components + 1), rng)
    if len(sources) == len(X):
        return classical_scaling(squared_geodesics(graph, None, np.float64), n_components)
    return landmark_scaling(squared_geodesics(graph, sources, np.float32), sources, n_components)


@_on_landmarks
def laplacian_eigenmaps(
    X: Array, n_components: int, rng: np.random.Generator, *, n_neighbors: int | None = None
) -> Array:
    """Return the smoothest functions on the neighborhood graph."""
    graph, longest = _connected_graph(X, n_neighbors, "laplacian_eigenmaps")
    # An edge that joins two components is as long as their gap. Its affinity would leave them
    # separate, each shrunk to a single point, so the edge counts as one of median length.
    graph.data = np.where(graph.data > longest, np.median(graph.data), graph.data)
    weights = heat_affinity(graph)
    n, k = len(X), min(n_components + 1, len(X))
    if n <= DENSE_EIGEN:
        affinity = normalized_affinity(weights).toarray()
        _, vectors = linalg.eigh(affinity, subset_by_index=(n - k, n - 1))
    else:
        vectors = _leading_eigenvectors(weights, k, rng.standard_normal(n))
    # The first eigenvector is the constant function; the others, over the root of the degrees, are
    # the generalized eigenvectors of the Laplacian.
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    Z = vectors[:, ::-1][:, 1:] / np.sqrt(degrees)[:, None]
    return pad(fix_signs(Z), n_components)


def tsne(X: Array, n_components: int, rng: np.random.Generator) -> Array:
    """Return t-SNE of perplexity 30, at most a third of the other points."""
    if len(X) <= N_COARSE:
        return few_points(X, n_components)
    if n_components > MOST_FIELD_DIMENSIONS:
        return _tsne_of_landmarks(X, n_components, rng)
    return many_points(X, n_components, rng)


def _leading_eigenvectors(weights: csr_array, k: int, start: Array) -> Array:
    """Return the eigenvectors (n, k) of normalized weights with the largest eigenvalues, ascending.

    The largest is one. Where the data have clusters, the others differ from it by so little that
    plain Lanczos iterations may need minutes. Then the graph has few edges between its parts, and
    factors of the shifted matrix are sparse; its inverse spreads the eigenvalues. Edges to outliers
    may have no weight at all, which makes eigenvalues equal, so they get a little.
    """
    affinity = normalized_affinity(weights)
    try:
        _, vectors = eigsh(affinity, k, which="LA", v0=start, maxiter=MOST_RESTARTS)
    except ArpackNoConvergence:
        joined = weights.copy()
        joined.data = np.maximum(joined.data, LEAST_WEIGHT)
        affinity = normalized_affinity(joined)
        _, vectors = eigsh(affinity, k, sigma=1.0 + BEYOND_SPECTRUM, v0=start)
    return vectors  # type: ignore[no-any-return]


@_on_landmarks
def _tsne_of_landmarks(X: Array, n_components: int, rng: np.random.Generator) -> Array:
    del rng
    return few_points(X, n_components)


INITIALIZERS: dict[str, Initializer] = {
    "random": random,
    "pca": pca,
    "kernel_pca": kernel_pca,
    "lle": lle,
    "isomap": isomap,
    "laplacian_eigenmaps": laplacian_eigenmaps,
    "tsne": tsne,
}


def choose_landmarks(n_samples: int, n_landmarks: int | None, rng: np.random.Generator) -> IntArray:
    """Return the numbers of the landmarks, ascending; None means all up to 5,000, else 2,000."""
    if n_landmarks is None:
        n_landmarks = n_samples if n_samples <= MAX_EXACT else DEFAULT_LANDMARKS
    if n_landmarks >= n_samples:
        return np.arange(n_samples)
    return np.sort(rng.choice(n_samples, size=n_landmarks, replace=False))


def extend_from_landmarks(X: Array, landmarks: Array, latents: Array) -> Array:
    """Place points (n, D) by their nearest landmarks (m, D), whose latents (m, q) are known."""
    # Weights that sum to one and reconstruct the point best: solve G w = 1, with G the Gram matrix
    # of the neighbors relative to the point, and a ridge that keeps weights bounded.
    k = min(latents.shape[1] + 4, len(landmarks))
    near = _nearest_landmarks(X, landmarks, k)
    offsets = landmarks[near] - X[:, None, :]
    gram = np.einsum("nkd,nld->nkl", offsets, offsets)
    trace = np.einsum("nkk->n", gram)
    diagonal = np.arange(k)
    gram[:, diagonal, diagonal] += np.where(trace > 0.0, 1e-2 * trace, 1.0)[:, None]
    weights = np.linalg.solve(gram, np.ones((len(near), k, 1)))[:, :, 0]
    weights /= weights.sum(axis=1, keepdims=True)
    placed: Array = np.einsum("nk,nkq->nq", weights, latents[near])
    return placed


def _nearest_landmarks(X: Array, landmarks: Array, k: int) -> AnyArray:
    """Return the numbers (n, k) of the landmarks nearest to points."""
    if X.shape[1] <= FEW_FEATURES:
        return np.asarray(cKDTree(landmarks).query(X, k=list(range(1, k + 1)))[1])
    center = landmarks.mean(axis=0)
    points, queries = (np.asarray(A - center, dtype=np.float32) for A in (landmarks, X))
    return nearest(points, queries, k)[0]


def _connected_graph(X: Array, n_neighbors: int | None, method: str) -> tuple[csr_array, float]:
    """Return the graph in one component, and the length of the longest edge before joining."""
    graph = knn_graph(X, min(10, len(X) - 1) if n_neighbors is None else n_neighbors)
    longest = graph.data.max()
    graph, n_pieces = connect_components(graph, X)
    _warn_of_pieces(method, n_pieces)
    return graph, float(longest)


def _warn_of_pieces(method: str, n_pieces: int) -> None:
    """Warn if the graph had more than one component."""
    if n_pieces > 1:
        warn_user(
            f"{method}: the neighborhood graph had {n_pieces} connected components, which were "
            "joined at their closest points. Use more neighbors to connect it.",
            UserWarning,
        )

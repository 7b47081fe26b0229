r"""First guesses of the latents: random, linear, spectral, or a neighbour embedding.

An initializer is a function ``(X, n_components, rng, ...) -> Z``. Those whose cost is more than
linear in n fit at most ``n_landmarks`` points and carry the rest along: kernel PCA by the Nystrom
formula, which is its own extension; the others by the weights with which a point is best rebuilt
from its nearest landmarks (sum one, least squares, as in locally linear embedding). Such weights are
exact for locally linear maps and need no width.

References
----------
S. Roweis, L. Saul. Nonlinear dimensionality reduction by locally linear embedding. Science 290, 2000.
J. Tenenbaum, V. de Silva, J. Langford. A global geometric framework for nonlinear dimensionality
reduction. Science 290, 2000.
M. Belkin, P. Niyogi. Laplacian eigenmaps. Neural Computation 15, 2003.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import eigsh
from sklearn.base import clone

from twofold.geodesics.graph import (
    connect_components,
    heat_affinity,
    knn_graph,
    normalized_affinity,
)
from twofold.geodesics.landmarks import choose_landmarks, extend_from_landmarks
from twofold.geodesics.scaling import classical_scaling, squared_geodesics
from twofold.numerics.linalg import fix_signs, principal_axes, sqdist
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import Array

__all__ = [
    "INITIALIZERS",
    "isomap",
    "kernel_pca",
    "laplacian_eigenmaps",
    "lle",
    "pca",
    "random",
    "resolve_init",
    "tsne",
]

DENSE_EIGEN = 1_000


def random(
    X: Array, n_components: int, rng: np.random.Generator, *, n_landmarks: int | None = None
) -> Array:
    """Return standard normal latents, shape (n, q).

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Data; their number alone counts.
    n_components : int
        Latent dimensions, q.
    rng : Generator
        Source of randomness.
    n_landmarks : int or None, default=None
        Changes nothing.

    Returns
    -------
    ndarray of shape (n, q)

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.starts.initializers import random
    >>> random(np.zeros((100, 3)), 2, np.random.default_rng(0)).shape
    (100, 2)
    """
    del n_landmarks
    return rng.standard_normal((len(X), n_components))


def pca(
    X: Array,
    n_components: int,
    rng: np.random.Generator | None = None,
    *,
    n_landmarks: int | None = None,
) -> Array:
    """Return the coordinates along the leading principal axes, shape (n, q).

    Linear in n as it is: neither randomness nor landmarks change anything.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Data.
    n_components : int
        Latent dimensions, q. Where data have fewer directions, the other columns are zero.
    rng : Generator or None, default=None
        Changes nothing.
    n_landmarks : int or None, default=None
        Changes nothing.

    Returns
    -------
    ndarray of shape (n, q)

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.starts.initializers import pca
    >>> X = np.random.default_rng(0).normal(size=(100, 3)) * [5.0, 1.0, 0.1]
    >>> Z = pca(X, 2)
    >>> Z.shape, bool(Z[:, 0].std() > 4 * Z[:, 1].std())
    ((100, 2), True)
    """
    del rng, n_landmarks
    centred = X - X.mean(axis=0)
    n_axes = min(n_components, *X.shape)
    axes, _ = principal_axes(centred, n_axes)
    Z = np.zeros((len(X), n_components))
    Z[:, :n_axes] = centred @ axes.T
    return Z


def kernel_pca(
    X: Array,
    n_components: int,
    rng: np.random.Generator,
    *,
    bandwidth: float | None = None,
    n_landmarks: int | None = None,
) -> Array:
    """Return kernel principal components with a Gaussian kernel, shape (n, q).

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Data.
    n_components : int
        Latent dimensions, q.
    rng : Generator
        Chooses the landmarks.
    bandwidth : float, default=None
        Width of the kernel; None means the root of the median squared distance.
    n_landmarks : int or None, default=None
        See `resolve_init`.

    Returns
    -------
    ndarray of shape (n, q)

    Examples
    --------
    A disc and a ring around it come apart along a coordinate:

    >>> import numpy as np
    >>> from twofold.starts.initializers import kernel_pca
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 100), np.repeat([0.5, 3.0], 50)
    >>> X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    >>> Z = kernel_pca(X, 3, rng, bandwidth=1.0)
    >>> disc, ring = Z[:50], Z[50:]
    >>> bool((disc.min(axis=0) > ring.max(axis=0)).any() or (disc.max(axis=0) < ring.min(axis=0)).any())
    True
    """
    landmarks = choose_landmarks(len(X), n_landmarks, rng)
    some = X[landmarks]
    distances = sqdist(some, some)
    width_sq = bandwidth**2 if bandwidth else float(np.median(distances)) or 1.0
    K = np.exp(-0.5 * distances / width_sq)
    mean = K.mean(axis=0)
    centred = K - mean - mean[:, None] + mean.mean()
    n = len(some)
    first = max(0, n - n_components)
    values, vectors = linalg.eigh(centred, subset_by_index=(first, n - 1))
    values, vectors = np.maximum(values[::-1], 1e-15 * n), vectors[:, ::-1]
    vectors = fix_signs(vectors)
    if len(landmarks) == len(X):
        Z = vectors * np.sqrt(values)
    else:
        # Nystrom: the eigenfunctions evaluated at the other points.
        def extend(rows: slice) -> Array:
            k = np.exp(-0.5 * sqdist(X[rows], some) / width_sq)
            k = k - k.mean(axis=1, keepdims=True) - mean + mean.mean()
            extended: Array = k @ (vectors / np.sqrt(values))
            return extended

        Z = np.concatenate(map_blocks(extend, row_blocks(len(X), 4 * 8 * n)))
    return _pad(Z, n_components)


def lle(
    X: Array,
    n_components: int,
    rng: np.random.Generator,
    *,
    n_neighbors: int | None = None,
    n_landmarks: int | None = None,
) -> Array:
    """Return a locally linear embedding, shape (n, q); scikit-learn's.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Data.
    n_components : int
        Latent dimensions, q.
    rng : Generator
        Chooses the landmarks and seeds the eigensolver.
    n_neighbors : int or None, default=None
        Neighbours of each point; None means 12, or all other points where there are fewer.
    n_landmarks : int or None, default=None
        See `resolve_init`.

    Returns
    -------
    ndarray of shape (n, q)

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.starts.initializers import lle
    >>> from twofold.metrics import trustworthiness
    >>> X, _ = make_noisy_spiral(200, noise=0.0, random_state=0)
    >>> Z = lle(X, 1, np.random.default_rng(0), n_neighbors=8)
    >>> Z.shape, trustworthiness(X, Z) > 0.95
    ((200, 1), True)
    """
    from sklearn.manifold import LocallyLinearEmbedding

    def embed(some: Array) -> Array:
        k = min(12, len(some) - 1) if n_neighbors is None else n_neighbors
        solver = "dense" if len(some) <= DENSE_EIGEN else "arpack"
        seed = int(rng.integers(2**31))
        model = LocallyLinearEmbedding(
            n_neighbors=k, n_components=n_components, eigen_solver=solver, random_state=seed
        )
        Z: Array = model.fit_transform(some)
        return fix_signs(Z)

    return _through_landmarks(embed, X, n_landmarks, rng)


def isomap(
    X: Array,
    n_components: int,
    rng: np.random.Generator,
    *,
    n_neighbors: int | None = None,
    n_landmarks: int | None = None,
    disconnected: str = "join",
) -> Array:
    """Return geodesic distances embedded by classical scaling, shape (n, q).

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Data.
    n_components : int
        Latent dimensions, q.
    rng : Generator
        Chooses the landmarks.
    n_neighbors : int or None, default=None
        Neighbours of each point; None means 10, or all other points where there are fewer.
    n_landmarks : int or None, default=None
        See `resolve_init`.
    disconnected : {"join", "error"}, default="join"
        Whether a neighbourhood graph in several pieces is joined at the closest pairs, with a warning, or refused.

    Returns
    -------
    ndarray of shape (n, q)

    Examples
    --------
    A spiral is unrolled:

    >>> import numpy as np
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.starts.initializers import isomap
    >>> from twofold.metrics import procrustes_r2
    >>> X, arc_length = make_noisy_spiral(100, noise=0.0, random_state=0)
    >>> Z = isomap(X, 1, np.random.default_rng(0), n_neighbors=4)
    >>> Z.shape, procrustes_r2(arc_length, Z) > 0.99
    ((100, 1), True)
    """

    def embed(some: Array) -> Array:
        graph, _ = _connected_graph(some, n_neighbors, disconnected, "isomap")
        return classical_scaling(squared_geodesics(graph, None, np.float64), n_components)

    return _through_landmarks(embed, X, n_landmarks, rng)


def laplacian_eigenmaps(
    X: Array,
    n_components: int,
    rng: np.random.Generator,
    *,
    n_neighbors: int | None = None,
    n_landmarks: int | None = None,
    disconnected: str = "join",
) -> Array:
    """Return the smoothest functions on the neighbourhood graph, shape (n, q).

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Data.
    n_components : int
        Latent dimensions, q.
    rng : Generator
        Chooses the landmarks and seeds the eigensolver.
    n_neighbors : int or None, default=None
        Neighbours of each point; None means 10, or all other points where there are fewer.
    n_landmarks : int or None, default=None
        See `resolve_init`.
    disconnected : {"join", "error"}, default="join"
        Whether a neighbourhood graph in several pieces is joined at the closest pairs, with a warning, or refused.

    Returns
    -------
    ndarray of shape (n, q)

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.datasets import make_noisy_spiral
    >>> from twofold.starts.initializers import laplacian_eigenmaps
    >>> from twofold.metrics import trustworthiness
    >>> X, _ = make_noisy_spiral(100, noise=0.0, random_state=0)
    >>> Z = laplacian_eigenmaps(X, 1, np.random.default_rng(0), n_neighbors=4)
    >>> Z.shape, trustworthiness(X, Z) > 0.99
    ((100, 1), True)
    """

    def embed(some: Array) -> Array:
        graph, longest = _connected_graph(some, n_neighbors, disconnected, "laplacian_eigenmaps")
        # An edge that joins two pieces is as long as the gap. With the affinity of that length the
        # pieces would stay as good as separate, and each become a single point; so it counts as usual.
        usual = np.median(graph.data)
        graph.data = np.where(graph.data > longest, usual, graph.data)
        weights = heat_affinity(graph)
        affinity = normalized_affinity(weights)
        n, k = len(some), min(n_components + 1, len(some))
        if n <= DENSE_EIGEN:
            _, vectors = linalg.eigh(affinity.toarray(), subset_by_index=(n - k, n - 1))
        else:
            _, vectors = eigsh(affinity, k, which="LA", v0=rng.standard_normal(n))
        # The first eigenvector is the constant function; the rest, over the root of the degrees,
        # are the generalised eigenvectors of the Laplacian.
        degrees = np.asarray(weights.sum(axis=1)).ravel()
        Z = vectors[:, ::-1][:, 1:] / np.sqrt(degrees)[:, None]
        return _pad(fix_signs(Z), n_components)

    return _through_landmarks(embed, X, n_landmarks, rng)


def tsne(
    X: Array,
    n_components: int,
    rng: np.random.Generator,
    *,
    perplexity: float = 30.0,
    max_iter: int = 1000,
    n_landmarks: int | None = None,
) -> Array:
    """Return a t-SNE embedding, shape (n, q); scikit-learn's.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Data.
    n_components : int
        Latent dimensions, q.
    rng : Generator
        Chooses the landmarks and seeds the descent.
    perplexity : float, default=30.0
        Effective number of neighbours; at most a third of the other points is used.
    max_iter : int, default=1000
        Iterations.
    n_landmarks : int or None, default=None
        See `resolve_init`.

    Returns
    -------
    ndarray of shape (n, q)

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.datasets import make_partitioned_circle
    >>> from twofold.starts.initializers import tsne
    >>> X, _ = make_partitioned_circle(60, random_state=0)
    >>> tsne(X, 2, np.random.default_rng(0), perplexity=10, max_iter=250).shape
    (60, 2)
    """
    from sklearn.manifold import TSNE

    def embed(some: Array) -> Array:
        Z: Array = TSNE(
            n_components,
            perplexity=min(perplexity, (len(some) - 1) / 3.0),
            init=1e-4 * _unit_spread(pca(some, n_components)),
            method="barnes_hut" if n_components <= 3 else "exact",
            max_iter=max_iter,
            random_state=int(rng.integers(2**31)),
        ).fit_transform(some)
        return Z.astype(np.float64)

    return _through_landmarks(embed, X, n_landmarks, rng)


INITIALIZERS: dict[str, Callable[..., Array]] = {
    "random": random,
    "pca": pca,
    "kernel_pca": kernel_pca,
    "lle": lle,
    "isomap": isomap,
    "laplacian_eigenmaps": laplacian_eigenmaps,
    "tsne": tsne,
}


def resolve_init(
    init: Any,
    X: Array,
    n_components: int,
    rng: np.random.Generator,
    *,
    y: Any = None,
    name: str = "init",
    n_landmarks: int | None = None,
) -> Array:
    """Return first latents from a name, an array, a function or an estimator.

    Parameters
    ----------
    init : str, array-like, callable or estimator
        A name from ``INITIALIZERS``; latents of shape (n, q); a function of
        ``(X, n_components, rng)``; or an object with ``fit_transform``, of which a clone is fitted,
        each ``random_state=None`` in it seeded from ``rng``.
    X : ndarray of shape (n, D)
        Data.
    n_components : int
        Latent dimensions, q, for names and functions.
    rng : Generator
        Source of randomness.
    y : array-like of shape (n,), default=None
        Labels, handed to estimators.
    name : str, default="init"
        The parameter's name in error messages.
    n_landmarks : int, default=None
        How many points named methods fit before they carry along the rest. None means all up to
        5,000 points, and 2,000 beyond.

    Returns
    -------
    ndarray of shape (n, q)
        Float64, finite, a copy.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from twofold.starts.initializers import resolve_init
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 3))
    >>> resolve_init("isomap", X, 2, rng).shape
    (20, 2)
    >>> resolve_init(PCA(2), X, 2, rng).shape
    (20, 2)
    >>> resolve_init(X[:, 0], X, 1, rng).shape
    (20, 1)
    >>> resolve_init(lambda X, n_components, rng: X[:, :n_components], X, 2, rng).shape
    (20, 2)
    """
    if isinstance(init, str):
        if init not in INITIALIZERS:
            raise ValueError(
                f"{name}={init!r} is unknown. Use one of {sorted(INITIALIZERS)}, an array of shape "
                "(n_samples, n_components), a function, or an estimator with fit_transform."
            )
        Z = INITIALIZERS[init](X, n_components, rng, n_landmarks=n_landmarks)
    elif isinstance(init, type):
        raise TypeError(f"{name}={init!r} is a class; give an instance, {init.__name__}(...).")
    elif hasattr(init, "fit_transform"):
        model = _seeded(clone(init, safe=False), rng)
        Z = model.fit_transform(X, **({} if y is None or not _takes_labels(model) else {"y": y}))
    elif callable(init):
        Z = init(X, n_components, rng)
    else:
        Z = init
    return _check_latents(Z, len(X), name)


def _seeded(model: Any, rng: np.random.Generator) -> Any:
    """Set every unset ``random_state`` of an estimator and of its parts."""
    if not hasattr(model, "get_params"):
        return model
    seeds = {
        name: int(rng.integers(2**31))
        for name, value in sorted(model.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return model.set_params(**seeds) if seeds else model


def _takes_labels(model: Any) -> bool:
    parameters = inspect.signature(model.fit_transform).parameters.values()
    return any(p.name == "y" or p.kind is p.VAR_KEYWORD for p in parameters)


def _check_latents(Z: Any, n_samples: int, name: str) -> Array:
    try:
        latents = np.array(Z, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} gives {type(Z).__name__}, not an array of numbers.") from error
    if latents.ndim == 1:
        latents = latents[:, None]
    if latents.ndim != 2 or len(latents) != n_samples:
        raise ValueError(
            f"{name} gives an array of shape {latents.shape}; ({n_samples}, n_components) is needed, "
            "one row for each row of X."
        )
    if not np.isfinite(latents).all():
        row = int(np.argwhere(~np.isfinite(latents))[0, 0])
        raise ValueError(f"{name} gives NaN or infinity, first in row {row}.")
    return latents


def _through_landmarks(
    embed: Callable[[Array], Array], X: Array, n_landmarks: int | None, rng: np.random.Generator
) -> Array:
    chosen = choose_landmarks(len(X), n_landmarks, rng)
    latents = embed(X[chosen])
    if len(chosen) == len(X):
        return latents
    Z = extend_from_landmarks(X, X[chosen], latents)
    Z[chosen] = latents
    return Z


def _connected_graph(
    X: Array, n_neighbors: int | None, disconnected: str, method: str
) -> tuple[Any, float]:
    """Return the graph in one piece, and the length of the longest edge before joining."""
    graph = knn_graph(X, min(10, len(X) - 1) if n_neighbors is None else n_neighbors)
    longest = graph.data.max()
    graph, n_pieces = connect_components(graph, X)
    if n_pieces > 1 and disconnected == "error":
        raise ValueError(
            f"{method}: the neighbourhood graph has {n_pieces} connected components. Use more "
            'neighbours (n_neighbors), or disconnected="join".'
        )
    if n_pieces > 1:
        warnings.warn(
            f"{method}: the neighbourhood graph had {n_pieces} connected components, which were "
            "joined at their closest points. More neighbours would connect it.",
            UserWarning,
            stacklevel=3,
        )
    return graph, float(longest)


def _pad(Z: Array, n_components: int) -> Array:
    """Add columns of zeros where there were fewer directions than components."""
    return np.pad(Z, ((0, 0), (0, n_components - Z.shape[1])))


def _unit_spread(Z: Array) -> Array:
    spread = Z[:, 0].std()
    return Z / spread if spread > 0.0 else Z

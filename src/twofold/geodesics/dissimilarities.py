r"""Dissimilarities between samples: Euclidean, given, or changed by labels.

Neighbour graphs need three things of a dissimilarity: who is near whom, how long given pairs are, and which of
all samples is nearest under a condition. All are computed from blocks of rows, so no matrix of all pairs is formed.

Labels change a distance ``e`` (Orsenigo & Vercellis 2012, Eq. 1, after Geng et al. 2005): with the exponent ``t = e^2 / beta``,

.. math:: q = \sqrt{1 - e^{-t}} \text{ within a class}, \qquad q = \sqrt{e^{t} - \alpha} \text{ between classes.}

The first stays below 1; the second starts at ``(1 - alpha)^{1/2}`` and grows without bound. Four things the formula does not say:

* ``t`` carries a unit. With ``beta`` the mean distance it is a length, so data in millimetres give other dissimilarities than data
  in metres, and standardised tables of 30 columns saturate where those of 4 do not. Here distances are divided by their mean
  first, unless that is switched off.
* Both roots are of ``expm1``, which keeps the digits of short distances.
* ``e^t`` overflows and ``1 - e^{-t}`` rounds to 1 from about 37 on. Beyond 50 (lengths) and 700 (rank) exponentials go on as logarithms of
  ``t``, so that they grow and stay finite; neighbours are ranked by ``q^2 - 1`` and then by ``t``. `Supervised.saturation` is the share
  of pairs beyond 36. Within a class lengths there are all 1: of pieces of one class so far apart, each finds its nearest sample
  elsewhere, but of several such pairs, equally long, the first becomes the bridge.
* ``alpha`` above 1 would take roots of negative numbers.

Since ``q`` grows with ``e`` on both sides, the nearest ``k`` in ``q`` are among the nearest ``k`` of a sample's own class and the nearest
``k`` of the others: two searches by distance find them.

Notation
--------
======================  =============================================
Orsenigo & Vercellis    here
======================  =============================================
``e_ij``                distance of rows ``i`` and ``j``
``q_ij``                ``Supervised.lengths``
``alpha``, ``beta``     the same; ``beta`` in units of ``scale``
======================  =============================================

References
----------
* C. Orsenigo and C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised
  manifold learning. *Expert Systems with Applications* 39(9), 2012.
* X. Geng, D.-C. Zhan and Z.-H. Zhou. Supervised nonlinear dimensionality reduction for visualization and
  classification. *IEEE Transactions on Systems, Man, and Cybernetics B* 35(6), 2005.
"""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from twofold.numerics.linalg import k_smallest, sqdist
from twofold.numerics.threads import row_blocks, some_rows
from twofold.protocols import Array, IntArray

__all__ = [
    "Dissimilarities",
    "Euclidean",
    "Precomputed",
    "Supervised",
    "check_distances",
    "check_square",
    "resolve_dissimilarities",
]

Metric = Literal["euclidean", "precomputed"]

FEW_FEATURES = 15
"""Up to here differences are as fast as a matrix product, and free of its cancellation. It is also where
scikit-learn's neighbour search goes over from trees to products."""

SAMPLE_ROWS = 1_000
"""Rows whose distances to all others stand for all pairs, in means."""

LARGEST_EXPONENT = 50.0
"""Exponentials go on as logarithms from here: the squares of paths of such edges are finite in single precision."""

LARGEST_KEY = 700.0
"""The same for those by which neighbours are ranked, in double precision."""

LARGEST_LOGARITHM = 1e300
"""Exponents whose logarithms are taken stop here."""

ASYMMETRY = 1e-8
"""Relative differences of given distances and their transposes that pass for rounding."""

DIAGONAL = 1e-6
"""Distances of rows to themselves, relative to the largest, that do: roots of cancelled squares."""

SATURATED_EXPONENT = 36.0
"""From about here on, dissimilarities within a class are 1 in floating point."""


@runtime_checkable
class Dissimilarities(Protocol):
    """Nonnegative, symmetric dissimilarities between samples.

    Examples
    --------
    Distances around a clock, as an object of one's own:

    >>> import numpy as np
    >>> from twofold.geodesics.dissimilarities import Dissimilarities
    >>> from twofold.geodesics.graph import knn_graph
    >>> class Clock:
    ...     n_samples, bytes_per_row = 12, 8 * 12
    ...     def lengths(self, rows, cols):
    ...         return 6.0 - np.abs(6.0 - np.abs(rows - cols))
    ...     def farness(self, rows):
    ...         return self.lengths(rows[:, None], np.arange(12))
    ...     def neighbors(self, n_neighbors, n_jobs=None):
    ...         return np.argsort(self.farness(np.arange(12)), axis=1)[:, 1 : n_neighbors + 1]
    >>> isinstance(Clock(), Dissimilarities)
    True
    >>> graph = knn_graph(Clock(), n_neighbors=2)
    >>> float(graph[0, 11]), graph.nnz
    (1.0, 24)
    """

    n_samples: int
    bytes_per_row: int
    """Scratch memory of a row of `farness`."""

    def neighbors(self, n_neighbors: int, n_jobs: int | None = None) -> IntArray:
        """Return the nearest others of each sample, shape (n_samples, n_neighbors)."""
        ...

    def lengths(self, rows: IntArray, cols: IntArray) -> Array:
        """Return the dissimilarities of pairs, shape (n_pairs,)."""
        ...

    def farness(self, rows: IntArray) -> Array:
        """Return numbers that in each row grow with the dissimilarity, shape (n_rows, n_samples)."""
        ...


class Euclidean:
    """Distances between rows of data.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite data. Squares of their spread must neither overflow nor vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.geodesics.dissimilarities import Euclidean
    >>> points = Euclidean([[0.0], [1.0], [3.0], [7.0]])
    >>> points.neighbors(1).ravel()
    array([1, 0, 1, 2])
    >>> points.lengths(np.array([0, 0]), np.array([1, 3]))
    array([1., 7.])

    Of all samples the farthest, squared distances, and the nearest among some:

    >>> int(points.farness(np.array([0])).argmax()), points.squares(np.array([0])).tolist()
    (3, [[0.0, 1.0, 9.0, 49.0]])
    >>> points.nearest(np.array([0]), among=np.array([2, 3]), n_neighbors=1)
    array([[2]])
    """

    def __init__(self, X: ArrayLike) -> None:
        points: Array = check_array(X, dtype=np.float64, input_name="X")
        # |x|^2 + |y|^2 - 2 x.y, the form in which high-dimensional searches run, loses the
        # distances of points far from the origin. Unlike the mean, the median does not depend on
        # the order of the rows and keeps data on a grid on it, ties included.
        self.points: Array = points - np.median(points, axis=0)
        self.n_samples = len(points)
        self.bytes_per_row = 8 * self.n_samples

    def neighbors(self, n_neighbors: int, n_jobs: int | None = None) -> IntArray:
        """Return the nearest others of each sample, shape (n_samples, n_neighbors)."""
        return self.nearest(np.arange(self.n_samples), None, n_neighbors, n_jobs)

    def nearest(
        self, rows: IntArray, among: IntArray | None, n_neighbors: int, n_jobs: int | None = None
    ) -> IntArray:
        """Return the nearest to ``rows`` among some samples, or among the others of them, (n_rows, n_neighbors)."""
        from sklearn.neighbors import NearestNeighbors  # slow to import

        pool = rows if among is None else among
        search = NearestNeighbors(n_neighbors=n_neighbors, n_jobs=n_jobs).fit(self.points[pool])
        queries = None if among is None else self.points[rows]
        found: IntArray = pool[search.kneighbors(queries, return_distance=False)]
        return found

    def lengths(self, rows: IntArray, cols: IntArray) -> Array:
        """Return the distances of pairs, shape (n_pairs,).

        From differences, whatever form the search used: duplicates are exactly at zero.
        """
        lengths = np.empty(len(rows))
        for block in row_blocks(len(rows), 8 * self.points.shape[1]):
            difference = self.points[rows[block]] - self.points[cols[block]]
            lengths[block] = np.linalg.norm(difference, axis=1)
        return lengths

    def farness(self, rows: IntArray) -> Array:
        """Return numbers that in each row grow with the distance, shape (n_rows, n_samples)."""
        if self.points.shape[1] <= FEW_FEATURES:
            distances: Array = cdist(self.points[rows], self.points, "sqeuclidean")
            return distances
        # |x - y|^2 / 2 less |x|^2 / 2, which is the same along a row
        half_norms: Array = 0.5 * np.einsum("ij,ij->i", self.points, self.points)
        return half_norms - self.points[rows] @ self.points.T

    def squares(self, rows: IntArray) -> Array:
        """Return the squared distances of rows to all samples, shape (n_rows, n_samples)."""
        return sqdist(self.points[rows], self.points)


class Precomputed:
    """Distances given as a matrix.

    Parameters
    ----------
    D : array-like of shape (n_samples, n_samples)
        Symmetric distances.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.geodesics.dissimilarities import Precomputed
    >>> distances = Precomputed([[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]])
    >>> distances.neighbors(1).ravel()
    array([1, 0, 1])
    >>> distances.lengths(np.array([0, 1]), np.array([2, 2]))
    array([4., 2.])

    Of all samples the farthest, squared distances, and the nearest among some:

    >>> int(distances.farness(np.array([0])).argmax()), distances.squares(np.array([1])).tolist()
    (2, [[1.0, 0.0, 4.0]])
    >>> distances.nearest(np.array([2]), among=np.array([0, 1]), n_neighbors=1)
    array([[1]])
    """

    def __init__(self, D: ArrayLike) -> None:
        self.matrix: Array = check_array(D, dtype=np.float64, input_name="X")
        check_square(self.matrix, "metric")
        self.n_samples = len(self.matrix)
        self.bytes_per_row = 8 * self.n_samples

    def neighbors(self, n_neighbors: int, n_jobs: int | None = None) -> IntArray:
        """Return the nearest others of each sample, shape (n_samples, n_neighbors)."""
        return self.nearest(np.arange(self.n_samples), None, n_neighbors, n_jobs)

    def nearest(
        self,
        rows: IntArray,
        among: IntArray | None,
        n_neighbors: int,
        n_jobs: int | None = None,  # noqa: ARG002 - as for data
    ) -> IntArray:
        """Return the nearest to ``rows`` among some samples, or among the others of them, (n_rows, n_neighbors)."""
        pool = rows if among is None else among
        found = np.empty((len(rows), n_neighbors), dtype=np.intp)
        for block in row_blocks(len(rows), 16 * len(pool)):
            distances = self.matrix[np.ix_(rows[block], pool)]
            distances[rows[block, np.newaxis] == pool] = np.inf
            found[block] = pool[k_smallest(distances, n_neighbors)]
        return found

    def lengths(self, rows: IntArray, cols: IntArray) -> Array:
        """Return the distances of pairs, shape (n_pairs,)."""
        lengths: Array = self.matrix[rows, cols]
        return lengths

    def farness(self, rows: IntArray) -> Array:
        """Return the distances of rows to all samples, shape (n_rows, n_samples)."""
        distances: Array = self.matrix[rows]
        return distances

    def squares(self, rows: IntArray) -> Array:
        """Return the squared distances of rows to all samples, shape (n_rows, n_samples)."""
        return np.square(self.matrix[rows])


class Supervised:
    """Distances shortened within classes and lengthened between them.

    Parameters
    ----------
    base : Euclidean or Precomputed
        The distances.
    labels : ndarray of shape (n_samples,)
        Classes.
    alpha : float, default=0.5
        In [0, 1]: how far dissimilarities between classes reach down to those within, counted in squares.
    beta : float or None, default=None
        Divides the squared distances; None means the mean distance.
    unit : float or None, default=None
        What distances are divided by first; None means their mean.

    Attributes
    ----------
    unit, beta : float
        The numbers in use.
    saturation : float
        Share of pairs whose exponents are so large that dissimilarities no longer tell them apart.

    Examples
    --------
    A row of the same class becomes the nearest, though it is twice as far away as one of another:

    >>> import numpy as np
    >>> from twofold.geodesics.dissimilarities import Euclidean, Supervised
    >>> base = Euclidean([[0.0], [1.0], [3.0]])
    >>> labelled = Supervised(base, np.array(["a", "b", "b"]))
    >>> base.neighbors(1)[1], labelled.neighbors(1)[1]
    (array([0]), array([2]))
    >>> between, within = labelled.lengths(np.array([1, 1]), np.array([0, 2]))
    >>> bool(within < between)
    True

    What ranks samples, and the share of pairs beyond the range of exponentials:

    >>> labelled.farness(np.array([0])).shape, labelled.saturation
    ((1, 3), 0.0)
    """

    def __init__(
        self,
        base: Euclidean | Precomputed,
        labels: NDArray[np.generic],
        *,
        alpha: float = 0.5,
        beta: float | None = None,
        unit: float | None = None,
    ) -> None:
        self.base, self.alpha = base, alpha
        self.n_samples, self.bytes_per_row = base.n_samples, 4 * base.bytes_per_row
        self.classes, self.labels = np.unique(labels, return_inverse=True)
        sample = some_rows(self.n_samples, SAMPLE_ROWS)
        blocks = [sample[b] for b in row_blocks(len(sample), self.bytes_per_row)]
        total, among_sample = 0.0, []
        for rows in blocks:
            squares = base.squares(rows)
            among_sample.append(squares[:, sample])
            total += float(np.sqrt(squares, out=squares).sum())
        mean = total / (len(sample) * (self.n_samples - 1)) or 1.0
        self.unit = mean if unit is None else unit
        self.beta = mean / self.unit if beta is None else beta
        large = self._exponents(np.concatenate(among_sample)) > SATURATED_EXPONENT
        self.saturation = float(large.sum()) / (len(sample) * (len(sample) - 1))

    def neighbors(self, n_neighbors: int, n_jobs: int | None = None) -> IntArray:
        """Return the nearest others of each sample, shape (n_samples, n_neighbors)."""
        found = np.empty((self.n_samples, n_neighbors), dtype=np.intp)
        for label in range(len(self.classes)):
            own = np.flatnonzero(self.labels == label)
            foreign = np.flatnonzero(self.labels != label)
            candidates = []
            if len(own) > 1:
                k = min(n_neighbors, len(own) - 1)
                candidates.append(self.base.nearest(own, None, k, n_jobs))
            if len(foreign):
                k = min(n_neighbors, len(foreign))
                candidates.append(self.base.nearest(own, foreign, k, n_jobs))
            near = np.hstack(candidates)
            rows = np.repeat(own, near.shape[1])
            distances = self.base.lengths(rows, near.ravel()).reshape(near.shape)
            keys = self._keys(self._exponents(np.square(distances)), self._same(own, near))
            order = np.lexsort((distances, keys), axis=1)[:, :n_neighbors]
            found[own] = np.take_along_axis(near, order, axis=1)
        return found

    def lengths(self, rows: IntArray, cols: IntArray) -> Array:
        """Return the dissimilarities ``q`` of pairs, shape (n_pairs,): Eq. (1)."""
        with np.errstate(over="ignore"):
            exponents = self._exponents(np.square(self.base.lengths(rows, cols)))
        t = np.minimum(exponents, LARGEST_EXPONENT)
        within = -np.expm1(-t)
        between = np.expm1(t) * _beyond(exponents, LARGEST_EXPONENT) + (1.0 - self.alpha)
        return np.sqrt(np.where(self.labels[rows] == self.labels[cols], within, between))

    def farness(self, rows: IntArray) -> Array:
        """Return ``q^2 - 1``, which grows with ``q`` also where ``q`` itself rounds, shape (n_rows, n_samples)."""
        same = self.labels[rows, np.newaxis] == self.labels
        return self._keys(self._exponents(self.base.squares(rows)), same)

    def _same(self, rows: IntArray, near: IntArray) -> NDArray[np.bool_]:
        return np.asarray(self.labels[rows, np.newaxis] == self.labels[near])

    def _exponents(self, squares: Array) -> Array:
        with np.errstate(over="ignore"):
            return squares / self.unit / self.unit / self.beta

    def _keys(self, exponents: Array, same: NDArray[np.bool_]) -> Array:
        t, growth = np.minimum(exponents, LARGEST_KEY), _beyond(exponents, LARGEST_KEY)
        return np.where(same, -np.exp(-t) / growth, np.expm1(t) * growth - self.alpha)


def _beyond(exponents: Array, largest: float) -> Array:
    """Return the factor, 1 up to a bound, by which an exponential that stops there goes on to grow."""
    bounded = np.clip(exponents, largest, LARGEST_LOGARITHM)
    return 1.0 + np.log(bounded / largest)


def check_square(D: Array, setting: str) -> None:
    """Refuse a matrix that cannot hold the distances between samples; ``setting`` is the parameter that said it does.

    Parameters
    ----------
    D : ndarray of shape (n_samples, n_samples)
        What is to be checked.
    setting : str
        The name of the parameter that said so.

    Raises
    ------
    ValueError
        If the matrix is not square.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.geodesics.dissimilarities import check_square
    >>> check_square(np.zeros((3, 3)), "metric")
    >>> try:
    ...     check_square(np.zeros((3, 2)), "metric")
    ... except ValueError as error:
    ...     print(str(error)[:19])
    X has shape (3, 2),
    """
    if D.shape[0] != D.shape[1]:
        raise ValueError(
            f'X has shape {D.shape}, but {setting}="precomputed" needs a square matrix of distances between the training rows. Pass '
            f'one, or {setting}="euclidean" for data.'
        )


def check_distances(D: Array, setting: str) -> None:
    """Refuse a matrix that does not hold distances: not square, negative, not zero on the diagonal, or not symmetric.

    Parameters
    ----------
    D : ndarray of shape (n_samples, n_samples)
        What is to be checked.
    setting : str
        The name of the parameter that said that it holds distances.

    Raises
    ------
    ValueError
        If it does not.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.geodesics.dissimilarities import check_distances
    >>> check_distances(np.array([[0.0, 2.0], [2.0, 0.0]]), "metric")
    >>> try:
    ...     check_distances(np.array([[0.0, 2.0], [1.0, 0.0]]), "metric")
    ... except ValueError as error:
    ...     print(str(error)[:25])
    X[0, 1]=2, but X[1, 0]=1:
    """
    check_square(D, setting)
    needs = f'{setting}="precomputed" needs distances'
    largest = float(np.abs(D).max())
    i, j = divmod(int(D.argmin()), len(D))
    if D[i, j] < 0.0:
        raise ValueError(
            f"X[{i}, {j}]={D[i, j]:.6g} is negative, but {needs}: nonnegative numbers. Correlations r become some as 1 - r."
        )
    i = int(D.diagonal().argmax())
    if D[i, i] > DIAGONAL * largest:
        raise ValueError(
            f"X[{i}, {i}]={D[i, i]:.6g} on the diagonal is not 0, but {needs}. X looks like similarities: pass distances such as 1 - X."
        )
    worst, place = 0.0, (0, 0)
    for rows in row_blocks(len(D), 16 * len(D)):
        difference = np.abs(D[rows] - D[:, rows].T)
        row, column = divmod(int(difference.argmax()), len(D))
        if difference[row, column] > worst:
            worst, place = float(difference[row, column]), (rows.start + row, column)
    if worst > ASYMMETRY * largest:
        i, j = place
        raise ValueError(
            f"X[{i}, {j}]={D[i, j]:.6g}, but X[{j}, {i}]={D[j, i]:.6g}: {needs} that are the same both ways. Use for instance (X + X.T) / 2."
        )


def resolve_dissimilarities(X: ArrayLike | Dissimilarities, metric: str) -> Dissimilarities:
    """Return the dissimilarities that an argument stands for: an object as it is, data or distances wrapped.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples), or Dissimilarities
        Data, distances, or an object, which is returned as it is.
    metric : {"euclidean", "precomputed"}
        Whether an array holds data or distances.

    Returns
    -------
    Dissimilarities

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.geodesics.dissimilarities import resolve_dissimilarities
    >>> rows, cols = np.array([0]), np.array([1])
    >>> resolve_dissimilarities([[0.0], [3.0]], "euclidean").lengths(rows, cols)
    array([3.])
    >>> resolve_dissimilarities([[0.0, 5.0], [5.0, 0.0]], "precomputed").lengths(rows, cols)
    array([5.])
    """
    if metric not in ("euclidean", "precomputed"):
        raise ValueError(f'metric must be "euclidean" or "precomputed", got {metric!r}.')
    if isinstance(X, Dissimilarities):
        return X
    return Euclidean(X) if metric == "euclidean" else Precomputed(X)

r"""Dissimilarities between samples: Euclidean, precomputed, or changed by labels.

Neighborhood graphs need three things of a dissimilarity: the nearest samples of each, the lengths
of given pairs, and the nearest sample under a condition. All are computed from blocks of rows, so
no matrix of all pairs is formed.

Labels change a distance ``e`` (Orsenigo & Vercellis 2012, Eq. 1, after Geng et al. 2005): with the
exponent ``t = e^2 / beta``,

.. math:: q = \sqrt{1 - e^{-t}} \text{ within a class}, \qquad
   q = \sqrt{e^{t} - \alpha} \text{ between classes.}

The first stays below 1; the second starts at ``(1 - alpha)^{1/2}`` and grows without bound. The
formula leaves four things open:

* ``t`` has a unit. With ``beta`` the mean distance ("usually", says the paper) it is a length, so
  data in millimeters give other dissimilarities than data in meters, and standardized tables of 30
  columns saturate where those of 4 do not. Eq. (1) to the letter is ``unit=1``, ``beta=None``.
  With ``unit=None`` distances are divided by their mean first, so exponents are smaller than the
  literal ones by the mean distance in the data's unit: a factor of 2.5 to 10.6 on ten standardized
  tables of the UCI repository.
* Both roots use ``expm1``, which keeps the digits of short distances.
* ``e^t`` overflows, and ``1 - e^{-t}`` rounds to 1 from about 37 on. Beyond 50 (lengths) and 700
  (ranks) exponentials continue as logarithms of ``t``, so they grow and stay finite; neighbors are
  ranked by ``q^2 - 1`` and then by ``t``. `Supervised.saturation` is the share of pairs beyond 36.
  Within a class all lengths there are 1: pieces of one class that far apart still find their
  nearest samples, but of several such pairs, equally long, the first becomes the bridge.
* ``alpha`` above 1 would take roots of negative numbers.

Since ``q`` grows with ``e`` in both cases, the nearest ``k`` in ``q`` are among the nearest ``k``
of the sample's own class and the nearest ``k`` of the others: two searches by distance find them.

Notation
--------
======================  =============================================
Orsenigo & Vercellis    here
======================  =============================================
``e_ij``                distance of rows ``i`` and ``j``
``q_ij``                ``Supervised.lengths``
``alpha``, ``beta``     the same; ``beta`` in units of ``unit``
======================  =============================================

References
----------
* C. Orsenigo and C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised
  manifold learning. *Expert Systems with Applications* 39(9), 2012.
* X. Geng, D.-C. Zhan and Z.-H. Zhou. Supervised nonlinear dimensionality reduction for
  visualization and classification. *IEEE Transactions on Systems, Man, and Cybernetics B* 35(6),
  2005.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.linalg import k_smallest, sqdist
from twofold.numerics.neighbors import MOST_COMPARED, nearest
from twofold.numerics.threads import row_blocks, some_rows
from twofold.protocols import Array, IntArray

FEW_FEATURES = 15
"""Up to here differences are as fast as a matrix product and do not cancel. scikit-learn's neighbor
search changes from trees to products at the same number."""

SAMPLE_ROWS = 1_000
"""Rows whose distances to all others represent all pairs, in means."""

LARGEST_EXPONENT = 50.0
"""Exponentials continue as logarithms from here: squares of such paths are finite in float32."""

LARGEST_KEY = 700.0
"""The same bound for the keys that rank neighbors, in float64."""

LARGEST_LOGARITHM = 1e300
"""Largest exponent whose logarithm is taken."""

ASYMMETRY = 1e-8
"""Relative difference of distances and their transpose that counts as rounding."""

DIAGONAL = 1e-6
"""Distance of a row to itself, relative to the largest, that counts as rounding."""

SATURATED_EXPONENT = 36.0
"""From about here on, dissimilarities within a class are 1 in floating point."""

VANISHING_EXPONENT = 0.01
"""Below this share of the gap between classes, the square of a dissimilarity within is small."""


@runtime_checkable
class Dissimilarities(Protocol):
    """Nonnegative, symmetric dissimilarities between samples."""

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
        """Return numbers (n_rows, n_samples) that in each row grow with the dissimilarity."""
        ...


class _Distances(ABC):
    """Distances between samples that can be searched among some of them."""

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples
        self.bytes_per_row = 8 * n_samples

    def neighbors(self, n_neighbors: int, n_jobs: int | None = None) -> IntArray:
        """Return the nearest others of each sample, shape (n_samples, n_neighbors)."""
        return self.nearest(np.arange(self.n_samples), None, n_neighbors, n_jobs)

    @abstractmethod
    def nearest(
        self, rows: IntArray, among: IntArray | None, n_neighbors: int, n_jobs: int | None = None
    ) -> IntArray:
        """Return the nearest to ``rows`` among some samples, or the other ``rows``."""


class Euclidean(_Distances):
    """Distances between rows of finite data whose squared spread neither overflows nor vanishes."""

    def __init__(self, X: ArrayLike) -> None:
        points: Array = check_array(as_numpy(X, "X"), dtype=np.float64, input_name="X")
        super().__init__(len(points))
        # |x|^2 + |y|^2 - 2 x.y, the form of high-dimensional searches, loses the distances of
        # points far from the origin. Unlike the mean, the median does not depend on the order of
        # the rows and keeps data on a grid on it, including ties.
        self.points: Array = points - np.median(points, axis=0)

    def neighbors(self, n_neighbors: int, n_jobs: int | None = None) -> IntArray:
        """Return the nearest others of each sample, shape (n_samples, n_neighbors).

        Among many samples of many features the search is approximate, by cells.
        """
        n, n_features = self.points.shape
        if n * n <= MOST_COMPARED or n_features <= FEW_FEATURES:
            return super().neighbors(n_neighbors, n_jobs)
        small = self.points.astype(np.float32)
        found = nearest(small, None, n_neighbors, rng=np.random.default_rng(0), n_jobs=n_jobs)[0]
        return found.astype(np.intp)

    def nearest(
        self, rows: IntArray, among: IntArray | None, n_neighbors: int, n_jobs: int | None = None
    ) -> IntArray:
        """Return the nearest to ``rows`` among some samples, or the other ``rows``."""
        pool = rows if among is None else among
        queries = None if among is None else self.points[rows]
        found: IntArray = pool[nearest(self.points[pool], queries, n_neighbors, n_jobs=n_jobs)[0]]
        return found

    def lengths(self, rows: IntArray, cols: IntArray) -> Array:
        """Return the distances (n_pairs,) from differences, so duplicates are exactly at zero."""
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


class Precomputed(_Distances):
    """Symmetric distances given as a matrix (n_samples, n_samples)."""

    def __init__(self, D: Array) -> None:
        self.matrix = D
        super().__init__(len(D))

    def nearest(
        self,
        rows: IntArray,
        among: IntArray | None,
        n_neighbors: int,
        n_jobs: int | None = None,  # noqa: ARG002
    ) -> IntArray:
        """Return the nearest to ``rows`` among some samples, or the other ``rows``."""
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
    """Distances shortened within classes and lengthened between them, by labels (n_samples,).

    ``alpha`` in [0, 1] says how far dissimilarities between classes reach down to those within, in
    squares. Distances are divided by ``unit`` first (None means their mean), squared ones then by
    ``beta`` (None means the mean distance). ``saturation`` is the share of pairs whose exponents
    are too large for dissimilarities to differ; ``vanishing`` tells whether all are too small.
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
        exponents = self._exponents(np.concatenate(among_sample))
        n_pairs = len(sample) * (len(sample) - 1)
        self.saturation = float((exponents > SATURATED_EXPONENT).sum()) / n_pairs
        # Beside the constant gap between classes, 1 - alpha.
        self.vanishing = bool((exponents < VANISHING_EXPONENT * (1.0 - alpha)).all())

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
            same = self.labels[own, np.newaxis] == self.labels[near]
            keys = self._keys(self._exponents(np.square(distances)), same)
            order = np.lexsort((distances, keys), axis=1)[:, :n_neighbors]
            found[own] = np.take_along_axis(near, order, axis=1)
        return found

    def nearest_of_others(self, n_jobs: int | None = None) -> IntArray:
        """Return the nearest sample of another class for each, shape (n_samples, 1)."""
        found = np.empty((self.n_samples, 1), dtype=np.intp)
        for label in range(len(self.classes)):
            own = np.flatnonzero(self.labels == label)
            foreign = np.flatnonzero(self.labels != label)
            found[own] = self.base.nearest(own, foreign, 1, n_jobs)
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
        """Return ``q^2 - 1``, which grows even where ``q`` rounds, shape (n_rows, n_samples)."""
        same = self.labels[rows, np.newaxis] == self.labels
        return self._keys(self._exponents(self.base.squares(rows)), same)

    def _exponents(self, squares: Array) -> Array:
        with np.errstate(over="ignore"):
            return squares / self.unit / self.unit / self.beta

    def _keys(self, exponents: Array, same: NDArray[np.bool_]) -> Array:
        t, growth = np.minimum(exponents, LARGEST_KEY), _beyond(exponents, LARGEST_KEY)
        return np.where(same, -np.exp(-t) / growth, np.expm1(t) * growth - self.alpha)


def _beyond(exponents: Array, largest: float) -> Array:
    """Return the factor by which an exponential grows beyond a bound; 1 up to the bound."""
    bounded = np.clip(exponents, largest, LARGEST_LOGARITHM)
    return 1.0 + np.log(bounded / largest)


def check_distances(D: Array) -> None:
    """Raise an error unless ``D`` holds distances: square, not negative, symmetric, diagonal 0."""
    if D.shape[0] != D.shape[1]:
        raise ValueError(
            f'X has shape {D.shape}, but dissimilarity="precomputed" needs a square matrix of '
            "distances between the training rows. Pass one, or use "
            'dissimilarity="euclidean" for data.'
        )
    needs = 'dissimilarity="precomputed" needs distances'
    largest = float(np.abs(D).max())
    i, j = divmod(int(D.argmin()), len(D))
    if D[i, j] < 0.0:
        raise ValueError(
            f"X[{i}, {j}]={D[i, j]:.6g} is negative, but {needs}: nonnegative numbers. For "
            "correlations r pass 1 - r."
        )
    i = int(D.diagonal().argmax())
    if D[i, i] > DIAGONAL * largest:
        raise ValueError(
            f"X[{i}, {i}]={D[i, i]:.6g} on the diagonal is not 0, but {needs}. X looks like "
            "similarities: pass distances such as 1 - X."
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
            f"X[{i}, {j}]={D[i, j]:.6g}, but X[{j}, {i}]={D[j, i]:.6g}: {needs} that are "
            "symmetric. Use for instance (X + X.T) / 2."
        )


def as_dissimilarities(X: ArrayLike | Dissimilarities) -> Dissimilarities:
    """Return an object as is, or the Euclidean distances of data (n_samples, n_features)."""
    return X if isinstance(X, Dissimilarities) else Euclidean(X)

"""Kernel sums over the sources within reach, found by a KD-tree.

At useful widths a target feels tens of sources, whatever their number. A Gaussian is cut where its
weight, relative to that of the nearest source, falls below a stated tolerance; a compact kernel where
it ends. For kernels whose logarithm is concave in the squared distance (both of these are), sources
beyond ``sqrt(d^2 + r^2)``, with ``d`` the distance of the nearest one and ``r`` the kernel's radius,
weigh less than the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from twofold.numerics.linalg import sqdist
from twofold.numerics.sums.base import Sums
from twofold.numerics.sums.local import LocalMeans
from twofold.numerics.sums.reach import kernel_radius
from twofold.numerics.threads import map_blocks, row_blocks, some_rows
from twofold.protocols import Array, IntArray, RadialKernel

__all__ = ["LocalWeights", "NeighbourSums", "Neighbours", "target_blocks"]

TOLERANCE = 1e-10
MARGIN = 2.0
"""Targets farther than this from every source are looked up one by one, in all sources."""

FARTHEST = 1e100
"""Targets beyond are as far as can be: their squares would overflow in the tree."""

FEW_PAIRS = 50_000
"""Pairs up to which all of them are cheaper than a search for the near ones."""

FEWEST_SOURCES = 256
MANY_SOURCES = 4_000
"""Sources from which on compiled loops may serve."""

LARGEST_SHARE = 0.08
"""Share of the sources within reach up to which a tree beats matrix products."""


@dataclass(frozen=True)
class LocalWeights:
    """Weights of the sources within reach of some targets, as rows of a sparse matrix.

    Attributes
    ----------
    pointers, sources : ndarray of int, shape (n_targets + 1,) and (n_pairs,)
        Rows and columns as in a CSR matrix, columns in ascending order.
    targets : ndarray of int, shape (n_pairs,)
        The row of each pair.
    sqdist, weights : ndarray of shape (n_pairs,)
        Squared distances; ``exp(log k - log_shift)``.
    log_shift : ndarray of shape (n_targets,)
        The largest log weight of each row; ``-inf`` where there is none.
    mass : ndarray of shape (n_targets,)
        Row sums of the weights.
    n_sources : int
        Columns.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.kernels import Compact
    >>> from twofold.numerics.sums import Neighbours
    >>> sources = np.array([[0.0], [0.5], [5.0]])
    >>> local = Neighbours.of(sources, Compact()).weigh(np.array([[0.0], [5.0]]))
    >>> local.matrix(local.weights).toarray()
    array([[1.    , 0.5625, 0.    ],
           [0.    , 0.    , 1.    ]])
    >>> local.mass
    array([1.5625, 1.    ])
    """

    pointers: IntArray
    sources: IntArray
    targets: IntArray
    sqdist: Array
    weights: Array
    log_shift: Array
    mass: Array
    n_sources: int

    def matrix(self, values: Array) -> csr_array:
        """Return the sparse matrix (n_targets, n_sources) that has these values at the pairs."""
        shape = (len(self.log_shift), self.n_sources)
        return csr_array((values, self.sources, self.pointers), shape=shape)


@dataclass(frozen=True)
class Neighbours:
    """Sources, in units of the kernel's width, in a tree.

    Parameters
    ----------
    points : ndarray of shape (n, q)
        The sources.
    kernel : RadialKernel
        The kernel.
    radius : float
        Where the kernel falls below the tolerance.
    tree : cKDTree
        The sources' tree.
    local : LocalMeans, default=None
        The sources in columns, for compiled loops.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.kernels import Compact
    >>> from twofold.numerics.sums import Neighbours
    >>> points = np.array([[0.0], [0.5], [5.0]])
    >>> neighbours = Neighbours.of(points, Compact())
    >>> neighbours.radius
    1.0
    >>> local = neighbours.weigh(np.array([[0.25], [9.0]]))
    >>> local.pointers, local.sources
    (array([0, 2, 2]), array([0, 1]))

    Whether a search pays: not for a kernel that reaches everyone, nor for few targets.

    >>> Neighbours.if_few(points, Compact()) is None, neighbours.pays_for(1)
    (True, False)
    """

    points: Array
    kernel: RadialKernel
    radius: float
    tree: cKDTree
    local: LocalMeans | None = None

    @classmethod
    def of(
        cls, points: Array, kernel: RadialKernel, tolerance: float = TOLERANCE
    ) -> Neighbours | None:
        """Put the sources in a tree; None for kernels that this way of cutting does not fit.

        Parameters
        ----------
        points : ndarray of shape (n, q)
            The sources.
        kernel : RadialKernel
            The kernel.
        tolerance : float, default=1e-10
            Weights, relative to the largest, that may be left out.
        """
        if np.diff(kernel.dlog_profile(np.array([0.0, 0.25, 0.5]))).max() > 0.0:
            return None  # its logarithm is not concave
        found = cls(points, kernel, kernel_radius(kernel, tolerance), cKDTree(points))
        if len(points) < MANY_SOURCES:
            return found
        margin = found.radius if found._ends() else MARGIN
        local = LocalMeans.of(points, kernel, found._search_radius(), margin)
        return replace(found, local=local)

    @classmethod
    def if_few(cls, points: Array, kernel: RadialKernel) -> Neighbours | None:
        """Put the sources in a tree where so few reach each other that this is the faster way."""
        if len(points) < FEWEST_SOURCES or not np.isfinite(points).all():
            return None
        found = cls.of(points, kernel)
        if found is None:
            return None
        some = points[some_rows(len(points), 64)]
        counts = found.tree.query_ball_point(some, found._search_radius(), return_length=True)
        return found if counts.mean() <= LARGEST_SHARE * len(points) else None

    def pays_for(self, n_targets: int) -> bool:
        """Tell whether a search is worth its fixed cost for so many targets."""
        return n_targets * len(self.points) > FEW_PAIRS

    def weigh(self, targets: Array, exclude: IntArray | None = None) -> LocalWeights:
        """Return the weights of the sources within reach of targets (m, q).

        Parameters
        ----------
        targets : ndarray of shape (m, q)
            Where to weigh.
        exclude : ndarray of int, shape (m,), default=None
            For each target the number of one source to leave out.
        """
        rows, columns, distances = self._pairs(targets, exclude)
        m, n = len(targets), len(self.points)
        matrix = csr_array((distances, (rows, columns)), shape=(m, n))
        matrix.sort_indices()  # the order of a row's sum must not depend on the other rows
        pointers: IntArray = np.asarray(matrix.indptr)
        rows = np.repeat(np.arange(m), np.diff(pointers))
        log_weights = self.kernel.log_profile(matrix.data)
        log_shift = _row_maxima(log_weights, pointers)
        shift = np.where(np.isneginf(log_shift), 0.0, log_shift)
        weights = np.exp(log_weights - shift[rows])
        mass: Array = np.bincount(rows, weights=weights, minlength=m).astype(np.float64)
        columns = np.asarray(matrix.indices)
        return LocalWeights(pointers, columns, rows, matrix.data, weights, log_shift, mass, n)

    def _search_radius(self) -> float:
        if self._ends():
            return self.radius
        return float(np.hypot(self.radius, MARGIN))

    def _ends(self) -> bool:
        return not np.isfinite(self.kernel.log_profile(np.array([4.0 * self.radius**2]))[0])

    def _pairs(self, targets: Array, exclude: IntArray | None) -> tuple[IntArray, IntArray, Array]:
        """Return target, source and squared distance of every pair that counts, in any order."""
        within = np.clip(targets, -FARTHEST, FARTHEST)
        found = cKDTree(within).sparse_distance_matrix(
            self.tree, self._search_radius(), output_type="ndarray"
        )
        rows, columns = found["i"], found["j"]
        distances = np.square(found["v"])
        if exclude is not None:
            kept = exclude[rows] != columns
            rows, columns, distances = rows[kept], columns[kept], distances[kept]
        if self._ends():
            return rows, columns, distances
        nearest = np.full(len(targets), np.inf)
        np.minimum.at(nearest, rows, distances)
        far = nearest > MARGIN**2
        if not far.any():
            return rows, columns, distances
        kept = ~far[rows]
        parts = [(rows[kept], columns[kept], distances[kept])]
        numbers = np.flatnonzero(far)
        for block in row_blocks(len(numbers), 8 * 4 * len(self.points)):
            parts.append(self._pairs_of_far_targets(targets, numbers[block], exclude))
        rows, columns, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
        return rows, columns, distances

    def _pairs_of_far_targets(
        self, targets: Array, numbers: IntArray, exclude: IntArray | None
    ) -> tuple[IntArray, IntArray, Array]:
        with np.errstate(over="ignore"):
            distances = sqdist(targets[numbers], self.points)
        if exclude is not None:
            distances[np.arange(len(numbers)), exclude[numbers]] = np.inf
        reach = distances.min(axis=1) + self.radius**2
        near, columns = np.nonzero((distances <= reach[:, None]) & np.isfinite(distances))
        return numbers[near], columns, distances[near, columns]


@dataclass(frozen=True)
class NeighbourSums:
    """The sources within reach of each target.

    Parameters
    ----------
    kernel : RadialKernel
        A kernel whose logarithm is concave in the squared distance.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    tolerance : float, default=1e-10
        Weights, relative to a target's largest, that may be left out.

    Examples
    --------
    The same sums as `DenseSums`, from those in reach alone:

    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.numerics.sums import DenseSums, NeighbourSums
    >>> rng = np.random.default_rng(0)
    >>> Z, values = rng.uniform(0.0, 40.0, (300, 2)), rng.normal(size=(300, 1))
    >>> near, every = NeighbourSums(Gaussian()), DenseSums(Gaussian())
    >>> sums = near.forward(Z, Z, values)
    >>> bool(np.allclose(sums.weighted, every.forward(Z, Z, values).weighted, atol=1e-6))
    True
    >>> at_targets, _ = near.backward(Z, Z, values, sums, np.ones((300, 1)), np.zeros(300))
    >>> at_targets.shape
    (300, 2)
    """

    kernel: RadialKernel
    n_jobs: int | None = None
    tolerance: float = TOLERANCE

    def forward(
        self, targets: Array, sources: Array, values: Array, *, exclude: IntArray | None = None
    ) -> Sums:
        """Return the sums at the targets; see `KernelSums.forward`."""
        neighbours = self._neighbours(sources)
        log_shift, mass = np.empty(len(targets)), np.empty(len(targets))
        weighted = np.empty((len(targets), values.shape[1]))

        def work(rows: slice) -> None:
            local = neighbours.weigh(targets[rows], None if exclude is None else exclude[rows])
            log_shift[rows], mass[rows] = local.log_shift, local.mass
            weighted[rows] = local.matrix(local.weights) @ values

        map_blocks(work, target_blocks(len(targets)), n_jobs=self.n_jobs)
        return Sums(log_shift, mass, weighted)

    def backward(
        self,
        targets: Array,
        sources: Array,
        values: Array,
        sums: Sums,
        weighted_bar: Array,
        mass_bar: Array,
        *,
        exclude: IntArray | None = None,
    ) -> tuple[Array, Array]:
        """Return the gradients at targets and sources; see `KernelSums.backward`."""
        neighbours = self._neighbours(sources)
        targets_bar = np.empty_like(targets)

        def work(rows: slice) -> Array:
            local = neighbours.weigh(targets[rows], None if exclude is None else exclude[rows])
            at, of = local.targets, local.sources
            scale = np.where(np.isneginf(local.log_shift), 0.0, local.log_shift)
            scale = np.exp(scale - np.where(local.mass > 0.0, sums.log_shift[rows], 0.0))
            pull = np.einsum("pd,pd->p", weighted_bar[rows][at], values[of])
            pull += mass_bar[rows][at]
            pull *= 2.0 * local.weights * scale[at] * self.kernel.dlog_profile(local.sqdist)
            sources_bar = np.empty_like(sources)
            for column in range(sources.shape[1]):
                along = pull * (targets[rows][at, column] - sources[of, column])
                targets_bar[rows, column] = np.bincount(at, along, minlength=len(local.mass))
                sources_bar[:, column] = -np.bincount(of, along, minlength=len(sources))
            return sources_bar

        parts = map_blocks(work, target_blocks(len(targets)), n_jobs=self.n_jobs)
        return targets_bar, np.sum(parts, axis=0)

    def _neighbours(self, sources: Array) -> Neighbours:
        found = Neighbours.of(sources, self.kernel, self.tolerance)
        if found is None:
            raise ValueError(f"{self.kernel!r} falls too slowly to be cut at any radius.")
        return found


def target_blocks(n_targets: int) -> list[slice]:
    """Return blocks of targets: large enough that a tree of them pays.

    Parameters
    ----------
    n_targets : int
        How many targets there are.

    Returns
    -------
    list of slice

    Examples
    --------
    >>> from twofold.numerics.sums import target_blocks
    >>> blocks = target_blocks(100_000)
    >>> blocks[0].start, blocks[-1].stop, len(blocks) > 1
    (0, 100000, True)
    """
    return row_blocks(n_targets, bytes_per_row=4096)


def _row_maxima(values: Array, pointers: IntArray) -> Array:
    """Return the largest of each row's values, ``-inf`` for empty rows."""
    maxima = np.full(len(pointers) - 1, -np.inf)
    filled = np.diff(pointers) > 0
    if filled.any():
        maxima[filled] = np.maximum.reduceat(values, pointers[:-1][filled])
    return maxima

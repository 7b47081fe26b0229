"""Kernel sums over the sources within reach of a target.

At useful bandwidths a target has tens of sources in reach, whatever their number. A Gaussian is cut
where its weight, relative to that of the nearest source, falls below a tolerance; a compact kernel
at the end of its support. For kernels whose logarithm is concave in the squared distance (both
are), sources beyond ``sqrt(d^2 + r^2)``, with ``d`` the distance of the nearest one and ``r`` the
kernel's radius, weigh less than the tolerance.

`Neighbors` finds the sources by a KD-tree. For many sources `LocalMeans` does the same in compiled
loops: sources are sorted into columns as in `twofold.numerics.sums.cells`, and one pass gives the
weighted mean and the terms that Gauss-Newton needs of its Jacobian, without intermediate arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from twofold.numerics.linalg import sqdist
from twofold.numerics.sums._compiled import check_shape, compiled, compiled_power
from twofold.numerics.sums.cells import sorted_into_columns
from twofold.numerics.sums.reach import kernel_radius
from twofold.numerics.threads import map_blocks, row_blocks, some_rows
from twofold.protocols import Array, IntArray, NormalTerms, RadialKernel

Mask = NDArray[np.bool_]

TOLERANCE = 1e-10
MARGIN = 2.0
"""Targets farther than this from every source are compared with all sources."""

FARTHEST = 1e100
"""Coordinates of targets are clipped here: their squares would overflow in the tree."""

FEWEST_SOURCES = 256
MANY_SOURCES = 4_000
"""From this number of sources on, compiled loops may be used."""

LARGEST_SHARE = 0.08
"""Share of the sources within reach up to which a tree is faster than matrix products."""


@dataclass(frozen=True)
class LocalWeights:
    """Weights of the sources within reach of some targets, as rows of a sparse matrix.

    ``pointers`` (n_targets + 1,) and ``sources`` (n_pairs,) are rows and columns as in a CSR
    matrix, columns ascending; ``targets`` (n_pairs,) is the row of each pair. ``weights`` are
    ``exp(log k - log_shift)``, with the largest log weight of each row, ``-inf`` for empty rows,
    and row sums ``mass``.
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
class LocalMeans:
    """Sources sorted into columns, for compiled loops.

    ``points`` (n, q) are the sources in the order of the columns, ``order`` (n,) their numbers,
    ``columns`` (n_columns + 1,) where columns begin, ``lows`` and ``highs`` (n_columns, q - 1)
    their boxes in all but the last dimension. ``power`` is that of a compact kernel, 0 for a
    Gaussian, cut at the squared radius. Of targets farther than the margin from every source, the
    nearest source is found first.
    """

    points: Array
    order: IntArray
    columns: IntArray
    lows: Array
    highs: Array
    power: float
    radius_sq: float
    margin_sq: float

    @classmethod
    def of(
        cls, points: Array, kernel: RadialKernel, radius: float, margin: float
    ) -> LocalMeans | None:
        """Sort the sources (n, q); None for kernels that the compiled loops lack.

        The kernel is cut at the radius. Within the margin of a source no weight vanishes.
        """
        power = compiled_power(kernel)
        if power is None:
            return None
        order, columns = sorted_into_columns(points)
        ordered = np.ascontiguousarray(points[order])
        across = ordered[:, :-1]
        lows = np.minimum.reduceat(across, columns[:-1])
        highs = np.maximum.reduceat(across, columns[:-1])
        return cls(ordered, order, columns, lows, highs, power, radius**2, margin**2)

    @property
    def is_available(self) -> bool:
        """Whether the compiled loops can be loaded."""
        return compiled(1 << 62, "_local_loops") is not None

    @property
    def sources(self) -> tuple[Array | IntArray, ...]:
        """The sources as the compiled loops take them."""
        return self.points, self.order, self.columns, self.lows, self.highs

    @property
    def cut(self) -> tuple[float, float, float]:
        """The kernel as the compiled loops take it."""
        return self.power, self.radius_sq, self.margin_sq

    def mass(self, targets: Array, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Return the sums of weights over ``exp(shift)`` (m,), and the shifts (m,).

        Where no source is in reach, the sum is 0 and the shift ``-inf``.
        """
        mass, shift = np.empty(len(targets)), np.empty(len(targets))
        no_values, no_means = np.empty((len(self.points), 0)), np.empty((len(targets), 0))
        self._run("local_means", targets, n_jobs, no_values, mass, shift, no_means)
        mass[np.isneginf(shift)] = 0.0
        return mass, shift

    def means(self, targets: Array, values: Array, n_jobs: int | None = None) -> tuple[Array, Mask]:
        """Return the weighted means of values (m, D), and which targets (m,) are covered.

        Only targets whose distances overflow are not.
        """
        self._check(values)
        mass, shift = np.empty(len(targets)), np.empty(len(targets))
        means = np.empty((len(targets), values.shape[1]))
        self._run("local_means", targets, n_jobs, values, mass, shift, means)
        return means, mass > 0.0

    def normal_terms(
        self, targets: Array, values: Array, data: Array, n_jobs: int | None = None
    ) -> tuple[NormalTerms, Mask]:
        """Return ``J^T J``, ``J^T r`` and ``|r|^2`` of the means, and which targets are covered."""
        m, q = targets.shape
        self._check(values)
        check_shape("data", data, m, values.shape[1])
        mass = np.empty(m)
        JTJ, JTr, loss = np.zeros((m, q, q)), np.zeros((m, q)), np.zeros(m)
        self._run("local_normal_terms", targets, n_jobs, values, data, mass, JTJ, JTr, loss)
        return (JTJ, JTr, loss), mass > 0.0

    def _check(self, values: Array) -> None:
        """Raise an error unless there is a row of values for each source."""
        check_shape("values", values, len(self.order), values.shape[1])

    def _run(self, name: str, targets: Array, n_jobs: int | None, *arguments: Array) -> None:
        """Run a compiled loop over the targets; it writes into the last of the arguments."""
        check_shape("targets", targets, len(targets), self.points.shape[1])
        loop = getattr(compiled(1 << 62, "_local_loops"), name)
        targets = np.ascontiguousarray(targets)
        arguments = tuple(np.ascontiguousarray(argument) for argument in arguments)
        # Nearby targets share their sources, which then stay in the cache.
        visits, _ = sorted_into_columns(targets)

        def work(rows: slice) -> None:
            loop(visits[rows], targets, self.sources, self.cut, *arguments)

        map_blocks(work, row_blocks(len(targets), bytes_per_row=16_384), n_jobs=n_jobs)


@dataclass(frozen=True)
class Neighbors:
    """Sources (n, q), in units of the kernel's width, in a tree.

    The kernel is below the tolerance beyond the radius; ``local`` holds the sources for compiled
    loops, if there are many.
    """

    points: Array
    kernel: RadialKernel
    radius: float
    tree: cKDTree
    local: LocalMeans | None = None

    @classmethod
    def of(
        cls, points: Array, kernel: RadialKernel, tolerance: float = TOLERANCE
    ) -> Neighbors | None:
        """Put the sources in a tree; None for kernels that cannot be cut.

        Weights below the tolerance, relative to the largest, may be left out.
        """
        if np.diff(kernel.dlog_profile(np.array([0.0, 0.25, 0.5]))).max() > 0.0:
            return None  # its logarithm is not concave
        found = cls(points, kernel, kernel_radius(kernel, tolerance), cKDTree(points))
        return found if len(points) < MANY_SOURCES else replace(found, local=found.columns)

    @classmethod
    def if_few(cls, points: Array, kernel: RadialKernel) -> Neighbors | None:
        """Put the sources in a tree if it is faster: only a small share of them is within reach."""
        if len(points) < FEWEST_SOURCES or not np.isfinite(points).all():
            return None
        found = cls.of(points, kernel)
        if found is None:
            return None
        some = points[some_rows(len(points), 64)]
        counts = found.tree.query_ball_point(some, found._search_radius(), return_length=True)
        return found if counts.mean() <= LARGEST_SHARE * len(points) else None

    @cached_property
    def columns(self) -> LocalMeans | None:
        """The sources for compiled loops, however few; None for kernels that those lack."""
        if self.local is not None:
            return self.local
        margin = self.radius if self._ends() else MARGIN
        return LocalMeans.of(self.points, self.kernel, self._search_radius(), margin)

    def weigh(self, targets: Array) -> LocalWeights:
        """Return the weights of the sources within reach of targets (m, q)."""
        rows, columns, distances = self._pairs(targets)
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
        """Return the radius that holds all sources of targets within the margin."""
        if self._ends():
            return self.radius
        return float(np.hypot(self.radius, MARGIN))

    def _ends(self) -> bool:
        """Tell whether the kernel has compact support."""
        return not np.isfinite(self.kernel.log_profile(np.array([4.0 * self.radius**2]))[0])

    def _pairs(self, targets: Array) -> tuple[IntArray, IntArray, Array]:
        """Return target, source and squared distance of every pair that counts, in any order."""
        within = np.clip(targets, -FARTHEST, FARTHEST)
        found = cKDTree(within).sparse_distance_matrix(
            self.tree, self._search_radius(), output_type="ndarray"
        )
        rows, columns = found["i"], found["j"]
        distances = np.square(found["v"])
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
            parts.append(self._pairs_of_far_targets(targets, numbers[block]))
        rows, columns, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
        return rows, columns, distances

    def _pairs_of_far_targets(
        self, targets: Array, numbers: IntArray
    ) -> tuple[IntArray, IntArray, Array]:
        """Return the pairs of the targets with these numbers, compared with all sources."""
        with np.errstate(over="ignore"):
            distances = sqdist(targets[numbers], self.points)
        reach = distances.min(axis=1) + self.radius**2
        near, columns = np.nonzero((distances <= reach[:, None]) & np.isfinite(distances))
        return numbers[near], columns, distances[near, columns]


def target_blocks(n_targets: int) -> list[slice]:
    """Return blocks of targets that are large enough for a tree of their own."""
    return row_blocks(n_targets, bytes_per_row=4096)


def _row_maxima(values: Array, pointers: IntArray) -> Array:
    """Return the largest of each row's values, ``-inf`` for empty rows."""
    maxima = np.full(len(pointers) - 1, -np.inf)
    filled = np.diff(pointers) > 0
    if filled.any():
        maxima[filled] = np.maximum.reduceat(values, pointers[:-1][filled])
    return maxima

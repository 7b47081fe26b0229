r"""Kernel weights among many points by cells: small matrix products, in time linear in n.

Points are sorted into columns of equal count along the first q - 1 dimensions and, within a column,
along the last (in one dimension they are only sorted). Consecutive points of a column form a *leaf*
of 64. The points within reach of a leaf lie in few columns, and there in one stretch, found by
bisection. So a leaf and its sources make one small dense problem, computed by BLAS: with ``K`` the
(64 x m) weights, ``Y`` the values of the sources and ``a``, ``b`` as in
`twofold.numerics.sums.weights`,

.. math:: S = K Y, \qquad g = 2 K' \circ (A Y^T + b 1^T),

and ``g`` is added to the gradients of both points of a pair. A Gaussian is cut at a given radius.

Distances use coordinates relative to the first point of the leaf, so single precision is enough for
wide maps too. Blocks for threads depend on the number of leaves alone: results do not depend on the
number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from twofold.numerics.sums._compiled import compiled, compiled_power
from twofold.numerics.sums.reach import profile, profile_and_slope
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import Array, IntArray, RadialKernel

LEAF = 64
LEAVES_PER_BLOCK = 64
BLOCKS_AT_ONCE = 32


@dataclass(frozen=True)
class Cells:
    """Points (n, q) sorted into leaves, and the points within reach of each leaf.

    ``order`` (n,) sorts the points: consecutive ones belong together. ``leaves`` (n_leaves + 1,)
    tells where leaves begin, ``pointers`` (n_leaves + 1,) where the stretches of each leaf begin;
    ``begins`` and ``ends`` (n_stretches,) are stretches of sorted points within reach of the leaf's
    box.
    """

    order: IntArray
    points: Array
    leaves: IntArray
    pointers: IntArray
    begins: IntArray
    ends: IntArray

    @classmethod
    def of(cls, Z: Array, radius: float) -> Cells:
        """Sort points (n, q) and find the stretches within a radius."""
        order, columns = sorted_into_columns(Z)
        points = np.ascontiguousarray(Z[order])
        leaves = _leaves(columns)
        lows = np.minimum.reduceat(points, leaves[:-1])
        highs = np.maximum.reduceat(points, leaves[:-1])
        leaf, column, reach = _columns_in_reach(points, columns, lows, highs, radius)
        begins, ends = _stretches(points, columns, leaf, column, lows, highs, reach)
        kept = ends > begins
        leaf, begins, ends = leaf[kept], begins[kept], ends[kept]
        counts = np.bincount(leaf, minlength=len(leaves) - 1)
        pointers = np.concatenate([[0], np.cumsum(counts)])
        return cls(order, points, leaves, pointers, begins, ends)

    @cached_property
    def places(self) -> IntArray:
        """Where each point is in the order, shape (n,)."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(self.order))
        return places

    @property
    def n_pairs(self) -> int:
        """Pairs of leaf points and sources, counted both ways."""
        per_leaf = np.add.reduceat(self.ends - self.begins, self.pointers[:-1])
        return int((np.diff(self.leaves) * per_leaf).sum())

    def sources(self, leaf: int) -> IntArray:
        """Return the numbers of the sorted points within reach of a leaf's box."""
        stretches = range(self.pointers[leaf], self.pointers[leaf + 1])
        return np.concatenate([np.arange(self.begins[s], self.ends[s]) for s in stretches])

    def blocks(self) -> list[tuple[int, int]]:
        """Return ranges of leaves to be worked on together."""
        n = len(self.leaves) - 1
        starts = range(0, n, LEAVES_PER_BLOCK)
        return [(start, min(start + LEAVES_PER_BLOCK, n)) for start in starts]


@dataclass(frozen=True)
class CellWeights:
    """Kernel weights among points (n, q), cut at a radius: `SelfWeights` for many points."""

    Z: Array
    kernel: RadialKernel
    radius: float
    cells: Cells
    n_jobs: int | None = None

    @classmethod
    def of(
        cls, Z: Array, kernel: RadialKernel, *, radius: float, n_jobs: int | None = None
    ) -> CellWeights:
        """Sort the points into cells for that radius."""
        return cls(Z, kernel, radius, Cells.of(Z, radius), n_jobs)

    @cached_property
    def mass(self) -> Array:
        """``sum_j k_ij``, shape (n,)."""
        return self.mass_and_apply(np.empty((len(self.Z), 0)))[0]

    def mass_and_apply(self, values: Array) -> tuple[Array, Array]:
        """Return ``sum_j k_ij`` (n,) and ``sum_j k_ij v_j`` (n, D), in the values' precision."""
        order = self.cells.order
        kind = self._compiled_kind(values.shape[1])
        sorted_values = _gathered(values, order)
        mass = np.empty(len(order), dtype=values.dtype)
        sums = np.empty_like(sorted_values)

        def work(block: tuple[int, int]) -> None:
            if kind is not None:
                loops, power = kind
                loops.cell_forward(
                    *block, self._arrays(), power, self.radius**2, sorted_values, mass, sums
                )
                return
            for leaf in range(*block):
                rows, sources, distances = self._leaf(leaf)
                k = self._cut(profile(self.kernel, distances), distances, rows, sources)
                mass[rows] = k.sum(axis=1)
                sums[rows] = k.astype(values.dtype) @ sorted_values[sources]

        map_blocks(work, self.cells.blocks(), n_jobs=self.n_jobs)
        back = self.cells.places
        return mass[back].astype(np.float64), _gathered(sums, back)

    def gradient(self, left: Array, right: Array, offset: Array) -> Array:
        """Return the gradient of ``sum_ij k_ij (left_i . right_j + offset_i)``, shape (n, q)."""
        order = self.cells.order
        kind = self._compiled_kind(right.shape[1])
        left, right = _gathered(left, order), _gathered(right, order)
        offset = np.ascontiguousarray(offset[order], dtype=left.dtype)
        shape = self.Z.shape

        def work(block: tuple[int, int]) -> tuple[int, Array]:
            first, last = self._touched(block)
            part = np.zeros((last - first, shape[1]))
            if kind is not None:
                loops, power = kind
                loops.cell_backward(
                    *block, self._arrays(), power, self.radius**2, left, right, offset, part, first
                )
                return first, part
            points = self.cells.points
            for leaf in range(*block):
                rows, sources, distances = self._leaf(leaf)
                _, slope = profile_and_slope(self.kernel, distances)
                slope = self._cut(slope, distances, rows, sources)
                pull = left[rows] @ right[sources].T + offset[rows, None]
                pull = 2.0 * slope * pull
                differences = points[rows][:, None] - points[sources]
                along = pull[:, :, None] * differences
                part[rows.start - first : rows.stop - first] += along.sum(axis=1)
                np.subtract.at(part, sources - first, along.sum(axis=0))
            return first, part

        total = np.zeros(shape)
        blocks = self.cells.blocks()
        for start in range(
            0, len(blocks), BLOCKS_AT_ONCE
        ):  # parts overlap: do not keep all of them
            some = blocks[start : start + BLOCKS_AT_ONCE]
            for first, part in map_blocks(work, some, n_jobs=self.n_jobs):
                total[first : first + len(part)] += part
        return np.asarray(total[self.cells.places])

    def _touched(self, block: tuple[int, int]) -> tuple[int, int]:
        """Return the range of sorted points that the leaves of a block reach."""
        cells = self.cells
        some = slice(cells.pointers[block[0]], cells.pointers[block[1]])
        return int(cells.begins[some].min()), int(cells.ends[some].max())

    def _arrays(self) -> tuple[Array | IntArray, ...]:
        """Return the arrays of the cells in the order of the compiled loops."""
        cells = self.cells
        return cells.points, cells.leaves, cells.pointers, cells.begins, cells.ends

    def _compiled_kind(self, n_columns: int) -> tuple[ModuleType, float] | None:
        """Return the compiled loops and the power of a compact kernel, 0 for a Gaussian."""
        power = compiled_power(self.kernel)
        loops = compiled(work=self.cells.n_pairs * max(1, n_columns))
        return None if loops is None or power is None else (loops, power)

    def _leaf(self, leaf: int) -> tuple[slice, IntArray, Array]:
        """Return a leaf's points, its sources, and their squared distances."""
        cells = self.cells
        rows = slice(int(cells.leaves[leaf]), int(cells.leaves[leaf + 1]))
        sources = cells.sources(leaf)
        distances = np.zeros((rows.stop - rows.start, len(sources)))
        for column in cells.points.T:
            distances += np.square(column[rows, None] - column[sources])
        return rows, sources, distances

    def _cut(self, values: Array, distances: Array, rows: slice, sources: IntArray) -> Array:
        """Set values beyond the radius, and of each point on itself, to zero."""
        values[distances > self.radius**2] = 0.0
        values[np.arange(rows.start, rows.stop)[:, None] == sources] = 0.0
        return values


def sorted_into_columns(Z: Array) -> tuple[IntArray, IntArray]:
    """Return an order of the points and where columns begin in it (n_columns + 1,).

    Points (n, q) are cut into slabs of equal count along the first dimension, each slab along the
    second, and so on; within a column they are sorted along the last dimension.
    """
    n, q = Z.shape
    # In many dimensions halving is enough: cutting along all would leave columns of one or two
    # points.
    n_cuts = max(2 if q > 3 else 1, round((n / LEAF) ** (1.0 / q)))
    most = round(np.log(max(n / LEAF, 1.0)) / np.log(n_cuts)) if n_cuts > 1 else 0
    order = np.arange(n)
    bounds = np.array([0, n])
    for dimension in range(q):
        order = order[_sorted_within(Z[order, dimension], bounds)]
        if dimension < min(q - 1, most):
            parts = [np.linspace(a, b, n_cuts + 1).astype(np.intp)[:-1] for a, b in _ranges(bounds)]
            bounds = np.unique(np.concatenate([*parts, [n]]))
    return order, bounds


def _sorted_within(values: Array, bounds: IntArray) -> IntArray:
    """Return the order of ascending values within each group of consecutive ones."""
    ascending = np.argsort(values)
    if len(bounds) == 2:
        return ascending
    group = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    few = np.uint16 if len(bounds) < 2**16 else np.intp  # small integers are sorted by their digits
    by_group = np.argsort(group[ascending].astype(few), kind="stable")
    return ascending[by_group]


def _gathered(values: Array, numbers: IntArray) -> Array:
    """Return ``values[numbers]``, in threads."""
    gathered = np.empty(values.shape, dtype=values.dtype)

    def work(rows: slice) -> None:
        np.take(values, numbers[rows], axis=0, out=gathered[rows], mode="clip")

    map_blocks(work, row_blocks(len(numbers), 2 * max(1, values.strides[0])))
    return gathered


def _ranges(bounds: IntArray) -> list[tuple[int, int]]:
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def _leaves(columns: IntArray) -> IntArray:
    """Cut each column into leaves of equal size, at most `LEAF` points each."""
    parts = []
    for begin, end in _ranges(columns):
        n_leaves = -(-(end - begin) // LEAF)
        parts.append(np.linspace(begin, end, n_leaves + 1).astype(np.intp)[:-1])
    return np.concatenate([*parts, columns[-1:]])


def _columns_in_reach(
    points: Array, columns: IntArray, lows: Array, highs: Array, radius: float
) -> tuple[IntArray, IntArray, Array]:
    """Return pairs (leaf, column) whose boxes in the first q - 1 dimensions are within the radius.

    Also return the rest of the radius, after the gap between both boxes, for the last dimension.
    """
    across = slice(0, points.shape[1] - 1)
    column_lows = np.minimum.reduceat(points[:, across], columns[:-1])
    column_highs = np.maximum.reduceat(points[:, across], columns[:-1])
    size = max(1, 10**7 // max(1, len(column_lows)))
    found = []
    for start in range(0, len(lows), size):
        some = slice(start, start + size)
        gaps = np.zeros((len(lows[some]), len(column_lows)))
        for d in range(points.shape[1] - 1):
            gap = np.maximum(
                column_lows[:, d] - highs[some, d, None], lows[some, d, None] - column_highs[:, d]
            )
            gaps += np.square(np.maximum(gap, 0.0))
        leaf, column = np.nonzero(gaps <= radius * radius)
        reach = np.sqrt(np.maximum(radius * radius - gaps[leaf, column], 0.0))
        found.append((leaf + start, column, reach))
    leaves, reached, left = zip(*found, strict=True)
    return np.concatenate(leaves), np.concatenate(reached), np.concatenate(left)


def _stretches(
    points: Array,
    columns: IntArray,
    leaf: IntArray,
    column: IntArray,
    lows: Array,
    highs: Array,
    reach: Array,
) -> tuple[IntArray, IntArray]:
    """Return where in each column the points within reach of each leaf begin and end.

    Bisection in all columns at once: the rank of the last coordinate, plus the column's number
    times more than any rank, increases through the whole order.
    """
    last = points[:, -1]
    ascending = np.sort(last)
    n = len(last)
    number = np.repeat(np.arange(len(columns) - 1), np.diff(columns))
    key = number * (n + 1) + np.searchsorted(ascending, last, side="left")
    from_rank = np.searchsorted(ascending, lows[leaf, -1] - reach, side="left")
    to_rank = np.searchsorted(ascending, highs[leaf, -1] + reach, side="right")
    begins = np.searchsorted(key, column * (n + 1) + from_rank, side="left")
    ends = np.searchsorted(key, column * (n + 1) + to_rank, side="left")
    return begins, ends

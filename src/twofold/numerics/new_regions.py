r"""Regions of new data that old data do not cover.

A new row ``x`` is compared with the mean of its nearest old rows, and with the mean of its nearest
other new rows,

.. math:: e_o = |x - \bar x_o|^2, \qquad e_n = |x - \bar x_n|^2 ,

among equally many rows of both kinds. In a region that both cover, the two errors are alike,
whatever the densities: both are the noise and a little bias. In a new region other new rows are
much nearer, and ``e_n / e_o`` is small. A single row of a noisy table says little, its neighborhood
says enough: a row is new if most of its nearest new rows are.

Connected new rows form a region if they are many, if the median of their ratios is low, and if few
old rows lie among them: old rows most of whose nearest new rows belong to the region. Without noise
the errors are all bias, and the ratio is low wherever the old rows happen to be sparse; but some
are there.

An outlier belongs to no region: nothing else is near it. Neither does a repeated row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from twofold.numerics.linalg import row_norms_sq, single
from twofold.numerics.neighbors import nearest
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import AnyArray, Array, IntArray

N_NEAREST = 10
"""Rows of each kind that are averaged."""

LOW = 0.8
"""Ratio of the two errors below which a row counts as new: on MNIST 12 to 19 % of the rows of known
digits, and 65 to 97 % of those of a digit that is new."""

CLEARLY_LOW = 0.75
"""The same for the median of a region."""

MOST_COVERED = 0.15
"""Old rows in a region, in units of their number if they were spread like the new rows."""

NEAR = 0.75
"""Share of a region's rows by which its distances are measured."""

N_VOTES = 3
"""Rounds in which the neighbors of a row decide."""

FEWEST = 15
"""Rows of a region at least."""

JOINED, FAR = 5, 2.0
"""Neighbors that connect the rows of a region, unless they are so many median distances apart."""


def new_regions(
    old: AnyArray, new: AnyArray, rng: np.random.Generator, *, n_jobs: int | None = None
) -> list[IntArray]:
    """Return the numbers of the new rows (m, D) of each region that old rows (n, D) do not cover.

    Data must be near the origin. The largest region comes first.
    """
    n_each = min(len(old), len(new))
    if n_each < FEWEST:
        return []
    old, new = single(old), single(new)
    some_old = old[_drawn(len(old), n_each, rng)]
    drawn = _drawn(len(new), n_each, rng)
    k = min(N_NEAREST, n_each - 1)
    near_old, _ = nearest(some_old, new, k, rng=rng, n_jobs=n_jobs)
    near_new, reach = _others(new, drawn, k, rng, n_jobs)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = _errors(new, new, near_new) / _errors(new, some_old, near_old)
    ratios = np.where(np.isnan(ratios), 1.0, ratios)  # copies of one row everywhere
    is_new = ratios < LOW
    for _ in range(N_VOTES):
        is_new = is_new[near_new].mean(axis=1) > 0.5
    around = nearest(new[drawn], some_old, k, rng=rng, n_jobs=n_jobs)
    around = drawn[around[0]], around[1]
    regions = [
        rows
        for rows in _connected(new, np.flatnonzero(is_new), rng, n_jobs)
        if np.median(ratios[rows]) < CLEARLY_LOW
        and _covered(rows, around, reach[rows], len(new)) < MOST_COVERED
    ]
    return sorted(regions, key=len, reverse=True)


def _covered(
    rows: IntArray, around: tuple[IntArray, AnyArray], reach: AnyArray, n_new: int
) -> float:
    """Return how many old rows lie in a region, relative to its new rows and to all of both kinds.

    ``around`` has the nearest of ``n_new`` new rows to each old row, and their squared distances
    (n, k). An old row is inside if most of these belong to the region, and the last of them is as
    near as to most rows of the region, by their ``reach``.
    """
    numbers, squares = around
    inside = np.isin(numbers, rows).mean(axis=1) > 0.5
    inside &= squares[:, -1] <= np.quantile(reach, NEAR)
    return float(inside.mean()) / (len(rows) / n_new)


def _drawn(n: int, n_drawn: int, rng: np.random.Generator) -> IntArray:
    """Return the numbers of some of n rows, in ascending order."""
    return np.arange(n) if n == n_drawn else np.sort(rng.permutation(n)[:n_drawn])


def _others(
    new: AnyArray, drawn: IntArray, k: int, rng: np.random.Generator, n_jobs: int | None
) -> tuple[IntArray, AnyArray]:
    """Return the k nearest of the drawn rows to each row but itself, and the last squared distance.

    The numbers have the shape (m, k), the distances (m,).
    """
    found, squares = nearest(new[drawn], new, k + 1, rng=rng, n_jobs=n_jobs)
    own = np.full(len(new), -1)
    own[drawn] = np.arange(len(drawn))
    left_out: NDArray[np.bool_] = found == own[:, None]
    left_out[~left_out.any(axis=1), -1] = True
    others: IntArray = drawn[found[~left_out].reshape(len(new), k)]
    return others, squares[~left_out].reshape(len(new), k)[:, -1]


def _errors(rows: AnyArray, sources: AnyArray, near: IntArray) -> Array:
    """Return the squared distances (n,) of rows to the means of sources."""

    def work(some: slice) -> Array:
        errors: Array = row_norms_sq(rows[some] - sources[near[some]].mean(axis=1))
        return errors.astype(np.float64)

    per_row = rows.itemsize * rows.shape[1] * (near.shape[1] + 2)
    return np.concatenate(map_blocks(work, row_blocks(len(rows), per_row)))


def _connected(
    new: AnyArray, rows: IntArray, rng: np.random.Generator, n_jobs: int | None
) -> list[IntArray]:
    """Return the groups of rows that are connected by nearest neighbors, without small ones."""
    if len(rows) < FEWEST:
        return []
    k = min(JOINED, len(rows) - 1)
    near, squares = nearest(new[rows], None, k, rng=rng, n_jobs=n_jobs)
    joined = squares <= FAR**2 * np.median(squares)  # an outlier joins nothing
    numbers = np.broadcast_to(np.arange(len(rows))[:, None], near.shape)[joined]
    ends = (numbers, near[joined])
    graph = csr_array((np.ones(len(numbers)), ends), shape=(len(rows), len(rows)))
    _, labels = connected_components(graph, directed=False)
    groups = [rows[labels == label] for label in np.unique(labels)]
    return [group for group in groups if len(group) >= FEWEST]

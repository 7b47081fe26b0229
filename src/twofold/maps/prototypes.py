r"""Few prototypes in place of the training points of a Nadaraya-Watson map.

A map :math:`f(z) = \sum_j b_j(z)\, y_j` keeps one target for each training row. With prototypes
``s_k``, the means of cells of latents, a smaller map :math:`g(z) = \sum_k c_k(z)\, t_k` of the same
form approximates the data. Its targets are free, so they are not means of the rows of a cell but
solve a ridge regression that leans on these means ``m_k``:

.. math:: \min_T\; |Y - C T|^2 + \lambda\, |T - M|^2,
   \qquad T = M + (C^T C + \lambda I)^{-1} C^T (Y - C M)

with ``C`` (n, K) the weights of the prototypes at the training latents. This undoes the smoothing
that the kernel adds to the means. No counts are needed: a weight of a prototype would only change
``C``.

Prototypes are farther apart than training latents. Where the kernel is narrower than their
distance, the map would have steps, so its width is at least half the median distance of a prototype
to the next one.

The cells come from halving the latents along their longest side, into parts of equal counts, and
some steps of Lloyd's algorithm. Nothing is random.

Targets are rounded to multiples of a power of two. The square of the rounding error is a small
share of the residual, so that files store one or two bytes for each value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from twofold.maps.nadaraya_watson import NadarayaWatson
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.memory import check_memory_for
from twofold.numerics.threads import row_blocks
from twofold.protocols import AnyArray, Array, IntArray

LLOYD_STEPS = 10
RIDGE = 0.03
"""The ridge, as a share of the mean sum of squared weights of a prototype."""

WIDTH = 0.5
"""The least width, as a share of the median distance between nearest prototypes."""

ROUNDING = 0.003
"""The mean squared rounding error, as a share of the mean squared residual."""

FINEST = 2.0**-22
"""The rounding is not finer than this share of the largest target."""

MOST_PROTOTYPES = 10_000
"""Their products take 8 bytes for each pair."""


@dataclass(frozen=True)
class Prototypes:
    """A map of few points that stands for the map of all.

    Attributes
    ----------
    decoder : NadarayaWatson
        The map: prototypes (K, q) and their targets (K, D).
    cells : ndarray of shape (n,)
        The prototype of each training point.
    step : float
        The power of two whose multiples the targets are.
    """

    decoder: NadarayaWatson
    cells: IntArray
    step: float

    @classmethod
    def of(cls, decoder: NadarayaWatson, n_prototypes: int) -> Prototypes:
        """Fit the prototypes of a fitted map of n training points; K may come out smaller."""
        Z, Y = decoder.inputs_, decoder.targets_
        check_memory_for(
            f"the products of {n_prototypes} prototypes",
            3 * 8.0 * n_prototypes**2,
            "matrices of all pairs of prototypes",
            "Use fewer prototypes.",
        )
        cells, sources = cells_of(Z, n_prototypes)
        means = _sums(cells, len(sources), Y)
        means /= np.bincount(cells)[:, None]
        width = max(float(decoder.bandwidth_), WIDTH * _spacing(sources))
        small = same_kernel(decoder, sources, means, width)
        gram, products = _products(small, Z, Y)
        ridge = RIDGE * float(np.diag(gram).mean()) or 1.0
        right = products - gram @ means
        system = gram.copy()
        system[np.diag_indices_from(system)] += ridge
        factor = linalg.cho_factor(system, overwrite_a=True, check_finite=False)
        targets = means + linalg.cho_solve(factor, right, check_finite=False)
        # |Y - C T|^2 by the products; rounding may make it negative.
        squares = float(row_norms_sq(Y).sum())
        lost = squares + float(np.vdot(targets, gram @ targets - 2.0 * products))
        step = _step(max(lost, 0.0) / len(Y), targets)
        return cls(same_kernel(decoder, sources, rounded(targets, step), width), cells, step)


def rounded(values: AnyArray, step: float) -> AnyArray:
    """Return the nearest multiples of a power of two."""
    made: AnyArray = np.round(values / step)
    made *= step
    made += 0.0  # no -0.0
    return made


def cells_of(Z: Array, n_cells: int) -> tuple[IntArray, Array]:
    """Return the cell of each point (n,), and the means of the cells (K, q) in ascending order."""
    cells = _halved(Z, n_cells)
    for _ in range(LLOYD_STEPS):
        cells = np.unique(cells, return_inverse=True)[1]
        before, means = cells, _means(cells, Z)
        cells = np.asarray(cKDTree(means).query(Z)[1], dtype=np.int64)
        if np.array_equal(before, cells):
            break
    cells = np.unique(cells, return_inverse=True)[1]
    means, first = np.unique(_means(cells, Z), axis=0, return_inverse=True)
    return first.reshape(-1)[cells], means


def _halved(Z: Array, n_cells: int) -> IntArray:
    """Return the parts (n,) of points that are halved along the longest side, again and again."""
    cells, n_made = np.zeros(len(Z), dtype=np.int64), 0
    left = [(np.arange(len(Z)), n_cells)]
    while left:
        numbers, wanted = left.pop()
        wanted = min(wanted, len(numbers))
        if wanted <= 1:
            cells[numbers] = n_made
            n_made += 1
            continue
        points = Z[numbers]
        values = points[:, np.argmax(np.ptp(points, axis=0))]
        first = wanted // 2
        cut = len(numbers) * first // wanted
        order = np.argsort(values, kind="stable")
        left += [(numbers[order[:cut]], first), (numbers[order[cut:]], wanted - first)]
    return cells


def _means(cells: IntArray, Z: Array) -> Array:
    counts = np.bincount(cells)
    return np.stack([np.bincount(cells, weights=column) / counts for column in Z.T], axis=1)


def _sums(cells: IntArray, n_cells: int, Y: Array) -> Array:
    """Return the sums of the rows (n, D) of each cell."""
    n = len(cells)
    member = csr_array((np.ones(n), (cells, np.arange(n))), shape=(n_cells, n))
    sums: Array = member @ Y
    return sums


def _spacing(sources: Array) -> float:
    """Return the median distance of a point to the next one."""
    if len(sources) < 2:
        return 0.0
    return float(np.median(cKDTree(sources).query(sources, k=2)[0][:, 1]))


def _products(small: NadarayaWatson, Z: Array, Y: Array) -> tuple[Array, Array]:
    """Return ``C^T C`` (K, K) and ``C^T Y`` (K, D) of the weights C (n, K) at latents Z (n, q)."""
    K, neighbors = len(small.inputs_), small._neighbors
    gram, products = np.zeros((K, K)), np.zeros((K, Y.shape[1]))
    per_row = 6 * 8 * K if neighbors is None else 2**12
    for rows in row_blocks(len(Z), per_row):
        if neighbors is None:
            C = small.weights(Z[rows])
            gram += C.T @ C
        else:
            local = neighbors.weigh(Z[rows] / small.bandwidth_)
            mass = np.where(local.mass > 0.0, local.mass, 1.0)
            C = local.matrix(local.weights / mass[local.targets])
            pairs = (C.T @ C).tocoo()
            gram[pairs.row, pairs.col] += pairs.data
        products += C.T @ Y[rows]
    return gram, products


def _step(residual: float, targets: Array) -> float:
    """Return the power of two to whose multiples targets (K, D) are rounded."""
    wanted = np.sqrt(12.0 * ROUNDING * residual / targets.shape[1])
    finest = FINEST * float(np.abs(targets).max())
    return float(2.0 ** np.floor(np.log2(max(wanted, finest, 1e-100))))


def same_kernel(
    regression: NadarayaWatson, inputs: Array, targets: Array, width: float
) -> NadarayaWatson:
    """Return a map of the same kernel with other points and this width."""
    made = NadarayaWatson(kernel=regression.kernel, bandwidth=width, n_jobs=regression.n_jobs)
    return made.fit(inputs, targets)

r"""The learning scheme of unsupervised kernel regression, step by step.

Meinicke et al. (2005), section 2.3: candidates at their best scales (steps 1-3), homotopy (step 4),
minimisation (step 5). What is minimised is in `twofold.ukr.objective`; this module chooses its
form by cost (Appendix B): inner products where the data have more columns than half their rows, lists of
pairs where a kernel reaches few points, cells or a grid where rows are many.

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from twofold.maps import NadarayaWatson
from twofold.maps.projection import Projection
from twofold.numerics.linalg import k_smallest, row_norms_sq, sqdist
from twofold.numerics.memory import check_memory_for
from twofold.numerics.neighbours import CellIndex
from twofold.numerics.sums import (
    CellWeights,
    DenseWeights,
    PairWeights,
    SelfWeights,
    kernel_radius,
    share_in_reach,
    weigh_many,
)
from twofold.numerics.threads import BLOCK_BYTES, row_blocks
from twofold.protocols import (
    AnyArray,
    Array,
    Callback,
    IntArray,
    Minimizer,
    MinimizeResult,
    RadialKernel,
)
from twofold.starts.candidates import whitened
from twofold.ukr.objective import Barrier, CheaperReconstruction, GramReconstruction, Reconstruction

__all__ = [
    "MANY_ROWS",
    "KernelRegression",
    "check_memory",
    "check_memory_of_many",
    "is_many",
]

# Meinicke et al. (2005), section 4.3.
HOMOTOPY = (0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005)
HOMOTOPY_VARIANCE = 0.01
BARRIER_STRENGTH = 1e-3
"""Of the barrier, in units of the data's variance: small against the error that is to be lowered."""

SPARSE_SHARE = 0.1
"""Share of all pairs within reach up to which a list of them is cheaper than matrix products."""

NEGLIGIBLE_KERNEL = 1e-16
"""Kernel values that vanish beside a pseudo-count."""

MANY_ROWS = 5_000
"""Rows up to which weights are exact and inner products are kept (0.2 GB at most)."""

CELL_TOLERANCE = 5e-5
"""Kernel values left out where rows are many: a Gaussian is cut at 4.45 widths."""

FARTHEST_CUT = 10.0

STRAY_MASS = 0.1
OUT_OF_REACH = 1e-12
N_PLACES = 10

MOST_COMPARED = 10**8
"""Distances beyond which it is cheaper to sort points into cells first."""


@dataclass(frozen=True)
class KernelRegression:
    """Data, kernel and settings of one fit.

    Parameters
    ----------
    data : ndarray of shape (n, D)
        Centred data, or coordinates in feature space.
    kernel : RadialKernel
        The latent kernel, of unit width.
    pseudo_count : float, default=0.03
        Observations at the mean in each prediction.
    groups : ndarray of int, shape (n,), default=None
        Points of a group leave each other out; None means each leaves out itself.
    gram : ndarray of shape (n, n), default=None
        Inner products, where the error is to be computed by them.
    n_jobs : int or None, default=None
        Threads.
    radius : float, default=inf
        Pairs farther apart do not count.
    """

    data: Array
    kernel: RadialKernel
    pseudo_count: float = 0.03
    groups: IntArray | None = None
    gram: Array | None = None
    n_jobs: int | None = None
    radius: float = np.inf

    @classmethod
    def of(
        cls,
        data: Array,
        kernel: RadialKernel,
        *,
        pseudo_count: float = 0.03,
        groups: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> KernelRegression:
        """Choose the form of the error by its cost: two products n^2 D, or one n^3 (Appendix B)."""
        n, n_features = data.shape
        if is_many(n, kernel):
            radius = kernel_radius(kernel, CELL_TOLERANCE)
            small: AnyArray = np.ascontiguousarray(data, dtype=np.float32)
            return cls(small, kernel, pseudo_count, None, None, n_jobs, radius)
        radius = kernel_radius(kernel, NEGLIGIBLE_KERNEL if pseudo_count else 1e-300)
        wants_gram = _is_wide(data) or (n_features > 8 and n <= MANY_ROWS)
        check_memory(n, n_matrices=2 + wants_gram + _is_wide(data))
        gram = data @ data.T if wants_gram else None
        return cls(data, kernel, pseudo_count, groups, gram, n_jobs, radius)

    def weigh(self, Z: Array) -> SelfWeights:
        """Return the kernel weights among latents, as a list where few pairs reach each other."""
        if is_many(len(Z), self.kernel):
            return self._weigh_many(Z)
        if share_in_reach(Z, self.radius) < SPARSE_SHARE:
            return PairWeights.of(Z, self.kernel, groups=self.groups, radius=self.radius)
        return DenseWeights.of(Z, self.kernel, groups=self.groups, n_jobs=self.n_jobs)

    def _weigh_many(self, Z: Array) -> SelfWeights:
        # Without a pseudo-count a lone point's prediction would be the grid's error over itself.
        if not self.pseudo_count:
            return CellWeights.of(Z, self.kernel, radius=self.radius, n_jobs=self.n_jobs)
        return weigh_many(Z, self.kernel, self.radius, n_jobs=self.n_jobs)

    def objective(
        self, *, barrier: Barrier | None = None, leave_one_out: bool = True
    ) -> Reconstruction | GramReconstruction | CheaperReconstruction:
        """Return the error that a fit minimises."""
        by_data = Reconstruction(self.data, self.weigh, self.pseudo_count, leave_one_out, barrier)
        if self.gram is None or not leave_one_out:
            return by_data
        by_gram = GramReconstruction(self.gram, self.weigh, self.pseudo_count, barrier)
        return by_gram if _is_wide(self.data) else CheaperReconstruction(by_data, by_gram)

    def cv_error(self, Z: Array) -> float:
        """Return the leave-one-out error without pseudo-count, Eq. (10)."""
        weights = self._plain(Z)
        return Reconstruction(self.data, lambda _: weights).value(Z)

    def images(self, Z: Array) -> Array:
        """Return the images (n, D) of latents whose data are these."""
        mass, sums = self._plain(Z).mass_and_apply(self.data)
        sums += self.data  # k(0) = 1 for each point itself
        sums /= (mass + 1.0).astype(sums.dtype)[:, None]
        return sums

    def projection_error(self, Z: Array, data: Array) -> float:
        """Return the mean squared distance of other data to the manifold that latents span."""
        regression = NadarayaWatson(kernel=self.kernel, bandwidth=1.0, n_jobs=self.n_jobs)
        regression.fit(Z, self.data)
        found = Projection(regression).fit(self.data, Z).predict(data)
        return float(row_norms_sq(data - regression.predict(found)).mean())

    def _plain(self, Z: Array) -> SelfWeights:
        return replace(self, pseudo_count=0.0, groups=None).weigh(Z)

    def anneal(
        self,
        Z: Array,
        minimizer: Minimizer,
        *,
        until: float = 0.0,
        leave_one_out: bool = True,
        callback: Callback | None = None,
    ) -> Array:
        """Relax a density constraint step by step, from latents all in one place (step 4).

        Parameters
        ----------
        Z : ndarray of shape (n, q)
            Latents in any units.
        minimizer : Minimizer
            What minimises at each threshold.
        until : float, default=0.0
            Thresholds at or below this are left out.
        leave_one_out : bool, default=True
            Whether the error is the leave-one-out one.
        callback : callable, default=None
            Called after each iteration.
        """
        white = whitened(Z)
        Z = white * np.sqrt(HOMOTOPY_VARIANCE / max(1, white.shape[1]))
        for threshold in HOMOTOPY:
            if threshold <= until:
                break
            Z = self.constrained(Z, threshold, minimizer, leave_one_out, callback).Z
        return Z

    def constrained(
        self,
        Z: Array,
        threshold: float,
        minimizer: Minimizer,
        leave_one_out: bool,
        callback: Callback | None = None,
    ) -> MinimizeResult:
        """Minimise the error within the density constraint, Eq. (9), by a barrier.

        Latents that do not meet the constraint are first drawn together until they do. Groups are not
        left out here: the constraint counts all points.
        """
        scheme = replace(self, groups=None)
        while (1.0 + scheme.weigh(Z).mass.min()) / len(Z) <= threshold:
            Z = 0.7 * (Z - Z.mean(axis=0))
        variance = float(row_norms_sq(self.data).mean())
        barrier = Barrier(threshold, BARRIER_STRENGTH * variance)
        objective = scheme.objective(barrier=barrier, leave_one_out=leave_one_out)
        return minimizer.minimize(objective, Z, callback=callback)

    def rescue(self, Z: Array) -> tuple[Array, int]:
        """Give points that no other reaches a place among the latents of their data neighbours.

        Each stray, a point of kernel mass below 0.1, moves to the latent of the one of its ten nearest
        points in data space at which its leave-one-out prediction is best. Without a pseudo-count
        nothing keeps points together and whole groups may lie apart, predicting each other; there
        only points out of everyone's reach are moved.

        Returns
        -------
        Z : ndarray of shape (n, q)
            A copy.
        n_moved : int
            How many were moved.
        """
        nothing = np.empty((len(Z), 0), dtype=self.data.dtype)
        mass, _ = self._plain(Z).mass_and_apply(nothing)
        stray = mass < (STRAY_MASS if self.pseudo_count else OUT_OF_REACH)
        if not stray.any() or stray.all():
            return Z, 0
        settled = np.flatnonzero(~stray)
        regression = NadarayaWatson(kernel=self.kernel, bandwidth=1.0, n_jobs=self.n_jobs)
        regression.fit(Z[settled], self.data[settled])
        moved, strays = Z.copy(), np.flatnonzero(stray)
        neighbors = _nearest_of(self.data[settled], self.data[strays])
        for block in row_blocks(len(strays), 2 * 8 * 10 * self.data.shape[1]):
            rows, near = strays[block], neighbors[block]
            places = Z[settled[near]]
            predicted = regression.predict(places.reshape(-1, Z.shape[1]))
            residuals = predicted.reshape(*near.shape, -1) - self.data[rows, None]
            best = np.square(residuals).sum(axis=2).argmin(axis=1)
            moved[rows] = places[np.arange(len(rows)), best]
        return moved, len(strays)


def _nearest_of(points: AnyArray, queries: AnyArray) -> IntArray:
    """Return the numbers of the ten points (m, 10) nearest to each query, found by cells where both are many."""
    if len(points) * len(queries) > MOST_COMPARED and len(points) > MANY_ROWS:
        found = CellIndex.of(points, np.random.default_rng(0)).query(queries, N_PLACES)
        return found.astype(np.intp)
    # Each block goes through all points, so it should not be of one query alone.
    blocks = row_blocks(len(queries), min(2 * 8 * len(points), BLOCK_BYTES // 32))
    nearest = [k_smallest(sqdist(queries[rows], points), N_PLACES) for rows in blocks]
    return np.concatenate(nearest)


def is_many(n_samples: int, kernel: RadialKernel) -> bool:
    """Tell whether rows are so many that sums run over cells, in single precision.

    Kernels with heavy tails cannot be cut, and run over all pairs however many rows there are.
    """
    return n_samples > MANY_ROWS and kernel_radius(kernel, CELL_TOLERANCE) < FARTHEST_CUT


def _is_wide(data: Array) -> bool:
    """Tell whether one product n^3 is cheaper than two n^2 D."""
    return bool(2 * data.shape[1] > len(data))


def check_memory(n_samples: int, n_matrices: int) -> None:
    """Refuse what will not fit into memory, before allocating it."""
    _refuse(n_samples, n_matrices * 8.0 * n_samples**2, f"{n_matrices} matrices of all pairs")


def check_memory_of_many(n_samples: int, n_features: int, n_components: int) -> None:
    """Refuse many rows that will not fit into memory, before anything is copied.

    The decoder's copy of the data, and in single precision the data, sums, residuals and their sorted copies;
    latents, what L-BFGS remembers of them, neighbours and cells.
    """
    of_a_row = 36.0 * n_features + 250.0 * n_components + 800.0
    _refuse(n_samples, n_samples * of_a_row, "arrays of all rows")


def _refuse(n_samples: int, needed: float, what: str) -> None:
    who = f"Kernel regression of n_samples={n_samples}"
    check_memory_for(who, needed, what, "Fit a sample of the rows and transform the rest.")

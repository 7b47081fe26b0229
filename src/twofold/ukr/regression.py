r"""The kernel regression of a fit: data, kernel, and the cheapest form of its sums.

The error is in `twofold.ukr.objective`. Its form follows from its cost (Meinicke et al. 2005,
Appendix B): inner products for data of more columns than half their rows, lists of pairs for
kernels that reach few points, cells or a grid for many rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from twofold.maps import NadarayaWatson
from twofold.numerics.sums.cells import CellWeights
from twofold.numerics.sums.dense import DenseWeights
from twofold.numerics.sums.grid import weigh_many
from twofold.numerics.sums.neighbors import LocalMeans
from twofold.numerics.sums.pairs import PairWeights
from twofold.numerics.sums.reach import kernel_radius, share_in_reach
from twofold.numerics.sums.weights import SelfWeights
from twofold.numerics.threads import some_rows
from twofold.protocols import AnyArray, Array, IntArray, RadialKernel
from twofold.starts.candidates import score_of_latents
from twofold.ukr.objective import Barrier, Reconstruction
from twofold.ukr.settings import CELL_TOLERANCE, FIRST_PSEUDO_COUNT, check_memory

SPARSE_SHARE = 0.1
"""Share of all pairs within reach up to which a list of them is cheaper than matrix products."""

NEGLIGIBLE_KERNEL = 1e-16
"""Kernel values that vanish beside a pseudo-count."""

FEWEST_GRAM_COLUMNS = 8
"""Columns from which on inner products of few rows serve lists of pairs."""


@dataclass(frozen=True)
class KernelRegression:
    """Data, kernel and form of the sums of one fit; use `KernelRegression.of`.

    The data (n, D) are centered, or coordinates in feature space; in single precision for ``many``
    rows, where sums run over cells or on a grid. Pairs beyond the radius do not count. Points of a
    group (n,) leave each other out; ``groups=None`` means each leaves out itself. ``gram`` (n, n)
    holds inner products, if the error may be computed by them.
    """

    data: Array
    kernel: RadialKernel
    radius: float
    many: bool
    pseudo_count: float
    groups: IntArray | None = None
    gram: Array | None = None
    n_jobs: int | None = None

    @classmethod
    def of(
        cls,
        data: Array,
        kernel: RadialKernel,
        *,
        many: bool,
        keep_gram: bool = True,
        pseudo_count: float = FIRST_PSEUDO_COUNT,
        groups: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> KernelRegression:
        """Choose the form of the error by its cost: two products n^2 D, or one n^3 (Appendix B).

        ``keep_gram`` allows a matrix of inner products that serves lists of pairs only.
        """
        n, n_features = data.shape
        if many:
            radius = kernel_radius(kernel, CELL_TOLERANCE)
            small: AnyArray = np.ascontiguousarray(data, dtype=np.float32)
            return cls(small, kernel, radius, many, pseudo_count, n_jobs=n_jobs)
        radius = kernel_radius(kernel, NEGLIGIBLE_KERNEL if pseudo_count else 1e-300)
        wide = _is_wide(data)
        wants_gram = wide or (keep_gram and n_features > FEWEST_GRAM_COLUMNS)
        check_memory(n, 8.0 * n * (2 + wants_gram + wide), "matrices of all pairs")
        gram = data @ data.T if wants_gram else None
        return cls(data, kernel, radius, many, pseudo_count, groups, gram, n_jobs)

    def weigh(self, Z: Array) -> SelfWeights:
        """Return the kernel weights among latents (n, q) in the cheapest form."""
        if self.many:
            # Without a pseudo-count the grid's error would predict a point out of reach.
            if not self.pseudo_count:
                return CellWeights.of(Z, self.kernel, radius=self.radius, n_jobs=self.n_jobs)
            return weigh_many(Z, self.kernel, self.radius, n_jobs=self.n_jobs)
        if share_in_reach(Z, self.radius) < SPARSE_SHARE:
            return PairWeights.of(Z, self.kernel, groups=self.groups, radius=self.radius)
        return DenseWeights.of(Z, self.kernel, groups=self.groups, n_jobs=self.n_jobs)

    def objective(
        self, *, barrier: Barrier | None = None, leave_one_out: bool = True
    ) -> Reconstruction:
        """Return the error that a fit minimizes."""
        plain = Reconstruction(self.data, self.weigh, self.pseudo_count, leave_one_out, barrier)
        if self.gram is None or not leave_one_out:
            return plain
        return replace(plain, gram=self.gram, wide=_is_wide(self.data))

    def cv_error(self, Z: Array) -> float:
        """Return the leave-one-out error without pseudo-count, Eq. (10)."""
        return Reconstruction(self.data, self.weigh_plain).value(Z)

    def cv_error_of_some(self, Z: Array, most: int, columns: LocalMeans | None) -> float:
        """Return the same error of some rows, each predicted by all others.

        ``columns`` are the latents for compiled loops; without them it is the error of all rows.
        """
        judged = some_rows(len(Z), most)
        if len(judged) == len(Z) or columns is None or not columns.is_available:
            return self.cv_error(Z)
        at, rows = Z[judged], self.data[judged].astype(np.float64)
        means, covered = columns.means(at, self.data, self.n_jobs)
        if not covered.all():
            return self.cv_error(Z)
        mass, log_shift = columns.mass(at, self.n_jobs)
        mass = np.exp(log_shift) * mass
        # Without the row itself, whose kernel is 1; out of reach of all others it gets the mean, 0.
        others = mass - 1.0
        reached = others > CELL_TOLERANCE
        left_out = (means * mass[:, None] - rows) / np.where(reached, others, 1.0)[:, None]
        residuals = rows - np.where(reached[:, None], left_out, 0.0)
        return float(np.einsum("nd,nd->n", residuals, residuals).mean())

    def map_score(self, Z: Array) -> float:
        """Return the score of the map that latents (n, q) make; higher is better."""
        return score_of_latents(Z, self.data, self.kernel, self.n_jobs)

    def images(self, Z: Array) -> Array:
        """Return the images (n, D) of the latents of these data."""
        mass, sums = self.weigh_plain(Z).mass_and_apply(self.data)
        sums += self.data  # k(0) = 1 for each point itself
        sums /= (mass + 1.0).astype(sums.dtype)[:, None]
        return sums

    def decoder(self, Z: Array, data: Array) -> NadarayaWatson:
        """Return the regression of data (n, D) on latents (n, q)."""
        decoder = NadarayaWatson(kernel=self.kernel, bandwidth=1.0, n_jobs=self.n_jobs)
        return decoder.fit(Z, data)

    def weigh_plain(self, Z: Array) -> SelfWeights:
        """Return the weights without pseudo-count and groups."""
        return replace(self, pseudo_count=0.0, groups=None).weigh(Z)


def _is_wide(data: Array) -> bool:
    """Tell whether one product n^3 is cheaper than two n^2 D."""
    return bool(2 * data.shape[1] > len(data))

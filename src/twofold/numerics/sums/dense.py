"""Kernel sums over all pairs, in blocks of rows, by BLAS.

The way for small n, or for kernels so wide that everything overlaps. A block holds a few
(rows x sources) matrices; memory stays bounded whatever n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.numerics.linalg import shifted_exp, sqdist
from twofold.numerics.sums.base import Sums
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import Array, IntArray, RadialKernel

__all__ = ["DenseSums"]


@dataclass(frozen=True)
class DenseSums:
    """All pairs.

    Parameters
    ----------
    kernel : RadialKernel
        The kernel.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Examples
    --------
    The mean of neighbours, each point leaving itself out:

    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.numerics.sums import DenseSums
    >>> Z, values = np.array([[0.0], [0.1], [9.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> sums = DenseSums(Gaussian()).forward(Z, Z, values, exclude=np.arange(3))
    >>> (sums.weighted / sums.mass[:, None]).round(3).ravel()
    array([2.  , 1.  , 1.71])

    The derivative of the sum of all weighted sums:

    >>> ones, zeros = np.ones((3, 1)), np.zeros(3)
    >>> at_targets, at_sources = DenseSums(Gaussian()).backward(Z, Z, values, sums, ones, zeros)
    >>> at_targets.shape, at_sources.shape
    ((3, 1), (3, 1))
    """

    kernel: RadialKernel
    n_jobs: int | None = None

    def forward(
        self, targets: Array, sources: Array, values: Array, *, exclude: IntArray | None = None
    ) -> Sums:
        """Return the sums at the targets; see `KernelSums.forward`."""
        log_shift = np.empty(len(targets))
        mass = np.empty(len(targets))
        weighted = np.empty((len(targets), values.shape[1]))

        def work(rows: slice) -> None:
            log_k = self.kernel.log_profile(sqdist(targets[rows], sources))
            if exclude is not None:
                log_k[np.arange(len(log_k)), exclude[rows]] = -np.inf
            weights, log_shift[rows] = shifted_exp(log_k)
            mass[rows] = weights.sum(axis=1)
            weighted[rows] = weights @ values

        map_blocks(work, self._blocks(targets, sources), n_jobs=self.n_jobs)
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
        # Differences of points are formed as differences of sums: near the origin nothing cancels.
        origin = sources.mean(axis=0)
        targets, sources = targets - origin, sources - origin
        targets_bar = np.empty_like(targets)

        def work(rows: slice) -> Array:
            distances = sqdist(targets[rows], sources)
            log_k = self.kernel.log_profile(distances)
            if exclude is not None:
                log_k[np.arange(len(log_k)), exclude[rows]] = -np.inf
            weights, _ = shifted_exp(log_k, sums.log_shift[rows])
            pull = weighted_bar[rows] @ values.T
            pull += mass_bar[rows, None]
            pull *= weights
            pull *= self.kernel.dlog_profile(distances)
            pull *= 2.0
            targets_bar[rows] = pull.sum(axis=1)[:, None] * targets[rows] - pull @ sources
            sources_bar: Array = pull.sum(axis=0)[:, None] * sources - pull.T @ targets[rows]
            return sources_bar

        parts = map_blocks(work, self._blocks(targets, sources), n_jobs=self.n_jobs)
        return targets_bar, np.sum(parts, axis=0)

    def _blocks(self, targets: Array, sources: Array) -> list[slice]:
        return row_blocks(len(targets), bytes_per_row=4 * 8 * len(sources))

"""Weighted means at many targets, over the sources within reach, by compiled loops.

Sources are sorted into columns as in `twofold.numerics.sums.cells`; what a target reaches is found there by bisection. One
pass gives the mean and what Gauss-Newton needs of its Jacobian, with no arrays between. The twin of these
loops is `Neighbours.weigh` and what `NadarayaWatson` makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.kernels import Compact, Gaussian
from twofold.numerics.sums._compiled import compiled
from twofold.numerics.sums.cells import sorted_into_columns
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import Array, IntArray, NormalTerms, RadialKernel

__all__ = ["LocalMeans"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class LocalMeans:
    """Sources sorted into columns.

    Parameters
    ----------
    points : ndarray of shape (n, q)
        Sources in the order of the columns.
    order : ndarray of int, shape (n,)
        Their numbers.
    columns : ndarray of int, shape (n_columns + 1,)
        Where columns begin.
    lows, highs : ndarray of shape (n_columns, q - 1)
        The columns' boxes across.
    power : float
        Of a compact kernel; 0 for a Gaussian.
    radius_sq : float
        Where the kernel is cut, squared.
    margin_sq : float
        Targets farther than this from every source, squared, are not covered.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.numerics.sums import LocalMeans
    >>> points = np.random.default_rng(0).uniform(0.0, 20.0, (500, 2))
    >>> columns = LocalMeans.of(points, Gaussian(), radius=6.0, margin=2.0)
    >>> columns.points.shape, bool((points[columns.order] == columns.points).all())
    ((500, 2), True)

    Compiled loops need numba:

    >>> targets, values = points[:3], np.ones((500, 1))
    >>> if columns.is_available:
    ...     means, covered = columns.means(targets, values)
    ...     mass, covered = columns.mass(targets)
    ...     (JTJ, JTr, losses), covered = columns.normal_terms(targets, values, np.ones((3, 1)))
    ...     assert np.allclose(means, 1.0) and mass.shape == losses.shape == (3,)
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
        """Sort the sources; None for kernels that the compiled loops do not know.

        Parameters
        ----------
        points : ndarray of shape (n, q)
            The sources.
        kernel : RadialKernel
            The kernel.
        radius : float
            Where the kernel is cut.
        margin : float
            Targets farther than this from every source are not covered.

        Returns
        -------
        LocalMeans or None
        """
        if isinstance(kernel, Gaussian):
            power = 0.0
        elif isinstance(kernel, Compact):
            power = float(kernel.power)
        else:
            return None
        order, columns = sorted_into_columns(points)
        ordered = np.ascontiguousarray(points[order])
        across = ordered[:, :-1]
        lows = np.minimum.reduceat(across, columns[:-1])
        highs = np.maximum.reduceat(across, columns[:-1])
        return cls(ordered, order, columns, lows, highs, power, radius**2, margin**2)

    @property
    def is_available(self) -> bool:
        """Whether the compiled loops are there."""
        return compiled(1 << 62, "_local_loops") is not None

    def mass(self, targets: Array, n_jobs: int | None = None) -> tuple[Array, Mask]:
        """Return the sums of weights (m,), and which targets (m,) are covered."""
        mass, nearest = np.empty(len(targets)), np.empty(len(targets))
        self._run("local_mass", targets, n_jobs, mass, nearest)
        return mass, nearest <= self.margin_sq

    def means(self, targets: Array, values: Array, n_jobs: int | None = None) -> tuple[Array, Mask]:
        """Return the weighted means of values (m, D), and which targets (m,) are covered."""
        mass, nearest = np.empty(len(targets)), np.empty(len(targets))
        means = np.empty((len(targets), values.shape[1]))
        self._run("local_means", targets, n_jobs, values, mass, nearest, means)
        return means, nearest <= self.margin_sq

    def normal_terms(
        self, targets: Array, values: Array, data: Array, n_jobs: int | None = None
    ) -> tuple[NormalTerms, Mask]:
        """Return ``J^T J``, ``J^T r`` and ``|r|^2`` of the means, and which targets are covered."""
        m, q = targets.shape
        mass, nearest = np.empty(m), np.empty(m)
        JTJ, JTr, loss = np.zeros((m, q, q)), np.zeros((m, q)), np.zeros(m)
        self._run(
            "local_normal_terms", targets, n_jobs, values, data, mass, nearest, JTJ, JTr, loss
        )
        return (JTJ, JTr, loss), nearest <= self.margin_sq

    def _run(self, name: str, targets: Array, n_jobs: int | None, *arguments: Any) -> None:
        loop = getattr(compiled(1 << 62, "_local_loops"), name)
        targets = np.ascontiguousarray(targets)
        arguments = tuple(np.ascontiguousarray(argument) for argument in arguments)
        sources = (self.points, self.order, self.columns, self.lows, self.highs)
        # Targets near each other share their sources, which then stay in the cache.
        visits, _ = sorted_into_columns(targets)

        def work(rows: slice) -> None:
            loop(visits[rows], targets, *sources, self.power, self.radius_sq, *arguments)

        map_blocks(work, row_blocks(len(targets), bytes_per_row=16_384), n_jobs=n_jobs)

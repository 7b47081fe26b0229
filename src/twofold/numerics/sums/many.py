"""The cheaper of two ways to sum a kernel over many points: cells, or a grid where kernels overlap widely."""

from __future__ import annotations

from twofold.kernels import Gaussian
from twofold.numerics.sums.cells import CellWeights
from twofold.numerics.sums.grid import GridWeights
from twofold.protocols import Array, RadialKernel

__all__ = ["weigh_many"]

MOST_GRID_DIMENSIONS = 3

# Seconds for a pair of a cell, for a point and each node it is spread to, and for a node: for each column of values, value and gradient of
# 20,000 x 50 measured on two cores; and for masses alone with their gradient, of 10^4 and 10^5 points in one to three dimensions.
COSTS_OF_A_COLUMN = (1.7e-10, 1.2e-8, 1.8e-7)
COSTS_OF_MASSES = (2.0e-8, 1.0e-7, 2.5e-7)


def weigh_many(
    Z: Array,
    kernel: RadialKernel,
    radius: float,
    *,
    masses_alone: bool = False,
    n_jobs: int | None = None,
) -> CellWeights | GridWeights:
    """Return the weights among points, in the form that is cheaper for where they are.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        The points, in units of the kernel's width.
    kernel : RadialKernel
        The kernel; grids are for Gaussians.
    radius : float
        Where cells cut it.
    masses_alone : bool, default=False
        Whether masses are all that will be asked for, with no columns of values.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    CellWeights or GridWeights

    Examples
    --------
    Where kernels reach everyone a grid is cheaper, where they reach few, cells:

    >>> import numpy as np
    >>> from twofold.kernels import Gaussian
    >>> from twofold.numerics.sums import weigh_many
    >>> Z = np.random.default_rng(0).normal(size=(20_000, 1))
    >>> type(weigh_many(Z, Gaussian(), radius=6.0)).__name__
    'GridWeights'
    >>> type(weigh_many(100_000.0 * Z, Gaussian(), radius=6.0)).__name__
    'CellWeights'
    """
    cells = CellWeights.of(Z, kernel, radius=radius, n_jobs=n_jobs)
    n, q = Z.shape
    if not isinstance(kernel, Gaussian) or q > MOST_GRID_DIMENSIONS:
        return cells
    grid = GridWeights(Z)
    pair, spread, node = COSTS_OF_MASSES if masses_alone else COSTS_OF_A_COLUMN
    grid_cost = n * 4**q * spread + grid.n_nodes * node
    return grid if grid_cost < cells.cells.n_pairs * pair else cells

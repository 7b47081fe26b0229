"""General regression networks: Nadaraya-Watson regression with a Gaussian of one width.

Specht's network has a hidden unit ``k_j(x) = exp(-|x - x_j|^2 / (2 h^2))`` at every training point
and returns ``sum_j k_j(x) y_j / sum_j k_j(x)``. Only the bandwidth ``h`` is learned, by
leave-one-out. Earlier supervised manifold learning used it as out-of-sample map; Orsenigo &
Vercellis (2012) compare kernel ridge regression with it.

In many dimensions the nearest neighbours lie nearly as far away as all others, and the best
bandwidth is a fraction of their distance: the search starts at an eighth of it.

References
----------
* D. F. Specht. A general regression neural network. *IEEE Transactions on Neural Networks* 2(6),
  1991.
* C. Orsenigo and C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised
  manifold learning. *Expert Systems with Applications* 39(9), 2012.
"""

from __future__ import annotations

from twofold.maps.nadaraya_watson import NadarayaWatson
from twofold.numerics.bandwidths import width_grid

__all__ = ["GRNN"]


class GRNN(NadarayaWatson):
    """General regression network.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        Width of the Gaussian units; "auto" minimizes the leave-one-out error.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Attributes
    ----------
    inputs_, targets_, bandwidth_, error_
        As in `twofold.maps.NadarayaWatson`.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import GRNN
    >>> z = np.linspace(0, 1, 50)[:, None]
    >>> network = GRNN().fit(z, np.sin(6 * z))
    >>> bool(np.abs(network.predict(z) - np.sin(6 * z)).max() < 0.1)
    True

    >>> J, terms = network.jacobian(z), network.normal_terms(z, np.sin(6 * z))
    >>> J.shape, [term.shape for term in terms]
    ((50, 1, 1), [(50, 1, 1), (50, 1), (50,)])
    >>> network.leave_one_out(z, np.sin(6 * z)).shape
    (50, 1)
    >>> network.weights(z[:3]).sum(axis=1).round(6)
    array([1., 1., 1.])
    """

    kernel = "gaussian"

    def __init__(self, *, bandwidth: float | str = "auto", n_jobs: int | None = None) -> None:
        self.bandwidth = bandwidth
        self.n_jobs = n_jobs

    def _widths(self) -> list[float]:
        grid = width_grid(self.inputs_)
        return [grid[0] / 8.0, grid[0] / 4.0, grid[0] / 2.0, *grid]

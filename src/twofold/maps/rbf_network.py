r"""Radial basis function networks: a few Gaussian centres found by k-means, and a bias.

.. math:: f(z) = \sum_{m=1}^M w_m \exp(-\tfrac12 |(z - \mu_m) / \sigma|^2) + w

Fitting costs O(n M (M + D)), whatever n, and the model's size depends on M alone (Carreira-Perpinan
& Lu 2010, Eqs. 13-17).

Notation
--------
=======================  ===================
Carreira-Perpinan & Lu   here
=======================  ===================
``mu_m``                 ``centers_[m]``
``sigma``                ``bandwidth_``
``lambda``               ``alpha_``
``W``, ``w``             ``weights_.T``, ``intercept_``
``G_xy``, ``G_xx``       features of the inputs (transposed), of the centres
=======================  ===================

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from twofold.maps.radial_features import RadialFeatures
from twofold.protocols import Array, RadialKernel

__all__ = ["RBFNetwork", "kmeans_centers"]

MANY_CENTERS = 100


class RBFNetwork(RadialFeatures):
    """A radial basis function network.

    Parameters
    ----------
    n_centers : int, default=100
        Number of centres, M; at most the number of distinct inputs is used.
    kernel : str or RadialKernel, default="gaussian"
        The basis function.
    bandwidth : float or "auto", default="auto"
        Its width; "auto" takes the lowest leave-one-out error.
    alpha : float or "auto", default="auto"
        The ridge in the norm of the kernel's space; "auto" takes the lowest leave-one-out error.
    init : ndarray of shape (M, q), default=None
        Where k-means starts, for warm starts; None means k-means++.
    random_state : int, RandomState instance or None, default=None
        Seeds k-means.

    Attributes
    ----------
    centers_ : ndarray of shape (M, q)
        The centres.
    bandwidth_, alpha_, error_ : float
        The bandwidth, the ridge and their mean squared leave-one-out residual.
    weights_, intercept_ : ndarray of shape (M, D) and (D,)
        The weights and the bias.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import RBFNetwork
    >>> z = np.linspace(0, 1, 200)[:, None]
    >>> network = RBFNetwork(n_centers=10, random_state=0).fit(z, np.sin(6 * z))
    >>> network.centers_.shape, network.predict(z).shape
    ((10, 1), (200, 1))

    >>> J, terms = network.jacobian(z), network.normal_terms(z, np.sin(6 * z))
    >>> J.shape, [term.shape for term in terms]
    ((200, 1, 1), [(200, 1, 1), (200, 1), (200,)])
    >>> network.in_row_space()[1].shape
    (1, 1)
    """

    def __init__(
        self,
        n_centers: int = 100,
        *,
        kernel: str | RadialKernel = "gaussian",
        bandwidth: float | str = "auto",
        alpha: float | str = "auto",
        init: Array | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_centers = n_centers
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.init = init
        self.random_state = random_state

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Place the centres, then learn the weights."""
        self.centers_ = kmeans_centers(
            inputs, self.n_centers, init=self.init, random_state=self.random_state
        )
        self._check_positive_definite()
        best = self._chosen(inputs, targets)
        self.weights_, self.intercept_ = best.path.solve(best.alpha)
        return self


def kmeans_centers(
    inputs: Array,
    n_centers: int,
    *,
    init: Array | None = None,
    random_state: int | np.random.RandomState | None = None,
    max_iter: int = 300,
) -> Array:
    """Return at most ``n_centers`` distinct k-means centres, shape (M, q).

    One k-means++ start places basis functions as well as the best of the paper's twenty random
    ones. Many centres are drawn once each, not as the best of several draws.
    """
    from sklearn.cluster import KMeans, kmeans_plusplus

    n_distinct = len(np.unique(inputs, axis=0))
    n_clusters = min(n_centers, n_distinct, n_centers if init is None else len(init))
    start: str | Array = "k-means++" if init is None else init[:n_clusters]
    if init is None and n_clusters > MANY_CENTERS:
        start, _ = kmeans_plusplus(inputs, n_clusters, random_state=random_state, n_local_trials=1)
    kmeans = KMeans(n_clusters, init=start, n_init=1, max_iter=max_iter, random_state=random_state)
    # One OpenMP thread: with more, a process forked later would hang in its own k-means.
    with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
        # Fewer clusters than asked for are fine here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        kmeans.fit(inputs)
    return np.unique(kmeans.cluster_centers_, axis=0)

r"""Features of the distance to centers, and networks of them with a bias.

.. math:: f(z) = \sum_{m=1}^M w_m \exp(-\tfrac12 |(z - \mu_m) / \sigma|^2) + w

A network has a few centers found by k-means. Fitting costs O(n M (M + D)), and the model's size
depends on M only (Carreira-Perpinan & Lu 2010, Eqs. 13-17). `twofold.maps.kernel_ridge` has the
same features with a center at every row.

Notation
--------
=======================  ===================
Carreira-Perpinan & Lu   here
=======================  ===================
``mu_m``                 ``centers_[m]``
``sigma``                ``bandwidth_``
``lambda``               ``alpha_``
``W``, ``w``             ``weights_.T``, ``intercept_``
``G_xy``, ``G_xx``       features of the inputs (transposed), of the centers
=======================  ===================

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from threadpoolctl import threadpool_limits

from twofold.kernels import Gaussian, resolve_kernel
from twofold.maps.affine import leading_coordinates
from twofold.maps.features import LinearInFeatures
from twofold.maps.normal import normal_products, normal_terms_of_blocks
from twofold.maps.ridge import Choice, RidgePath, alphas_to_try, best_path
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.linalg import row_norms_sq, sqdist
from twofold.numerics.quiet import quiet
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import row_blocks
from twofold.numerics.validation import check_real
from twofold.protocols import Array, IntArray, NormalTerms, RadialKernel

MANY_CENTERS = 100
"""More centers than this start k-means from one draw each."""

SMALLEST_WIDTH = 1e-100
"""Smaller bandwidths are raised to this: the kernel is zero between the centers long before."""

PRODUCT_REACH = 1e3
"""Largest coordinate of a center, in bandwidths, at which distances and Jacobians are computed as
differences of products. Their rounding error grows with its square."""


class RadialFeatures(LinearInFeatures):
    """Features ``k(|z - c_m|^2 / h^2)`` (n, M): the base of kernel ridge maps and RBF networks."""

    kernel: object
    bandwidth: float | str
    alpha: float | str
    centers_: Array
    bandwidth_: float
    alpha_: float
    error_: float

    @property
    def _is_radial(self) -> bool:
        return True

    def _radial_kernel(self) -> RadialKernel:
        return resolve_kernel(self.kernel)  # type: ignore[arg-type]

    def features(self, inputs: Array) -> Array:
        """Return ``phi`` (n, M) at inputs (n, q)."""
        log_features = self._radial_kernel().log_profile(self._scaled(inputs))
        features: Array = np.exp(log_features, out=log_features)
        return features

    def _scaled(self, inputs: Array) -> Array:
        """Return squared distances to the centers in units of the bandwidth, shape (n, M).

        One product ``(z, |z|^2, 1) (-2 c, 1, |c|^2)^T`` takes a third of the time of differences
        of a few columns. It rounds too much where centers lie many bandwidths from their mean.
        """
        with np.errstate(over="ignore"):
            inputs, centers = inputs / self.bandwidth_, self.centers_ / self.bandwidth_
            if self._reach() > PRODUCT_REACH:
                return sqdist(inputs, centers)
            center = centers.mean(axis=0)
            inputs, centers = inputs - center, centers - center
            left = np.column_stack([inputs, row_norms_sq(inputs), np.ones(len(inputs))])
            right = np.vstack([-2.0 * centers.T, np.ones(len(centers)), row_norms_sq(centers)])
            distances = row_product(left, right)
        return np.maximum(distances, 0.0, out=distances)

    def _reach(self) -> float:
        """Return the largest coordinate of a center, in bandwidths."""
        with np.errstate(over="ignore"):
            return float(np.abs(self.centers_).max(initial=0.0) / self.bandwidth_)

    def feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
        """Return ``phi`` (n, M) and its derivatives (n, M), one for each input."""
        # d phi_m / d z_l = 2 phi_m (log k)' (z_l - c_ml) / h^2: Carreira-Perpinan & Lu (2010),
        # Eq. (17), for any radial kernel.
        kernel = self._radial_kernel()
        scaled = self._scaled(inputs)
        features = np.exp(kernel.log_profile(scaled))
        slope = features * kernel.dlog_profile(scaled) * (2.0 / self.bandwidth_ / self.bandwidth_)
        gradients = [
            slope * (inputs[:, column, None] - self.centers_[:, column])
            for column in range(inputs.shape[1])
        ]
        return features, gradients

    def normal_terms(self, inputs: Array, targets: Array) -> NormalTerms:
        """Return ``J^T J`` (n, q, q), ``J^T r`` (n, q) and ``|r|^2`` (n,).

        With slopes ``s_m = 2 phi_m (log k)'_m / h^2``, the Jacobian's columns are
        ``z_l (s W) - s (C_l W)``. Two products with stacked weights give all of them. The general
        method is used where that difference cancels (a bandwidth tiny beside the centers'
        coordinates) and where there are more targets than weights.
        """
        n_weights, n_targets = self.weights_.shape
        few_weights = n_targets > n_weights
        if not self._is_radial or few_weights or self._reach() > PRODUCT_REACH:
            return super().normal_terms(inputs, targets)
        q = inputs.shape[1]
        stacked = np.hstack(
            [self.weights_] + [self.centers_[:, [column]] * self.weights_ for column in range(q)]
        )
        kernel = self._radial_kernel()
        unit = 2.0 / self.bandwidth_ / self.bandwidth_

        def terms(rows: slice) -> NormalTerms:
            scaled = self._scaled(inputs[rows])
            features = kernel.log_profile(scaled)
            np.exp(features, out=features)
            if isinstance(kernel, Gaussian):  # its slope is -1/2 of itself
                sums = row_product(features, stacked).reshape(len(features), q + 1, n_targets)
                residuals = targets[rows] - sums[:, 0] - self.intercept_
                sums *= -0.5 * unit
            else:
                images = row_product(features, self.weights_)
                residuals = targets[rows] - images - self.intercept_
                features *= kernel.dlog_profile(scaled)
                sums = row_product(features, stacked).reshape(len(features), q + 1, n_targets)
                sums *= unit
            columns = [
                inputs[rows, column, None] * sums[:, 0] - sums[:, column + 1] for column in range(q)
            ]
            return *normal_products(columns, residuals), row_norms_sq(residuals)

        per_row = 4 * n_weights + (2 * q + 3) * n_targets
        blocks = row_blocks(len(inputs), bytes_per_row=8 * per_row)
        return normal_terms_of_blocks(terms, inputs.shape, blocks)

    def penalty(self) -> float:
        """Return ``alpha tr(W^T G W)``, Carreira-Perpinan & Lu (2010), Eq. (14)."""
        gram = self.features(self.centers_)
        return self.alpha_ * float(np.vdot(self.weights_, row_product(gram, self.weights_)))

    def _check_positive_definite(self) -> None:
        if not getattr(self._radial_kernel(), "positive_definite", True):
            raise ValueError(
                f"kernel={self.kernel!r} is not positive definite, which ridge regression needs. "
                "Use 'gaussian' or 'student', or NadarayaWatson with this kernel."
            )

    def _chosen(self, inputs: Array, targets: Array, folds: list[IntArray] | None = None) -> Choice:
        """Choose scale and ridge by the held-out error, and set them."""
        few_targets = leading_coordinates(targets)

        def path_at(scale: float) -> RidgePath:
            self._set_scale(scale)
            return self._path(inputs, few_targets)

        best = best_path(self._scales(), path_at, alphas_to_try(self.alpha), folds)
        self._set_scale(best.scale)
        if few_targets is not targets:
            path = self._path(inputs, targets)
            error = path.held_out_error(best.alpha, folds)
            best = Choice(best.scale, best.alpha, error, path)
        self.alpha_, self.error_ = best.alpha, best.error
        return best

    def _scales(self) -> list[float]:
        """Return the bandwidths to try, narrow to wide."""
        if self.bandwidth == "auto":
            return width_grid(self.centers_)
        return [max(check_real("bandwidth", self.bandwidth, also='"auto"'), SMALLEST_WIDTH)]

    def _set_scale(self, scale: float) -> None:
        self.bandwidth_ = scale

    def _path(self, inputs: Array, targets: Array) -> RidgePath:
        return RidgePath.of(
            self.features(inputs), targets, self.features(self.centers_), intercept=True
        )


class RBFNetwork(RadialFeatures):
    """A radial basis function network.

    Parameters
    ----------
    n_centers : int, default=100
        Number of centers, M; at most the number of distinct inputs is used.
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
        The centers.
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
    >>> network.features(z).shape, len(network.feature_gradients(z)[1])
    ((200, 10), 1)
    >>> bool(network.penalty() >= 0.0)
    True
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
        """Place the centers, then learn the weights."""
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
    n_random: int = 0,
) -> Array:
    """Return at most ``n_centers`` distinct k-means centers, shape (M, q).

    One k-means++ start places basis functions as well as the best of the paper's twenty random
    ones. Many centers are drawn once each, not as the best of several draws. With ``n_random`` the
    best of that many starts from random rows is taken instead.
    """
    from sklearn.cluster import KMeans, kmeans_plusplus

    n_distinct = len(np.unique(inputs, axis=0))
    n_clusters = min(n_centers, n_distinct, n_centers if init is None else len(init))
    start: str | Array = "k-means++" if init is None else init[:n_clusters]
    if init is None and n_random:
        start = "random"
    elif init is None and n_clusters > MANY_CENTERS:
        start, _ = kmeans_plusplus(inputs, n_clusters, random_state=random_state, n_local_trials=1)
    n_init = n_random if n_random and init is None else 1
    kmeans = KMeans(
        n_clusters, init=start, n_init=n_init, max_iter=max_iter, random_state=random_state
    )
    # One OpenMP thread: with more, a process forked later would hang in its own k-means.
    with quiet(), threadpool_limits(1, user_api="openmp"):
        kmeans.fit(inputs)  # fewer clusters than asked for are fine here
    return np.unique(kmeans.cluster_centers_, axis=0)

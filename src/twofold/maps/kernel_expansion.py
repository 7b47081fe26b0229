r"""Kernel expansions: one basis function at each of some given centres, or at every point.

.. math:: f(z) = \sum_m k(|z - c_m|^2 / h^2) \, w_m + b, \qquad
          \min_W |Y - \Phi W - 1 b^T|_F^2 + \alpha \operatorname{tr}(W^T G W)

With every training point a centre and no bias the solution is kernel ridge regression,
``(K + alpha I) W = Y`` (Orsenigo & Vercellis 2012); with fewer centres, its Nystrom form.

References
----------
C. Orsenigo, C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised manifold
learning. Expert Systems with Applications 39, 2012.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from twofold.kernels import Gaussian, resolve_kernel
from twofold.maps.features import LinearInFeatures
from twofold.maps.normal import normal_products
from twofold.maps.ridge import RidgePath, alphas_to_try, best_path
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.linalg import row_norms_sq, row_product, sqdist
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.numerics.validation import check_real
from twofold.protocols import Array, NormalTerms, RadialKernel

__all__ = ["KernelExpansion", "RadialFeatures"]

SMALLEST_WIDTH = 1e-100
"""Narrower kernels are treated as this one; between the centres they are zero long before."""

PRODUCT_REACH = 1e3
"""Coordinates of centres in units of the width up to which distances and Jacobians are differences of products: their
rounding is that of the square of this."""


class RadialFeatures(LinearInFeatures):
    """Features ``k(|z - c_m|^2 / h^2)`` around centres, shared by expansions and RBF networks.

    Attributes
    ----------
    centers_ : ndarray of shape (M, q)
        The centres ``c_m``.
    bandwidth_ : float
        The width ``h``.
    alpha_ : float
        The ridge.
    loo_error_ : float
        Mean squared leave-one-out residual; nan where neither width nor ridge was chosen by it.
    """

    kernel: str | RadialKernel
    bandwidth: float | str
    alpha: float | str
    centers_: Array
    bandwidth_: float
    alpha_: float
    loo_error_: float

    def _features(self, inputs: Array) -> Array:
        log_features = resolve_kernel(self.kernel).log_profile(self._scaled(inputs))
        features: Array = np.exp(log_features, out=log_features)
        return features

    def _scaled(self, inputs: Array) -> Array:
        """Return squared distances to the centres in units of the width, shape (n, M).

        One product ``(z, |z|^2, 1) (-2 c, 1, |c|^2)^T`` gives them, in a third of the time of the differences of a
        few columns; where centres lie many widths from their mean it would round too much.
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
        """Return how far the centres go from the origin, in widths."""
        with np.errstate(over="ignore"):
            return float(np.abs(self.centers_).max(initial=0.0) / self.bandwidth_)

    def _feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
        # d phi_m / d z_l = 2 phi_m (log k)' (z_l - c_ml) / h^2: Carreira-Perpinan & Lu (2010),
        # Eq. (17), for any radial kernel.
        kernel = resolve_kernel(self.kernel)
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

        With slopes ``s_m = 2 phi_m (log k)'_m / h^2``, the Jacobian's columns are ``z_l (s W) - s (C_l W)``: two products with
        stacked weights give them all, without q arrays of feature gradients. Where the width is tiny beside the
        centres' coordinates, that difference would cancel, and where there are more targets than weights, the general
        way is shorter.
        """
        n_weights, n_targets = self.weights_.shape
        if n_targets > n_weights or self._reach() > PRODUCT_REACH:
            return super().normal_terms(inputs, targets)
        q = inputs.shape[1]
        stacked = np.hstack(
            [self.weights_] + [self.centers_[:, [column]] * self.weights_ for column in range(q)]
        )
        kernel = resolve_kernel(self.kernel)
        unit = 2.0 / self.bandwidth_ / self.bandwidth_
        JTJ, JTr = np.empty((len(inputs), q, q)), np.empty(inputs.shape)
        loss = np.empty(len(inputs))

        def work(rows: slice) -> None:
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
            loss[rows] = row_norms_sq(residuals)
            columns = [
                inputs[rows, column, None] * sums[:, 0] - sums[:, column + 1] for column in range(q)
            ]
            JTJ[rows], JTr[rows] = normal_products(columns, residuals)

        per_row = 4 * n_weights + (2 * q + 3) * n_targets
        map_blocks(work, row_blocks(len(inputs), bytes_per_row=8 * per_row))
        return JTJ, JTr, loss

    def _fit_weights(self, inputs: Array, targets: Array, *, intercept: bool) -> None:
        """Choose width and ridge where they are "auto", then solve for the weights."""
        if not getattr(resolve_kernel(self.kernel), "positive_definite", True):
            raise ValueError(
                f"kernel={self.kernel!r} is not positive definite, so no ridge regression belongs to "
                "it. Use 'gaussian' or 'student', or NadarayaWatson with this kernel."
            )
        alphas = alphas_to_try(self.alpha)
        widths = (
            width_grid(self.centers_)
            if self.bandwidth == "auto"
            else [max(check_real("bandwidth", self.bandwidth), SMALLEST_WIDTH)]
        )

        def path_at(width: float) -> RidgePath:
            self.bandwidth_ = width
            return self._path(inputs, targets, intercept=intercept)

        best = best_path(widths, path_at, alphas)
        self.bandwidth_, self.alpha_, self.loo_error_ = best.scale, best.alpha, best.error
        self.weights_, self.intercept_ = best.path.solve(best.alpha)

    def _path(self, inputs: Array, targets: Array, *, intercept: bool) -> RidgePath:
        return RidgePath.of(
            self._features(inputs), targets, self._features(self.centers_), intercept=intercept
        )


class KernelExpansion(RadialFeatures):
    """Kernel ridge regression on all points or on given centres.

    Parameters
    ----------
    kernel : str or RadialKernel, default="gaussian"
        The basis function.
    bandwidth : float or "auto", default="auto"
        Its width; "auto" takes the lowest leave-one-out error.
    alpha : float or "auto", default="auto"
        The ridge in the norm of the kernel's space, likewise.
    centers : ndarray of shape (M, q), default=None
        Centres; None means every training input.

    Attributes
    ----------
    centers_, bandwidth_, alpha_, weights_, intercept_, loo_error_
        What was learned; see `RadialFeatures`.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import KernelExpansion
    >>> z = np.linspace(0, 1, 50)[:, None]
    >>> curve = np.hstack([z, np.sin(6 * z)])
    >>> expansion = KernelExpansion().fit(z, curve)
    >>> bool(np.abs(expansion.predict(z) - curve).max() < 1e-3)
    True

    As every map it has derivatives, and what a Gauss-Newton step needs of them:

    >>> expansion.jacobian(z).shape, bool(abs(expansion.jacobian(z)[25, 0, 0] - 1.0) < 1e-2)
    ((50, 2, 1), True)
    >>> JTJ, JTr, squares = expansion.normal_terms(z, curve)
    >>> JTJ.shape, JTr.shape, squares.shape
    ((50, 1, 1), (50, 1), (50,))

    The same map in the span of its weights, with at most as many outputs as centres:

    >>> narrow, basis = expansion.in_row_space()
    >>> images = narrow.predict(z) @ basis.T + expansion.intercept_
    >>> bool(np.allclose(images, expansion.predict(z)))
    True
    """

    def __init__(
        self,
        *,
        kernel: str | RadialKernel = "gaussian",
        bandwidth: float | str = "auto",
        alpha: float | str = "auto",
        centers: Array | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.centers = centers

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Learn the weights of the expansion."""
        self.centers_ = np.array(inputs if self.centers is None else self.centers)
        self._fit_weights(inputs, targets, intercept=False)
        return self

    def _path(self, inputs: Array, targets: Array, *, intercept: bool) -> RidgePath:
        if self.centers is not None:
            return super()._path(inputs, targets, intercept=intercept)
        return RidgePath.of_gram(self._features(inputs), targets)

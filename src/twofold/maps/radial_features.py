r"""Features of the distance to centres, and the ridge regression on them.

.. math:: f(z) = \sum_m k(|z - c_m|^2 / h^2) \, w_m + b, \qquad
          \min_W |Y - \Phi W - 1 b^T|_F^2 + \alpha \operatorname{tr}(W^T G W)

`KernelRidgeMap` has a centre at every row or at given points, and no bias; `RBFNetwork` has a few
centres found by k-means, and a bias.
"""

from __future__ import annotations

import numpy as np

from twofold.kernels import Gaussian, resolve_kernel
from twofold.maps.features import LinearInFeatures
from twofold.maps.normal import normal_products, normal_terms_of_blocks
from twofold.maps.ridge import Choice, RidgePath, alphas_to_try, best_path
from twofold.numerics.bandwidths import width_grid
from twofold.numerics.linalg import row_norms_sq, row_product, sqdist
from twofold.numerics.threads import row_blocks
from twofold.numerics.validation import check_real
from twofold.protocols import Array, IntArray, NormalTerms, RadialKernel

__all__ = ["RadialFeatures"]

SMALLEST_WIDTH = 1e-100
"""Smaller bandwidths are raised to this: the kernel is zero between the centres long before."""

PRODUCT_REACH = 1e3
"""Largest coordinate of a centre, in bandwidths, at which distances and Jacobians are computed as
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

    def _features(self, inputs: Array) -> Array:
        log_features = self._radial_kernel().log_profile(self._scaled(inputs))
        features: Array = np.exp(log_features, out=log_features)
        return features

    def _scaled(self, inputs: Array) -> Array:
        """Return squared distances to the centres in units of the bandwidth, shape (n, M).

        One product ``(z, |z|^2, 1) (-2 c, 1, |c|^2)^T`` takes a third of the time of differences
        of a few columns. It rounds too much where centres lie many bandwidths from their mean.
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
        """Return the largest coordinate of a centre, in bandwidths."""
        with np.errstate(over="ignore"):
            return float(np.abs(self.centers_).max(initial=0.0) / self.bandwidth_)

    def _feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
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
        method is used where that difference cancels (a bandwidth tiny beside the centres'
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

    def _check_positive_definite(self) -> None:
        if not getattr(self._radial_kernel(), "positive_definite", True):
            raise ValueError(
                f"kernel={self.kernel!r} is not positive definite, which ridge regression needs. "
                "Use 'gaussian' or 'student', or NadarayaWatson with this kernel."
            )

    def _chosen(self, inputs: Array, targets: Array, folds: list[IntArray] | None = None) -> Choice:
        """Choose scale and ridge by the held-out error, and set them."""

        def path_at(scale: float) -> RidgePath:
            self._set_scale(scale)
            return self._path(inputs, targets)

        best = best_path(self._scales(), path_at, alphas_to_try(self.alpha), folds)
        self._set_scale(best.scale)
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
            self._features(inputs), targets, self._features(self.centers_), intercept=True
        )

"""The kernels of scikit-learn between rows and centers, with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import KERNEL_PARAMS

from twofold.numerics.bandwidths import width_grid
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.pairwise_kernels import INNER_PRODUCTS, inner_products, kernel_values
from twofold.protocols import Array

LARGEST = 1e140
"""Kernels and slopes are clipped here, so that their sums and squares stay finite."""

RELATIVE_SCALES = (4.0, 2.0, 1.0, 0.5, 0.25)
"""Scales to try for kernels of inner products, in units of the inputs' mean squared norm."""


def has_gamma(kernel: object) -> bool:
    """Return whether a kernel, named or a function, has the parameter ``gamma``."""
    return isinstance(kernel, str) and "gamma" in KERNEL_PARAMS.get(kernel, ())


def gammas_to_try(kernel: str, centers: Array) -> list[float]:
    """Return values of ``gamma``, from the narrowest kernel to the widest."""
    if kernel == "rbf":
        return [0.5 / width**2 for width in width_grid(centers)]
    if kernel == "laplacian":
        return [1.0 / width for width in width_grid(centers)]
    size = float(row_norms_sq(centers).mean()) or 1.0
    return [scale / size for scale in RELATIVE_SCALES]


@dataclass(frozen=True)
class SklearnKernel:
    """A named kernel of scikit-learn, or a function of two rows with its own parameters."""

    kernel: str | Callable[..., float]
    gamma: float
    degree: float
    coef0: float
    function_params: Mapping[str, Any] | None = None

    def features(self, inputs: Array, centers: Array) -> Array:
        """Return the kernel between rows and centers, shape (n, M)."""
        params: dict[str, Any] = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        if callable(self.kernel):
            params = dict(self.function_params or {})
        elif self.kernel in KERNEL_PARAMS:
            params = {name: params[name] for name in KERNEL_PARAMS[self.kernel] if name in params}
        with np.errstate(over="ignore"):
            kernels = kernel_values(self.kernel, inputs, centers, params)
        return np.clip(kernels, -LARGEST, LARGEST)

    def features_and_gradients(self, inputs: Array, centers: Array) -> tuple[Array, list[Array]]:
        """Return the features and their derivatives (n, M) with respect to each input."""
        features = self.features(inputs, centers)
        columns = range(inputs.shape[1])
        if self.kernel == "rbf":
            slope = -2.0 * self.gamma * features
            return features, [slope * (inputs[:, [l]] - centers[:, l]) for l in columns]
        if self.kernel in INNER_PRODUCTS:
            slope = self._slope(inputs, centers, features)
            return features, [slope * centers[:, l] for l in columns]
        return features, [self._difference(inputs, centers, column) for column in columns]

    def _slope(self, inputs: Array, centers: Array, features: Array) -> Array:
        """Return the derivative of a kernel of inner products with respect to the product."""
        if self.kernel == "linear":
            return np.ones_like(features)
        if self.kernel == "sigmoid":
            return np.asarray(self.gamma * (1.0 - np.square(features)))
        with np.errstate(over="ignore", divide="ignore"):
            inner = inner_products(inputs, centers, self.gamma, self.coef0)
            slope = self.gamma * self.degree * inner ** (self.degree - 1)
        return np.clip(slope, -LARGEST, LARGEST)

    def _difference(self, inputs: Array, centers: Array, column: int) -> Array:
        """Return the derivative with respect to one input, by central differences."""
        step = np.zeros_like(inputs)
        step[:, column] = 6e-6 * np.maximum(np.abs(inputs).max(axis=1), 1.0)
        change = self.features(inputs + step, centers) - self.features(inputs - step, centers)
        return change / (2.0 * step[:, [column]])

r"""Pre-images: the data whose features are nearest to weighted means of features.

The pre-image of weights ``b`` over training data ``x_j`` is

.. math:: \arg\min_x \Bigl| \phi(x) - \sum_j b_j \phi(x_j) \Bigr|^2 =
          \arg\min_x \; k(x, x) - 2 \sum_j b_j \, k(x, x_j) .

===============  ===================================================================================
kernel           pre-image
===============  ===================================================================================
"linear"         the weighted mean
"l1"             the weighted median of each column
"rbf"            the fixed point ``x = sum_j w_j x_j / sum_j w_j`` with ``w_j = b_j k(x, x_j)``
"laplacian"      the fixed point of weighted medians with the weights ``b_j k(x, x_j)``
"cosine"         the mean of the directions ``x_j / |x_j|``, at the weighted mean length: the kernel
                 does not see lengths
"polynomial"     a local minimum, found by BFGS from the nearest training row or the weighted mean
"additive_chi2"  the root of a monotone function in each column
"chi2"           the fixed point of these roots with the weights ``b_j k(x, x_j)``
===============  ===================================================================================

The fixed points are majorize-minimize steps: with ``k = exp(-gamma d)``, the objective is bounded
by its linearization in the distances ``d``, and the bound is minimized exactly. So each step lowers
the objective.

Other kernels have no pre-images here. "sigmoid" is not positive definite in general. Of a function
only values are known, and of "precomputed" not even the rows. For these, `twofold.UKR.nearest_rows`
returns the training row that is nearest in feature space.

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005, section 3.
S. Mika, B. Schoelkopf, A. Smola, K.-R. Mueller, M. Scholz, G. Raetsch. Kernel PCA and de-noising in
feature spaces. NIPS 11, 1999: the fixed point of the Gaussian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.pairwise_kernels import kernel_values
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import row_blocks
from twofold.protocols import Array

_scipy_minimize: Any = optimize.minimize  # typed or not, depending on the stubs installed

MAX_ITER = 100
TOL = 1e-8
"""Largest change of a coordinate, as a share of the largest value, at which a fixed point ends."""

N_BISECTIONS = 45

REASONS = {
    "sigmoid": "the sigmoid kernel is not positive definite in general",
    "precomputed": "the rows themselves are unknown",
}


def preimages(metric: object, params: dict[str, Any], data: Array, weights: Array) -> Array:
    """Return the pre-images (m, D) of weights (m, n), whose rows sum to one, over data (n, D)."""
    found = _BY_NAME.get(metric) if isinstance(metric, str) else None
    if found is None:
        reason = REASONS.get(str(metric), "of a function only its values are known")
        raise NotImplementedError(
            f"metric={metric!r} has no pre-images: {reason}. inverse_transform supports "
            f"'euclidean', {', '.join(map(repr, _BY_NAME))}. nearest_rows, transform and score "
            "work without pre-images."
        )
    return found(data, weights, params)


def weighted_medians(data: Array, weights: Array) -> Array:
    """Return the componentwise weighted medians (m, D) of data (n, D).

    The median of a component is its smallest value at which the weights of all values up to it
    reach one half: it minimizes the weighted sum of absolute differences. Weights (m, n) are
    nonnegative; each row sums to one.
    """
    medians = np.empty((len(weights), data.shape[1]))
    order = np.argsort(data, axis=0, kind="stable")
    for column in range(data.shape[1]):
        by_value = order[:, column]
        for rows in row_blocks(len(weights), 2 * 8 * len(data)):
            reached = np.cumsum(weights[rows][:, by_value], axis=1)
            half = 0.5 * reached[:, -1:] * (1.0 - 1e-12)
            medians[rows, column] = data[by_value[(reached >= half).argmax(axis=1)], column]
    return medians


def weighted_means(data: Array, weights: Array) -> Array:
    """Return the weighted means (m, D) of data (n, D); weights (m, n) need not sum to one."""
    means: Array = row_product(weights, data) / weights.sum(axis=1, keepdims=True)
    return means


def weighted_chi2_centers(data: Array, weights: Array) -> Array:
    r"""Return the points (m, D) of the lowest weighted sum of chi-squared distances to data (n, D).

    In each column, with :math:`(t - a)^2 / (t + a) = t - 3 a + 4 a^2 / (t + a)`, the derivative
    :math:`\sum_j w_j (1 - 4 a_j^2 / (t + a_j)^2)` increases in ``t``: its root is found by
    bisection. If it is not negative at 0, the point is 0.
    """
    found = np.empty((len(weights), data.shape[1]))
    for column, values in enumerate(data.T):
        positive = np.flatnonzero(values > 0.0)
        a, largest = values[positive], float(values.max(initial=0.0))
        for rows in row_blocks(len(weights), 3 * 8 * len(data)):
            w, total = weights[rows][:, positive], weights[rows].sum(axis=1)
            low, high = np.zeros(len(total)), np.full(len(total), largest)
            for _ in range(N_BISECTIONS):
                middle = 0.5 * (low + high)
                slope = total - 4.0 * np.einsum("mn,mn->m", w, np.square(a / (middle[:, None] + a)))
                low, high = np.where(slope < 0.0, middle, low), np.where(slope < 0.0, high, middle)
            found[rows, column] = np.where(4.0 * w.sum(axis=1) <= total, 0.0, 0.5 * (low + high))
    return found


def _linear(data: Array, weights: Array, params: dict[str, Any]) -> Array:  # noqa: ARG001
    return row_product(weights, data)


def _medians(data: Array, weights: Array, params: dict[str, Any]) -> Array:  # noqa: ARG001
    return weighted_medians(data, weights)


def _chi2_centers(data: Array, weights: Array, params: dict[str, Any]) -> Array:  # noqa: ARG001
    return weighted_chi2_centers(data, weights)


def _cosine(data: Array, weights: Array, params: dict[str, Any]) -> Array:  # noqa: ARG001
    lengths = np.sqrt(row_norms_sq(data))
    directions = data / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    means = row_product(weights, directions)
    norms = np.sqrt(row_norms_sq(means))
    factors = row_product(weights, lengths[:, None])[:, 0] / np.where(norms > 0.0, norms, 1.0)
    found: Array = means * factors[:, None]
    return found


def _fixed_point_of(
    name: str, center: Callable[[Array, Array], Array]
) -> Callable[[Array, Array, dict[str, Any]], Array]:
    """Return the pre-images of ``exp(-gamma d)``, where ``center`` minimizes weighted ``d``."""

    def found(data: Array, weights: Array, params: dict[str, Any]) -> Array:
        # Start at the training point of the largest weight, which is within reach.
        X = np.array(data[weights.argmax(axis=1)])
        scale = float(np.abs(data).max()) or 1.0
        active = np.arange(len(X))
        for _ in range(MAX_ITER):
            near = weights[active] * kernel_values(name, X[active], data, params)
            step = center(data, near) - X[active]
            X[active] += step
            # Each row stops on its own: rows do not depend on their batch.
            active = active[np.abs(step).max(axis=1) > TOL * scale]
            if not len(active):
                break
        return X

    return found


def _polynomial(data: Array, weights: Array, params: dict[str, Any]) -> Array:
    degree, coef0 = params.get("degree", 3), params.get("coef0", 1)
    gamma = params.get("gamma")
    gamma = 1.0 / data.shape[1] if gamma is None else gamma
    inner = data @ data.T
    of_rows = (gamma * inner + coef0) ** degree
    found = np.empty((len(weights), data.shape[1]))
    for number, b in enumerate(weights):

        @np.errstate(over="ignore", invalid="ignore")
        def distance(x: Array, b: Array = b) -> tuple[float, Array]:
            own, others = gamma * np.vdot(x, x) + coef0, gamma * (data @ x) + coef0
            value = float(own**degree - 2.0 * (b @ others**degree))
            slope = own ** (degree - 1) * x - (b * others ** (degree - 1)) @ data
            slope = np.nan_to_num(2.0 * degree * gamma * slope, nan=0.0)
            return value if np.isfinite(value) else np.inf, slope

        nearest = data[(np.diagonal(of_rows) - 2.0 * of_rows @ b).argmin()]
        start = min(nearest, b @ data, key=lambda x: distance(x)[0])
        found[number] = _scipy_minimize(distance, start, jac=True, method="BFGS").x
    return found


_BY_NAME: dict[str, Callable[[Array, Array, dict[str, Any]], Array]] = {
    "linear": _linear,
    "l1": _medians,
    "rbf": _fixed_point_of("rbf", weighted_means),
    "laplacian": _fixed_point_of("laplacian", weighted_medians),
    "cosine": _cosine,
    "poly": _polynomial,
    "polynomial": _polynomial,
    "additive_chi2": _chi2_centers,
    "chi2": _fixed_point_of("chi2", weighted_chi2_centers),
}

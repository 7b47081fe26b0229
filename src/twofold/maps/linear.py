r"""Linear maps: ``f(z) = z W + b``, by ridge regression.

.. math:: \min_{W, b} |Y - Z W - 1 b^T|_F^2 + \alpha |W|_F^2

With linear maps both ways, unsupervised regression finds the subspace of principal component
analysis (Carreira-Perpinan & Lu 2010, section 2.2). The bias centers inputs and targets.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy import linalg

from twofold.maps.features import LinearInFeatures
from twofold.numerics.linalg import solve_psd
from twofold.numerics.validation import check_not_negative
from twofold.protocols import Array


class LinearMap(LinearInFeatures):
    """A linear map with a bias.

    Parameters
    ----------
    alpha : float, default=0.0
        The ridge.

    Attributes
    ----------
    weights_, intercept_ : ndarray of shape (q, D) and (D,)
        The weights and the bias.
    alpha_ : float
        The ridge.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import LinearMap
    >>> z = np.linspace(0, 1, 50)[:, None]
    >>> line = LinearMap().fit(z, np.hstack([1 + 2 * z, -z]))
    >>> line.weights_.round(6).tolist(), line.intercept_.round(6).tolist()
    ([[2.0, -1.0]], [1.0, 0.0])

    >>> J, terms = line.jacobian(z), line.normal_terms(z, line.predict(z))
    >>> J.shape, [term.shape for term in terms]
    ((50, 2, 1), [(50, 1, 1), (50, 1), (50,)])
    >>> line.in_row_space()[1].shape, line.penalty()
    ((2, 1), 0.0)
    >>> line.features(z).shape, len(line.feature_gradients(z)[1])
    ((50, 1), 1)
    """

    def __init__(self, alpha: float = 0.0) -> None:
        self.alpha = alpha

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Solve the ridge regression."""
        self.alpha_ = check_not_negative("alpha", self.alpha)
        mean, target_mean = inputs.mean(axis=0), targets.mean(axis=0)
        centered = inputs - mean
        if inputs.shape[1] > len(inputs):
            self.weights_ = self._shortest_weights(centered, targets - target_mean)
        else:
            gram = centered.T @ centered + self.alpha_ * np.eye(inputs.shape[1])
            self.weights_ = solve_psd(gram, centered.T @ (targets - target_mean))
        self.intercept_ = target_mean - mean @ self.weights_
        return self

    def _shortest_weights(self, inputs: Array, targets: Array) -> Array:
        """Return the weights for fewer rows than inputs, of the least norm without a ridge."""
        left, values, right = linalg.svd(inputs, full_matrices=False)
        values = np.where(values > values[0] * len(inputs) * np.finfo(np.float64).eps, values, 0.0)
        squares = np.square(values) + self.alpha_
        shrunk = np.divide(values, squares, out=np.zeros_like(values), where=squares > 0.0)
        weights: Array = right.T @ (shrunk[:, None] * (left.T @ targets))
        return weights

    def features(self, inputs: Array) -> Array:
        """Return the inputs themselves, ``phi`` (n, q)."""
        return inputs

    def feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
        """Return ``phi`` (n, q) and its derivatives (n, q), one for each input."""
        return inputs, [np.broadcast_to(column, inputs.shape) for column in np.eye(inputs.shape[1])]

    def penalty(self) -> float:
        """Return ``alpha |W|^2``."""
        return self.alpha_ * float(np.vdot(self.weights_, self.weights_))

r"""Perceptrons with one sigmoid hidden layer.

.. math:: f(z) = W_2 \, \sigma(W_1 z + b_1) + b_2, \qquad \sigma(t) = 1 / (1 + e^{-t})

(Carreira-Perpinan & Lu 2010, Eq. 18; the paper prints the sigmoid with the other sign of its
argument, which only flips ``W_1``). L-BFGS minimizes
``(|Y - f(Z)|^2 + alpha (|W_1|^2 + |W_2|^2)) / 2n`` with the gradients of their section 2.2, from
Glorot's initialization. scikit-learn's `MLPRegressor` is not used, because it warns whenever it
stops early, which is usual here, and warnings cannot be silenced in one thread only.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import optimize
from scipy.special import expit
from sklearn.utils import check_random_state

from twofold.maps.features import LinearInFeatures
from twofold.numerics.row_products import row_product
from twofold.protocols import Array

EVALUATIONS_PER_STEP = 10

_minimize: Any = optimize.minimize  # typed or not, depending on the stubs installed


class MLP(LinearInFeatures):
    """A perceptron with one hidden layer.

    Parameters
    ----------
    n_hidden : int, default=100
        Hidden units, M.
    alpha : float, default=1e-6
        Weight decay.
    max_iter : int, default=500
        Training iterations. Training stops there without a warning: between the steps of an
        alternating fit an unfinished network is good enough.
    warm_start : bool, default=False
        Whether a further fit starts from the weights of the last.
    random_state : int, RandomState instance or None, default=None
        Seeds the first weights.

    Attributes
    ----------
    weights_, intercept_ : ndarray of shape (M, D) and (D,)
        The output layer.
    hidden_weights_, hidden_intercept_ : ndarray of shape (q, M) and (M,)
        The hidden layer, for inputs in their own units.
    alpha_ : float
        The weight decay, in units of inputs and targets of unit variance.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import MLP
    >>> z = np.linspace(0, 1, 100)[:, None]
    >>> parabola = np.hstack([z, z**2])
    >>> network = MLP(5, random_state=0).fit(z, parabola)
    >>> bool(np.abs(network.predict(z) - parabola).max() < 0.1)
    True

    >>> J, terms = network.jacobian(z), network.normal_terms(z, parabola)
    >>> J.shape, [term.shape for term in terms]
    ((100, 2, 1), [(100, 1, 1), (100, 1), (100,)])
    >>> network.in_row_space()[1].shape
    (2, 2)
    >>> network.features(z).shape, len(network.feature_gradients(z)[1])
    ((100, 5), 1)
    >>> network.penalty() > 0.0
    True
    """

    def __init__(
        self,
        n_hidden: int = 100,
        *,
        alpha: float = 1e-6,
        max_iter: int = 500,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.alpha = alpha
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Train the network on standardized inputs and targets."""
        mean, target_mean = inputs.mean(axis=0), targets.mean(axis=0)
        scale = _spread(inputs - mean)
        target_scale = _spread(targets - target_mean)
        layers = getattr(self, "_layers", None) if self.warm_start else None
        if layers is None:
            layers = self._first_layers(inputs.shape[1], targets.shape[1])
        self._layers = self._trained(
            layers, (inputs - mean) / scale, (targets - target_mean) / target_scale
        )
        first, bias, second, second_bias = self._layers
        self.alpha_ = float(self.alpha)
        decay = np.vdot(first, first) + np.vdot(second, second)
        self._penalty = self.alpha_ * target_scale**2 * float(decay)
        # Fold the standardization into the layers.
        self.hidden_weights_ = first / scale
        self.hidden_intercept_ = bias - (mean / scale) @ first
        self.weights_ = second * target_scale
        self.intercept_ = second_bias * target_scale + target_mean
        return self

    def _first_layers(self, n_inputs: int, n_targets: int) -> list[Array]:
        rng = check_random_state(self.random_state)
        layers: list[Array] = []
        for before, after in ((n_inputs, self.n_hidden), (self.n_hidden, n_targets)):
            bound = np.sqrt(2.0 / (before + after))
            layers += [
                rng.uniform(-bound, bound, (before, after)),
                rng.uniform(-bound, bound, after),
            ]
        return layers

    def _trained(self, layers: list[Array], inputs: Array, targets: Array) -> list[Array]:
        shapes = [layer.shape for layer in layers]
        cuts = np.cumsum([layer.size for layer in layers])[:-1]

        def unpacked(flat: Array) -> list[Array]:
            parts = np.split(flat, cuts)
            return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

        def value_and_grad(flat: Array) -> tuple[float, Array]:
            first, bias, second, second_bias = unpacked(flat)
            hidden = expit(inputs @ first + bias)
            residuals = hidden @ second + second_bias - targets
            back = (residuals @ second.T) * hidden * (1.0 - hidden)
            value = np.vdot(residuals, residuals)
            value += self.alpha * (np.vdot(first, first) + np.vdot(second, second))
            slopes = (
                inputs.T @ back + self.alpha * first,
                back.sum(axis=0),
                hidden.T @ residuals + self.alpha * second,
                residuals.sum(axis=0),
            )
            gradient = np.concatenate([slope.ravel() for slope in slopes])
            return 0.5 * float(value) / len(inputs), gradient / len(inputs)

        start = np.concatenate([layer.ravel() for layer in layers])
        limits = {"maxiter": self.max_iter, "maxfun": EVALUATIONS_PER_STEP * self.max_iter}
        result = _minimize(
            value_and_grad, start, jac=True, method="L-BFGS-B", options=limits | {"gtol": 1e-7}
        )
        return unpacked(result.x)

    def penalty(self) -> float:
        """Return the weight decay in the squared units of the targets.

        The sum of squared residuals plus this is what training lowers.
        """
        return self._penalty

    def features(self, inputs: Array) -> Array:
        """Return ``phi`` (n, M) at inputs (n, q)."""
        features: Array = expit(row_product(inputs, self.hidden_weights_) + self.hidden_intercept_)
        return features

    def feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
        """Return ``phi`` (n, M) and its derivatives (n, M), one for each input."""
        features = self.features(inputs)
        slope = features * (1.0 - features)
        return features, [slope * weights for weights in self.hidden_weights_]


def _spread(centered: Array) -> float:
    """Return one scale for all columns, which keeps their relative weights."""
    spread = float(np.sqrt(np.square(centered).mean()))
    return spread if spread > 0.0 else 1.0

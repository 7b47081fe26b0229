r"""Perceptrons with one sigmoid hidden layer.

.. math:: f(z) = W_2 \, \sigma(W_1 z + b_1) + b_2, \qquad \sigma(t) = 1 / (1 + e^{-t})

(Carreira-Perpinan & Lu 2010, Eq. 18; the paper prints the sigmoid with the other sign of its
argument, which only flips ``W_1``). scikit-learn's `MLPRegressor` does the training.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from twofold.maps._features import LinearInFeatures
from twofold.protocols import Array

__all__ = ["MLP"]


class MLP(LinearInFeatures):
    """A perceptron with one hidden layer.

    Parameters
    ----------
    n_hidden : int, default=100
        Hidden units, M.
    alpha : float, default=1e-6
        Weight decay.
    max_iter : int, default=500
        Training iterations. Training stops there without complaint: between the steps of an
        alternating fit an unfinished network is as good as a finished one.
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

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import MLP
    >>> z = np.linspace(0, 1, 100)[:, None]
    >>> MLP(5, random_state=0).fit(z, np.hstack([z, z**2])).predict(z).shape
    (100, 2)
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
        """Train the network on standardised inputs and targets."""
        mean, target_mean = inputs.mean(axis=0), targets.mean(axis=0)
        scale = _spread(inputs - mean)
        target_scale = _spread(targets - target_mean)
        if not (self.warm_start and hasattr(self, "_network")):
            from sklearn.neural_network import MLPRegressor

            self._network = MLPRegressor(
                hidden_layer_sizes=(self.n_hidden,),
                activation="logistic",
                solver="lbfgs",
                alpha=self.alpha,
                max_iter=self.max_iter,
                tol=1e-7,
                warm_start=self.warm_start,
                random_state=self.random_state,
            )
        scaled_targets = (targets - target_mean) / target_scale
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._network.fit(
                (inputs - mean) / scale,
                scaled_targets[:, 0] if targets.shape[1] == 1 else scaled_targets,
            )
        first, second = self._network.coefs_
        # Fold the standardisation into the layers.
        self.hidden_weights_ = first / scale
        self.hidden_intercept_ = self._network.intercepts_[0] - (mean / scale) @ first
        self.weights_ = second * target_scale
        self.intercept_ = self._network.intercepts_[1] * target_scale + target_mean
        return self

    def _features(self, inputs: Array) -> Array:
        features: Array = expit(inputs @ self.hidden_weights_ + self.hidden_intercept_)
        return features

    def _feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
        features = self._features(inputs)
        slope = features * (1.0 - features)
        return features, [slope * weights for weights in self.hidden_weights_]


def _spread(centred: Array) -> float:
    """Return one scale for all columns, so that their relative weights stay as they are."""
    spread = float(np.sqrt(np.square(centred).mean()))
    return spread if spread > 0.0 else 1.0

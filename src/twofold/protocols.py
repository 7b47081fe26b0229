"""The protocols through which the building blocks meet.

Kernels, maps, objectives and minimizers never import each other. An estimator picks one of each and
composes them, so any object that satisfies a protocol can take part: ours, scikit-learn's or yours.

Notation
--------
==============================  ===========================================================
``X`` (n_samples, n_features)   data, one sample per row (the papers write ``Y``, in columns)
``Z`` (n_samples, n_components) latent coordinates (the papers write ``X``, in columns)
``D``, ``q``, ``n``             n_features, n_components, n_samples
==============================  ===========================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AnyArray",
    "Array",
    "Callback",
    "IntArray",
    "Map",
    "MinimizeResult",
    "Minimizer",
    "NormalTerms",
    "Objective",
    "RadialKernel",
]

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]
AnyArray = NDArray[Any]
"""Arrays that may be in single precision or short integers, to save memory."""

NormalTerms = tuple[Array, Array, Array]
"""``J^T J`` (n, q, q), ``J^T r`` (n, q) and ``|r|^2`` (n,), with ``r = targets - map(inputs)``."""

Callback = Callable[[int, float, Array], bool | None]
"""Called as ``callback(n_iter, value, Z)`` after each iteration; returning True ends the run."""


@runtime_checkable
class RadialKernel(Protocol):
    """A kernel of unit width as a function of the squared distance, in log space.

    The caller divides the inputs by the bandwidth. Log space, because ``k / sum(k)`` is 0/0 for a
    point far from all others.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.protocols import RadialKernel
    >>> class Exponential:
    ...     def log_profile(self, sqdist):
    ...         return -np.sqrt(sqdist)
    ...     def dlog_profile(self, sqdist):
    ...         return -0.5 / np.sqrt(np.maximum(sqdist, 1e-12))
    >>> isinstance(Exponential(), RadialKernel)
    True
    """

    def log_profile(self, sqdist: Array) -> Array:
        """Return ``log k(r^2)``; ``-inf`` outside the support."""
        ...

    def dlog_profile(self, sqdist: Array) -> Array:
        """Return ``d log k / d r^2``; 0 outside the support."""
        ...


@runtime_checkable
class Map(Protocol):
    """A differentiable regression from inputs (n, q) to targets (n, D).

    Examples
    --------
    A linear map of your own, as the up-map of an estimator:

    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> class LinearMap(BaseEstimator):
    ...     def fit(self, inputs, targets):
    ...         self.matrix_ = np.linalg.lstsq(inputs, targets)[0]
    ...         return self
    ...     def predict(self, inputs):
    ...         return inputs @ self.matrix_
    ...     def jacobian(self, inputs):
    ...         return np.tile(self.matrix_.T, (len(inputs), 1, 1))
    ...     def normal_terms(self, inputs, targets):
    ...         J, r = self.jacobian(inputs), targets - self.predict(inputs)
    ...         JTr = np.einsum("ndq,nd->nq", J, r)
    ...         return J.transpose(0, 2, 1) @ J, JTr, np.square(r).sum(axis=1)
    >>> X = load_iris().data
    >>> TwoWay("pca", up=LinearMap(), down="projection", random_state=0).fit(X).score(X) > 0.97
    True
    """

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Learn the map."""
        ...

    def predict(self, inputs: Array) -> Array:
        """Return the images (n, D)."""
        ...

    def jacobian(self, inputs: Array) -> Array:
        """Return the Jacobians (n, D, q), for small n."""
        ...

    def normal_terms(self, inputs: Array, targets: Array) -> NormalTerms:
        """Return the terms of a Gauss-Newton step, without forming all the Jacobians."""
        ...


@runtime_checkable
class Objective(Protocol):
    """A differentiable function of an array; it holds its data and changes nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.optimize import LBFGS
    >>> class Bowl:
    ...     def value_and_grad(self, Z):
    ...         return float(np.sum(Z**2)), 2.0 * Z
    >>> LBFGS().minimize(Bowl(), np.array([[3.0, 4.0]])).converged
    True
    """

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the value and the gradient, shaped like ``Z``."""
        ...


@dataclass(frozen=True)
class MinimizeResult:
    """The result of a minimization.

    Attributes
    ----------
    Z : ndarray
        The best point, shaped like the start.
    value : float
        The objective there.
    n_iter : int
        Number of iterations.
    n_evaluations : int
        Number of calls of ``value_and_grad``.
    converged : bool
        Whether a tolerance was met, or the callback ended the run, before the iterations ran out.
    status : str
        One sentence on why the run ended.
    history : ndarray of shape (n_iter + 1,)
        The objective at the start and after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.optimize import GradientDescent
    >>> class Bowl:
    ...     def value_and_grad(self, Z):
    ...         return float(np.sum(Z**2)), 2.0 * Z
    >>> result = GradientDescent(max_iter=10).minimize(Bowl(), np.array([[3.0, 4.0]]))
    >>> result.Z.shape, float(result.history[0]), len(result.history) == result.n_iter + 1
    ((1, 2), 25.0, True)
    """

    Z: Array
    value: float
    n_iter: int
    n_evaluations: int
    converged: bool
    status: str
    history: Array


@runtime_checkable
class Minimizer(Protocol):
    """An algorithm that lowers an objective from a start.

    Examples
    --------
    A minimizer of your own, for an estimator:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from twofold import UKR
    >>> from twofold.protocols import MinimizeResult
    >>> class FixedSteps:
    ...     def minimize(self, objective, Z0, *, callback=None):
    ...         Z, values = Z0.copy(), []
    ...         for _ in range(20):
    ...             value, gradient = objective.value_and_grad(Z)
    ...             values.append(value)
    ...             Z = Z - 0.1 * gradient
    ...         history = np.array([*values, objective.value_and_grad(Z)[0]])
    ...         return MinimizeResult(Z, history[-1], 20, 21, True, "All steps done.", history)
    >>> UKR(init="pca", optimizer=FixedSteps(), random_state=0).fit(load_iris().data).n_iter_
    20
    """

    def minimize(
        self, objective: Objective, Z0: Array, *, callback: Callback | None = None
    ) -> MinimizeResult:
        """Minimize from ``Z0``, which stays unchanged."""
        ...

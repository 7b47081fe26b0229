"""The four protocols through which the building blocks meet.

Kernels, maps, objectives and minimizers never import each other. An estimator picks one of each and
composes them, so whatever satisfies a protocol below can take part: ours, scikit-learn's, or yours.

Notation
--------
==============================  ===========================================================
``X`` (n_samples, n_features)   data, one sample a row (the papers write ``Y``, in columns)
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
"""Where single precision or short integers save memory."""

NormalTerms = tuple[Array, Array, Array]
"""``J^T J`` (n, q, q), ``J^T r`` (n, q) and ``|r|^2`` (n,), with ``r = targets - map(inputs)``."""

Callback = Callable[[int, float, Array], bool | None]
"""Called as ``callback(n_iter, value, Z)`` after each iteration; returning True ends the run."""


@runtime_checkable
class RadialKernel(Protocol):
    """A kernel of unit width as a function of the squared distance, in log space.

    Widths are applied by the caller, who divides the inputs. Log space, because ``k / sum(k)`` is
    0/0 as soon as a point wanders off.
    """

    def log_profile(self, sqdist: Array) -> Array:
        """Return ``log k(r^2)``; ``-inf`` outside the support."""
        ...

    def dlog_profile(self, sqdist: Array) -> Array:
        """Return ``d log k / d r^2``; 0 outside the support."""
        ...


@runtime_checkable
class Map(Protocol):
    """A differentiable regression from inputs (n, q) to targets (n, D)."""

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Learn the map."""
        ...

    def predict(self, inputs: Array) -> Array:
        """Return the images (n, D)."""
        ...

    def jacobian(self, inputs: Array) -> Array:
        """Return the Jacobians (n, D, q). For small n, tests and users."""
        ...

    def normal_terms(self, inputs: Array, targets: Array) -> NormalTerms:
        """Return what a Gauss-Newton step needs, without forming all the Jacobians."""
        ...


@runtime_checkable
class Objective(Protocol):
    """A differentiable function of an array; it holds its data and changes nothing."""

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the value and the gradient, shaped like ``Z``."""
        ...


@dataclass(frozen=True)
class MinimizeResult:
    """Where a minimizer ended, and how.

    Attributes
    ----------
    Z : ndarray
        The best point seen, shaped like the start.
    value : float
        The objective there.
    n_iter : int
        Iterations done.
    n_evaluations : int
        Calls of ``value_and_grad``.
    converged : bool
        Whether a tolerance was met (or the callback asked to stop) before the iterations ran out.
    status : str
        One sentence on why the run ended.
    history : ndarray of shape (n_iter + 1,)
        The objective at the start and after each iteration.
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
    """An algorithm that lowers an objective from a start."""

    def minimize(
        self, objective: Objective, Z0: Array, *, callback: Callback | None = None
    ) -> MinimizeResult:
        """Minimize from ``Z0``, which is left unchanged."""
        ...

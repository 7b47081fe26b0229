r"""Kernel expansions on the nodes of a latent domain.

.. math:: f(z) = f_0 + \sum_{m=1}^M w_m \prod_d k_d(z_d, c_{md})

(Smola et al. 2001, Eq. 16). With periodic kernels the map is one of a circle, a cylinder or a
torus. `fit` is the adaptation of their Eqs. (32)-(33) for given latents.

Notation
--------
===================  ============================
Smola et al.         here
===================  ============================
``alpha_i``, ``f_0`` ``weights_[i]``, ``intercept_``
``z_i`` (nodes)      ``nodes[i]``
``zeta_i``           rows of ``inputs``
``lambda``           ``alpha``
``K_z``              ``gram()``
===================  ============================

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Self

import numpy as np
from scipy import linalg

from twofold.maps.features import LinearInFeatures
from twofold.principal_manifold.node_kernels import NodeKernel
from twofold.protocols import Array

SMALLEST_EIGENVALUE = 1e-10
"""Of a gram matrix, relative to its largest: smaller directions are left out of the expansion."""


class NodeExpansion(LinearInFeatures):
    """An expansion on ``nodes`` (M, q), with one kernel and one bandwidth for each dimension.

    ``alpha`` weighs the penalty ``|P f|^2 / 2`` relative to the mean squared error. `fit` learns
    ``weights_`` (M, D) and ``intercept_`` (D,).
    """

    def __init__(
        self, nodes: Array, kernels: tuple[NodeKernel, ...], widths: Array, *, alpha: float = 1e-3
    ) -> None:
        self.nodes = nodes
        self.kernels = kernels
        self.widths = widths
        self.alpha = alpha

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Solve Eq. (33), with ``f_0`` learned along with the weights."""
        basis = self.whitening()
        features = self.features(inputs) @ basis
        mean, target_mean = features.mean(axis=0), targets.mean(axis=0)
        centered = features - mean
        system = centered.T @ centered
        system[np.diag_indices_from(system)] += 0.5 * self.alpha * len(inputs)
        coefficients = linalg.solve(system, centered.T @ (targets - target_mean), assume_a="pos")
        self.weights_ = basis @ coefficients
        self.intercept_ = target_mean - mean @ coefficients
        return self

    def gram(self) -> Array:
        """Return ``K_z``, the kernel matrix of the nodes (M, M)."""
        gram: Array = self._once("_gram", lambda: self.features(self.nodes))
        return gram

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what depends on nodes and kernels only; copies share it."""
        if name not in self.__dict__:
            self.__dict__[name] = make()
        return self.__dict__[name]

    def whitening(self) -> Array:
        """Return ``B`` (M, r) with ``B^T K_z B = I``: ``f = phi B C`` has the penalty ``|C|^2``.

        Wide kernels make ``K_z`` singular to working precision; its negligible directions are left
        out. The columns are functions of more and more detail: those of the largest eigenvalues,
        which cost least, come first.
        """
        basis: Array = self._once("_basis", self._find_basis)
        return basis

    def _find_basis(self) -> Array:
        values, vectors = linalg.eigh(self.gram())
        kept = np.flatnonzero(values > SMALLEST_EIGENVALUE * values[-1])[::-1]
        basis: Array = vectors[:, kept] / np.sqrt(values[kept])
        return basis

    @property
    def _is_additive(self) -> bool:
        return all(getattr(kernel, "is_additive", False) for kernel in self.kernels)

    def features(self, inputs: Array) -> Array:
        """Return ``phi`` (n, M) at inputs (n, q)."""
        factors = [self._factor(inputs, column, "values") for column in range(len(self.kernels))]
        return reduce(np.add if self._is_additive else np.multiply, factors)

    def _factor(self, inputs: Array, column: int, what: str) -> Array:
        """Return values or slopes along one dimension (n, M), computed once for equal nodes."""
        places, numbers = self._once(
            "_places", lambda: [np.unique(one, return_inverse=True) for one in self.nodes.T]
        )[column]
        function = getattr(self.kernels[column], what)
        distinct: Array = function(inputs[:, column], places, float(self.widths[column]))
        in_order = len(places) == len(numbers) and bool((numbers[:-1] < numbers[1:]).all())
        return distinct if in_order else distinct[:, numbers]

    def feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
        """Return ``phi`` (n, M) and its derivatives (n, M), one for each input."""
        dimensions = range(len(self.kernels))
        slopes = [self._factor(inputs, column, "slopes") for column in dimensions]
        if self._is_additive:
            return self.features(inputs), slopes
        factors = [self._factor(inputs, column, "values") for column in dimensions]
        gradients = [
            reduce(np.multiply, [slopes[column], *factors[:column], *factors[column + 1 :]])
            for column in dimensions
        ]
        return reduce(np.multiply, factors), gradients

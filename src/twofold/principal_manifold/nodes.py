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

import math
from functools import cached_property, reduce
from typing import Self

import numpy as np
from scipy import linalg

from twofold.maps.features import LinearInFeatures
from twofold.principal_manifold.node_kernels import NodeKernel
from twofold.protocols import Array, IntArray

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
        return self._gram

    def ridge(self, n_rows: int) -> float:
        """Return the weight of the penalty beside the sum of squared errors of so many rows."""
        return 0.5 * self.alpha * n_rows

    # What follows depends on nodes and kernels only, and copies share it.
    @cached_property
    def _gram(self) -> Array:
        return self.features(self.nodes)

    def whitening(self) -> Array:
        """Return ``B`` (M, r) with ``B^T K_z B = I``: ``f = phi B C`` has the penalty ``|C|^2``.

        Wide kernels make ``K_z`` singular to working precision; its negligible directions are left
        out. The columns are functions of more and more detail: those of the largest eigenvalues,
        which cost least, come first.
        """
        return self._basis

    @cached_property
    def _basis(self) -> Array:
        values, vectors = linalg.eigh(self.gram())
        kept = np.flatnonzero(values > SMALLEST_EIGENVALUE * values[-1])[::-1]
        basis: Array = vectors[:, kept] / np.sqrt(values[kept])
        return basis

    @property
    def _is_additive(self) -> bool:
        return all(getattr(kernel, "is_additive", False) for kernel in self.kernels)

    def features(self, inputs: Array) -> Array:
        """Return ``phi`` (n, M) at inputs (n, q)."""
        dimensions = range(len(self.kernels))
        return self._combined([self._factor(inputs, column, "values") for column in dimensions])

    def feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
        """Return ``phi`` (n, M) and its derivatives (n, M), one for each input."""
        dimensions = range(len(self.kernels))
        factors = [self._factor(inputs, column, "values") for column in dimensions]
        slopes = [self._factor(inputs, column, "slopes") for column in dimensions]
        if self._is_additive:
            parts = zip(slopes, self._places, strict=True)
            return self._combined(factors), [slope[:, numbers] for slope, (_, numbers) in parts]
        gradients = [
            self._combined([*factors[:column], slopes[column], *factors[column + 1 :]])
            for column in dimensions
        ]
        return self._combined(factors), gradients

    @cached_property
    def _places(self) -> list[tuple[Array, IntArray]]:
        """The distinct places of nodes along each dimension, and which of them each node has."""
        return [np.unique(one, return_inverse=True) for one in self.nodes.T]

    def _factor(self, inputs: Array, column: int, what: str) -> Array:
        """Return values or slopes along one dimension at its distinct places (n, k)."""
        function = getattr(self.kernels[column], what)
        places, _ = self._places[column]
        factor: Array = function(inputs[:, column], places, float(self.widths[column]))
        return factor

    def _combined(self, factors: list[Array]) -> Array:
        """Return the product of factors (n, k) at the nodes (n, M), or their sum."""
        if self._grid and not self._is_additive:
            product = factors[0]
            for factor in factors[1:]:
                n_places = product.shape[1] * factor.shape[1]
                outer = product[:, :, None] * factor[:, None, :]
                product = outer.reshape(len(factor), n_places)
            return product
        parts = zip(factors, self._places, strict=True)
        at_nodes = [factor[:, numbers] for factor, (_, numbers) in parts]
        return reduce(np.add if self._is_additive else np.multiply, at_nodes)

    @cached_property
    def _grid(self) -> bool:
        """Whether the nodes are all combinations of their places, the last dimension fastest."""
        shape = tuple(len(places) for places, _ in self._places)
        if math.prod(shape) != len(self.nodes):
            return False
        numbers = [numbers for _, numbers in self._places]
        return bool((np.indices(shape).reshape(len(shape), -1) == numbers).all())

    def axes(self) -> tuple[Array, IntArray, IntArray, Array]:
        """Return places (q, k), padded, their counts (q,), numbers (q, M) and bandwidths (q,)."""
        counts = np.array([len(places) for places, _ in self._places])
        padded = np.zeros((len(counts), counts.max()))
        for row, (places, _) in zip(padded, self._places, strict=True):
            row[: len(places)] = places
        return padded, counts, np.array([numbers for _, numbers in self._places]), self.widths

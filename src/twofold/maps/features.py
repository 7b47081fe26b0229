r"""Maps that are linear in features: ``f(z) = phi(z) W + b``.

Radial basis networks, kernel ridge regressions and one-hidden-layer perceptrons differ only in
their features ``phi``. With ``P_l = d phi / d z_l`` (n, M), the Jacobian's columns are
``J_l = P_l W``, and a Gauss-Newton step needs

.. math:: (J^T J)_{lm} = P_l W W^T P_m^T, \qquad (J^T r)_l = P_l W r .

For M < D the products go through the (M, M) matrix ``W W^T``; otherwise through the (rows, D)
columns ``P_l W`` of one block of rows. The (n, D, q) array of all Jacobians is never formed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Self

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator

from twofold.maps.normal import normal_products, normal_terms_of_blocks
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.protocols import Array, NormalTerms


class LinearInFeatures(BaseEstimator, ABC):
    """Prediction, Jacobian and normal terms of a map with ``weights_`` W and ``intercept_`` b."""

    weights_: Array
    intercept_: Array

    @abstractmethod
    def fit(self, inputs: Array, targets: Array) -> Self:
        """Learn features and weights."""

    @abstractmethod
    def features(self, inputs: Array) -> Array:
        """Return ``phi`` (n, M)."""

    @abstractmethod
    def feature_gradients(self, inputs: Array) -> tuple[Array, list[Array]]:
        """Return ``phi`` (n, M) and its derivatives ``P_l`` (n, M), one for each input."""

    def predict(self, inputs: Array) -> Array:
        """Return the images (n, D) of inputs (n, q)."""
        images = np.empty((len(inputs), self.weights_.shape[1]))

        def work(rows: slice) -> None:
            product = row_product(self.features(inputs[rows]), self.weights_)
            np.add(product, self.intercept_, out=images[rows])

        map_blocks(work, self._row_blocks(len(inputs)))
        return images

    def jacobian(self, inputs: Array) -> Array:
        """Return the Jacobians, shape (n, D, q)."""
        _, gradients = self.feature_gradients(inputs)
        return np.stack([row_product(gradient, self.weights_) for gradient in gradients], axis=2)

    def normal_terms(self, inputs: Array, targets: Array) -> NormalTerms:
        """Return ``J^T J`` (n, q, q), ``J^T r`` (n, q) and ``|r|^2`` (n,)."""
        n_weights, n_targets = self.weights_.shape
        gram = self.weights_ @ self.weights_.T if n_weights < n_targets else None

        def terms(rows: slice) -> NormalTerms:
            features, gradients = self.feature_gradients(inputs[rows])
            residuals = targets[rows] - row_product(features, self.weights_) - self.intercept_
            loss = row_norms_sq(residuals)
            if gram is None:
                columns = [row_product(gradient, self.weights_) for gradient in gradients]
                return *normal_products(columns, residuals), loss
            left = [row_product(gradient, gram) for gradient in gradients]
            duals = row_product(residuals, self.weights_.T)
            return *normal_products(gradients, duals, left), loss

        blocks = self._row_blocks(len(inputs), copies=2 * inputs.shape[1] + 2)
        return normal_terms_of_blocks(terms, inputs.shape, blocks)

    def in_row_space(self) -> tuple[Self, Array]:
        """Return the same map with as few outputs as its weights need, and a basis of them.

        With ``W = L V^T``, ``V`` (D, r) orthonormal and ``r <= min(M, D)``, the image of z is
        ``phi(z) L V^T + b``. The part across V is the same for all z, so ``|x - f(z)|^2`` and its
        derivatives cost r columns instead of D, for data ``(x - b) V``. Unlike products with
        ``W W^T`` this does not cancel where weights are large.

        Returns
        -------
        map : LinearInFeatures
            A fitted copy with weights ``L`` and no intercept.
        basis : ndarray of shape (D, r)
            ``V``.
        """
        left, lengths, right = linalg.svd(self.weights_, full_matrices=False)
        kept = lengths > 1e-12 * max(float(lengths[0]), 1e-300)
        small = copy(self)
        small.weights_ = left[:, kept] * lengths[kept]
        small.intercept_ = np.zeros(int(kept.sum()))
        return small, np.ascontiguousarray(right[kept].T)

    def _row_blocks(self, n_rows: int, *, copies: int = 2) -> list[slice]:
        return row_blocks(n_rows, bytes_per_row=8 * copies * sum(self.weights_.shape))

r"""Ridge regression on kernel features, for every ridge at once.

Minimises, over weights ``W`` (M, D) and a bias (Carreira-Perpinan & Lu 2010, Eq. 14),

.. math:: |Y - \Phi W - 1 b^T|_F^2 + \alpha \operatorname{tr}(W^T G W) .

The bias centres features and targets (their Eqs. 15-16). The paper's normal equations square the
condition number of ``Phi``, and wide kernels make ``G`` singular to working precision. So the
features are whitened first: with ``G = V diag(g) V^T`` and ``B = V g^{-1/2}`` over eigenvalues that
are not negligible (with the others, weights grow until predictions are rounding), ``W = B C`` turns the penalty into ``alpha |C|^2``. An eigendecomposition of
``(Phi B)^T (Phi B) = U diag(s) U^T`` then solves for every alpha, and gives the leave-one-out
residuals in closed form,

.. math:: r_i / (1 - h_i), \qquad h_i = \sum_k (\Phi B U)_{ik}^2 / (s_k + \alpha) + 1/n .

Choosing widths and ridges by them uses every row, needs no random split, and costs no refit; the
paper splits the data once.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from twofold.protocols import Array

__all__ = ["ALPHAS", "SMALLEST_EIGENVALUE", "RidgePath"]

SMALLEST_EIGENVALUE = 1e-10
ALPHAS = tuple(10.0**power for power in range(-8, 3))


@dataclass(frozen=True)
class RidgePath:
    """Ridge solutions of one set of features, for any ridge.

    Use `RidgePath.of`; the attributes are the factors named in the module's docstring.
    """

    scores: Array
    to_weights: Array
    spectrum: Array
    projected: Array
    targets: Array
    feature_mean: Array
    target_mean: Array
    intercept: bool

    @classmethod
    def of(cls, features: Array, targets: Array, gram: Array, *, intercept: bool) -> RidgePath:
        """Factorise.

        Parameters
        ----------
        features : ndarray of shape (n, M)
            ``Phi`` above.
        targets : ndarray of shape (n, D)
            ``Y`` above.
        gram : ndarray of shape (M, M)
            ``G`` above.
        intercept : bool
            Whether there is a bias.
        """
        feature_mean = features.mean(axis=0) if intercept else np.zeros(features.shape[1])
        target_mean = targets.mean(axis=0) if intercept else np.zeros(targets.shape[1])
        eigenvalues, vectors = linalg.eigh(gram)
        kept = eigenvalues > SMALLEST_EIGENVALUE * eigenvalues[-1]
        whiten = vectors[:, kept] / np.sqrt(eigenvalues[kept])
        whitened = (features - feature_mean) @ whiten
        spectrum, rotation = linalg.eigh(whitened.T @ whitened)
        scores = whitened @ rotation
        targets = targets - target_mean
        return cls(
            scores,
            whiten @ rotation,
            np.maximum(spectrum, 0.0),
            scores.T @ targets,
            targets,
            feature_mean,
            target_mean,
            intercept,
        )

    def solve(self, alpha: float) -> tuple[Array, Array]:
        """Return weights (M, D) and bias (D,) for one ridge."""
        weights = self.to_weights @ (self.projected * self._shrink(alpha)[:, None])
        return weights, self.target_mean - self.feature_mean @ weights

    def leave_one_out_error(self, alpha: float) -> float:
        """Return the mean squared leave-one-out residual for one ridge.

        Without a ridge, residuals and ``1 - h`` may both vanish; a ridge at rounding level gives
        their limit.
        """
        shrink = self._shrink(max(alpha, 1e-10 * float(self.spectrum[-1])))
        residuals = self.targets - self.scores @ (self.projected * shrink[:, None])
        leverage = np.square(self.scores) @ shrink
        if self.intercept:
            leverage += 1.0 / len(self.targets)
        keep = np.maximum(1.0 - leverage, 1e-12)
        return float(np.square(residuals / keep[:, None]).sum(axis=1).mean())

    def best_alpha(self, alphas: tuple[float, ...] = ALPHAS) -> tuple[float, float]:
        """Return the ridge of the lowest leave-one-out error, and that error.

        Among ridges that differ by less than a percent the largest is taken: smaller ones buy
        nothing but weights so large that their sums cancel.
        """
        errors = [self.leave_one_out_error(alpha) for alpha in alphas]
        lowest = min(errors)
        return max(
            (alpha, error)
            for alpha, error in zip(alphas, errors, strict=True)
            if error <= 1.01 * lowest
        )

    def _shrink(self, alpha: float) -> Array:
        floor = np.finfo(np.float64).eps * max(float(self.spectrum[-1]), 1e-300)
        shrink: Array = 1.0 / np.maximum(self.spectrum + alpha, floor)
        return shrink

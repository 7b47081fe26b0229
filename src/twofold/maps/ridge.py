r"""Ridge regression on kernel features, for every ridge at once.

Minimizes, over weights ``W`` (M, D) and a bias (Carreira-Perpinan & Lu 2010, Eq. 14),

.. math:: |Y - \Phi W - 1 b^T|_F^2 + \alpha \operatorname{tr}(W^T G W) .

The bias centers features and targets (their Eqs. 15-16). The paper's normal equations square the
condition number of ``Phi``, and wide kernels make ``G`` singular to working precision. So the
features are whitened first: with ``G = V diag(g) V^T`` and ``B = V g^{-1/2}`` over eigenvalues that
are not negligible (otherwise weights grow until predictions are rounding errors), ``W = B C`` turns
the penalty into ``alpha |C|^2``. An eigendecomposition ``(Phi B)^T (Phi B) = U diag(s) U^T`` then
solves for every alpha, and gives the leave-one-out residuals in closed form,

.. math:: r_i / (1 - h_i), \qquad h_i = \sum_k (\Phi B U)_{ik}^2 / (s_k + \alpha) + 1/n .

Choosing bandwidths and ridges by them uses every row, needs no random split and costs no refit; the
paper splits the data once. The residuals of a held-out fold ``F`` are ``(I - H_FF)^{-1} r_F``, with
the rows and columns ``F`` of the hat matrix, so K folds cost K small systems and no refit either.

With every point a center, ``Phi = G = K``, and one decomposition ``K = V diag(s) V^T`` serves both.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from twofold.numerics.linalg import solve_psd
from twofold.numerics.threads import single_threaded_blas
from twofold.numerics.validation import check_real
from twofold.protocols import Array, IntArray

SMALLEST_EIGENVALUE = 1e-10
SMALLEST_REST = 1e-12
"""Smallest ``1 - h``: a row of leverage 1 is not predicted by the others."""

ALPHAS = tuple(10.0**power for power in range(-8, 3))


@dataclass(frozen=True)
class RidgePath:
    """Ridge solutions for any ridge, as the factors of the module docstring."""

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
        """Factorize features ``Phi`` (n, M) for targets ``Y`` (n, D) and a penalty ``G`` (M, M)."""
        feature_mean = features.mean(axis=0) if intercept else np.zeros(features.shape[1])
        target_mean = targets.mean(axis=0) if intercept else np.zeros(targets.shape[1])
        eigenvalues, vectors = linalg.eigh(gram)
        kept = eigenvalues > SMALLEST_EIGENVALUE * max(float(eigenvalues[-1]), 0.0)
        whiten = vectors[:, kept] / np.sqrt(eigenvalues[kept])
        if not kept.any():  # a kernel that vanishes at all centers, whose weights are zero
            whiten = np.zeros((len(gram), 1))
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

    @classmethod
    def of_gram(cls, gram: Array, targets: Array) -> RidgePath:
        """Factorize with every point a center: ``gram`` (n, n) is features and penalty."""
        spectrum, vectors = linalg.eigh(gram)
        kept = spectrum > SMALLEST_EIGENVALUE * spectrum[-1]
        if not kept.any():  # a kernel that vanishes everywhere
            kept[-1], spectrum[-1] = True, max(float(spectrum[-1]), 1e-300)
        spectrum, vectors = spectrum[kept], vectors[:, kept]
        root = np.sqrt(spectrum)
        return cls(
            vectors * root,
            vectors / root,
            spectrum,
            root[:, None] * (vectors.T @ targets),
            targets,
            np.zeros(len(gram)),
            np.zeros(targets.shape[1]),
            intercept=False,
        )

    def solve(self, alpha: float) -> tuple[Array, Array]:
        """Return weights (M, D) and bias (D,) for one ridge."""
        weights = self.to_weights @ (self.projected * self._shrink(alpha)[:, None])
        return weights, self.target_mean - self.feature_mean @ weights

    def leverage(self, alpha: float) -> Array:
        """Return the diagonal of the hat matrix (n,)."""
        leverage: Array = np.square(self.scores) @ self._shrink(self.floored(alpha))
        return leverage + 1.0 / len(self.targets) if self.intercept else leverage

    def held_out_error(self, alpha: float, folds: list[IntArray] | None = None) -> float:
        """Return the mean squared residual of rows left out one by one, or fold by fold.

        Without a ridge, residuals and ``1 - h`` may both vanish; a ridge at rounding level gives
        their limit.
        """
        shrink = self._shrink(self.floored(alpha))
        residuals = self.targets - self.scores @ (self.projected * shrink[:, None])
        if folds is None:
            residuals /= np.maximum(1.0 - self.leverage(alpha), SMALLEST_REST)[:, None]
        else:
            for rows in folds:
                hat = (self.scores[rows] * shrink) @ self.scores[rows].T
                hat += 1.0 / len(self.targets) if self.intercept else 0.0
                rest = np.eye(len(rows)) - hat
                residuals[rows] = solve_psd(rest, residuals[rows])
        return float(np.square(residuals).sum(axis=1).mean())

    def best_alpha(
        self, alphas: tuple[float, ...] = ALPHAS, folds: list[IntArray] | None = None
    ) -> tuple[float, float]:
        """Return the ridge of the lowest held-out error, and that error.

        Within one percent of the lowest error the largest ridge is taken: smaller ones only make
        weights large, and their sums cancel.
        """
        errors = [self.held_out_error(alpha, folds) for alpha in alphas]
        lowest = min(errors)
        return max(
            (alpha, error)
            for alpha, error in zip(alphas, errors, strict=True)
            if error <= 1.01 * lowest
        )

    def floored(self, alpha: float) -> float:
        """Return the ridge, raised to rounding level, that leverages and errors are computed with.

        Solve with it to combine predictions with leverages.
        """
        return max(alpha, 1e-10 * float(self.spectrum[-1]))

    def _shrink(self, alpha: float) -> Array:
        floor = max(np.finfo(np.float64).eps * float(self.spectrum[-1]), 1e-300)
        shrink: Array = 1.0 / np.maximum(self.spectrum + alpha, floor)
        return shrink


@dataclass(frozen=True)
class Choice:
    """The scale and the ridge of the lowest held-out error, and the path they lie on."""

    scale: float
    alpha: float
    error: float
    path: RidgePath


def best_path(
    scales: Iterable[float],
    path_at: Callable[[float], RidgePath],
    alphas: tuple[float, ...],
    folds: list[IntArray] | None = None,
) -> Choice:
    """Choose the scale of a kernel and the ridge by the error of held-out rows.

    Parameters
    ----------
    scales : iterable of float
        From the narrowest kernel to the widest.
    path_at : callable
        Returns the factorized problem of a scale.
    alphas : tuple of float
        Ridges to try.
    folds : list of ndarray of int, default=None
        Rows that are held out together; None means leave-one-out.
    """
    best = None
    for scale in scales:
        # These decompositions are small: a second BLAS thread gains little.
        with single_threaded_blas():
            path = path_at(scale)
            alpha, error = path.best_alpha(alphas, folds)
        if best is None or error < best.error:
            best = Choice(scale, alpha, error, path)
        elif error > 1.5 * best.error:
            break  # far past the minimum
    if best is None:
        raise ValueError("scales must not be empty.")
    return best


def alphas_to_try(alpha: object) -> tuple[float, ...]:
    """Return the ridges of a parameter: all of them for "auto"."""
    if isinstance(alpha, str) and alpha == "auto":
        return ALPHAS
    return (0.0,) if alpha == 0 else (check_real("alpha", alpha, also='0 or "auto"'),)

r"""The energy of nonparametric unsupervised regression, with both maps eliminated.

With one basis function at every point, ``f(z) = sum_m w_m k((z - z_m) / s)`` and likewise F, the maps that minimise
the energy (Carreira-Perpinan & Lu 2010, Eqs. 1-3; the formulation of their 2008 paper) for fixed latents are
kernel ridge regressions. What is left depends on the latents alone:

.. math:: E(Z) = \lambda_f \operatorname{tr}(X^T A^{-1} X) + \lambda_F \operatorname{tr}(Z^T B^{-1} Z), \qquad
          A = K_z + \lambda_f I, \quad B = K_x + \lambda_F I .

``B`` is constant. The first term moves with the kernels among latents: with ``C = A^{-1} X``,

.. math:: \frac{\partial E}{\partial K_z} = -\lambda_f C C^T, \qquad
          \nabla_{z_i} = \frac{2 \lambda_f}{s^2} \sum_j (C C^T)_{ij} K_{ij} (z_i - z_j) ,

and the second has the gradient ``2 lambda_F B^{-1} Z``. Cost: one Cholesky factor, O(n^3).

References
----------
M. A. Carreira-Perpinan, Z. Lu. Dimensionality reduction by unsupervised regression. CVPR 2008.
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from twofold.numerics.linalg import sqdist
from twofold.protocols import Array

__all__ = ["TwoRegressions", "down_penalty_of", "least_alpha", "leave_one_out_error"]


def least_alpha(n: int) -> float:
    """Return the ridge below which the factor of a kernel matrix of n rows may fail from rounding."""
    return 1e-15 * n * n


@dataclass(frozen=True)
class TwoRegressions:
    """The energy as a function of latents.

    Parameters
    ----------
    data : ndarray of shape (n, D)
        Centred data, X.
    up_width : float
        Width of the Gaussian among latents.
    up_alpha : float
        ``lambda_f``.
    down_penalty : ndarray of shape (n, n)
        ``lambda_F B^{-1}``, as `down_penalty_of` gives it.
    """

    data: Array
    up_width: float
    up_alpha: float
    down_penalty: Array

    def value(self, Z: Array) -> float:
        """Return the energy."""
        return self.value_and_grad(Z)[0]

    def value_and_grad(self, Z: Array) -> tuple[float, Array]:
        """Return the energy and its gradient."""
        K = _kernel_matrix(Z, self.up_width)
        factor = linalg.cho_factor(
            K + self.up_alpha * np.eye(len(Z)), lower=True, check_finite=False
        )
        C = linalg.cho_solve(factor, self.data, check_finite=False)
        pulled = self.down_penalty @ Z
        value = self.up_alpha * float(np.vdot(self.data, C)) + float(np.vdot(Z, pulled))
        Q = (C @ C.T) * K
        Q *= 2.0 * self.up_alpha / self.up_width**2
        gradient = Q.sum(axis=1)[:, None] * Z - Q @ Z + 2.0 * pulled
        return value, gradient


def down_penalty_of(data: Array, width: float, alpha: float) -> Array:
    """Return ``lambda_F (K_x + lambda_F I)^{-1}``, shape (n, n)."""
    K = _kernel_matrix(data, width)
    inverse = linalg.inv(K + alpha * np.eye(len(data)), check_finite=False)
    penalty: Array = 0.5 * alpha * (inverse + inverse.T)
    return penalty


def leave_one_out_error(inputs: Array, targets: Array, width: float, alpha: float) -> float:
    """Return the mean squared error of rows that a kernel ridge regression has not seen, in closed form.

    With ``A = K + alpha I`` the residual of row i is ``(A^{-1} Y)_i / (A^{-1})_{ii}``.
    """
    K = _kernel_matrix(inputs, width)
    K[np.diag_indices_from(K)] += max(alpha, least_alpha(len(K)))
    factor = linalg.cholesky(K, lower=True, check_finite=False)
    inverse, _ = linalg.lapack.dtrtri(factor, lower=1)
    diagonal = np.einsum("mn,mn->n", inverse, inverse)
    residuals = linalg.cho_solve((factor, True), targets, check_finite=False) / diagonal[:, None]
    return float(np.square(residuals).sum(axis=1).mean())


def _kernel_matrix(inputs: Array, width: float) -> Array:
    matrix: Array = np.exp(-0.5 * sqdist(inputs, inputs) / width**2)
    return matrix

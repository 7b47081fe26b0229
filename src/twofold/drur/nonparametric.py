r"""Nonparametric unsupervised regression: all latents descend together, with both maps eliminated.

With a basis function at every point, ``f(z) = sum_m w_m k((z - z_m) / s)`` and F of the same form,
each latent is also a center, so latents cannot move one by one. For fixed latents the maps that
minimize the energy (Carreira-Perpinan & Lu 2010, Eqs. 1-3; the formulation of their 2008 paper) are
kernel ridge regressions. The remaining energy depends on the latents alone:

.. math:: E(Z) = \lambda_f \operatorname{tr}(X^T A^{-1} X)
                 + \lambda_F \operatorname{tr}(Z^T B^{-1} Z), \qquad
          A = K_z + \lambda_f I, \quad B = K_x + \lambda_F I .

``B`` is constant. The first term depends on the kernels among latents: with ``C = A^{-1} X``,

.. math:: \frac{\partial E}{\partial K_z} = -\lambda_f C C^T, \qquad
          \nabla_{z_i} = \frac{2 \lambda_f}{s^2} \sum_j (C C^T)_{ij} K_{ij} (z_i - z_j) ,

and the second has the gradient ``2 lambda_F B^{-1} Z``. L-BFGS lowers this energy. Bandwidths and
ridges are chosen by leave-one-out error before a stretch of iterations, as long as they are placed
anew. Each evaluation costs one Cholesky factor, O(n^3), which suits a few thousand rows.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Dimensionality reduction by unsupervised regression. CVPR 2008.
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from twofold.maps import KernelRidgeMap
from twofold.maps.kernel_ridge import least_alpha
from twofold.numerics.bandwidths import chosen_width_and_alpha, width_grid
from twofold.numerics.linalg import sqdist
from twofold.optimize import LBFGS
from twofold.protocols import Array, Map

STRETCH = 10
"""Iterations between two choices of bandwidths and two evaluations of held-out rows."""


@dataclass
class JointDescent:
    """A stretch of joint descent, as a turn of `twofold.drur.alternation.alternate`.

    The ridges to choose from are ascending.
    """

    up_alphas: tuple[float, ...]
    down_alphas: tuple[float, ...]
    up: tuple[float, float] | None = None
    down: tuple[float, float] | None = None
    _penalty: Array | None = None

    def move(
        self, data: Array, latents: Array, *, anew: tuple[bool, bool]
    ) -> tuple[Map, Map, Array, float]:
        """Choose bandwidths, up and down, where they are placed anew, then descend."""
        if anew[0] or self.up is None:
            self.up = _chosen(latents, data, self.up_alphas, self.up)
        if anew[1] or self.down is None:
            down = _chosen(data, latents, self.down_alphas, self.down)
            if down != self.down:
                self.down, self._penalty = down, None
        if self._penalty is None:
            self._penalty = down_penalty_of(data, *self.down)
        energy = TwoRegressions(data, *self.up, self._penalty)
        result = LBFGS(max_iter=STRETCH, tol=0.0).minimize(energy, latents)
        up = KernelRidgeMap._solved(result.Z, data, *self.up)
        return (
            up,
            KernelRidgeMap._solved(data, result.Z, *self.down),
            result.Z,
            result.value / len(data),
        )

    def rescale(self, shift: Array, factor: float) -> None:  # noqa: ARG002 - a protocol
        """Scale the bandwidth of f with the latents."""
        if self.up is not None:
            self.up = (self.up[0] * factor, self.up[1])

    def state(self) -> Any:
        """Return the bandwidths and ridges."""
        return {"up": self.up, "down": self.down}

    def restore(self, state: Any) -> None:
        """Restore bandwidths and ridges; `move` computes the penalty again."""
        self.up, self.down, self._penalty = state["up"], state["down"], None


@dataclass(frozen=True)
class TwoRegressions:
    """The energy as a function of latents, for centered ``data`` (n, D).

    ``down_penalty`` (n, n) is ``lambda_F B^{-1}``, from `down_penalty_of`.
    """

    data: Array
    up_width: float
    up_alpha: float
    down_penalty: Array

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


def _chosen(
    inputs: Array, targets: Array, alphas: tuple[float, ...], near: tuple[float, float] | None
) -> tuple[float, float]:
    allowed = tuple(np.maximum(alphas, least_alpha(len(inputs))).tolist())
    return chosen_width_and_alpha(
        width_grid(inputs, ratio=2.0**0.5),
        allowed,
        lambda *pair: KernelRidgeMap._solved(inputs, targets, *pair).error_,
        near,
    )


def _kernel_matrix(inputs: Array, width: float) -> Array:
    matrix: Array = np.exp(-0.5 * sqdist(inputs, inputs) / width**2)
    return matrix

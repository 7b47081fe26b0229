r"""Nonparametric unsupervised regression: all latents descend together, with both maps eliminated.

With a basis function at every point each latent is also a centre, so latents cannot move one by one. What is left
once both maps are eliminated (`twofold.drur.joint_energy`) is a smooth function of all latents, lowered by
L-BFGS. Widths and ridges are chosen by leave-one-out error before a stretch of iterations, as long as they are
placed anew. O(n^3) an evaluation: for a few thousand rows.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Dimensionality reduction by unsupervised regression. CVPR 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from twofold.drur.joint_energy import (
    TwoRegressions,
    down_penalty_of,
    least_alpha,
    leave_one_out_error,
)
from twofold.maps import KernelRidgeMap
from twofold.numerics.bandwidths import chosen_width_and_alpha, width_grid
from twofold.optimize import LBFGS
from twofold.protocols import Array, Map

__all__ = ["JointDescent", "expansion"]

STRETCH = 10
"""Iterations between two looks at widths and at held-out rows."""


@dataclass
class JointDescent:
    """A stretch of joint descent, as a turn of `twofold.drur.alternation.run_turns`.

    Parameters
    ----------
    up_alphas, down_alphas : tuple of float
        Ridges to choose from, ascending; one where it is given.
    """

    up_alphas: tuple[float, ...]
    down_alphas: tuple[float, ...]
    up: tuple[float, float] | None = None
    down: tuple[float, float] | None = None
    _penalty: Array | None = None

    def move(self, data: Array, latents: Array, *, anew: bool) -> tuple[Map, Map, Array, float]:
        """Choose widths where they are placed anew, then descend."""
        if anew or self.up is None or self.down is None:
            self.up = _chosen(latents, data, self.up_alphas, self.up)
            down = _chosen(data, latents, self.down_alphas, self.down)
            if down != self.down or self._penalty is None:
                self.down, self._penalty = down, down_penalty_of(data, *down)
        assert self._penalty is not None
        energy = TwoRegressions(data, *self.up, self._penalty)
        result = LBFGS(max_iter=STRETCH, tol=0.0).minimize(energy, latents)
        up, down_map = expansion(result.Z, data, self.up), expansion(data, result.Z, self.down)
        return up, down_map, result.Z, result.value / len(data)

    def rescale(self, shift: Array, factor: float) -> None:  # noqa: ARG002 - a protocol
        """Follow latents to another scale."""
        if self.up is not None:
            self.up = (self.up[0] * factor, self.up[1])

    def state(self) -> Any:
        """Return the widths and ridges."""
        return {"up": self.up, "down": self.down}

    def restore(self, state: Any) -> None:
        """Go on with such widths and ridges; the penalty is computed again where they change."""
        self.up, self.down, self._penalty = state["up"], state["down"], None


def expansion(inputs: Array, targets: Array, setting: tuple[float, float]) -> KernelRidgeMap:
    """Return the kernel ridge regression of a width and a ridge, by one Cholesky factor."""
    width, alpha = setting
    fitted = KernelRidgeMap(bandwidth=width, alpha=alpha)
    fitted.centers_, fitted.bandwidth_, fitted.alpha_ = inputs, width, alpha
    fitted.error_, fitted.intercept_ = np.nan, np.zeros(targets.shape[1])
    K = fitted._features(inputs)
    K[np.diag_indices_from(K)] += max(alpha, least_alpha(len(K)))
    factor = linalg.cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
    fitted.weights_ = linalg.cho_solve(factor, targets, check_finite=False)
    return fitted


def _chosen(
    inputs: Array, targets: Array, alphas: tuple[float, ...], near: tuple[float, float] | None
) -> tuple[float, float]:
    allowed = tuple(np.maximum(alphas, least_alpha(len(inputs))).tolist())
    return chosen_width_and_alpha(
        width_grid(inputs, ratio=2.0**0.5),
        allowed,
        lambda *pair: leave_one_out_error(inputs, targets, *pair),
        near,
    )

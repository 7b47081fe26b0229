r"""The regularized quantization functional, and its descent by turns.

.. math:: R_{reg}[f] = \frac 1n \sum_i \min_{z \in \mathcal Z} c(x_i, f(z)) + \lambda Q[f]

(Smola et al. 2001, Eqs. 12-17, 29) with ``Q = |P f|^2 / 2``, the squared norm of the weights over 2, or the sum of their absolute
values (Eq. 22). *Projection* (Eq. 30) moves each latent on its own, *adaptation* the map. Neither ever raises
the functional:

* A row goes to the better of its last latent and of the nearest image of a grid, and from there down a damped
  Gauss-Newton iteration within the domain that accepts only what is lower.
* Quadratic penalties have a closed form (Eq. 33), the absolute one is lowered coordinate by coordinate. Losses other
  than the squared one are majorised by parabolas at the present residuals (`twofold.losses`); of the maps that minimise them
  one is taken only if the functional is lower there.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds. JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from twofold._blocks import map_blocks, row_blocks
from twofold._linalg import sqdist
from twofold.domains import Domain
from twofold.losses import L1, Loss
from twofold.maps.node_expansion import NodeExpansion
from twofold.penalties import L1Penalty, L2Penalty, RKHSPenalty
from twofold.protocols import Array, IntArray

__all__ = ["Quantization", "Quantized"]

PROJECTION_STEPS = 8
CAPS = (3.0, 30.0, 1e3)
"""Weights of parabolas at most, in units of their median. A row that is met exactly has an endless weight, and would hold
the map where it is; capped, its parabola is that of a loss rounded at its tip, which is a step to try."""

SWEEPS = 100
DAMPINGS = (1e-9, 1e-3, 1e-1, 10.0)
"""Of a step, in units of the mean of its matrix's diagonal; the first that lowers the loss is taken."""


@dataclass(frozen=True)
class Quantized:
    """Where a descent ended.

    Attributes
    ----------
    up : NodeExpansion
        f.
    latents : ndarray of shape (n, q)
        The rows' latents.
    history : ndarray of shape (n_steps + 1,)
        The functional at the start and after every projection and every adaptation.
    n_iter : int
        Turns made.
    """

    up: NodeExpansion
    latents: Array
    history: Array
    n_iter: int


@dataclass(frozen=True)
class Quantization:
    """The functional of some data.

    Parameters
    ----------
    data : ndarray of shape (n, D)
        Rows.
    domain : Domain
        Where latents are.
    grid : ndarray of shape (m, q)
        Latents whose images rows are compared with.
    loss : Loss
        c.
    penalty : {"rkhs", "l2", "l1"}
        Q.
    alpha : float
        ``lambda``.
    """

    data: Array
    domain: Domain
    grid: Array
    loss: Loss
    penalty: str
    alpha: float

    def value(self, up: NodeExpansion, latents: Array) -> float:
        """Return the functional for given latents."""
        losses = self.loss.values(self.data - up.predict(latents))
        return float(losses.mean()) + self.alpha * self.penalty_of(up)

    def penalty_of(self, up: NodeExpansion) -> float:
        """Return ``Q``."""
        if self.penalty == "l1":
            return L1Penalty().value(up.weights_)
        quadratic = L2Penalty() if self.penalty == "l2" else RKHSPenalty(up.gram())
        return 0.5 * quadratic.value(up.weights_)

    def run(
        self,
        up: NodeExpansion,
        latents: Array,
        *,
        max_iter: int,
        tol: float,
        callback: Callable[[int, float, Array], bool] = lambda *_: False,
    ) -> Quantized:
        """Descend by turns until one lowers the functional by less than a share ``tol``."""
        history = [self.value(up, latents)]
        turn = 0
        for turn in range(1, max_iter + 1):
            before = history[-1]
            latents = self.project(up, latents)
            history.append(self.value(up, latents))
            up = self.adapt(up, latents)
            history.append(self.value(up, latents))
            if callback(turn, history[-1], latents) or before - history[-1] <= tol * before:
                break
        return Quantized(up, latents, np.array(history), turn)

    def project(self, up: NodeExpansion, latents: Array | None) -> Array:
        """Return latents (n, q) of lower or equal losses, Eq. (30).

        Parameters
        ----------
        up : NodeExpansion
            f.
        latents : ndarray of shape (n, q) or None
            Where the rows are; None means that they are nowhere yet.
        """
        images = up.predict(self.grid)
        found = np.empty((len(self.data), self.grid.shape[1]))

        def work(rows: slice) -> None:
            data = self.data[rows]
            start = self.grid[self._nearest(data, images)]
            if latents is not None:
                old = latents[rows]
                losses = [self.loss.values(data - up.predict(one)) for one in (old, start)]
                start = np.where((losses[1] < losses[0])[:, None], start, old)
            found[rows] = self._descended(up, data, start)

        per_row = 8 * (len(self.grid) + 4 * sum(up.weights_.shape))
        map_blocks(work, row_blocks(len(self.data), per_row))
        return found

    def _nearest(self, data: Array, images: Array) -> IntArray:
        if isinstance(self.loss, L1):  # the other losses grow with the Euclidean distance
            distances = sum(np.abs(data[:, [d]] - images[:, d]) for d in range(data.shape[1]))
        else:
            distances = sqdist(data, images)
        nearest: IntArray = np.asarray(distances).argmin(axis=1)
        return nearest

    def _descended(self, up: NodeExpansion, data: Array, Z: Array) -> Array:
        Z = Z.copy()
        losses = self.loss.values(data - up.predict(Z))
        active = np.arange(len(Z))
        for _ in range(PROJECTION_STEPS):
            steps = self._steps(up, data[active], Z[active])
            moved = np.zeros(len(active), dtype=bool)
            for step in steps:
                rows = active[~moved]
                trial = self.domain.into(Z[rows] + step[~moved])
                lower = self.loss.values(data[rows] - up.predict(trial))
                better = lower < losses[rows] * (1.0 - 1e-12)
                Z[rows[better]], losses[rows[better]] = trial[better], lower[better]
                moved[np.flatnonzero(~moved)[better]] = True
                if moved.all():
                    break
            active = active[moved]
            if not len(active):
                break
        return Z

    def _steps(self, up: NodeExpansion, data: Array, Z: Array) -> list[Array]:
        """Return Gauss-Newton steps (n, q), ever more damped; what would leave a box is held."""
        residuals = data - up.predict(Z)
        weights = self.loss.weights(residuals)
        jacobian = up.jacobian(Z)  # (n, D, q)
        weighted = jacobian * weights[:, :, None]
        curvature = np.einsum("ndq,ndp->nqp", weighted, jacobian)
        descent = np.einsum("ndq,nd->nq", weighted, residuals)
        wrapped = np.array(self.domain.wrapped)
        held = ~wrapped & (((Z >= 1.0) & (descent > 0.0)) | ((Z <= -1.0) & (descent < 0.0)))
        descent = np.where(held, 0.0, descent)
        curvature[held[:, :, None] | held[:, None, :]] = 0.0
        q = Z.shape[1]
        unit = np.maximum(np.einsum("nqq->n", curvature) / q, 1e-300)[:, None, None]
        steps = []
        for damping in DAMPINGS:
            matrix = curvature + (damping * unit) * np.eye(q)
            matrix[:, np.arange(q), np.arange(q)] += np.where(held, unit[:, :, 0], 0.0)
            steps.append(np.linalg.solve(matrix, descent[:, :, None])[:, :, 0])
        return steps

    def adapt(self, up: NodeExpansion, latents: Array) -> NodeExpansion:
        """Return a map of lower or equal functional, for given latents."""
        best, lowest = up, self.value(up, latents)
        features = up._features(latents)
        basis = up.whitening() if self.penalty == "rkhs" else np.eye(features.shape[1])
        for cap in CAPS:
            weights = self.loss.weights(self.data - best.predict(latents))
            weights = np.minimum(weights, cap * np.median(weights))
            candidate = copy(best)
            solution = (
                self._sparse_solution(features, weights, best)
                if self.penalty == "l1"
                else self._quadratic_solution(features, weights, basis)
            )
            candidate.weights_, candidate.intercept_ = solution
            value = self.value(candidate, latents)
            if value < lowest:
                best, lowest = candidate, value
            if weights.shape[1] == 1 and np.ptp(weights) == 0.0 and self.penalty != "l1":
                break  # the parabola was the loss itself
        return best

    def _quadratic_solution(
        self, features: Array, weights: Array, basis: Array
    ) -> tuple[Array, Array]:
        """Solve Eq. (33) with weights of rows, or of entries, and with ``f_0``; the penalty is that of a basis."""
        n = len(features)
        design = np.hstack([np.ones((n, 1)), features @ basis])
        ridge = np.full(design.shape[1], 0.5 * self.alpha * n)
        ridge[0] = 0.0
        solution = np.empty((design.shape[1], self.data.shape[1]))
        for columns in _groups(weights, self.data.shape[1]):
            weighted = design * weights[:, columns[:1] if weights.shape[1] > 1 else [0]]
            system = weighted.T @ design
            system[np.diag_indices_from(system)] += ridge
            right = weighted.T @ self.data[:, columns]
            solution[:, columns] = linalg.solve(system, right, assume_a="pos")
        return basis @ solution[1:], solution[0]

    def _sparse_solution(
        self, features: Array, weights: Array, up: NodeExpansion
    ) -> tuple[Array, Array]:
        """Lower Eq. (34) weight by weight from where the map is, all columns at once."""
        n, n_targets = len(features), self.data.shape[1]
        design = np.hstack([np.ones((n, 1)), features])
        W = np.vstack([up.intercept_, up.weights_])
        for columns in _groups(weights, n_targets):
            weighted = design * weights[:, columns[:1] if weights.shape[1] > 1 else [0]]
            gram = weighted.T @ design / n
            right = weighted.T @ self.data[:, columns] / n
            part = W[:, columns]
            thresholds = np.full(len(gram), 0.5 * self.alpha)
            thresholds[0] = 0.0
            for _ in range(SWEEPS):
                largest = 0.0
                for row in range(len(gram)):
                    if gram[row, row] <= 0.0:
                        continue
                    rest = right[row] - gram[row] @ part + gram[row, row] * part[row]
                    new = np.sign(rest) * np.maximum(np.abs(rest) - thresholds[row], 0.0)
                    new /= gram[row, row]
                    largest = max(largest, float(np.abs(new - part[row]).max()))
                    part[row] = new
                if largest <= 1e-6 * max(float(np.abs(part).max()), 1e-300):
                    break
            W[:, columns] = part
        return W[1:], W[0]


def _groups(weights: Array, n_targets: int) -> list[IntArray]:
    """Return the columns that share their weights."""
    if weights.shape[1] == 1:
        return [np.arange(n_targets)]
    return [np.array([column]) for column in range(n_targets)]

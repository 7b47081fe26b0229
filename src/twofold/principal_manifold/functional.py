r"""The regularized quantization functional, and its descent by turns.

.. math:: R_{reg}[f] = \frac 1n \sum_i \min_{z \in \mathcal Z} c(x_i, f(z)) + \lambda Q[f]

(Smola et al. 2001, Eqs. 12-17, 29) with ``Q = |P f|^2 / 2``, the squared norm of the weights over 2, or the sum of their absolute
values (Eq. 22). *Projection* (Eq. 30, `twofold.principal_manifold.projection`) moves each latent on its own, *adaptation* the
map. Neither ever raises the functional. Quadratic penalties have a closed form (Eq. 33), the absolute one is lowered
coordinate by coordinate (Eq. 34). Losses other than the squared one are majorised by parabolas at the present
residuals (`twofold.losses`); of the maps that minimise them one is taken only if the functional is lower there.

Where latents pass a noisy channel of variance ``sigma^2`` the functional has the further term

.. math:: \frac{\sigma^2}{n} \sum_i |f'(\zeta_i)|^2 .

This is Eq. (40) but for its factor: expanding ``E |x - f(zeta + xi)|^2`` to second order gives ``sigma^2``, where the paper
prints ``2 sigma^2``.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds. JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np

from twofold.losses import Loss
from twofold.numerics.linalg import solve_psd
from twofold.numerics.threads import map_blocks, row_blocks, single_threaded_blas
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.penalties import L1Penalty, L2Penalty, RKHSPenalty
from twofold.principal_manifold.projection import DomainProjection
from twofold.protocols import Array, IntArray

__all__ = [
    "CAPS",
    "DescentState",
    "Quantization",
    "Quantized",
    "penalised",
    "slope_products",
    "solved",
    "weighted_sums",
]

CAPS = (3.0, 30.0, 1e3)
"""Weights of parabolas at most, in units of their median. A row that is met exactly has an endless weight, and would hold
the map where it is; capped, its parabola is that of a loss rounded at its tip, which is a step to try."""

SWEEPS = 200
SWEEPS_BETWEEN_FULL = 10
TURNS_BETWEEN_SEARCHES = 5
STEPS_OF_A_TURN = 2
"""Gauss-Newton steps of a projection that other turns follow."""


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


@dataclass
class DescentState:
    """Where a descent is between two turns: map, latents, the functional so far, turns made, and whether it stalled."""

    up: NodeExpansion
    latents: Array
    history: list[float]
    turn: int
    stalled: bool


@dataclass(frozen=True)
class Quantization:
    """The functional of some data.

    Parameters
    ----------
    data : ndarray of shape (n, D)
        Rows.
    domain : Domain or Points
        Where latents are.
    grid : ndarray of shape (m, q)
        Latents whose images rows are compared with.
    loss : Loss
        c.
    penalty : {"rkhs", "l2", "l1"}
        Q.
    alpha : float
        ``lambda``.
    latent_noise : float, default=0.0
        ``sigma``.
    n_functions : int, default=None
        How many of the kernel's smoothest functions an adaptation may use, with "rkhs"; None means all.
    """

    data: Array
    domain: Domain | Points
    grid: Array
    loss: Loss
    penalty: str
    alpha: float
    latent_noise: float = 0.0
    n_functions: int | None = None

    def value(self, up: NodeExpansion, latents: Array) -> float:
        """Return the functional for given latents."""
        losses = self.projection(up).losses(self.data, latents)
        return float(losses.mean()) + self.alpha * penalised(up, self.penalty)

    def projection(self, up: NodeExpansion) -> DomainProjection:
        """Return the projection to the manifold of a map."""
        return DomainProjection(up, self.domain, self.grid, self.loss, self.latent_noise)

    def run(
        self,
        up: NodeExpansion,
        latents: Array | None,
        *,
        max_iter: int,
        tol: float,
        callback: Callable[[int, float, Array], bool] = lambda *_: False,
        state: DescentState | None = None,
        note: Callable[[DescentState], None] | None = None,
    ) -> Quantized:
        """Descend by turns until one lowers the functional by less than a share ``tol``.

        A descent that was interrupted goes on from its last ``state``; ``note`` is told of it after each turn that others may follow.
        """
        with (
            single_threaded_blas()
        ):  # small products: more threads of BLAS would take three times as long
            if state is None:
                latents = self.project(up, latents)
                value = self.value(up, latents)
                state = DescentState(up, latents, [value], 0, self.domain.is_discrete)
            while state.turn < max_iter:
                ended = self._turn(state, tol)
                if callback(state.turn, state.history[-1], state.latents) or ended:
                    break
                if note is not None:
                    note(state)
        return Quantized(state.up, state.latents, np.array(state.history), state.turn)

    def _turn(self, now: DescentState, tol: float) -> bool:
        """Make one turn, and return whether it is the last."""
        now.turn += 1
        before = now.history[-1]
        everywhere = now.stalled or now.turn % TURNS_BETWEEN_SEARCHES == 0
        now.latents = self.project(now.up, now.latents, STEPS_OF_A_TURN, everywhere=everywhere)
        now.history.append(self.value(now.up, now.latents))
        now.up = self.adapt(now.up, now.latents, now.history[-1])
        now.history.append(self.value(now.up, now.latents))
        idle = before - now.history[-1] <= tol * before
        now.stalled = self.domain.is_discrete or idle
        return everywhere and idle  # also rows that looked everywhere found nothing better

    def project(
        self,
        up: NodeExpansion,
        latents: Array | None,
        n_steps: int = 20,
        *,
        everywhere: bool = True,
    ) -> Array:
        """Return latents (n, q) of lower or equal losses, Eq. (30)."""
        return self.projection(up).lower(self.data, latents, n_steps, everywhere=everywhere)

    def adapt(self, up: NodeExpansion, latents: Array, value: float | None = None) -> NodeExpansion:
        """Return a map of lower or equal functional, for given latents; ``value`` is the functional, where known."""
        best, lowest = up, self.value(up, latents) if value is None else value
        slopes = self._slopes(up, latents) if self.latent_noise else 0.0
        for cap in CAPS:
            weights = self.loss.weights(self.data - best.predict(latents))
            weights = np.minimum(weights, cap * np.median(weights))
            grams, right = self._sums(up, latents, weights)
            sums = [gram + slopes for gram in grams]
            candidate = solved(best, sums, right, self.penalty, self.alpha, self.n_functions)
            value = self.value(candidate, latents)
            if value < lowest:
                best, lowest = candidate, value
            if weights.shape[1] == 1 and np.ptp(weights) == 0.0:
                break  # the parabola was the loss itself
        return best

    def _blocks(self, up: NodeExpansion) -> list[slice]:
        return row_blocks(len(self.data), 3 * 8 * len(up.nodes))

    def _sums(self, up: NodeExpansion, latents: Array, weights: Array) -> tuple[list[Array], Array]:
        """Return ``mean(w phi phi^T)`` with ``phi_0 = 1``, one for each column of the weights, and ``mean(w phi x)`` (M + 1, D)."""

        def part(rows: slice) -> list[Array]:
            return weighted_sums(up, latents[rows], weights[rows], self.data[rows])

        parts = map_blocks(part, self._blocks(up))
        *grams, right = (np.sum(one, axis=0) / len(self.data) for one in zip(*parts, strict=True))
        return grams, right

    def _slopes(self, up: NodeExpansion, latents: Array) -> Array:
        """Return ``sigma^2 mean(phi' phi'^T)``, with a row and a column of zeros for the constant."""

        def part(rows: slice) -> Array:
            return slope_products(up, latents[rows])

        total: Array = np.sum(map_blocks(part, self._blocks(up)), axis=0)
        return total * (self.latent_noise**2 / len(self.data))


def weighted_sums(up: NodeExpansion, latents: Array, weights: Array, data: Array) -> list[Array]:
    """Return ``sum(w phi phi^T)`` with ``phi_0 = 1``, one for each column of the weights, and ``sum(w phi x)`` (M + 1, D)."""
    design = _with_ones(up._features(latents))
    grams = [(design * weights[:, column, None]).T @ design for column in range(weights.shape[1])]
    return [*grams, design.T @ (weights * data)]


def slope_products(up: NodeExpansion, latents: Array) -> Array:
    """Return ``sum(phi' phi'^T)``, with a row and a column of zeros for the constant."""
    _, gradients = up._feature_gradients(latents)
    total = np.zeros((len(up.nodes) + 1,) * 2)
    total[1:, 1:] = np.sum([one.T @ one for one in gradients], axis=0)
    return total


def penalised(up: NodeExpansion, penalty: str) -> float:
    """Return ``Q`` of a map."""
    if penalty == "l1":
        return L1Penalty().value(up.weights_)
    quadratic = L2Penalty() if penalty == "l2" else RKHSPenalty(up.gram())
    return 0.5 * quadratic.value(up.weights_)


def solved(
    up: NodeExpansion,
    grams: list[Array],
    right: Array,
    penalty: str,
    alpha: float,
    n_functions: int | None = None,
) -> NodeExpansion:
    """Return the map of least ``sum_d W_d^T G_d W_d - 2 W_d^T b_d`` plus its penalty; the intercept has none.

    Parameters
    ----------
    up : NodeExpansion
        Where the map is: the start of coordinate descent.
    grams : list of ndarray of shape (M + 1, M + 1)
        One ``G`` for all columns, or one for each.
    right : ndarray of shape (M + 1, D)
        The columns ``b``.
    penalty : {"rkhs", "l2", "l1"}
        Q.
    alpha : float
        Its weight.
    n_functions : int, default=None
        How many columns of the whitening are used, with "rkhs"; None means all.
    """
    W = np.vstack([up.intercept_, up.weights_])
    basis = np.eye(len(W))
    if penalty == "rkhs":
        white = up.whitening()[:, :n_functions]
        basis = np.zeros((len(W), 1 + white.shape[1]))
        basis[0, 0], basis[1:, 1:] = 1.0, white
    for columns, gram in zip(_groups(len(grams), right.shape[1]), grams, strict=True):
        if penalty == "l1":
            W[:, columns] = _sparse_solution(gram, right[:, columns], W[:, columns], alpha)
        else:
            system = basis.T @ gram @ basis
            system[range(1, len(system)), range(1, len(system))] += 0.5 * alpha
            W[:, columns] = basis @ solve_psd(system, basis.T @ right[:, columns])
    new = copy(up)
    new.intercept_, new.weights_ = W[0], W[1:]
    return new


def _sparse_solution(gram: Array, right: Array, W: Array, alpha: float) -> Array:
    """Lower Eq. (34) weight by weight from ``W``, all columns at once.

    Sweeps over all weights alternate with sweeps over those that are not zero, which are few.
    """
    W = W.copy()
    rest = right - gram @ W
    usable = np.flatnonzero(np.diag(gram) > 0.0)
    for sweep in range(SWEEPS):
        everyone = sweep % SWEEPS_BETWEEN_FULL == 0
        rows = usable if everyone else usable[np.abs(W[usable]).max(axis=1) > 0.0]
        largest = 0.0
        for row in rows:
            size = gram[row, row]
            pull = rest[row] + size * W[row]
            if row > 0:  # the intercept has no penalty
                pull = np.sign(pull) * np.maximum(np.abs(pull) - 0.5 * alpha, 0.0)
            change = pull / size - W[row]
            if change.any():
                W[row] += change
                rest -= np.multiply.outer(gram[:, row], change)
                largest = max(largest, float(np.abs(change).max()))
        if everyone and largest <= 1e-5 * max(float(np.abs(W).max()), 1e-300):
            break
    return W


def _groups(n_grams: int, n_targets: int) -> list[IntArray]:
    """Return the columns that share a matrix."""
    if n_grams == 1:
        return [np.arange(n_targets)]
    return [np.array([column]) for column in range(n_targets)]


def _with_ones(features: Array) -> Array:
    return np.hstack([np.ones((len(features), 1)), features])

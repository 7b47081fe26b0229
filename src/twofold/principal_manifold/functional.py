r"""The regularized quantization functional, and its descent by turns.

.. math:: R_{reg}[f] = \frac 1n \sum_i \min_{z \in \mathcal Z} c(x_i, f(z)) + \lambda Q[f]

(Smola et al. 2001, Eqs. 12-17, 29). For ``f(z) = f_0 + sum_m k(z_m, z) w_m`` with the kernel matrix
``G`` of the nodes, the penalty is one of

.. math::
   \mathrm{rkhs:}\ \tfrac 12 \operatorname{tr}(W^T G W) = \tfrac 12 |P f|^2 \qquad
   \ell_2:\ \tfrac 12 \sum_{md} W_{md}^2 \qquad
   \ell_1:\ \sum_{md} |W_{md}|

(Eqs. 17 and 22; the last gives expansions in few nodes). *Projection* (Eq. 30,
`twofold.principal_manifold.projection`) moves each latent on its own, *adaptation* the map. Neither
raises the functional. Quadratic penalties have a closed form (Eq. 33); coordinate descent lowers
the absolute one (Eq. 34). Losses other than the squared one are majorized by parabolas at the
present residuals (`twofold.losses`); the map that minimizes them is accepted only if it lowers the
functional.

If latents pass a noisy channel of variance ``sigma^2``, the functional has the further term

.. math:: \frac{\sigma^2}{n} \sum_i |f'(\zeta_i)|^2 .

This is Eq. (40) except for its factor: expanding ``E |x - f(zeta + xi)|^2`` to second order gives
``sigma^2``, where the paper prints ``2 sigma^2``.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from twofold.losses import Loss, Squared
from twofold.numerics.linalg import solve_psd
from twofold.numerics.threads import map_blocks, row_blocks, single_threaded_blas
from twofold.numerics.turns import State, TurnOptions, falls, run_turns
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.limit import within
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import MOST_STEPS, DomainProjection, are_many
from twofold.protocols import Array, IntArray

CAPS = (3.0, 30.0, 1e3)
"""Largest weights of parabolas, in units of their median. A row that is met exactly has an infinite
weight, and would fix the map; a capped weight is that of a loss rounded at its tip."""

SWEEPS = 200
SWEEPS_BETWEEN_FULL = 10
TURNS_BETWEEN_SEARCHES = 5
STEPS_OF_A_TURN = 2
"""Gauss-Newton steps of a projection within the turns."""


@dataclass(kw_only=True)
class DescentState(State):
    """The state of a descent; if ``stalled``, the next projection searches the whole grid.

    ``history`` has the functional at the start and after every projection and adaptation.
    """

    up: NodeExpansion
    stalled: bool


@dataclass(frozen=True)
class Quantization:
    """The functional of rows ``data`` (n, D) for latents in ``domain``.

    ``grid`` (m, q) has the latents that a search for the nearest image compares; ``loss`` is c,
    ``penalty`` ("rkhs", "l2" or "l1") is Q, ``alpha`` lambda and ``latent_noise`` sigma. With
    "rkhs", adaptations use the ``n_functions`` smoothest functions of the kernel; None means all.

    With a ``limit``, the functional is the mean loss, and ``Q`` of all maps is at most the limit
    (`twofold.principal_manifold.limit`); ``alpha`` has no meaning then.
    """

    data: Array
    domain: Domain | Points
    grid: Array
    loss: Loss
    penalty: str
    alpha: float
    latent_noise: float = 0.0
    n_functions: int | None = None
    limit: float | None = None

    def value(self, up: NodeExpansion, latents: Array) -> float:
        """Return the functional for given latents."""
        return self._around(up).value(latents)

    def projection(self, up: NodeExpansion) -> DomainProjection:
        """Return the projection to the manifold of a map."""
        many = are_many(len(self.data), up)
        return DomainProjection(up, self.domain, self.grid, self.loss, self.latent_noise, many)

    def _around(self, up: NodeExpansion) -> Around:
        near, rows = self.projection(up).in_few_columns(self.data)
        price = 0.0 if self.limit is not None else self.alpha * penalized(up, self.penalty)
        return Around(up, near, rows, price)

    def run(
        self,
        up: NodeExpansion,
        latents: Array | None,
        options: TurnOptions,
        state: DescentState | None = None,
        first_steps: int = MOST_STEPS,
    ) -> DescentState:
        """Descend by turns until one lowers the functional by less than a share ``tol``.

        ``state`` resumes an interrupted descent. The first projection takes up to ``first_steps``
        Gauss-Newton steps.
        """
        with single_threaded_blas():  # the products are small: threads of BLAS would slow them
            if state is None and self.limit is not None:
                up, latents = self._in_class(up, latents)
            around = self._around(up if state is None else state.up)

        def take_turn(now: DescentState) -> bool:
            nonlocal around
            before = now.value
            everywhere = now.stalled or now.turn % TURNS_BETWEEN_SEARCHES == 0
            now.latents, value = around.lower(now.latents, STEPS_OF_A_TURN, everywhere=everywhere)
            now.history.append(value)
            around, value = self._adapted(around, now.latents, value)
            now.up = around.up
            now.history.append(value)
            idle = not falls(before, now.value, options.tol)
            now.stalled = self.domain.is_discrete or idle
            return everywhere and idle  # a search of the whole grid found nothing better either

        with single_threaded_blas():
            if state is None:
                latents, value = around.lower(latents, first_steps)
                stalled = self.domain.is_discrete
                state = DescentState(latents=latents, history=[value], up=up, stalled=stalled)
            return run_turns(state, take_turn, options)

    def project(self, up: NodeExpansion, latents: Array | None) -> Array:
        """Return latents (n, q) of lower or equal losses, Eq. (30)."""
        return self._around(up).lower(latents)[0]

    def adapt(self, up: NodeExpansion, latents: Array) -> NodeExpansion:
        """Return a map of lower or equal functional for given latents."""
        around = self._around(up)
        return self._adapted(around, latents, around.value(latents))[0].up

    def multiplier(self, up: NodeExpansion, latents: Array) -> float:
        """Return the weight of the penalty at which the best map for latents meets the limit."""
        return self._candidate(up, latents, CAPS[-1])[1]

    def _in_class(
        self, up: NodeExpansion, latents: Array | None
    ) -> tuple[NodeExpansion, Array | None]:
        """Return a map with a penalty within the limit, and the latents to which it was adapted."""
        assert self.limit is not None
        if penalized(up, self.penalty) <= self.limit:
            return up, latents
        latents = self.project(up, latents)
        return self._candidate(up, latents, CAPS[0])[0], latents

    def _adapted(self, around: Around, latents: Array, value: float) -> tuple[Around, float]:
        """Return a map of lower or equal functional, and that functional; now it is ``value``."""
        for cap in CAPS:
            up, _, exact = self._candidate(around.up, latents, cap)
            candidate = self._around(up)
            lower = candidate.value(latents)
            if lower < value:
                around, value = candidate, lower
            if exact:
                break
        return around, value

    def _candidate(
        self, up: NodeExpansion, latents: Array, cap: float
    ) -> tuple[NodeExpansion, float, bool]:
        """Return the minimum of the parabola at a map, the weight of its penalty, if it is exact.

        The parabola is exact if it equals the loss.
        """
        weights = None
        if not isinstance(self.loss, Squared):
            weights = self.loss.weights(self.data - up.predict(latents))
            weights = np.minimum(weights, cap * np.median(weights))
        slopes = self._slopes(up, latents) if self.latent_noise else 0.0
        grams, right = self._sums(up, latents, weights)
        sums = [gram + slopes for gram in grams]
        new, alpha = solved_within(
            up, sums, right, self.penalty, self.alpha, self.limit, self.n_functions
        )
        exact = weights is None or (weights.shape[1] == 1 and np.ptp(weights) == 0.0)
        return new, alpha, exact

    def _blocks(self, up: NodeExpansion) -> list[slice]:
        return row_blocks(len(self.data), 3 * 8 * len(up.nodes))

    def _sums(
        self, up: NodeExpansion, latents: Array, weights: Array | None
    ) -> tuple[list[Array], Array]:
        """Return the means over rows of `weighted_sums`."""

        def part(rows: slice) -> list[Array]:
            some = None if weights is None else weights[rows]
            return weighted_sums(up, latents[rows], some, self.data[rows])

        parts = map_blocks(part, self._blocks(up))
        *grams, right = (np.sum(one, axis=0) / len(self.data) for one in zip(*parts, strict=True))
        return grams, right

    def _slopes(self, up: NodeExpansion, latents: Array) -> Array:
        """Return ``sigma^2 mean(phi' phi'^T)``, with zeros for the constant."""

        def part(rows: slice) -> Array:
            return slope_products(up, latents[rows])

        total: Array = np.sum(map_blocks(part, self._blocks(up)), axis=0)
        return total * (self.latent_noise**2 / len(self.data))


@dataclass(frozen=True)
class Around:
    """A map, the projection to its manifold, and all rows (n, r), in few columns.

    ``price`` is the penalty of the map times its weight.
    """

    up: NodeExpansion
    near: DomainProjection
    rows: Array
    price: float

    def value(self, latents: Array) -> float:
        """Return the functional for given latents."""
        return float(self.near.losses(self.rows, latents).mean()) + self.price

    def lower(
        self, latents: Array | None, n_steps: int = MOST_STEPS, *, everywhere: bool = True
    ) -> tuple[Array, float]:
        """Return latents (n, q) of lower or equal losses, Eq. (30), and the functional."""
        latents, losses = self.near.lower(self.rows, latents, n_steps, everywhere=everywhere)
        return latents, float(losses.mean()) + self.price


def weighted_sums(
    up: NodeExpansion, latents: Array, weights: Array | None, data: Array
) -> list[Array]:
    """Return ``sum(w phi phi^T)`` for each column of the weights, and ``sum(w phi x)`` (M + 1, D).

    The features ``phi`` begin with a constant 1. Without weights, all are 1.
    """
    design = with_ones(up.features(latents))
    if weights is None:
        return [design.T @ design, design.T @ data]
    grams = [(design * weights[:, column, None]).T @ design for column in range(weights.shape[1])]
    return [*grams, design.T @ (weights * data)]


def slope_products(up: NodeExpansion, latents: Array, weights: Array | None = None) -> Array:
    """Return ``sum(w phi' phi'^T)`` (M + 1, M + 1), with zeros for the constant."""
    _, gradients = up.feature_gradients(latents)
    total = np.zeros((len(up.nodes) + 1,) * 2)
    products = [one.T @ (one if weights is None else one * weights[:, None]) for one in gradients]
    total[1:, 1:] = np.sum(products, axis=0)
    return total


def penalized(up: NodeExpansion, penalty: str) -> float:
    """Return ``Q`` of a map."""
    W = up.weights_
    if penalty == "l1":
        return float(np.abs(W).sum())
    return 0.5 * float(np.vdot(W, W if penalty == "l2" else up.gram() @ W))


def solved(
    up: NodeExpansion,
    grams: list[Array],
    right: Array,
    penalty: str,
    alpha: float,
    n_functions: int | None = None,
) -> NodeExpansion:
    """Return the map of least ``sum_d W_d^T G_d W_d - 2 W_d^T b_d`` plus its penalty.

    ``grams`` has one ``G`` (M + 1, M + 1) for all columns or one for each, ``right`` (M + 1, D) the
    columns ``b``. The intercept has no penalty. Coordinate descent starts from ``up``; with "rkhs"
    the map uses ``n_functions`` columns of the whitening.
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


def solved_within(
    up: NodeExpansion,
    grams: list[Array],
    right: Array,
    penalty: str,
    alpha: float,
    limit: float | None,
    n_functions: int | None = None,
) -> tuple[NodeExpansion, float]:
    """Return `solved` and ``alpha``; with a limit of the penalty, the best map within it.

    Its multiplier then takes the place of ``alpha``.
    """
    if limit is None:
        return solved(up, grams, right, penalty, alpha, n_functions), alpha
    return within(
        limit,
        lambda weight: solved(up, grams, right, penalty, weight, n_functions),
        lambda one: penalized(one, penalty),
        degree=1.0 if penalty == "l1" else 2.0,
        hint=up.alpha,
    )


def _sparse_solution(gram: Array, right: Array, W: Array, alpha: float) -> Array:
    """Lower Eq. (34) weight by weight from ``W``, all columns at once.

    Sweeps over all weights alternate with sweeps over the nonzero ones, which are few.
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


def with_ones(features: Array) -> Array:
    """Return features (n, M) with a constant column before them."""
    return np.hstack([np.ones((len(features), 1)), features])

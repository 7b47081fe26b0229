r"""Principal manifolds with soft assignment: every place is responsible for a row to some degree.

With places ``g_1, ..., g_K`` and a temperature ``T`` the loss of a row is the free energy

.. math:: F_T(x) = -T \log \frac 1K \sum_k e^{-c(x, f(g_k)) / T}

instead of the loss at the best place, which it becomes for ``T -> 0``. For the squared loss this is the likelihood of the
generative topographic map (Smola et al. 2001, section 6.1; Bishop et al. 1998), with their penalty where ``penalty="l2"``. A
turn finds the responsibilities ``r_ik``, proportional to ``e^{-c / T}``, and then the map that lowers
``sum_ik r_ik c(x_i, f(g_k))`` plus the penalty; neither raises the functional.

*Annealing*: the temperature falls by a fifth each turn, down to ``2 / D`` times the mean loss, the value of the highest
likelihood for the squared loss. ``F_T`` falls with ``T`` (a power mean rises with its exponent), so the whole
history never rises.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds. JMLR 1, 2001.
C. M. Bishop, M. Svensen, C. K. I. Williams. GTM: the generative topographic mapping. Neural Computation 10, 1998.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from twofold.losses import Loss, Squared
from twofold.numerics.linalg import shifted_exp
from twofold.numerics.threads import map_blocks, row_blocks, single_threaded_blas
from twofold.principal_manifold.functional import CAPS, penalised, solved
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import losses_at
from twofold.protocols import Array

__all__ = ["SoftQuantization", "SoftState", "SoftlyQuantized"]

COOLING = 0.8
FIRST_TEMPERATURE = 4.0
"""In units of the likeliest one at the start."""

COLDEST = 1e-9


class SoftlyQuantized(NamedTuple):
    """Where a soft descent ended: the map, the functional's history, the turns made, the temperature."""

    up: NodeExpansion
    history: Array
    n_iter: int
    temperature: float


@dataclass
class SoftState:
    """Where a soft descent is between two turns: map, temperature, the functional so far, turns made."""

    up: NodeExpansion
    temperature: float
    history: list[float]
    turn: int


@dataclass(frozen=True)
class SoftQuantization:
    """The functional of some data.

    Parameters
    ----------
    data : ndarray of shape (n, D)
        Rows.
    places : ndarray of shape (K, q)
        The places.
    loss : Loss
        c.
    penalty : {"rkhs", "l2", "l1"}
        Q.
    alpha : float
        Its weight.
    latent_noise : float, default=0.0
        Adds ``sigma^2 |f'(g_k)|^2`` to the losses at a place, as in `twofold.principal_manifold.functional`.
    """

    data: Array
    places: Array
    loss: Loss
    penalty: str
    alpha: float
    latent_noise: float = 0.0

    def value(self, up: NodeExpansion, temperature: float) -> float:
        """Return the functional."""
        return self._energies(up, temperature)[0] + self.alpha * penalised(up, self.penalty)

    def run(
        self,
        up: NodeExpansion,
        *,
        max_iter: int,
        tol: float,
        callback: Callable[[int, float, Array], bool] = lambda *_: False,
        state: SoftState | None = None,
        note: Callable[[SoftState], None] | None = None,
    ) -> SoftlyQuantized:
        """Descend by turns, cooling, until a turn at the last temperature gains less than a share ``tol``.

        A descent that was interrupted goes on from its last ``state``; ``note`` is told of it after each turn that others may follow.
        """
        with single_threaded_blas():
            if state is None:
                temperature = max(FIRST_TEMPERATURE * self._likeliest(up, COLDEST), COLDEST)
                state = SoftState(up, temperature, [self.value(up, temperature)], 0)
            while state.turn < max_iter:
                if self._turn(state, tol, callback):
                    break
                if note is not None:
                    note(state)
        return SoftlyQuantized(state.up, np.array(state.history), state.turn, state.temperature)

    def _turn(
        self, state: SoftState, tol: float, callback: Callable[[int, float, Array], bool]
    ) -> bool:
        """Adapt the map and cool down; return whether that was the last turn."""
        before = state.history[-1]
        state.up = self.adapt(state.up, state.temperature)
        state.history.append(self.value(state.up, state.temperature))
        state.turn += 1
        stop = callback(state.turn, state.history[-1], self.places)
        likeliest = self._likeliest(state.up, state.temperature)
        colder = max(likeliest, COOLING * state.temperature, COLDEST)
        idle = before - state.history[-1] <= tol * before
        if stop or (colder >= state.temperature and idle):
            return True
        if colder < state.temperature:
            state.temperature = colder
            state.history.append(self.value(state.up, colder))
        return False

    def adapt(self, up: NodeExpansion, temperature: float) -> NodeExpansion:
        """Return a map of lower or equal functional at a temperature."""
        best, lowest = up, self.value(up, temperature)
        design = np.hstack([np.ones((len(self.places), 1)), up._features(self.places)])
        for cap in CAPS:
            masses, weights, sums = self._responsible(best, temperature, cap)
            slopes = self._slopes(up, masses) if self.latent_noise else 0.0
            grams = [design.T @ (design * column[:, None]) + slopes for column in weights.T]
            candidate = solved(best, grams, design.T @ sums, self.penalty, self.alpha)
            value = self.value(candidate, temperature)
            if value < lowest:
                best, lowest = candidate, value
            if isinstance(self.loss, Squared):
                break
        return best

    def _likeliest(self, up: NodeExpansion, temperature: float) -> float:
        """Return ``2 / D`` times the mean loss under the responsibilities."""
        _, loss = self._energies(up, temperature)
        return float(2.0 / self.data.shape[1] * loss)

    def _losses(self, up: NodeExpansion, data: Array, images: Array) -> Array:
        """Return the losses of rows at all places (n, K)."""
        losses = losses_at(self.loss, data, images)
        if self.latent_noise:
            losses += self.latent_noise**2 * np.square(up.jacobian(self.places)).sum(axis=(1, 2))
        return losses

    def _energies(self, up: NodeExpansion, temperature: float) -> tuple[float, float]:
        """Return the mean free energy and the mean loss under the responsibilities."""
        images = up.predict(self.places)

        def part(rows: slice) -> tuple[float, float]:
            losses = self._losses(up, self.data[rows], images)
            weights, shift = shifted_exp(-losses / temperature)
            mass = weights.sum(axis=1)
            free = -temperature * (shift.ravel() + np.log(mass / len(images)))
            return float(free.sum()), float((weights * losses).sum(axis=1) @ (1.0 / mass))

        parts = np.array(map_blocks(part, self._blocks()))
        free, mean = parts.sum(axis=0) / len(self.data)
        return float(free), float(mean)

    def _responsible(
        self, up: NodeExpansion, temperature: float, cap: float
    ) -> tuple[Array, Array, Array]:
        """Return, for each place, the means of ``r`` (K,), of ``r w`` (K, 1 or D) and of ``r w x`` (K, D)."""
        images = up.predict(self.places)
        largest = np.inf
        if not isinstance(self.loss, Squared):
            nearest = self.loss.weights(self.data - self._at_best_places(up, images))
            largest = cap * float(np.median(nearest))

        def part(rows: slice) -> tuple[Array, Array, Array]:
            data = self.data[rows]
            r, _ = shifted_exp(-self._losses(up, data, images) / temperature)
            r /= r.sum(axis=1, keepdims=True)
            if isinstance(self.loss, Squared):
                masses = r.sum(axis=0)
                return masses, masses[:, None], r.T @ data
            weights, sums = [], []
            for k, image in enumerate(images):
                w = r[:, [k]] * np.minimum(self.loss.weights(data - image), largest)
                weights.append(w.sum(axis=0))
                sums.append((w * data).sum(axis=0))
            return r.sum(axis=0), np.stack(weights), np.stack(sums)

        parts = map_blocks(part, self._blocks())
        masses, weights, sums = (
            np.sum(one, axis=0) / len(self.data) for one in zip(*parts, strict=True)
        )
        return masses, weights, sums

    def _at_best_places(self, up: NodeExpansion, images: Array) -> Array:
        best = np.empty_like(self.data)

        def work(rows: slice) -> None:
            best[rows] = images[self._losses(up, self.data[rows], images).argmin(axis=1)]

        map_blocks(work, self._blocks())
        return best

    def _slopes(self, up: NodeExpansion, masses: Array) -> Array:
        """Return ``sigma^2 sum_k masses_k phi'_k phi'_k^T``, with zeros for the constant."""
        _, gradients = up._feature_gradients(self.places)
        total = np.zeros((len(up.nodes) + 1,) * 2)
        total[1:, 1:] = np.sum([one.T @ (one * masses[:, None]) for one in gradients], axis=0)
        return self.latent_noise**2 * total

    def _blocks(self) -> list[slice]:
        return row_blocks(len(self.data), 3 * 8 * len(self.places))

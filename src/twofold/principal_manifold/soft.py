r"""Principal manifolds with soft assignment: every place is responsible for a row to some degree.

With places ``g_1, ..., g_K`` and a temperature ``T`` the loss of a row is the free energy

.. math:: F_T(x) = -T \log \frac 1K \sum_k e^{-c(x, f(g_k)) / T}

instead of the loss at the best place, which is its limit for ``T -> 0``. For the squared loss this
is the likelihood of the generative topographic map (Smola et al. 2001, section 6.1; Bishop et al.
1998), with their penalty if ``penalty="l2"``. A turn computes the responsibilities ``r_ik``,
proportional to ``e^{-c / T}``, and then the map that lowers ``sum_ik r_ik c(x_i, f(g_k))`` plus the
penalty; neither raises the functional.

*Annealing*: the temperature falls by a fifth each turn, down to ``2 / D`` times the mean loss, the
value of the highest likelihood for the squared loss. ``F_T`` falls with ``T`` (a power mean rises
with its exponent), so the whole history never rises.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
C. M. Bishop, M. Svensen, C. K. I. Williams. GTM: the generative topographic mapping.
Neural Computation 10, 1998.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.losses import Loss, Squared
from twofold.numerics.linalg import shifted_exp
from twofold.numerics.threads import map_blocks, row_blocks, single_threaded_blas
from twofold.numerics.turns import State, TurnOptions, falls, run_turns
from twofold.principal_manifold.functional import CAPS, penalized, slope_products, solved, with_ones
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import losses_at
from twofold.protocols import Array

COOLING = 0.8
FIRST_TEMPERATURE = 4.0
"""In units of the temperature of the highest likelihood at the start."""

COLDEST = 1e-9


@dataclass(kw_only=True)
class SoftState(State):
    """The state of a soft descent; its latents are the places.

    ``history`` has the functional at the start, after every adaptation and after every cooling.
    """

    up: NodeExpansion
    temperature: float


@dataclass(frozen=True)
class SoftQuantization:
    """The functional of rows ``data`` (n, D) at ``places`` (K, q).

    ``loss`` is c, ``penalty`` ("rkhs", "l2" or "l1") is Q, ``alpha`` its weight. ``latent_noise``
    adds ``sigma^2 |f'(g_k)|^2`` to the losses at a place, as in
    `twofold.principal_manifold.functional`.
    """

    data: Array
    places: Array
    loss: Loss
    penalty: str
    alpha: float
    latent_noise: float = 0.0

    def value(self, up: NodeExpansion, temperature: float) -> float:
        """Return the functional."""
        return self._energies(up, temperature)[0] + self.alpha * penalized(up, self.penalty)

    def run(
        self, up: NodeExpansion, options: TurnOptions, state: SoftState | None = None
    ) -> SoftState:
        """Descend by turns, cooling, until one at the last temperature gains less than ``tol``.

        ``state`` resumes an interrupted descent.
        """

        def take_turn(now: SoftState) -> bool:
            before = now.value
            now.up = self.adapt(now.up, now.temperature)
            now.history.append(self.value(now.up, now.temperature))
            likeliest = self._likeliest(now.up, now.temperature)
            colder = max(likeliest, COOLING * now.temperature, COLDEST)
            if colder < now.temperature:
                now.temperature = colder
                now.history.append(self.value(now.up, colder))
                return False
            return not falls(before, now.value, options.tol)

        with single_threaded_blas():
            if state is None:
                temperature = max(FIRST_TEMPERATURE * self._likeliest(up, COLDEST), COLDEST)
                history = [self.value(up, temperature)]
                state = SoftState(
                    latents=self.places, history=history, up=up, temperature=temperature
                )
            return run_turns(state, take_turn, options)

    def adapt(self, up: NodeExpansion, temperature: float) -> NodeExpansion:
        """Return a map of lower or equal functional at a temperature."""
        best, lowest = up, self.value(up, temperature)
        design = with_ones(up.features(self.places))
        for cap in CAPS:
            masses, weights, sums = self._responsible(best, temperature, cap)
            slopes: Array | float = 0.0
            if self.latent_noise:
                slopes = self.latent_noise**2 * slope_products(up, self.places, masses)
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
        """Return means at each place: ``r`` (K,), ``r w`` (K, 1 or D) and ``r w x`` (K, D)."""
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

    def _blocks(self) -> list[slice]:
        return row_blocks(len(self.data), 3 * 8 * len(self.places))

r"""The nearest place of a domain: the projection step of principal manifolds.

.. math:: \zeta_i = \arg\min_{z \in \mathcal Z} \; c(x_i, f(z)) + \sigma^2 |f'(z)|^2

(Smola et al. 2001, Eq. 30; with the second term where latents pass a noisy channel, Eqs. 36-40). A row goes to the
better of its last latent and of the nearest image of a grid, and from there down a damped Gauss-Newton iteration within
the domain that accepts only what is lower.

The steps are those of ``c`` alone; with a noisy channel a row therefore stops a little short of the minimum.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds. JMLR 1, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold._blocks import map_blocks, row_blocks
from twofold._linalg import row_norms_sq, row_product, sqdist
from twofold.domains import Domain, Points
from twofold.losses import L1, Loss
from twofold.maps.node_expansion import NodeExpansion
from twofold.optimize._small_systems import damped_steps
from twofold.protocols import AnyArray, Array, IntArray

__all__ = ["DomainProjection"]

MOST_STEPS = 20
DAMPINGS = (1e-9, 1e-3, 1e-1, 10.0)
"""Of a step, in units of the mean of its matrix's diagonal; the first that lowers the loss is taken."""

SMALLEST_GAIN = 1e-9
"""A row whose loss falls by a smaller share has arrived."""


@dataclass(frozen=True)
class DomainProjection:
    """The projection to a manifold.

    Parameters
    ----------
    up : NodeExpansion
        f.
    domain : Domain or Points
        Where latents are.
    grid : ndarray of shape (m, q)
        Latents whose images rows are compared with.
    loss : Loss
        c.
    latent_noise : float, default=0.0
        ``sigma``.
    """

    up: NodeExpansion
    domain: Domain | Points
    grid: Array
    loss: Loss
    latent_noise: float = 0.0

    def predict(self, data: Array) -> Array:
        """Return the latents (n, q) of rows."""
        return self.lower(data, None)

    def lower(
        self,
        data: Array,
        latents: Array | None,
        n_steps: int = MOST_STEPS,
        *,
        everywhere: bool = True,
    ) -> Array:
        """Return latents (n, q) of lower or equal losses.

        Parameters
        ----------
        data : ndarray of shape (n, D)
            Rows.
        latents : ndarray of shape (n, q) or None
            Where the rows are; None means that they are nowhere yet.
        n_steps : int, default=20
            Gauss-Newton steps at most.
        everywhere : bool, default=True
            Whether the grid is searched; False needs latents.
        """
        found = np.empty((len(data), self.grid.shape[1]))
        if everywhere or latents is None:
            images = self.up.predict(self.grid)
            grid_slopes = self._noise_terms(self.grid)
        else:
            found[:] = latents

        def start(rows: slice) -> None:
            found[rows] = self.grid[self._nearest(data[rows], images, grid_slopes)]

        def descend(rows: slice) -> None:
            Z, losses = found[rows], self.losses(data[rows], found[rows])
            if latents is not None and everywhere:
                old = self.losses(data[rows], latents[rows])
                Z = np.where((losses < old)[:, None], Z, latents[rows])
                losses = np.minimum(losses, old)
            if not self.domain.is_discrete:
                Z = self._descended(data[rows], Z, losses, n_steps)
            found[rows] = Z

        if everywhere or latents is None:
            map_blocks(start, row_blocks(len(data), 3 * 8 * len(self.grid)))
        n_nodes, n_columns = self.up.weights_.shape
        per_row = 8 * (2 + self.grid.shape[1]) * (n_nodes + n_columns)
        map_blocks(descend, row_blocks(len(data), per_row))
        return found

    def losses(self, data: Array, Z: Array) -> Array:
        """Return what is to be minimised, at given latents, shape (n,)."""
        losses = self.loss.values(data - self.up.predict(Z))
        return losses + self._noise_terms(Z) if self.latent_noise else losses

    def _noise_terms(self, Z: Array) -> Array:
        """Return ``sigma^2 |f'|^2`` (n,), Eq. (40)."""
        if not self.latent_noise:
            return np.zeros(len(Z))
        _, gradients = self.up._feature_gradients(Z)
        squares = [row_norms_sq(row_product(one, self.up.weights_)) for one in gradients]
        terms: Array = self.latent_noise**2 * np.sum(squares, axis=0)
        return terms

    def _nearest(self, data: Array, images: Array, extra: Array) -> IntArray:
        """Return the grid's places of the lowest losses."""
        if isinstance(self.loss, L1):  # the other losses grow with the Euclidean distance
            distances = sum(np.abs(data[:, [d]] - images[:, d]) for d in range(data.shape[1]))
            distances = np.asarray(distances)
        else:
            distances = sqdist(data, images)
        if self.latent_noise:
            distances = distances + extra  # exact for the squared loss; a start for the others
        nearest: IntArray = distances.argmin(axis=1)
        return nearest

    def _descended(self, data: Array, Z: Array, losses: Array, n_steps: int) -> Array:
        Z, losses = Z.copy(), losses.copy()
        active = np.arange(len(Z))
        for _ in range(n_steps):
            if not len(active):
                break
            curvature, descent, held = self._terms(data[active], Z[active])
            waiting = np.ones(len(active), dtype=bool)
            gained = np.zeros(len(active))
            for damping in DAMPINGS:
                rows = active[waiting]
                step, _ = damped_steps(
                    curvature[waiting], descent[waiting], np.full(len(rows), damping)
                )
                step[held[waiting]] = 0.0
                trial = self.domain.into(Z[rows] + step)
                lower = self.losses(data[rows], trial)
                better = lower < losses[rows]
                taken = np.flatnonzero(waiting)[better]
                gained[taken] = 1.0 - lower[better] / losses[rows][better]
                Z[rows[better]], losses[rows[better]] = trial[better], lower[better]
                waiting[taken] = False
                if not waiting.any():
                    break
            active = active[gained > SMALLEST_GAIN]
        return Z

    def _terms(self, data: Array, Z: Array) -> tuple[Array, Array, AnyArray]:
        """Return ``J^T W J`` (n, q, q), ``J^T W r`` (n, q) and which latents push against the box (n, q).

        The rows and columns of those are 0, so that the step moves along the wall.
        """
        features, gradients = self.up._feature_gradients(Z)
        residuals = data - row_product(features, self.up.weights_) - self.up.intercept_
        weights = self.loss.weights(residuals)
        columns = [row_product(one, self.up.weights_) for one in gradients]
        q = len(columns)
        curvature, descent = np.empty((len(Z), q, q)), np.empty((len(Z), q))
        for i, column in enumerate(columns):
            weighted = column * weights
            descent[:, i] = np.einsum("nd,nd->n", weighted, residuals)
            for j in range(i + 1):
                product = np.einsum("nd,nd->n", weighted, columns[j])
                curvature[:, i, j] = curvature[:, j, i] = product
        wrapped = np.array(self.domain.wrapped)
        held = ~wrapped & (((Z >= 1.0) & (descent > 0.0)) | ((Z <= -1.0) & (descent < 0.0)))
        descent[held] = 0.0
        curvature[held[:, :, None] | held[:, None, :]] = 0.0
        return curvature, descent, held

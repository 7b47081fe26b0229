r"""The nearest place of a domain: the projection step of principal manifolds.

.. math:: \zeta_i = \arg\min_{z \in \mathcal Z} \; c(x_i, f(z)) + \sigma^2 |f'(z)|^2

(Smola et al. 2001, Eq. 30; the second term if latents pass a noisy channel, Eqs. 36-40). A row
starts from the better of its last latent and the place of the nearest image of a grid, and descends
by damped Gauss-Newton steps within the domain; only steps that lower the loss are accepted.

The images of M nodes lie in a space of at most M dimensions. If the data have more columns, and the
loss is a function of the distance, each row is replaced by its coordinates in that space and its
distance from it, in one more column. All distances between rows and images stay the same.

The steps are those of ``c`` alone, so with a noisy channel a row stops a little short of the
minimum. (The paper's codes are the nearest places even then, Eq. 36, and its functional could rise
in a projection. Final codes are the nearest places here too.)

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from twofold.losses import L1, Huber, Loss, Norm, Squared
from twofold.numerics.linalg import row_norms_sq, sqdist
from twofold.numerics.neighbors import nearest
from twofold.numerics.row_products import row_product
from twofold.numerics.sums._compiled import WORTH_COMPILING, check_shape, compiled
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.optimize._small_systems import damped_steps
from twofold.principal_manifold.domains import PERIOD, Domain, Points
from twofold.principal_manifold.node_kernels import GaussianKernel
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.protocols import AnyArray, Array

LOOPS = "twofold.principal_manifold._descent_loops"
MOST_STEPS = 20
DAMPINGS = (1e-9, 1e-1, 10.0, 1e3)
"""Of a step, in units of the mean of its matrix's diagonal; the first that lowers the loss is used.
Distant rows need the strongest: their residual bends the loss more than the map's derivative."""

N_STARTS = 2
PART = 1.0 / 3.0
SMALLEST_GAIN = 1e-9
"""A row whose loss falls by a smaller share has converged."""


@dataclass(frozen=True)
class DomainProjection:
    """The projection to the manifold of ``up``, with the loss c and ``latent_noise`` sigma.

    ``grid`` (m, q) has the latents that a search for the nearest image compares. ``many`` says that
    there are enough rows for compiled loops to pay off.
    """

    up: NodeExpansion
    domain: Domain | Points
    grid: Array
    loss: Loss
    latent_noise: float = 0.0
    many: bool = False

    def in_few_columns(self, data: Array) -> tuple[DomainProjection, Array]:
        """Return the projection and the rows in as few columns as keep their distances."""
        n_nodes, n_columns = self.up.weights_.shape
        of_distance = isinstance(self.loss, Squared | Norm | Huber)
        if not 0 < n_nodes < n_columns - 1 or not of_distance:
            return self, data
        up, basis = self.up.in_row_space()
        offset = self.up.intercept_ @ basis
        up.weights_ = np.hstack([up.weights_, np.zeros((n_nodes, 1))])
        up.intercept_ = np.append(offset, 0.0)
        rows = np.empty((len(data), len(up.intercept_)))

        def reduce(block: slice) -> None:
            rows[block, :-1] = row_product(data[block], basis)
            across = row_norms_sq(data[block] - self.up.intercept_)
            across -= row_norms_sq(rows[block, :-1] - offset)
            rows[block, -1] = np.sqrt(np.maximum(across, 0.0))

        map_blocks(reduce, row_blocks(len(data), 2 * 8 * n_columns))
        return replace(self, up=up), rows

    def predict(self, data: Array) -> Array:
        """Return the latents (n, q): the better descent from the two nearest parts of the grid."""
        near, rows = self.in_few_columns(data)
        return near._nearest(rows)

    def _nearest(self, data: Array) -> Array:
        if self.domain.is_discrete or len(self.grid) < 2:
            return self.lower(data, None)[0]
        grid_losses, close = self._grid_losses(), self._close()
        starts = np.empty((N_STARTS, len(data)), dtype=np.intp)

        def choose(rows: slice) -> None:
            distances = grid_losses(data[rows])
            starts[0, rows] = distances.argmin(axis=1)
            for number in range(1, N_STARTS):
                distances[close[starts[number - 1, rows]]] = np.inf
                starts[number, rows] = distances.argmin(axis=1)

        map_blocks(choose, row_blocks(len(data), 4 * 8 * len(self.grid)))
        best, lowest = self.lower(data, self.grid[starts[0]], everywhere=False)
        images = self.up.predict(self.grid)
        reach = self._reach(images)
        length = Norm()
        for places in starts[1:]:
            # The distance to the images of neighboring places bounds the gain of a descent.
            gap = length.values(data - images[places]) - reach[places]
            tried = np.flatnonzero(gap < length.values(data - self.up.predict(best)))
            if not len(tried):
                continue
            other, losses = self.lower(data[tried], self.grid[places[tried]], everywhere=False)
            better = losses < lowest[tried]
            best[tried[better]], lowest[tried[better]] = other[better], losses[better]
        return best

    def _reach(self, images: Array) -> Array:
        """Return the largest distance to images of neighboring places (m,)."""
        n_near = min(len(self.grid), 3 ** self.grid.shape[1] + 1)
        near, _ = nearest(self.grid, self.grid, n_near)
        offsets = images[near] - images[:, None]
        largest: Array = np.sqrt(np.square(offsets).sum(axis=2).max(axis=1))
        return largest

    def _close(self) -> AnyArray:
        """Return which places of the grid are within a third of the domain's half (m, m)."""
        assert isinstance(self.domain, Domain)
        close = np.ones((len(self.grid), len(self.grid)), dtype=bool)
        sides = zip(self.grid.T, self.domain.wrapped, self.domain.ends, strict=True)
        for axis, wrapped, end in sides:
            offsets = np.abs(axis[:, None] - axis)
            offsets = np.minimum(offsets, PERIOD - offsets) if wrapped else offsets
            close &= offsets < PART * end
        return close

    def lower(
        self,
        data: Array,
        latents: Array | None,
        n_steps: int = MOST_STEPS,
        *,
        everywhere: bool = True,
    ) -> tuple[Array, Array]:
        """Return latents (n, q) and their lower or equal losses (n,), after at most ``n_steps``.

        If ``everywhere``, or without latents, rows may start from the places of the grid.
        """
        everywhere = everywhere or latents is None
        found = np.zeros((len(data), self.grid.shape[1])) if latents is None else latents.copy()
        lowest = np.full(len(data), np.inf)
        if everywhere:
            grid_losses = self._grid_losses()

        def start(rows: slice) -> None:
            places = self.grid[grid_losses(data[rows]).argmin(axis=1)]
            losses = self.losses(data[rows], places)
            better = losses < lowest[rows]
            found[rows] = np.where(better[:, None], places, found[rows])
            lowest[rows] = np.minimum(losses, lowest[rows])

        def descend(rows: slice) -> None:
            found[rows], lowest[rows] = self._descended(
                data[rows], found[rows], lowest[rows], n_steps
            )

        if latents is not None:
            blocks = row_blocks(len(data), 3 * 8 * (len(self.grid) + data.shape[1]))
            parts = map_blocks(lambda rows: self.losses(data[rows], latents[rows]), blocks)
            lowest = np.concatenate(parts)
        if everywhere:
            map_blocks(start, row_blocks(len(data), 3 * 8 * len(self.grid)))
        if not self.domain.is_discrete:
            n_nodes, n_columns = self.up.weights_.shape
            per_row = 8 * (2 + self.grid.shape[1]) * (n_nodes + n_columns)
            map_blocks(descend, row_blocks(len(data), per_row))
        return found, lowest

    def losses(self, data: Array, Z: Array) -> Array:
        """Return the objective at given latents (n,)."""
        losses = self.loss.values(data - self.up.predict(Z))
        return losses + self._noise_terms(Z) if self.latent_noise else losses

    def _noise_terms(self, Z: Array) -> Array:
        """Return ``sigma^2 |f'|^2`` (n,), Eq. (40)."""
        if not self.latent_noise:
            return np.zeros(len(Z))
        _, gradients = self.up.feature_gradients(Z)
        squares = [row_norms_sq(row_product(one, self.up.weights_)) for one in gradients]
        terms: Array = self.latent_noise**2 * np.sum(squares, axis=0)
        return terms

    def _grid_losses(self) -> Callable[[Array], Array]:
        """Return a function of rows that is (n, m) and least at the place of the lowest loss."""
        images = self.up.predict(self.grid)
        of_distance = isinstance(self.loss, Squared | Norm | Huber)
        if of_distance and not self.latent_noise:
            exact = self.domain.is_discrete  # no descent follows
            return (lambda data: sqdist(data, images)) if exact else _order_of_distances(images)
        extra = self._noise_terms(self.grid)
        return lambda data: losses_at(self.loss, data, images) + extra

    def _descended(self, data: Array, Z: Array, losses: Array, n_steps: int) -> tuple[Array, Array]:
        """Return latents (n, q) and losses (n,) after damped Gauss-Newton steps."""
        Z, losses = Z.copy(), losses.copy()
        loops = self._loops()
        if loops is not None:
            assert isinstance(self.domain, Domain)
            rows, weights = np.ascontiguousarray(data), np.ascontiguousarray(self.up.weights_.T)
            self._check_shapes(rows, Z)
            up = weights, self.up.intercept_, self.up.axes()
            loops.descend(rows, Z, losses, up, self.domain.ends, n_steps, DAMPINGS, SMALLEST_GAIN)
            return Z, losses
        active = np.arange(len(Z))
        for _ in range(n_steps):
            if not len(active):
                break
            curvature, descent, held = self._terms(data[active], Z[active])
            # If the full step promises no gain, neither do shorter ones: the row has converged.
            step, _ = damped_steps(curvature, descent, np.full(len(active), DAMPINGS[0]))
            promised = np.einsum("nq,nq->n", step, descent)
            going = promised > SMALLEST_GAIN * losses[active]
            active, curvature, descent, held, step = (
                part[going] for part in (active, curvature, descent, held, step)
            )
            waiting = np.ones(len(active), dtype=bool)
            gained = np.zeros(len(active))
            for damping in DAMPINGS:
                rows = active[waiting]
                if damping != DAMPINGS[0]:
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
        return Z, losses

    def _check_shapes(self, data: Array, Z: Array) -> None:
        """Raise an error unless rows, latents, map and domain fit together."""
        (n, n_columns), (n_nodes, q) = data.shape, self.up.nodes.shape
        check_shape("latents", Z, n, q)
        check_shape("weights", self.up.weights_, n_nodes, n_columns)
        check_shape("intercept", self.up.intercept_, n_columns)
        check_shape("widths", self.up.widths, q)
        check_shape("ends of the domain", self.domain.ends, q)

    def _loops(self) -> ModuleType | None:
        """Return the compiled loops, if they pay off and know the kernels and the loss."""
        gaussian = all(isinstance(kernel, GaussianKernel) for kernel in self.up.kernels)
        plain = isinstance(self.loss, Squared) and not self.latent_noise
        return compiled(1 << 62, LOOPS) if self.many and gaussian and plain else None

    def _terms(self, data: Array, Z: Array) -> tuple[Array, Array, AnyArray]:
        """Return ``J^T W J`` (n, q, q), ``J^T W r`` (n, q) and which latents push against the box.

        The rows and columns of those (n, q) are 0, so that the step moves along the wall.
        """
        features, gradients = self.up.feature_gradients(Z)
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
        assert isinstance(self.domain, Domain)
        ends, wrapped = self.domain.ends, np.array(self.domain.wrapped)
        outward = np.where(Z > 0.0, descent, -descent) > 0.0
        held = ~wrapped & (np.abs(Z) >= ends) & outward
        descent[held] = 0.0
        curvature[held[:, :, None] | held[:, None, :]] = 0.0
        return curvature, descent, held


def _order_of_distances(images: Array) -> Callable[[Array], Array]:
    """Return a function of rows (n, D): their squared distances to images, less their norms (n, m).

    Descents start from the smallest, so the rounding of this form does no harm.
    """
    center = images.mean(axis=0)
    products, squares = -2.0 * (images - center).T, row_norms_sq(images - center)

    def order(data: Array) -> Array:
        found = row_product(data - center, products)
        found += squares
        return found

    return order


def are_many(n_rows: int, up: NodeExpansion) -> bool:
    """Return whether compiled loops pay off."""
    return n_rows * up.weights_.size >= WORTH_COMPILING


def losses_at(loss: Loss, data: Array, images: Array) -> Array:
    """Return the losses of all rows at all images (n, m)."""
    if isinstance(loss, Squared):
        return sqdist(data, images)
    if isinstance(loss, L1):
        columns = (np.abs(data[:, [d]] - images[:, d]) for d in range(data.shape[1]))
        return np.asarray(sum(columns))
    return np.stack([loss.values(data - image) for image in images], axis=1)

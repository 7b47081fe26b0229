r"""Projection onto a manifold: the latent whose image is nearest.

.. math:: F(x) = \arg\min_z |x - f(z)|^2 \quad \text{subject to } z \in \mathcal Z

(Meinicke et al. 2005, Eq. 19; Smola et al. 2001, Eq. 30). Each point starts from the nearest images
of the training latents, as in the first paper; here from several of them, since images that are
near in data space may lie apart in latent space. All points and starts run together through a
batched Gauss-Newton iteration (the paper: one RPROP run for each point), and the best start of each
point through a few Newton steps. A row's result does not depend on its batch. The domain is a bound
on the latent density (their Eq. 7).

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds. JMLR 1,
2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from twofold.maps.features import LinearInFeatures
from twofold.maps.local_projection import LocalProjection
from twofold.numerics.caches import ComputedAgain
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import k_smallest, row_norms_sq
from twofold.numerics.neighbors import CellIndex
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import map_blocks, row_blocks, some_rows
from twofold.optimize import GaussNewton, NewtonPolish
from twofold.protocols import Array, IntArray, Map, NormalTerms

MAX_COMPARED = 10_000
"""Images up to which a point is compared with all of them; more are searched by cells."""

BYTES_PER_POINT = 512
"""Sets how many points run together: enough to outweigh the overhead of a step."""

MAX_HALVINGS = 4
"""Halvings of a step that is not lower or leaves the domain; then the next one is damped."""

NEGLIGIBLE_LOSS = 1e-3
"""Share of the images' variance that is added to each loss; see `NearestImage`."""

SAME_START = 2.0
"""Starts closer to an earlier one than this, in bandwidths of the density, are left out: networks
are smooth at this scale, and both starts would end at the same latent. On rolls, sheets, mixtures
of Gaussians and digits this halves the evaluations; errors change by less than 0.05 %."""

MARGIN = 8.0
"""How far below the lowest log density at a latent the domain of a pair of maps ends.

Latents have gaps that a projection should cross, so the bound of the first paper, the lowest
density at a latent, is too tight. This one is about four bandwidths from the next latent.
"""

TIE = 1e-9
"""Relative difference of losses below which the first start wins, whatever the rounding."""


class Projection(ComputedAgain, BaseEstimator):
    """The down-map of an up-map: the nearest point on its manifold.

    Parameters
    ----------
    decoder : Map, default=None
        The fitted up-map, f. Estimators that take an unfitted projection set it.
    n_starts : int, default=4
        Starts for each point, among the distinct training latents in the domain.
    density : LatentDensity, default=None
        A fitted density of the latents that bounds the domain; None means no bound.
    log_threshold : float, default=None
        The log density at the bound; None means the lowest at the density's own points, step 6 of
        Meinicke et al. (2005), section 2.3.
    max_iter : int, default=50
        Gauss-Newton steps.
    tol : float, default=1e-4
        Relative change of latents and loss at which a start is done; the best start is then
        polished to working precision.
    guess : Map, default=None
        A fitted down-map whose value is one more start for each point.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import KernelRidgeMap, Projection
    >>> z = np.linspace(0.0, 1.0, 30)[:, None]
    >>> curve = np.hstack([z, z**2])
    >>> up = KernelRidgeMap(bandwidth=0.3, alpha=1e-8).fit(z, curve)
    >>> down = Projection(up).fit(curve, z)
    >>> bool(np.allclose(down.predict(curve), z, atol=1e-3))
    True
    """

    def __init__(
        self,
        decoder: Map | None = None,
        *,
        n_starts: int = 4,
        density: LatentDensity | None = None,
        log_threshold: float | None = None,
        max_iter: int = 50,
        tol: float = 1e-4,
        guess: Map | None = None,
    ) -> None:
        self.decoder = decoder
        self.n_starts = n_starts
        self.density = density
        self.log_threshold = log_threshold
        self.max_iter = max_iter
        self.tol = tol
        self.guess = guess

    def fit(
        self,
        data: Array,  # noqa: ARG002 - the signature of a map
        latents: Array,
        *,
        images: Array | None = None,
    ) -> Self:
        """Store the images of the training latents (n, q).

        ``data`` is unused; ``images`` (n, D) default to the decoder's, of many latents those of
        10,000.
        """
        if images is None:
            latents = latents[some_rows(len(latents), MAX_COMPARED)]
        distinct, first = np.unique(latents, axis=0, return_index=True)
        if self.density is not None:
            known = np.array_equal(self.density.points_, latents)
            log_densities = (
                self.density.log_densities_[first] if known else self.density.log_density(distinct)
            )
            inside = log_densities >= self._log_bound()
            distinct, first = distinct[inside], first[inside]
        if not len(distinct):
            highest = float(self.density.log_densities_.max())  # type: ignore[union-attr]
            raise ValueError(
                f"No latent lies in the domain: the threshold is a log density of "
                f"{self.log_threshold:.4g}, the highest at a latent {highest:.4g}. Lower the "
                "density threshold."
            )
        self.latents_ = distinct
        self.images_ = (
            self._fitted_decoder().predict(self.latents_) if images is None else images[first]
        )
        variance = row_norms_sq(self.images_ - self.images_.mean(axis=0)).mean()
        self._floor = NEGLIGIBLE_LOSS * float(variance)
        for made_on_first_use in ("_local", "_centered_images", "_index"):
            self.__dict__.pop(made_on_first_use, None)
        return self

    def _fitted_decoder(self) -> Map:
        if self.decoder is None:
            raise ValueError("decoder=None: a projection needs the fitted map to project onto.")
        return self.decoder

    def predict(self, data: Array) -> Array:
        """Return the latents of the nearest points on the manifold, shape (n, q)."""
        Z = np.empty((len(data), self.latents_.shape[1]))
        for rows in row_blocks(len(data), bytes_per_row=BYTES_PER_POINT):
            Z[rows] = self._project(data[rows])
        return Z

    def _starts(self, data: Array) -> IntArray:
        """Return the numbers of the latents (n, n_starts) whose images are nearest to data."""
        if self._index is None:
            blocks = row_blocks(len(data), bytes_per_row=2 * 8 * len(self.latents_))
            center, images, norms = self._centered_images

            def work(rows: slice) -> IntArray:
                ranks = row_product(data[rows] - center, images.T)
                ranks *= -2.0
                ranks += norms
                return k_smallest(ranks, self.n_starts)

            return np.concatenate(map_blocks(work, blocks))
        # Twice as many as needed in single precision; which of them are nearest, in double.
        found, _ = self._index.search(data, 2 * self.n_starts)
        offsets = self.images_[found] - data[:, None]
        closest = k_smallest(np.einsum("nkd,nkd->nk", offsets, offsets), self.n_starts)
        starts: IntArray = np.take_along_axis(found, closest, axis=1)
        return starts

    @cached_property
    def _index(self) -> CellIndex | None:
        """The images in cells, if they are many."""
        if len(self.latents_) <= MAX_COMPARED:
            return None
        return CellIndex.of(self.images_, np.random.default_rng(0))

    @cached_property
    def _centered_images(self) -> tuple[Array, Array, Array]:
        """The mean of the images (D,), the images less it (n, D), and their squared norms (n,)."""
        center = self.images_.mean(axis=0)
        images = self.images_ - center
        return center, images, row_norms_sq(images)

    @cached_property
    def _local(self) -> LocalProjection | None:
        """The manifold for compiled loops, if they can project onto it."""
        bound = -np.inf if self.density is None else self._log_bound()
        return LocalProjection.of(self.decoder, self.density, bound)

    def _project(self, data: Array) -> Array:
        starts = self.latents_[self._starts(data)]
        if self.guess is not None:
            starts = np.concatenate([starts, self.guess.predict(data)[:, None]], axis=1)
        solver = GaussNewton(max_iter=self.max_iter, tol=self.tol, max_halvings=MAX_HALVINGS)
        if self._local is None or not self._local.is_available:
            return self._from_starts(data, starts, solver)
        Z = self._local.project(data, starts, self._floor, solver, NewtonPolish(), TIE)
        missing = np.isnan(Z[:, 0])
        if missing.any():
            Z[missing] = self._from_starts(data[missing], starts[missing], solver)
        return Z

    def _from_starts(self, data: Array, starts: Array, solver: GaussNewton) -> Array:
        """Return the latents (n, q) of data (n, D) from starts (n, k, q), for any decoder."""
        n, k, _ = starts.shape
        floor = self._floor
        kept = self._distinct(starts)
        problem = NearestImage(self._fitted_decoder(), data, np.nonzero(kept)[0], floor)
        feasible = None if self.density is None else self._inside
        result = solver.minimize_rows(problem, starts[kept], feasible=feasible)
        losses = np.full((n, k), np.inf)
        losses[kept], starts[kept] = result.losses, result.Z
        best = losses.min(axis=1, keepdims=True)
        # The first start that is as good as the best, up to rounding.
        slack = TIE * np.maximum(best, np.finfo(np.float64).tiny)
        first = (losses <= best + slack).argmax(axis=1)
        everyone = np.arange(n)
        polish = NewtonPolish().polish_rows
        problem = NearestImage(self._fitted_decoder(), data, everyone, floor)
        return polish(problem, starts[everyone, first], feasible=feasible)

    def _distinct(self, starts: Array) -> NDArray[np.bool_]:
        """Return which starts (n, k) differ from those before them; see `SAME_START`."""
        n, k, _ = starts.shape
        kept = np.ones((n, k), dtype=np.bool_)
        if self.density is None or not isinstance(self.decoder, LinearInFeatures):
            return kept
        reach_sq = (SAME_START * self.density.bandwidth_) ** 2
        for one in range(1, k):
            for other in range(one):
                close = row_norms_sq(starts[:, one] - starts[:, other]) < reach_sq
                kept[:, one] &= ~(kept[:, other] & close)
        return kept

    def _inside(self, Z: Array, rows: IntArray) -> NDArray[np.bool_]:  # noqa: ARG002 - a protocol
        density: LatentDensity = self.density  # type: ignore[assignment]
        return density.reaches(Z, self._log_bound())

    def _log_bound(self) -> float:
        """Return the least log density, up to rounding."""
        density: LatentDensity = self.density  # type: ignore[assignment]
        bound = density.log_threshold() if self.log_threshold is None else self.log_threshold
        return bound - 1e-12


@dataclass(frozen=True)
class NearestImage:
    """``|x - f(z)|^2 + floor`` for rows of starts; row r belongs to point ``owners[r]``.

    The floor sets what counts as a small change. Without it, a point that its own latent rebuilds
    exactly would follow the last digit of its loss.
    """

    decoder: Map
    data: Array
    owners: IntArray
    floor: float

    def normal_terms(self, Z: Array, rows: IntArray) -> NormalTerms:
        """Return ``J^T J``, ``J^T r`` and the losses."""
        JTJ, JTr, losses = self.decoder.normal_terms(Z, self.data[self.owners[rows]])
        return JTJ, JTr, losses + self.floor

    def losses(self, Z: Array, rows: IntArray) -> Array:
        """Return the losses (m,)."""
        residuals = self.data[self.owners[rows]] - self.decoder.predict(Z)
        return row_norms_sq(residuals) + self.floor

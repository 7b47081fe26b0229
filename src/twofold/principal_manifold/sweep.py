r"""The last adaptation of a principal manifold: to all rows, by sums over leaves of rows.

Rows that took no part in the turns are projected with the present map, and the map is adapted once
to all rows, as in `twofold.principal_manifold.functional`. Rows may be in memory or on a cluster.
Losses other than the squared one are majorized with weights capped in units of their median, which
is that of the rows that took part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from twofold.losses import Squared
from twofold.maps.affine import Affine
from twofold.numerics.tree_sums import RowSource, RowSums
from twofold.principal_manifold.descent import DescentSettings
from twofold.principal_manifold.functional import (
    CAPS,
    penalized,
    slope_products,
    solved_within,
    weighted_sums,
)
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import DomainProjection
from twofold.protocols import Array

STEPS_FOR_ALL = 4


@dataclass(frozen=True)
class ManifoldSums(RowSums):
    """The sum of the losses, 0 for the squared one, which needs no comparison, and of a regression.

    ``grams`` (k, M + 1, M + 1) and ``right`` (M + 1, D) are those of `weighted_sums`, ``slopes``
    (M + 1, M + 1) is that of `slope_products`.
    """

    loss: float
    grams: Array
    right: Array
    slopes: Array | None


@dataclass(frozen=True)
class ManifoldSweep:
    """One pass over all rows; called with the centered rows of a leaf.

    ``projection`` computes latents, unless those of all rows are ``known`` (n, q); ``kept`` (n, q)
    receives them. Residuals of the map ``around`` determine losses and weights, which are at most
    ``largest``.
    """

    frame: Affine
    projection: DomainProjection
    around: NodeExpansion
    largest: float
    known: Array | None = None
    kept: Array | None = None

    def __call__(self, data: Array, first: int = 0) -> ManifoldSums:
        """Return the sums over centered rows, the first of which has this number."""
        inside, latents = self._located(data, first)
        weights, loss = None, 0.0
        if not isinstance(self.projection.loss, Squared):
            loss = self._loss(inside, latents)
            weights = self.projection.loss.weights(inside - self.around.predict(latents))
            weights = np.minimum(weights, self.largest)
        *grams, right = weighted_sums(self.around, latents, weights, inside)
        slopes = slope_products(self.around, latents) if self.projection.latent_noise else None
        return ManifoldSums(loss, np.stack(grams), right, slopes)

    def loss(self, data: Array, first: int = 0) -> float:
        """Return only the sum of the losses."""
        return self._loss(*self._located(data, first))

    def _loss(self, inside: Array, latents: Array) -> float:
        return float(replace(self.projection, up=self.around).losses(inside, latents).sum())

    def _located(self, data: Array, first: int) -> tuple[Array, Array]:
        """Return the coordinates and latents of rows."""
        inside = self.frame.into(data)
        rows = slice(first, first + len(data))
        if self.known is None:
            near, coordinates = self.projection.in_few_columns(inside)
            latents, _ = near.lower(coordinates, None, STEPS_FOR_ALL)
        else:
            latents = self.known[rows]
        if self.kept is not None:
            self.kept[rows] = latents
        return inside, latents


def adapted_to_all(
    source: RowSource,
    descent: DescentSettings,
    up: NodeExpansion,
    alpha: float,
    frame: Affine,
    some: Array,
    *,
    keep: bool,
) -> NodeExpansion:
    """Return a map of lower functional for all rows.

    ``some`` (m, r) has the coordinates of the rows that took part in the turns, for medians. With
    ``keep``, latents stay in memory between passes; otherwise each pass computes them again.
    """
    projection = descent.functional(some, alpha).projection(up)
    latents, _ = projection.lower(some, None, STEPS_FOR_ALL)
    sweep = ManifoldSweep(frame, projection, up, np.inf)
    squared = isinstance(descent.loss, Squared)
    kept = np.empty((source.n_rows, latents.shape[1])) if keep and not squared else None
    best, n = up, source.n_rows

    def value(loss: float, one: NodeExpansion) -> float:
        price = 0.0 if descent.limit is not None else alpha * penalized(one, descent.penalty)
        return loss / n + price

    for number, cap in enumerate(CAPS):
        weights = descent.loss.weights(some - best.predict(latents))
        around = replace(sweep, around=best, largest=cap * float(np.median(weights)))
        around = replace(around, known=kept) if number else replace(around, kept=kept)
        sums = source.total(around, "adaptation")
        slopes = 0.0 if sums.slopes is None else descent.latent_noise**2 * (sums.slopes / n)
        grams = [gram / n + slopes for gram in sums.grams]
        candidate, _ = solved_within(
            best, grams, sums.right / n, descent.penalty, alpha, descent.limit
        )
        if squared:
            return candidate  # the parabola equals the loss
        judged = replace(sweep, around=candidate, known=kept)
        if value(source.total(judged.loss, "losses"), candidate) < value(sums.loss, best):
            best = candidate
    return best

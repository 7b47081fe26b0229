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
from twofold.numerics.tree_sums import RowSource, Sums
from twofold.principal_manifold.descent import Fitting
from twofold.principal_manifold.functional import (
    CAPS,
    penalized,
    slope_products,
    solved,
    weighted_sums,
)
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import DomainProjection
from twofold.protocols import Array

STEPS_FOR_ALL = 4


@dataclass(frozen=True)
class ManifoldSweep:
    """One pass over all rows; called with the centered rows of a leaf.

    ``projection`` computes latents, unless those of all rows are ``known`` (n, q); ``kept`` (n, q)
    receives them. Residuals of the map ``around`` determine losses and weights, which are at most
    ``largest``. Without ``with_sums``, only losses are summed.
    """

    frame: Affine
    projection: DomainProjection
    around: NodeExpansion
    largest: float
    with_sums: bool = True
    known: Array | None = None
    kept: Array | None = None

    def __call__(self, data: Array, first: int = 0) -> Sums:
        """Return the sums over centered rows, the first of which has this number."""
        inside = self.frame.into(data)
        rows = slice(first, first + len(data))
        if self.known is None:
            latents = self.projection.lower(inside, None, STEPS_FOR_ALL)
        else:
            latents = self.known[rows]
        if self.kept is not None:
            self.kept[rows] = latents
        here = replace(self.projection, up=self.around)
        sums = Sums(n_rows=len(data), loss=float(here.losses(inside, latents).sum()))
        if not self.with_sums:
            return sums
        weights = self.projection.loss.weights(inside - self.around.predict(latents))
        weights = np.minimum(weights, self.largest)
        *grams, right = weighted_sums(self.around, latents, weights, inside)
        sums |= {"grams": np.stack(grams), "right": right}
        if self.projection.latent_noise:
            sums["slopes"] = slope_products(self.around, latents)
        return sums


def adapted_to_all(
    source: RowSource,
    fitting: Fitting,
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
    projection = fitting.functional(some[:0], alpha).projection(up)
    latents = projection.lower(some, None, STEPS_FOR_ALL)
    sweep = ManifoldSweep(frame, projection, up, np.inf)
    squared = isinstance(fitting.loss, Squared)
    kept = np.empty((source.n_rows, latents.shape[1])) if keep and not squared else None
    best = up

    def value(sums: Sums, one: NodeExpansion) -> float:
        return float(sums["loss"] / sums["n_rows"] + alpha * penalized(one, fitting.penalty))

    for number, cap in enumerate(CAPS):
        weights = fitting.loss.weights(some - best.predict(latents))
        around = replace(sweep, around=best, largest=cap * float(np.median(weights)))
        around = replace(around, known=kept) if number else replace(around, kept=kept)
        sums: Sums = source.total(around, "adaptation")
        candidate = _solution(sums, best, fitting, alpha)
        if squared:
            return candidate  # the parabola equals the loss
        judged = replace(sweep, around=candidate, with_sums=False, known=kept)
        if value(source.total(judged, "losses"), candidate) < value(sums, best):
            best = candidate
    return best


def _solution(sums: Sums, up: NodeExpansion, fitting: Fitting, alpha: float) -> NodeExpansion:
    n = sums["n_rows"]
    slopes: Array | float = 0.0
    if fitting.latent_noise:
        slopes = fitting.latent_noise**2 * (sums["slopes"] / n)
    grams = [gram / n + slopes for gram in sums["grams"]]
    return solved(up, grams, sums["right"] / n, fitting.penalty, alpha)

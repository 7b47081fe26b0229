r"""The last adaptation of a principal manifold, to all rows: by sums over leaves of rows, wherever these are.

Rows that took no part in the turns are projected with the map as it is, and the map is adapted once to all of them, as in
`twofold.principal_manifold.functional`. Losses other than the squared one are majorised at weights that are capped in units of their median,
which is that of the rows that took part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from twofold.losses import Squared
from twofold.maps.affine import Affine
from twofold.numerics.tree_sums import RowSource
from twofold.principal_manifold.alpha_path import Fitting
from twofold.principal_manifold.functional import (
    CAPS,
    penalised,
    slope_products,
    solved,
    weighted_sums,
)
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import DomainProjection
from twofold.protocols import Array

__all__ = ["ManifoldSums", "ManifoldSweep", "adapted_to_all"]

STEPS_FOR_ALL = 4


@dataclass(frozen=True)
class ManifoldSums:
    """Rows, their losses, and the parts of the normal equations."""

    n_rows: int
    loss: float
    parts: tuple[Array, ...]

    def __add__(self, other: ManifoldSums) -> ManifoldSums:
        """Return the sums over both sets of rows."""
        parts = tuple(a + b for a, b in zip(self.parts, other.parts, strict=True))
        return ManifoldSums(self.n_rows + other.n_rows, self.loss + other.loss, parts)


@dataclass(frozen=True)
class ManifoldSweep:
    """One pass over all rows; called with the rows of a leaf.

    Parameters
    ----------
    frame : Affine
        Coordinates of rows.
    projection : DomainProjection
        Gives their latents.
    around : NodeExpansion
        The map whose residuals are weighed.
    largest : float
        Weights at most.
    with_sums : bool
        Whether normal equations are summed, or only losses.
    known : ndarray of shape (n, q), default=None
        The latents of all rows, where they are known.
    kept : ndarray of shape (n, q), default=None
        Where latents are written to, if anywhere.
    """

    frame: Affine
    projection: DomainProjection
    around: NodeExpansion
    largest: float
    with_sums: bool = True
    known: Array | None = None
    kept: Array | None = None

    def __call__(self, data: Array, first: int = 0) -> ManifoldSums:
        """Return the sums over centred rows, of which the first has this number."""
        inside = self.frame.into(data)
        rows = slice(first, first + len(data))
        if self.known is None:
            latents = self.projection.lower(inside, None, STEPS_FOR_ALL)
        else:
            latents = self.known[rows]
        if self.kept is not None:
            self.kept[rows] = latents
        here = replace(self.projection, up=self.around)
        loss = float(here.losses(inside, latents).sum())
        if not self.with_sums:
            return ManifoldSums(len(data), loss, ())
        weights = self.projection.loss.weights(inside - self.around.predict(latents))
        weights = np.minimum(weights, self.largest)
        parts = weighted_sums(self.around, latents, weights, inside)
        if self.projection.latent_noise:
            parts.append(slope_products(self.around, latents))
        return ManifoldSums(len(data), loss, tuple(parts))


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
    """Return the map of lower functional for all rows.

    Parameters
    ----------
    source : RowSource
        All rows, centred.
    fitting : Fitting
        The settings.
    up : NodeExpansion
        The map as it is.
    alpha : float
        Weight of the penalty.
    frame : Affine
        Coordinates of rows.
    some : ndarray of shape (m, r)
        Coordinates of the rows that took part, for medians.
    keep : bool
        Whether latents are kept in memory between passes, or found again.
    """
    projection = fitting.functional(some[:0], alpha).projection(up)
    latents = projection.lower(some, None, STEPS_FOR_ALL)
    sweep = ManifoldSweep(frame, projection, up, np.inf)
    squared = isinstance(fitting.loss, Squared)
    kept = np.empty((source.n_rows, latents.shape[1])) if keep and not squared else None
    best = up
    for number, cap in enumerate(CAPS):
        weights = fitting.loss.weights(some - best.predict(latents))
        around = replace(sweep, around=best, largest=cap * float(np.median(weights)))
        around = replace(around, known=kept) if number else replace(around, kept=kept)
        sums: ManifoldSums = source.total(around, "adaptation")
        candidate = _solution(sums, best, fitting, alpha)
        if squared:
            return candidate  # the parabola was the loss itself
        judged = replace(sweep, around=candidate, with_sums=False, known=kept)
        value = _value(source.total(judged, "losses"), candidate, fitting, alpha)
        if value < _value(sums, best, fitting, alpha):
            best = candidate
    return best


def _value(sums: ManifoldSums, up: NodeExpansion, fitting: Fitting, alpha: float) -> float:
    return sums.loss / sums.n_rows + alpha * penalised(up, fitting.penalty)


def _solution(
    sums: ManifoldSums, up: NodeExpansion, fitting: Fitting, alpha: float
) -> NodeExpansion:
    parts = [part / sums.n_rows for part in sums.parts]
    slopes: Array | float = 0.0
    if fitting.latent_noise:
        slopes = fitting.latent_noise**2 * parts.pop()
    *grams, right = parts
    return solved(up, [gram + slopes for gram in grams], right, fitting.penalty, alpha)

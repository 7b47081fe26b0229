"""Both maps with prototypes in place of training rows, and what that costs on held-out rows.

The decoder becomes that of `twofold.maps.prototypes`. A projection is fitted again, onto the
manifold of the prototypes; an encoder that keeps training rows, Nadaraya-Watson, becomes a
projection. Other encoders are small and stay. The density of the latents keeps a sample of them, a
share of each cell.

The cost is measured on training rows that neither pair of maps has: they are left out of the maps
of all rows (the latents of the others stay as they are), and the smaller maps are made without them
too. Both pairs encode and decode them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.maps.affine import Affine, Chain, Predictor
from twofold.maps.nadaraya_watson import NadarayaWatson
from twofold.maps.pair_selection import project_onto
from twofold.maps.projection import Projection
from twofold.maps.prototypes import Prototypes, rounded, same_kernel
from twofold.numerics.codebooks import mean_squared_error
from twofold.numerics.density import LatentDensity
from twofold.numerics.threads import some_rows
from twofold.protocols import AnyArray, Array, IntArray

POINTS_PER_PROTOTYPE = 4
FEWEST_POINTS = 2_000
"""Latents that carry the density of a compressed model: so many, or four for each prototype."""

MOST_HELD_OUT = 1_000
HELD_OUT_SHARE = 5
"""Rows on which the cost is measured: a fifth of the rows, at most 1,000."""


@dataclass(frozen=True)
class RowMaps:
    """Both maps and the density of a model whose decoder keeps the training rows."""

    decoder: NadarayaWatson
    encoder: Predictor
    density: LatentDensity

    def error(self, data: Array) -> float:
        """Return the mean squared error of rows that are encoded and decoded."""
        return mean_squared_error(data, self.decoder.predict(self.encoder.predict(data)))

    def of_rows(self, kept: IntArray) -> RowMaps:
        """Return the maps without the other rows."""
        decoder = _of_rows(self.decoder, kept)
        encoder = self.encoder
        if isinstance(encoder, NadarayaWatson):
            encoder = _of_rows(encoder, kept)
        elif (found := projection_of(encoder)) is not None:
            inner = decoder
            if found.decoder is not self.decoder:
                assert isinstance(found.decoder, NadarayaWatson)
                inner = _of_rows(found.decoder, kept)
            encoder = _refitted(encoder, inner, self.density, inner.predict(inner.inputs_))
        return RowMaps(decoder, encoder, self.density)

    def compressed(self, n_prototypes: int) -> RowMaps:
        """Return maps of this many prototypes."""
        made = Prototypes.of(self.decoder, n_prototypes)
        decoder, density = (
            made.decoder,
            self._thinned_density(made.cells, len(made.decoder.inputs_)),
        )
        encoder, found = self.encoder, projection_of(self.encoder)
        if isinstance(encoder, NadarayaWatson):
            encoder = project_onto(decoder, density)
            found = projection_of(encoder)
        if found is not None:
            inner, step = decoder, made.step
            space = encoder.maps[0] if isinstance(encoder, Chain) else None
            if isinstance(space, Affine) and not space.is_identity:
                step = 2.0 ** np.floor(np.log2(step / space.unit))
                coordinates = rounded(space.into(decoder.targets_), step)
                inner = same_kernel(decoder, decoder.inputs_, coordinates, decoder.bandwidth_)
            images = rounded(inner.predict(inner.inputs_), step)
            encoder = _refitted(encoder, inner, density, images)
        return RowMaps(decoder, encoder, density)

    def _thinned_density(self, cells: IntArray, n_prototypes: int) -> LatentDensity:
        """Return the density of some latents, an equal share of each cell."""
        known, n_points = self.density, max(FEWEST_POINTS, POINTS_PER_PROTOTYPE * n_prototypes)
        if len(known.points_) <= n_points:
            return known
        by_cell = np.argsort(cells, kind="stable")
        chosen = np.sort(by_cell[some_rows(len(cells), n_points)])
        return LatentDensity(
            kernel=known.kernel, bandwidth=known.bandwidth_, n_jobs=known.n_jobs
        ).fit(self.decoder.inputs_[chosen])


@dataclass(frozen=True)
class Trial:
    """Maps without some rows, which measure what prototypes cost on these rows."""

    reference: RowMaps
    held_out: Array
    error_before: float

    @classmethod
    def of(cls, maps: RowMaps) -> Trial:
        """Leave out some rows."""
        n = len(maps.decoder.inputs_)
        chosen = some_rows(n, max(1, min(MOST_HELD_OUT, n // HELD_OUT_SHARE)))
        kept = np.setdiff1d(np.arange(n), chosen)
        reference, data = maps.of_rows(kept), maps.decoder.targets_[chosen]
        return cls(reference, data, reference.error(data))

    def error(self, n_prototypes: int) -> float:
        """Return the error with this many prototypes."""
        return self.reference.compressed(n_prototypes).error(self.held_out)


def projection_of(encoder: Predictor) -> Projection | None:
    """Return the projection onto training rows at the end of an encoder, or None."""
    last = encoder.maps[-1] if isinstance(encoder, Chain) else encoder
    if isinstance(last, Projection) and isinstance(last.decoder, NadarayaWatson):
        return last
    return None


def _of_rows(regression: NadarayaWatson, kept: IntArray) -> NadarayaWatson:
    inputs, targets = regression.inputs_[kept], regression.targets_[kept]
    return same_kernel(regression, inputs, targets, regression.bandwidth_)


def _refitted(
    encoder: Predictor, inner: NadarayaWatson, density: LatentDensity, images: AnyArray
) -> Predictor:
    """Return the projection onto another manifold, after the same map if there is one."""
    former = projection_of(encoder)
    assert former is not None
    made = Projection(
        inner,
        n_starts=former.n_starts,
        density=None if former.density is None else density,
        log_threshold=former.log_threshold,
        max_iter=former.max_iter,
        tol=former.tol,
        guess=former.guess,
    )
    made.fit(inner.targets_, inner.inputs_, images=images)
    return Chain((*encoder.maps[:-1], made)) if isinstance(encoder, Chain) else made

"""Projection onto the manifold of a Nadaraya-Watson decoder whose kernels reach few points.

Compiled loops take each row through all steps of `twofold.maps.projection` on its own. So a single
row costs little more than its arithmetic, and a row that is done does not wait for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.maps.nadaraya_watson import NadarayaWatson
from twofold.numerics.density import LOG_FLOOR, LatentDensity
from twofold.numerics.sums._compiled import check_shape, compiled
from twofold.numerics.sums.cells import sorted_into_columns
from twofold.numerics.sums.neighbors import LocalMeans
from twofold.numerics.threads import map_blocks, row_blocks
from twofold.optimize import GaussNewton, NewtonPolish
from twofold.protocols import Array, Map

LOOPS = "twofold.maps.projection_loops"
BYTES_PER_ROW = 2**15
"""Sets the rows of a block: 128, so that threads share even few rows evenly."""


@dataclass(frozen=True)
class LocalProjection:
    """The manifold of a decoder as compiled loops need it.

    ``decoder`` holds the training latents in units of its bandwidth, ``values`` (n, D) their data.
    ``domain`` is what bounds the latents: whether it has points of its own, these points and their
    kernel, their unit over the bandwidth, and the least log sum of kernels.
    """

    decoder: LocalMeans
    values: Array
    bandwidth: float
    domain: tuple[Any, ...]
    n_jobs: int | None

    @classmethod
    def of(
        cls, decoder: Map | None, density: LatentDensity | None, log_bound: float
    ) -> LocalProjection | None:
        """Return None if the decoder is another map, or kernels reach many points."""
        if not isinstance(decoder, NadarayaWatson) or decoder._columns is None:
            return None
        domain: tuple[Any, ...]
        columns, bandwidth = decoder._columns, decoder.bandwidth_
        if density is None:
            domain = (False, columns.sources, columns.cut, 1.0, -np.inf)
        else:
            theirs = density.columns
            least = log_bound + density.log_unit
            if theirs is None or least <= LOG_FLOOR:
                return None
            own = theirs.cut != columns.cut or not np.array_equal(theirs.points, columns.points)
            unit = bandwidth / density.bandwidth_
            domain = (own, theirs.sources, theirs.cut, unit, least)
        values = np.ascontiguousarray(decoder.targets_)
        return cls(columns, values, bandwidth, domain, decoder.n_jobs)

    @property
    def is_available(self) -> bool:
        """Whether the compiled loops can be loaded."""
        return compiled(1 << 62, LOOPS) is not None

    def project(
        self,
        data: Array,
        starts: Array,
        floor: float,
        solver: GaussNewton,
        polish: NewtonPolish,
        tie: float,
    ) -> Array:
        """Return the latents (n, q) of data (n, D) from starts (n, k, q), NaN if losses overflow.

        Losses have a floor; of starts with equal losses, up to the share ``tie``, the first counts.
        """
        loop = compiled(1 << 62, LOOPS).project  # type: ignore[union-attr]
        n, (n_sources, q) = len(data), self.decoder.points.shape
        check_shape("values", self.values, n_sources, self.values.shape[1])
        check_shape("data", data, n, self.values.shape[1])
        check_shape("starts", starts, n, starts.shape[1], q)
        check_shape("points of the density", self.domain[1][0], len(self.domain[1][1]), q)
        data = np.ascontiguousarray(data)
        starts = np.ascontiguousarray(starts) / self.bandwidth
        latents = np.empty((len(starts), starts.shape[2]))
        settings = (solver.max_iter, solver.tol, solver.damping, solver.max_halvings)
        limits = (polish.max_iter, polish.tol)
        # Rows with nearby starts share their sources, which then stay in the cache.
        visits, _ = sorted_into_columns(starts[:, 0])

        def work(rows: slice) -> None:
            loop(
                visits[rows],
                data,
                starts,
                (self.decoder.sources, self.decoder.cut),
                self.values,
                floor,
                self.domain,
                settings,
                limits,
                tie,
                latents,
            )

        map_blocks(work, row_blocks(len(data), BYTES_PER_ROW), n_jobs=self.n_jobs)
        latents *= self.bandwidth
        return latents

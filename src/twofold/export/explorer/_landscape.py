"""The density of the latents on a grid, and the border of the domain."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.base.aligning import domain_of
from twofold.base.estimator import TwoWayEstimator
from twofold.export.explorer._packing import Packer
from twofold.numerics.threads import some_rows
from twofold.principal_manifold.domains import Domain
from twofold.protocols import Array

SIDES = {1: 512, 2: 192, 3: 28}
"""Grid points along each of one to three dimensions; with more there is no grid."""

MOST_JUDGED = 20_000
MARGIN = 0.12  # margin of the map, as a share of the latents' extent
DEPTH = 12.0
"""Log density below the border at which the landscape ends; the density there is negligible."""

STEP = 1 / 64
"""Log densities on the grid are multiples of this: two bytes, of which one hardly varies."""


def landscape(model: TwoWayEstimator, latents: Array, packer: Packer) -> dict[str, Any]:
    """Return the extent of the map, the log density on a grid over it, and the domain's border.

    The map covers the shown latents (n, q) and the training latents. A sample of the latter, at
    most 20,000, sets the usual density, and the border of models without a density threshold.
    """
    known = model.embedding_ if len(model.embedding_) else latents  # a model may keep none
    both = np.vstack([latents, known])
    low, high = both.min(axis=0), both.max(axis=0)
    domain = domain_of(model)
    box = None
    if isinstance(domain, Domain):
        ends = np.array([[-1.0], [1.0]]) * domain.ends
        box = model._latent_units.back(ends)  # the lower and upper corner of the domain
        low, high = np.minimum(low, box[0]), np.maximum(high, box[1])
    extent = high - low
    extent = np.where(extent > 0.0, extent, extent.max() or 1.0)
    low, high = low - MARGIN * extent, high + MARGIN * extent
    found: dict[str, Any] = {
        "low": low.tolist(),
        "high": high.tolist(),
        "box": None if box is None else [side.tolist() for side in box],
        "wrapped": [bool(flag) for flag in getattr(domain, "wrapped", ())],
    }
    at_data = model.log_density(known[some_rows(len(known), MOST_JUDGED)])
    border = float(getattr(model, "log_density_threshold_", at_data.min()))
    found["border"] = border
    found["usual"] = float(np.quantile(at_data, 0.1))
    side = SIDES.get(len(low))
    if side is not None:
        axes = [np.linspace(a, b, side) for a, b in zip(low, high, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
        log_density = np.maximum(model.log_density(grid), border - DEPTH)
        multiples = STEP * np.rint(log_density / STEP)
        found["grid"] = packer.pack(multiples.reshape((side,) * len(low)))
    return found

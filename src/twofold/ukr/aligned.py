"""Kernel regression in the frame of another model.

The start has the shape of the old map, at the scale of the lowest leave-one-out error. Shared rows
that leave a small radius around their places are pulled back. The start is noisy where rows were
placed by their neighbors, so its best kernels are too wide. After the descent the scale is chosen
again. If kernels get narrower by it, the descent goes on at that scale.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from twofold.base.problem import Anchors
from twofold.numerics.linalg import row_norms_sq
from twofold.optimize.row_pull import RowPull
from twofold.protocols import Array
from twofold.starts.candidates import ALIGNED, Candidate, scaled_candidate
from twofold.ukr.regression import KernelRegression
from twofold.ukr.settings import UKRSettings

STRENGTH = 30.0
"""Weight of the squared distances that count, as shares of the map's variance, relative to errors
as shares of the variance of the data."""

FREE_SHARE = 0.035
"""The radius within which shared rows are free, as a share of the map."""

ALIGNED_TOL = 1e-3
"""A descent with a pull goes on for longer: the pull keeps it from fitting the noise."""

NARROWER = 1.05
"""Factor of the latents from which on the descent goes on at the new scale."""


def aligned_settings(settings: UKRSettings, anchors: Anchors) -> UKRSettings:
    """Return the settings of a fit that starts at the anchors."""
    return replace(
        settings,
        init={ALIGNED: anchors.start},
        anneal=False,
        validation_fraction=None,
        tol=min(settings.tol, ALIGNED_TOL),
    )


def pull_of(anchors: Anchors | None, start: Candidate, data: Array) -> RowPull | None:
    """Return the pull in the frame of the start, which is that of the anchors up to a similarity.

    The data are (n, D).
    """
    if anchors is None:
        return None
    variance = float(row_norms_sq(data).mean(dtype=np.float64))
    spread = float(row_norms_sq(anchors.start - anchors.start.mean(axis=0)).mean()) or 1.0
    weight = STRENGTH * variance / (len(data) * spread)
    pull = RowPull(anchors.rows, anchors.latents, weight, FREE_SHARE * anchors.extent)
    return pull.scaled(anchors.start, start.latents)


def narrower(scheme: KernelRegression, Z: Array) -> Candidate | None:
    """Return latents (n, q) at their best scale if it is clearly larger, else None."""
    again = scaled_candidate(ALIGNED, Z, scheme, few=not scheme.many)
    before = float(row_norms_sq(Z - Z.mean(axis=0)).mean())
    after = float(row_norms_sq(again.latents).mean())
    return again if after > NARROWER**2 * before else None

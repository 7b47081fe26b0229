"""Kernel regression in the frame of another model.

The start has the shape of the old map, at the scale of the lowest leave-one-out error. A start of
the new table alone, moved onto the old map by an affine map, competes with it: where both tables
unroll to the same sheet, it lacks the noise of the old latents. The lowest pulled error after a few
iterations decides.

Shared rows that leave a small radius around their places are pulled back. The start is noisy where
rows were placed by their neighbors, so its best kernels are too wide. After the descent the scale
is chosen again. If kernels get narrower by it, the descent goes on at that scale.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from twofold.base.aligning import Move
from twofold.base.problem import Anchors, Problem
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.quiet import quiet
from twofold.numerics.validation import is_auto
from twofold.optimize.row_pull import Pulled, RowPull
from twofold.protocols import Array
from twofold.starts.candidates import ALIGNED, Candidate, scaled_candidate
from twofold.ukr.regression import KernelRegression
from twofold.ukr.settings import UKRSettings
from twofold.ukr.starts import candidates_of

STRENGTH = 30.0
"""Weight of the squared distances that count, as shares of the map's variance, relative to errors
as shares of the variance of the data."""

FREE_SHARE = 0.035
"""The radius within which shared rows are free, as a share of the map."""

ALIGNED_TOL = 1e-3
"""A descent with a pull goes on for longer: the pull keeps it from fitting the noise."""

NARROWER = 1.05
"""Factor of the latents from which on the descent goes on at the new scale."""

OWN_START = "isomap"
"""The start of the new table alone, with ``init="auto"``."""

NEAR = 0.2
"""Its shared rows must be this near to their places, in the median, as a share of the map."""

TRIAL_STEPS = 20


def aligned_settings(settings: UKRSettings) -> UKRSettings:
    """Return the settings of a fit that starts at the anchors."""
    return replace(
        settings, anneal=False, validation_fraction=None, tol=min(settings.tol, ALIGNED_TOL)
    )


def aligned_candidates(
    settings: UKRSettings, scheme: KernelRegression, data: Array, problem: Problem
) -> tuple[list[Candidate], RowPull]:
    """Return the starts, the best first, and the pull of shared rows in its frame.

    The data are (n, r), in the space of the fit.
    """
    anchors = problem.anchors
    assert anchors is not None
    starts = {ALIGNED: anchors.start} | _own_starts(settings, scheme, data, problem)
    found = []
    for name, places in starts.items():
        candidate = scaled_candidate(name, places, scheme, few=not scheme.many)
        pull = pull_of(anchors, data).scaled(places, candidate.latents)
        value = 0.0
        if len(starts) > 1:
            pulled = Pulled(scheme.objective(), pull)
            trial = settings.minimizer(TRIAL_STEPS).minimize(
                pulled, candidate.latents, callback=lambda number, *_: number >= TRIAL_STEPS
            )
            value = float(trial.history[-1])
        found.append((value, candidate, pull))
    found.sort(key=lambda one: one[0])
    return [candidate for _, candidate, _ in found], found[0][2]


def _own_starts(
    settings: UKRSettings, scheme: KernelRegression, data: Array, problem: Problem
) -> dict[str, Array]:
    """Return starts of the new table alone (n, q), moved onto the old map, if they fit to it."""
    anchors, starts = problem.anchors, dict[str, Array]()
    assert anchors is not None
    init = OWN_START if is_auto(settings.init) else settings.init
    try:
        with quiet():
            candidates = candidates_of(init, scheme, data, problem)
    except (ValueError, RuntimeError, np.linalg.LinAlgError):
        if not is_auto(settings.init):
            raise
        return starts
    for one in candidates:
        known = one.latents[anchors.rows]
        if not np.ptp(known, axis=0).any():
            continue
        move = Move.between(known, anchors.latents)
        if move.report(known, anchors.latents, anchors.extent).median <= NEAR:
            starts[f"{ALIGNED}:{one.name}"] = move(one.latents)
    return starts


def pull_of(anchors: Anchors, data: Array) -> RowPull:
    """Return the pull in the frame of the anchors, for the errors of data (n, D)."""
    variance = float(row_norms_sq(data).mean(dtype=np.float64))
    spread = float(row_norms_sq(anchors.start - anchors.start.mean(axis=0)).mean()) or 1.0
    weight = STRENGTH * variance / (len(data) * spread)
    return RowPull(anchors.rows, anchors.latents, weight, FREE_SHARE * anchors.extent)


def narrower(scheme: KernelRegression, Z: Array) -> Candidate | None:
    """Return latents (n, q) at their best scale if it is clearly larger, else None."""
    again = scaled_candidate(ALIGNED, Z, scheme, few=not scheme.many)
    before = float(row_norms_sq(Z - Z.mean(axis=0)).mean())
    after = float(row_norms_sq(again.latents).mean())
    return again if after > NARROWER**2 * before else None

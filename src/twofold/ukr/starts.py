"""Candidates for the initial latents (steps 1 to 3), at a cost nearly linear in the rows.

Up to 3,000 rows, named methods embed all of them. Of more, they embed 3,000, and a neighborhood
graph in the leading principal subspace extends this coarse map to all (`twofold.starts.coarse_map`;
Isomap has landmarks of its own, PCA needs none). Each candidate is brought to its best scale, and
the score of its map decides (`twofold.ukr.descent.compared`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from twofold.base.problem import Problem
from twofold.numerics.neighbors import nearest_neighbors
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import is_auto
from twofold.protocols import Array
from twofold.starts.candidates import Candidate, scaled_candidate
from twofold.starts.coarse_map import N_COARSE, CoarseMap
from twofold.starts.named import (
    attempt,
    is_pca,
    latents_of,
    named_inits,
    unit_variance,
)
from twofold.ukr.regression import KernelRegression

AUTO = ("pca", "isomap", "tsne")
AUTO_FEW = ("pca", "isomap:6", "isomap", "tsne")
"""Of few rows no single number of neighbors is right, and each attempt is cheap."""

ALL_ROWS = ("pca", "isomap", "random")
"""Methods that embed many rows themselves."""

N_NEIGHBORS = 10
ALL_JUDGED = 500
"""Rows up to which all of them judge the scales, as they do wherever sums are exact."""

ALL_TRIED, N_TRIED = 10_000, 2_000
CLEARLY_WORSE = 0.15
"""Of more rows, starts are tried whose map of 2,000 rows has a score within this of the best."""


def candidates_of(
    init: object, scheme: KernelRegression, coordinates: Array, problem: Problem
) -> list[Candidate]:
    """Return candidates at their best scales.

    Named methods see the coordinates (n, r), in the leading subspace or in feature space.
    """
    auto, rng = is_auto(init), problem.rng
    unit, coarse = unit_variance(coordinates), None
    inits = named_inits(init, AUTO if scheme.many else AUTO_FEW)
    if auto and len(unit) > ALL_TRIED:
        with problem.progress.phase("starts of some rows"):
            inits = _promising(inits, scheme, unit, problem)
    candidates = []
    for name, one in inits:
        coarsely = isinstance(one, str) and one.partition(":")[0] not in ALL_ROWS
        coarsely = coarsely and len(unit) > N_COARSE
        if coarsely and coarse is None:
            with problem.progress.phase("neighbors"):
                coarse = CoarseMap.of(unit, nearest_neighbors(unit, N_NEIGHBORS, rng), rng)

        def embed(one: object, coarse: CoarseMap | None = coarse if coarsely else None) -> Array:
            if coarse is not None:
                return coarse.extend(_of_part(one, problem), rng)
            return latents_of(one, unit, problem)

        with problem.progress.phase(f"start {name}"):
            Z = attempt(embed, one, auto)
            if Z is not None:
                candidates.append(
                    scaled_candidate(
                        name,
                        Z,
                        scheme,
                        few=len(unit) <= ALL_JUDGED or not scheme.many,
                        keep_shape=is_pca(one),
                    )
                )
    if not candidates:
        raise ValueError("No start succeeded; name one by init, such as init='pca'.")
    return candidates


def _promising(
    inits: list[tuple[str, Any]], scheme: KernelRegression, unit: Array, problem: Problem
) -> list[tuple[str, Any]]:
    """Return the starts whose maps of some rows are not clearly worse than the best."""
    rows = some_rows(len(unit), N_TRIED)
    part = replace(scheme, data=scheme.data[rows])
    scores = {}
    for name, one in inits:
        Z = attempt(lambda one: _of_part(one, problem)(unit[rows]), one, auto=True)
        if Z is not None:
            candidate = scaled_candidate(name, Z, part, few=False)
            scores[name] = part.map_score(candidate.latents)
    best = max(scores.values(), default=-np.inf)
    return [(name, one) for name, one in inits if scores.get(name, best) >= best - CLEARLY_WORSE]


def _of_part(name: object, problem: Problem) -> Callable[[Array], Array]:
    """Return the named initializer as a function of some rows, which it sees at unit variance."""
    return lambda rows: latents_of(name, unit_variance(rows - rows.mean(axis=0)), problem)

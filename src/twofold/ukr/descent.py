r"""Steps 4 and 5 of the learning scheme: descent, when to stop, and the rescue of strays.

Meinicke et al. (2005), section 2.3. The homotopy (`twofold.ukr.density_constraint`) minimizes the
error under a density constraint that is relaxed step by step, from latents all in one place; the
descent minimizes it without constraint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from twofold.base.problem import Problem
from twofold.maps.projection import Projection
from twofold.numerics.codebooks import score_of_map
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.neighbors import nearest
from twofold.numerics.sums.cells import sorted_into_columns
from twofold.numerics.threads import row_blocks
from twofold.optimize import Guide, guided_minimizer
from twofold.optimize.row_pull import Pulled, RowPull
from twofold.protocols import Array, MinimizeResult
from twofold.starts.candidates import Candidate, best_first
from twofold.ukr.density_constraint import constrained, relaxed
from twofold.ukr.regression import KernelRegression
from twofold.ukr.settings import UKRSettings

MOST_COMPARED = 2_000
"""Rows up to which candidates are compared: maps of more are less noisy."""

N_COMPARED = 3
TRIAL_STEPS = 10
VALIDATE_EVERY = 5
PATIENCE = 3
STRAY_MASS = 0.1
OUT_OF_REACH = 1e-12
N_PLACES = 10

Judge = Callable[[int, Array], bool]
"""Called with the iteration and the latents; returning True ends the descent."""


def compared(
    settings: UKRSettings, scheme: KernelRegression, candidates: list[Candidate]
) -> list[Candidate]:
    """Order candidates by the scores of their maps; of few rows, after a few iterations.

    Scores of starts do not compare well: the geodesic distances of few noisy rows put neighbors a
    little apart, which few iterations mend, and t-SNE does not. On noisy rolls t-SNE often has the
    better score at the start, Isomap after ten iterations. All descend alike: without homotopy and
    guidance, which take long.
    """
    tried = len(scheme.data) <= MOST_COMPARED and settings.minimum_density is None
    if len(candidates) > 1 and not (tried and len(candidates) <= N_COMPARED):
        scored = [replace(one, score=scheme.map_score(one.latents)) for one in candidates]
        candidates = best_first(scored)
    if len(candidates) == 1 or not tried:
        return candidates
    again = []
    for candidate in candidates[:N_COMPARED]:
        minimizer, objective = settings.minimizer(TRIAL_STEPS), scheme.objective()
        result = minimizer.minimize(
            objective, candidate.latents, callback=lambda number, *_: number >= TRIAL_STEPS
        )
        again.append(replace(candidate, score=scheme.map_score(result.Z)))
    return best_first(again) + candidates[N_COMPARED:]


def minimize(
    settings: UKRSettings,
    scheme: KernelRegression,
    start: Candidate,
    problem: Problem,
    n_iter: int,
    guide: Guide | None = None,
    pull: RowPull | None = None,
    judge: Judge | None = None,
) -> MinimizeResult:
    """Run steps 4 and 5 from a candidate, for at most ``n_iter`` iterations.

    The pull of an aligned fit takes part in step 5, unless there is a density constraint.
    """
    Z, order = start.latents, None
    if scheme.many and judge is None:  # nearby points are then close in memory
        order, _ = sorted_into_columns(Z)
        Z, scheme = Z[order], replace(scheme, data=scheme.data[order])
        guide = None if guide is None else guide.take(order)
        pull = None if pull is None else pull.in_order(order)
    density = settings.minimum_density
    if settings.anneal:
        with problem.progress.phase("homotopy", max_iter=None) as callback:
            Z = relaxed(
                scheme,
                Z,
                settings.homotopy,
                settings.minimizer,
                until=density or 0.0,
                leave_one_out=density is None,
                callback=callback,
            )
    with problem.progress.phase("minimization", max_iter=None, at_most=n_iter) as callback:

        def on_iteration(number: int, value: float, point: Array) -> bool:
            stop = callback(number, value, point)
            return stop or (judge is not None and judge(number, point)) or number >= n_iter

        if density is None:
            minimizer = guided_minimizer(settings.minimizer(n_iter), guide)
            objective = scheme.objective()
            pulled = objective if pull is None else Pulled(objective, pull)
            result = minimizer.minimize(pulled, Z, callback=on_iteration)
        else:
            result = constrained(
                scheme,
                Z,
                density,
                settings.homotopy,
                lambda n_steps: guided_minimizer(settings.minimizer(n_steps), guide),
                n_iter,
                leave_one_out=False,
                callback=on_iteration,
            )
    if order is None:
        return result
    Z = np.empty_like(result.Z)
    Z[order] = result.Z
    return replace(result, Z=Z)


def validated_iterations(
    settings: UKRSettings,
    scheme: KernelRegression,
    start: Candidate,
    problem: Problem,
    guide: Guide | None = None,
) -> tuple[int, list[float]]:
    """Return the number of iterations whose map has the best score on held-out rows, and scores."""
    n, fraction = len(scheme.data), settings.validation_fraction
    assert fraction is not None
    n_held_out = max(1, int(np.ceil(float(fraction) * n)))
    if n - n_held_out <= problem.n_components:
        raise ValueError(
            f"validation_fraction={fraction!r} leaves {n - n_held_out} of {n} rows. Use a smaller "
            "fraction, or more rows."
        )
    order = problem.rng.permutation(n)
    held_out, kept = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    center = scheme.data[kept].mean(axis=0)
    others = scheme.data[held_out] - center
    part = KernelRegression.of(
        scheme.data[kept] - center,
        scheme.kernel,
        many=scheme.many,
        keep_gram=settings.keep_gram,
        pseudo_count=scheme.pseudo_count,
        groups=None if scheme.groups is None else scheme.groups[kept],
        n_jobs=scheme.n_jobs,
    )
    variance, scores = float(row_norms_sq(scheme.data).mean()), list[float]()

    def validate(Z: Array) -> None:
        decoder = part.decoder(Z, part.data)
        found = Projection(decoder).fit(part.data, Z).predict(others)
        scores.append(score_of_map(decoder.predict, Z, found, others, variance, 0))

    def judge(number: int, Z: Array) -> bool:
        if number % VALIDATE_EVERY:
            return False
        validate(Z)
        return len(scores) - 1 - int(np.argmax(scores)) >= PATIENCE

    start = replace(start, latents=start.latents[kept])
    part_guide = None if guide is None else guide.take(kept)
    most = settings.max_iter
    result = minimize(settings, part, start, problem, most, part_guide, judge=judge)
    if not scores:  # the descent ended before the first validation
        validate(result.Z)
        return most, scores
    return min(VALIDATE_EVERY * (int(np.argmax(scores)) + 1), most), scores


def rescue(scheme: KernelRegression, Z: Array) -> tuple[Array, int]:
    """Move strays to latents of their neighbors in data space; return latents and the number moved.

    Each stray, a point of kernel mass below 0.1, moves to the latent of the one of its ten nearest
    points in data space at which its leave-one-out prediction is best. Without a pseudo-count
    nothing keeps points together, and whole groups may lie apart, predicting each other; then only
    points out of reach of all others are moved.
    """
    nothing = np.empty((len(Z), 0), dtype=scheme.data.dtype)
    mass, _ = scheme.weigh_plain(Z).mass_and_apply(nothing)
    stray = mass < (STRAY_MASS if scheme.pseudo_count else OUT_OF_REACH)
    if not stray.any() or stray.all():
        return Z, 0
    data, strays, settled = scheme.data, np.flatnonzero(stray), np.flatnonzero(~stray)
    decoder = scheme.decoder(Z[settled], data[settled])
    n_places = min(N_PLACES, len(settled))
    rng = np.random.default_rng(0)
    neighbors, _ = nearest(data[settled], data[strays], n_places, rng=rng, n_jobs=scheme.n_jobs)
    moved = Z.copy()
    for block in row_blocks(len(strays), 2 * 8 * 10 * data.shape[1]):
        rows, near = strays[block], neighbors[block]
        places = Z[settled[near]]
        predicted = decoder.predict(places.reshape(-1, Z.shape[1]))
        residuals = predicted.reshape(*near.shape, -1) - data[rows, None]
        best = np.square(residuals).sum(axis=2).argmin(axis=1)
        moved[rows] = places[np.arange(len(rows)), best]
    return moved, len(strays)

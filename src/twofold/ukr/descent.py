"""Steps 4 and 5 of the learning scheme: homotopy, minimisation, and when to stop.

Meinicke et al. (2005), section 2.3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from twofold.base.estimator import Problem
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.sums import sorted_into_columns
from twofold.optimize import Guide, guided_minimizer, resolve_minimizer
from twofold.protocols import Array, MinimizeResult
from twofold.starts.candidates import Candidate
from twofold.ukr.regression import KernelRegression, is_many

__all__ = ["minimise", "most_iterations", "validated_iterations"]

HOMOTOPY_STEPS = 50
FEW_ROWS_ITERATIONS = 100
MANY_ROWS_ITERATIONS = 60
VALIDATE_EVERY = 10
PATIENCE = 3


def most_iterations(settings: Any, scheme: KernelRegression) -> int:
    """Return ``max_iter``, where it is "auto" the number that suits so many rows."""
    if settings.max_iter != "auto":
        return int(settings.max_iter)
    many = is_many(len(scheme.data), scheme.kernel)
    return MANY_ROWS_ITERATIONS if many else FEW_ROWS_ITERATIONS


def minimise(
    settings: Any,
    scheme: KernelRegression,
    start: Candidate,
    problem: Problem,
    n_iter: int,
    guide: Guide | None = None,
    judge: Any = None,
) -> MinimizeResult:
    """Run steps 4 and 5 from a candidate."""
    if is_many(len(scheme.data), scheme.kernel) and judge is None:
        # Points in the order of their places: what is close together lies close in memory.
        order, _ = sorted_into_columns(start.latents)
        scheme = replace(scheme, data=scheme.data[order])
        guide = None if guide is None else guide.take(order)
        result = _minimise(
            settings, scheme, start.latents[order], start.name, problem, n_iter, guide
        )
        Z = np.empty_like(result.Z)
        Z[order] = result.Z
        return replace(result, Z=Z)
    return _minimise(settings, scheme, start.latents, start.name, problem, n_iter, guide, judge)


def _minimise(
    settings: Any,
    scheme: KernelRegression,
    Z: Array,
    name: str,
    problem: Problem,
    n_iter: int,
    guide: Guide | None = None,
    judge: Any = None,
) -> MinimizeResult:
    minimizer = resolve_minimizer(settings.optimizer, max_iter=n_iter, tol=settings.tol)
    minimizer = guided_minimizer(minimizer, guide)
    plain = settings.objective == "reconstruction"
    homotopy = bool(settings.homotopy)
    if settings.homotopy == "auto":  # many rows it leaves in fragments, after a long time
        homotopy = name == "pca" and not is_many(len(scheme.data), scheme.kernel)
    if homotopy or plain:
        quick = resolve_minimizer(settings.optimizer, max_iter=HOMOTOPY_STEPS, tol=settings.tol)
        with problem.progress.phase("homotopy", max_iter=None) as callback:
            until = float(settings.density_threshold) if plain else 0.0
            Z = scheme.anneal(Z, quick, until=until, leave_one_out=not plain, callback=callback)
    with problem.progress.phase("minimisation", max_iter=None, at_most=n_iter) as callback:

        def on_iteration(number: int, value: float, point: Array) -> bool:
            stop = callback(number, value, point)
            return stop or (judge is not None and judge(number, point)) or number >= n_iter

        if plain:
            return scheme.constrained(
                Z, float(settings.density_threshold), minimizer, False, on_iteration
            )
        return minimizer.minimize(scheme.objective(), Z, callback=on_iteration)


def validated_iterations(
    settings: Any,
    scheme: KernelRegression,
    start: Candidate,
    problem: Problem,
    guide: Guide | None = None,
) -> tuple[int, list[float]]:
    """Return the iterations after which held-out rows are rebuilt best, and their errors."""
    n = len(scheme.data)
    n_held_out = max(1, int(np.ceil(float(settings.validation_fraction) * n)))
    if n - n_held_out <= problem.n_components:
        raise ValueError(
            f"validation_fraction={settings.validation_fraction!r} leaves {n - n_held_out} of {n} rows."
        )
    order = problem.rng.permutation(n)
    held_out, kept = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    groups = None if scheme.groups is None else scheme.groups[kept]
    center = scheme.data[kept].mean(axis=0)
    part = KernelRegression.of(
        scheme.data[kept] - center,
        scheme.kernel,
        pseudo_count=scheme.pseudo_count,
        groups=groups,
        n_jobs=scheme.n_jobs,
    )
    variance = float(row_norms_sq(scheme.data).mean())
    errors: list[float] = []

    def judge(number: int, Z: Array) -> bool:
        if number % VALIDATE_EVERY:
            return False
        errors.append(part.projection_error(Z, scheme.data[held_out] - center) / variance)
        return len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE

    start = replace(start, latents=start.latents[kept])
    part_guide = None if guide is None else guide.take(kept)
    most = most_iterations(settings, scheme)
    result = minimise(settings, part, start, problem, most, part_guide, judge)
    if not errors:  # it ended before the first look
        errors.append(part.projection_error(result.Z, scheme.data[held_out] - center) / variance)
        return most, errors
    best = VALIDATE_EVERY * (int(np.argmin(errors)) + 1)
    return min(best, most), errors

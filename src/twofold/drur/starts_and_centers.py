"""The choice of the first latents and of the number of centers, by held-out energy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from twofold.base.problem import Problem
from twofold.drur.alternation import alternate, moves_of
from twofold.drur.settings import CENTERS, N_TRIED, DRURSettings
from twofold.numerics.linalg import rank_up_to
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import is_auto, warn_user
from twofold.protocols import Array, IntArray
from twofold.starts.named import attempts, latents_of

AUTO = ("pca", "isomap:8", "isomap:15", "laplacian_eigenmaps:10", "lle:12")
WORTH_MORE = 0.98
TRIAL_TURNS = 3


def chosen_start(
    settings: DRURSettings, data: Array, rows: IntArray, problem: Problem, n_rows: int
) -> tuple[Array, list[dict[str, Any]]]:
    """Return the first latents of the lowest energy after one turn, and all candidates.

    Named starts see ``data`` (n, D), coordinates of total variance one; estimators and functions
    see the original data of the problem, whose ``rows`` (n,) they are. Ridges are stated for all
    ``n_rows`` rows.
    """
    starts = attempts(settings.init, AUTO, lambda one: latents_of(one, data, problem, rows))
    if not is_auto(settings.init):
        _check_spread(starts)
    if len(starts) == 1:
        name, latents = next(iter(starts.items()))
        return latents, [{"name": name, "energy": np.nan}]
    few = some_rows(len(data), N_TRIED)
    sizes = _sizes(settings, len(few))
    size = sizes[min(1, len(sizes) - 1)]
    seed = int(problem.rng.integers(2**31))
    share = len(few) / n_rows
    candidates: list[dict[str, Any]] = [
        {"name": name, "energy": _trial(settings, data[few], latents[few], size, 1, seed, share)}
        for name, latents in starts.items()
    ]
    candidates.sort(key=lambda candidate: candidate["energy"])
    return starts[candidates[0]["name"]], candidates


def _check_spread(starts: dict[str, Array]) -> None:
    """Refuse latents that are all equal, and warn of those that do not vary in all directions."""
    for name, Z in starts.items():
        rank = rank_up_to(Z - Z.mean(axis=0), Z.shape[1])
        if rank == 0:
            raise ValueError(f"init: the latents of {name!r} are all equal. Use another start.")
        if rank < Z.shape[1]:
            warn_user(
                f"init: the latents of {name!r} vary in only {rank} of {Z.shape[1]} directions. "
                "Use a start that varies in all of them.",
                UserWarning,
            )


def chosen_centers(
    settings: DRURSettings, data: Array, latents: Array, problem: Problem, n_rows: int
) -> tuple[int, int]:
    """Return the numbers of centers, up and down; (0, 0) means one at every point.

    "auto" tries more of them as long as they lower the held-out energy after three turns by 2 %.
    """
    if settings.n_centers == "all":
        return 0, 0
    if not isinstance(settings.n_centers, str):
        return settings.n_centers
    if not isinstance(settings.up, str) and not isinstance(settings.down, str):
        return 1, 1  # maps of the caller have their own sizes
    rows = some_rows(len(data), N_TRIED)
    seed = int(problem.rng.integers(2**31))
    share = len(rows) / n_rows
    best, lowest = (0, 0), np.inf
    for size in _sizes(settings, len(rows)):
        energy = _trial(settings, data[rows], latents[rows], size, TRIAL_TURNS, seed, share)
        if energy > WORTH_MORE * lowest:
            break
        best, lowest = size, energy
    return best


def _sizes(settings: DRURSettings, n_rows: int) -> list[tuple[int, int]]:
    """Return numbers of centers to try; a perceptron needs fewer units than a network centers."""
    if not isinstance(settings.n_centers, str):
        return [settings.n_centers]
    few = [n for n in CENTERS if 8 * n <= n_rows] or [max(1, n_rows // 4)]
    up, down = (2 if kind == "mlp" else 1 for kind in (settings.up, settings.down))
    return [(max(1, n // up), max(1, n // down)) for n in few]


def _trial(
    settings: DRURSettings,
    data: Array,
    latents: Array,
    size: tuple[int, int],
    n_turns: int,
    seed: int,
    share: float,
) -> float:
    """Return the lowest held-out energy of a few turns on a share of all rows."""
    rng = np.random.default_rng(seed)
    moves = moves_of(settings, size, rng, share)
    held_out = np.sort(rng.permutation(len(data))[: len(data) // 5])
    short = replace(settings, max_iter=n_turns, tol=0.0, recenter=n_turns)
    turns = alternate(moves, short, data, latents, held_out)
    energies = turns.held_out if len(held_out) else turns.energies
    return float(np.nanmin(energies)) if np.isfinite(energies).any() else np.inf

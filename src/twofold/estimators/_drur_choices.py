"""What unsupervised regression chooses before it starts, by held-out energy: the first latents, the number of centres."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold._blocks import some_rows
from twofold.estimators._drur_settings import pair_of
from twofold.estimators._ukr_starts import attempt, init_is_auto, latents_of, named_inits
from twofold.estimators.base import Problem
from twofold.maps import MLP, RBFNetwork
from twofold.maps.radial_regression import ALPHAS, RadialRegression
from twofold.protocols import Array
from twofold.unsupervised_regression import (
    Adapter,
    Alternation,
    MapAdapter,
    RadialAdapter,
    Turns,
)

__all__ = ["adapters", "chosen_centers", "chosen_start", "refitted"]

AUTO = ("pca", "isomap:8", "isomap:15", "laplacian_eigenmaps:10", "lle:12")
N_TRIED = 4_000
"""Rows on which choices are made."""

CENTERS = (15, 30, 60, 120, 250, 500)
WORTH_MORE = 0.98
TRIAL_TURNS = 3
HIDDEN_ITERATIONS = 200


def adapters(
    model: Any, n_centers: tuple[int, int], rng: np.random.Generator
) -> tuple[Adapter, Adapter]:
    """Return what learns the maps, up and down."""
    alphas = pair_of(model.alpha)
    seed = int(rng.integers(2**31))
    found: list[Adapter] = []
    for kind, size, alpha, fixed in zip(
        (model.up, model.down), n_centers, alphas, (False, True), strict=True
    ):
        ridges = ALPHAS if isinstance(alpha, str) else (float(alpha),)
        if isinstance(kind, str) and kind == "rbf":
            found.append(RadialAdapter(size, ridges, fixed, seed))
        elif isinstance(kind, str):
            decay = 1e-6 if isinstance(alpha, str) else float(alpha)
            network = MLP(
                size,
                alpha=decay,
                max_iter=HIDDEN_ITERATIONS,
                warm_start=True,
                random_state=seed,
            )
            found.append(MapAdapter(network))
        else:
            found.append(MapAdapter(kind))
    return found[0], found[1]


def chosen_start(model: Any, data: Array, problem: Problem) -> tuple[Array, list[dict[str, Any]]]:
    """Return the first latents of the lowest energy after one turn, and all that were compared.

    Parameters
    ----------
    model : DRUR
        The settings.
    data : ndarray of shape (n, D)
        Coordinates of total variance one: what named starts see.
    problem : Problem
        The rest of what they need; estimators and functions see its original data.
    """
    auto = init_is_auto(model.init)

    def embed(one: Any) -> Array:
        return latents_of(one, data if isinstance(one, str) else problem.original.copy(), problem)

    found = {name: attempt(embed, one, auto) for name, one in named_inits(model.init, AUTO)}
    starts = {name: Z for name, Z in found.items() if Z is not None}
    if len(starts) == 1:
        name, latents = next(iter(starts.items()))
        return latents, [{"name": name, "energy": np.nan}]
    rows = some_rows(len(data), N_TRIED)
    sizes = _sizes(model, len(rows)) if model.n_centers == "auto" else [pair_of(model.n_centers)]
    size = sizes[min(1, len(sizes) - 1)]
    seed = int(problem.rng.integers(2**31))
    candidates: list[dict[str, Any]] = [
        {"name": name, "energy": _trial(model, data[rows], latents[rows], size, 1, seed)}
        for name, latents in starts.items()
    ]
    candidates.sort(key=lambda candidate: candidate["energy"])
    return starts[candidates[0]["name"]], candidates


def chosen_centers(model: Any, data: Array, latents: Array, problem: Problem) -> tuple[int, int]:
    """Return the numbers of centres, up and down.

    Where they are to be chosen, more are tried as long as they lower the held-out energy after three turns by 2 %.
    """
    if model.n_centers != "auto":
        up, down = pair_of(model.n_centers)
        return int(up), int(down)
    rows = some_rows(len(data), N_TRIED)
    seed = int(problem.rng.integers(2**31))
    best, lowest = (0, 0), np.inf
    for size in _sizes(model, len(rows)):
        energy = _trial(model, data[rows], latents[rows], size, TRIAL_TURNS, seed)
        if energy > WORTH_MORE * lowest:
            break
        best, lowest = size, energy
    return best


def _sizes(model: Any, n_rows: int) -> list[tuple[int, int]]:
    """Return numbers of centres worth trying; a perceptron needs fewer units than a network centres."""
    few = [n for n in CENTERS if 8 * n <= n_rows] or [max(1, n_rows // 4)]
    units = [2 if isinstance(kind, str) and kind == "mlp" else 1 for kind in (model.up, model.down)]
    return [(max(1, n // units[0]), max(1, n // units[1])) for n in few]


def _trial(
    model: Any, data: Array, latents: Array, size: tuple[int, int], n_turns: int, seed: int
) -> float:
    """Return the lowest held-out energy of a few turns."""
    rng = np.random.default_rng(seed)
    up, down = adapters(model, size, rng)
    held_out = np.sort(rng.permutation(len(data))[: len(data) // 5])
    alternation = Alternation(
        data, up, down, float(model.down_weight), n_turns, 0.0, n_turns, held_out
    )
    turns = alternation.run(latents, lambda *_: False)
    energies = turns.held_out if len(held_out) else turns.energies
    return float(np.nanmin(energies)) if np.isfinite(energies).any() else np.inf


def refitted(turns: Turns, data: Array) -> tuple[Any, Any]:
    """Return the maps of the best turn, fitted to all rows with the centres they have."""
    up, down = turns.up, turns.down
    if isinstance(up, RBFNetwork):
        up = RadialRegression(turns.latents, up.centers_).fit(data, up.bandwidth_, up.alpha_)
    if isinstance(down, RBFNetwork):
        down = RadialRegression(data, down.centers_).fit(
            turns.latents, down.bandwidth_, down.alpha_
        )
    return up, down

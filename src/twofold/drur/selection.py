"""What unsupervised regression chooses before it starts, by held-out energy: the first latents, the number of centres."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.base.estimator import Problem
from twofold.drur.adaptation import Adapter, MapAdapter, RadialAdapter
from twofold.drur.alternation import Alternation, Moves, Settings, run_turns
from twofold.drur.nonparametric import JointDescent
from twofold.drur.radial_regression import ALPHAS
from twofold.drur.settings import is_rbf, pair_of
from twofold.maps import MLP
from twofold.numerics.linalg import rank_up_to
from twofold.numerics.threads import drawn_rows, some_rows
from twofold.numerics.validation import warn_user
from twofold.protocols import Array, IntArray
from twofold.starts.named import attempt, init_is_auto, latents_of, named_inits

__all__ = ["chosen_centers", "chosen_start", "most_rows_of_turns", "moves_of", "rows_of_turns"]

AUTO = ("pca", "isomap:8", "isomap:15", "laplacian_eigenmaps:10", "lle:12")
N_TRIED = 4_000
"""Rows on which choices are made."""

CENTERS = (15, 30, 60, 120, 250, 500)
WORTH_MORE = 0.98
TRIAL_TURNS = 3
HIDDEN_ITERATIONS = 100
DECAY = 1e-6
N_TURNED = 10_000
TURNED_PER_CENTER = 10
"""Rows that take part in the turns: at most the larger of these. Rolls were found as well by fewer rows as by all; MNIST with
2,000 centres lost 0.273, 0.275 and 0.281 of its variance with 60,000, 40,000 and 20,000 rows in the turns."""


def most_rows_of_turns(model: Any) -> int:
    """Return how many rows determine the networks well enough for the turns."""
    sizes = (max(CENTERS),) if isinstance(model.n_centers, str) else pair_of(model.n_centers)
    return max(N_TURNED, TURNED_PER_CENTER * max(sizes))


def rows_of_turns(
    model: Any, n: int, rng: np.random.Generator, *, own_maps_see_all: bool = True
) -> IntArray:
    """Return the rows that take part in the turns: all, or of very many some that determine two networks as well.

    Maps of your own are fitted to all rows where these are in memory.
    """
    most = most_rows_of_turns(model)
    own = any(not isinstance(kind, str) for kind in (model.up, model.down))
    if (own and own_maps_see_all) or model.n_centers == "all" or n <= most:
        return np.arange(n)
    return drawn_rows(n, most, rng)


def moves_of(
    model: Any, n_centers: tuple[int, int], rng: np.random.Generator, share: float = 1.0
) -> Moves:
    """Return what a turn does.

    Parameters
    ----------
    model : DRUR
        The settings.
    n_centers : tuple of int
        Centres or hidden units, up and down; (0, 0) means one at every point.
    rng : Generator
        Seeds k-means and perceptrons.
    share : float, default=1.0
        Of all rows that take part; ridges are stated for all of them.
    """
    ridges = [
        ALPHAS if isinstance(alpha, str) else (float(alpha) * share,)
        for alpha in pair_of(model.alpha)
    ]
    if n_centers == (0, 0):
        return JointDescent(ridges[0], ridges[1])
    seed = int(rng.integers(2**31))
    found: list[Adapter] = []
    for kind, size, alphas, fixed in zip(
        (model.up, model.down), n_centers, ridges, (False, True), strict=True
    ):
        if is_rbf(kind):
            found.append(RadialAdapter(size, alphas, fixed, seed))
        elif isinstance(kind, str):
            network = MLP(
                size,
                alpha=alphas[0] if len(alphas) == 1 else DECAY,
                max_iter=HIDDEN_ITERATIONS,
                warm_start=True,
                random_state=seed,
            )
            found.append(MapAdapter(network))
        else:
            found.append(MapAdapter(kind))
    return Alternation(found[0], found[1])


def chosen_start(
    model: Any, data: Array, rows: IntArray, problem: Problem, n_rows: int
) -> tuple[Array, list[dict[str, Any]]]:
    """Return the first latents of the lowest energy after one turn, and all that were compared.

    Parameters
    ----------
    model : DRUR
        The settings.
    data : ndarray of shape (n, D)
        Coordinates of total variance one: what named starts see.
    rows : ndarray of int, shape (n,)
        Which rows of the problem they belong to.
    problem : Problem
        The rest of what they need; estimators and functions see its original data.
    n_rows : int
        Rows in all, for which ridges are stated.
    """
    auto = init_is_auto(model.init)

    def embed(one: Any) -> Array:
        if isinstance(one, str):
            return latents_of(one, data, problem)
        return latents_of(one, problem.original.copy(), problem)[rows]

    found = {name: attempt(embed, one, auto) for name, one in named_inits(model.init, AUTO)}
    starts = {name: Z for name, Z in found.items() if Z is not None}
    if not auto:
        _check_spread(starts)
    if len(starts) == 1:
        name, latents = next(iter(starts.items()))
        return latents, [{"name": name, "energy": np.nan}]
    few = some_rows(len(data), N_TRIED)
    open_size = isinstance(model.n_centers, str)
    sizes = _sizes(model, len(few)) if open_size else [pair_of(model.n_centers)]
    size = sizes[min(1, len(sizes) - 1)]
    seed = int(problem.rng.integers(2**31))
    share = len(few) / n_rows
    candidates: list[dict[str, Any]] = [
        {"name": name, "energy": _trial(model, data[few], latents[few], size, 1, seed, share)}
        for name, latents in starts.items()
    ]
    candidates.sort(key=lambda candidate: candidate["energy"])
    return starts[candidates[0]["name"]], candidates


def _check_spread(starts: dict[str, Array]) -> None:
    """Refuse latents that are all equal, and warn of those that lack a direction: no turn can find one."""
    for name, Z in starts.items():
        rank = rank_up_to(Z - Z.mean(axis=0), Z.shape[1])
        if rank == 0:
            raise ValueError(f"init: the latents of {name!r} are all equal, which is no start.")
        if rank < Z.shape[1]:
            warn_user(
                f"init: the latents of {name!r} vary in only {rank} of {Z.shape[1]} directions. Use a start that "
                "varies in all of them.",
                UserWarning,
            )


def chosen_centers(
    model: Any, data: Array, latents: Array, problem: Problem, n_rows: int
) -> tuple[int, int]:
    """Return the numbers of centres, up and down; (0, 0) means one at every point.

    Where they are to be chosen, more are tried as long as they lower the held-out energy after three turns by 2 %.
    """
    if model.n_centers == "all":
        return 0, 0
    if model.n_centers != "auto":
        up, down = pair_of(model.n_centers)
        return int(up), int(down)
    if not isinstance(model.up, str) and not isinstance(model.down, str):
        return 1, 1  # maps of your own have their sizes
    rows = some_rows(len(data), N_TRIED)
    seed = int(problem.rng.integers(2**31))
    share = len(rows) / n_rows
    best, lowest = (0, 0), np.inf
    for size in _sizes(model, len(rows)):
        energy = _trial(model, data[rows], latents[rows], size, TRIAL_TURNS, seed, share)
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
    model: Any,
    data: Array,
    latents: Array,
    size: tuple[int, int],
    n_turns: int,
    seed: int,
    share: float,
) -> float:
    """Return the lowest held-out energy of a few turns of some share of all rows."""
    rng = np.random.default_rng(seed)
    moves = moves_of(model, size, rng, share)
    held_out = np.sort(rng.permutation(len(data))[: len(data) // 5])
    settings = Settings(float(model.down_weight), n_turns, 0.0, n_turns)
    turns = run_turns(moves, settings, data, latents, held_out, lambda *_: False)
    energies = turns.held_out if len(held_out) else turns.energies
    return float(np.nanmin(energies)) if np.isfinite(energies).any() else np.inf

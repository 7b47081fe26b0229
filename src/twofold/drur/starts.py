"""The choice of the first latents, by the map's score of held-out rows after one turn.

The held-out energy does not see whether a start has folded the data: latents are searched for, and
both maps adapt to any order of the rows. The codebook errors of `twofold.numerics.codebooks` see
it, because rows of different layers share a codeword.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.base.problem import Problem
from twofold.drur.settings import MOST_WEIGHT, N_TRIED, DRURSettings
from twofold.drur.trials import sizes_to_try, trial
from twofold.numerics.linalg import rank_up_to
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import is_auto, warn_user
from twofold.protocols import Array, IntArray
from twofold.starts.named import attempts, latents_of

AUTO = ("pca", "isomap:8", "isomap", "laplacian_eigenmaps:10", "lle:12")


def chosen_start(
    settings: DRURSettings,
    data: Array,
    rows: IntArray,
    problem: Problem,
    n_rows: int,
    unit: float,
) -> tuple[Array, list[dict[str, Any]]]:
    """Return the first latents of the best map after one turn, and all candidates, best first.

    Named starts see ``data`` (n, D), coordinates of total variance one; estimators and functions
    see the original data of the problem, whose ``rows`` (n,) they are. Ridges are stated for all
    ``n_rows`` rows. Latents of named starts have the units of ``data``. Others have the caller's;
    if units matter (``down_weight`` is None), they are divided by the ``unit`` of the data.
    """
    in_units = settings.down_weight is None

    def embed(one: Any) -> Array:
        Z = latents_of(one, data, problem, rows)
        if not in_units or isinstance(one, str):
            return Z
        return _checked_units(Z, unit * problem.units.unit())

    starts = attempts(settings.init, AUTO, embed)
    if not is_auto(settings.init):
        _check_spread(starts)
    if len(starts) == 1:
        name, latents = next(iter(starts.items()))
        return latents, [{"name": name, "energy": np.nan, "map_score": np.nan}]
    few = some_rows(len(data), N_TRIED)
    sizes = sizes_to_try(settings, len(few))
    size = sizes[min(1, len(sizes) - 1)]
    seed = int(problem.rng.integers(2**31))
    candidates: list[dict[str, Any]] = []
    for name, latents in starts.items():
        found = trial(settings, data[few], latents[few], size, 1, seed, len(few) / n_rows)
        score = found.map_score(data[few], seed)
        candidates.append({"name": name, "energy": found.energy, "map_score": score})
    candidates.sort(key=lambda candidate: -candidate["map_score"])
    return starts[candidates[0]["name"]], candidates


def _checked_units(Z: Array, unit: float) -> Array:
    """Return latents (n, q) in units of the data, which have a variance of one there."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        inside: Array = Z / unit
        ratio = float(inside.var(axis=0).sum())
    if ratio != 0.0 and not 1.0 / MOST_WEIGHT <= ratio <= MOST_WEIGHT:
        raise ValueError(
            f"init: the variance of the latents is {ratio:.3g} times that of the data, and "
            f"down_weight=None keeps their units; it must be between {1.0 / MOST_WEIGHT:g} and "
            f"{MOST_WEIGHT:g}. Rescale init to the units of the data, or give down_weight a number."
        )
    return inside


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

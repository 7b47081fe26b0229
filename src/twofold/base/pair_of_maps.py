"""Both maps for given latents: which ones a name stands for, and the pair that loses least on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.base.estimator import Learned, Problem
from twofold.maps import KernelRidgeMap, NadarayaWatson, RBFNetwork
from twofold.maps.pair_selection import choose_pair, fit_pair
from twofold.maps.projection import Projection
from twofold.numerics.density import LatentDensity
from twofold.numerics.units import CentredUnits
from twofold.numerics.validation import check_choice, check_int
from twofold.protocols import Array, Map

__all__ = ["check_maps", "first_maps", "with_maps"]

UP = ("nw", "krr", "rbf")
DOWN = ("projection", "nw", "krr", "rbf")
MAX_KRR_CENTERS = 500
MAX_RBF_CENTERS = 300


def check_maps(settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the up-maps and the down-maps that ``up`` and ``down`` stand for, after a check of ``n_centers``."""
    if settings.n_centers != "auto":
        check_int("n_centers", settings.n_centers)
    return _named("up", settings.up, UP), _named("down", settings.down, DOWN)


def first_maps(settings: Any) -> dict[str, Any]:
    """Return the learned attributes of a model in which there was nothing to choose."""
    ups, downs = check_maps(settings)
    return {"up_": next(iter(ups)), "down_": next(iter(downs)), "candidates_": []}


def with_maps(
    settings: Any, problem: Problem, latents: Array, attributes: dict[str, Any] | None = None
) -> Learned:
    """Learn both maps for latents (n, q).

    Parameters
    ----------
    settings : estimator
        Whose ``up``, ``down`` and ``n_centers`` say which maps.
    problem : Problem
        Data, randomness and progress.
    latents : ndarray of shape (n, q)
        The latents, in the caller's units.
    attributes : dict, default=None
        What else was learned.
    """
    ups, downs = check_maps(settings)
    units = CentredUnits.of(latents, name="the embedding")
    Z = units.into(latents)
    build = _Builder(settings.n_centers, problem.rng)
    with problem.progress.phase("choosing the maps"):
        pair = choose_pair(
            {name: build(name, map_, Z) for name, map_ in ups.items()},
            {name: build(name, map_, problem.data) for name, map_ in downs.items()},
            problem.data,
            Z,
            problem.rng,
        )
    with problem.progress.phase("fitting the maps"):
        density = LatentDensity().fit(Z)
        decoder, encoder = fit_pair(pair.up_map, pair.down_map, problem.data, Z, density)
    found = {"up_": pair.up, "down_": pair.down, "candidates_": pair.table}
    return Learned(
        latents, units, encoder, decoder, density, attributes={**found, **(attributes or {})}
    )


def _named(name: str, value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the maps that a parameter stands for: names to be built, or a map as it is."""
    if isinstance(value, Map | Projection) and not isinstance(value, type):
        return {type(value).__name__: value}
    if not isinstance(value, str):
        raise TypeError(
            f"{name}={value!r} must be one of {sorted(('auto', *names))}, or a map: an estimator "
            "with fit, predict, jacobian and normal_terms."
        )
    check_choice(name, value, ("auto", *names))
    return {choice: choice for choice in (names if value == "auto" else (value,))}


class _Builder:
    """Makes unfitted maps of names."""

    def __init__(self, n_centers: int | str, rng: np.random.Generator) -> None:
        self._n_centers = n_centers
        self._rng = rng

    def __call__(self, name: str, value: Any, inputs: Array) -> Any:
        if not isinstance(value, str):
            return value
        if name == "projection":
            return Projection()
        if name == "nw":
            return NadarayaWatson()
        n, auto = len(inputs), self._n_centers == "auto"
        if name == "rbf":
            n_centers = max(1, min(n // 5, MAX_RBF_CENTERS)) if auto else int(self._n_centers)
            return RBFNetwork(n_centers, random_state=int(self._rng.integers(2**31)))
        n_centers = MAX_KRR_CENTERS if auto else int(self._n_centers)
        if n_centers >= n:
            return KernelRidgeMap()
        rows = np.sort(self._rng.choice(n, size=n_centers, replace=False))
        return KernelRidgeMap(centers=inputs[rows])

"""Both maps for given latents: settings, default maps by name, and the fit of the chosen pair.

`twofold.maps.pair_selection` compares the pairs on held-out rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from twofold.base.problem import Learned, Problem
from twofold.maps import KernelRidgeMap, NadarayaWatson, RBFNetwork
from twofold.maps.pair_selection import choose_pair, fit_pair
from twofold.maps.projection import Projection
from twofold.numerics.density import LatentDensity
from twofold.numerics.threads import some_rows
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import check_choice, check_int, check_methods
from twofold.protocols import Array, Map

UP = ("nw", "krr", "rbf")
DOWN = ("projection", "nw", "krr", "rbf")
MAP_METHODS = ("fit", "predict", "jacobian", "normal_terms")
"""The methods of `twofold.protocols.Map`."""

MAX_KRR_CENTERS = 500
MAX_RBF_CENTERS = 300
MAX_DENSITY_POINTS = 50_000
"""Latents that carry the density."""

MapLike = str | Map | Projection


@dataclass(frozen=True)
class MapSettings:
    """The parameters ``up``, ``down`` and ``n_centers`` of an estimator, checked.

    Parameters
    ----------
    up : {"auto", "nw", "krr", "rbf"} or map
        The decoder; "auto" compares all. A map has the methods of `twofold.protocols.Map`.
    down : {"auto", "projection", "nw", "krr", "rbf"}, map or Projection
        The encoder; "auto" compares all.
    n_centers : int or "auto", default="auto"
        Centers of "krr" and "rbf".

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.base import MapSettings
    >>> settings = MapSettings("nw", "auto")
    >>> list(settings.ups), list(settings.downs)
    (['nw'], ['projection', 'nw', 'krr', 'rbf'])
    >>> settings.built("rbf", np.eye(20), np.random.default_rng(0)).n_centers
    4
    >>> settings.first
    {'up_': 'nw', 'down_': 'projection', 'candidates_': []}
    """

    up: str | Map
    down: MapLike
    n_centers: int | str = "auto"

    def __post_init__(self) -> None:
        if self.n_centers != "auto":
            check_int("n_centers", self.n_centers)
        _candidates("up", self.up, UP)
        _candidates("down", self.down, DOWN)

    @property
    def ups(self) -> dict[str, MapLike]:
        """The up-maps to compare, by name."""
        return _candidates("up", self.up, UP)

    @property
    def downs(self) -> dict[str, MapLike]:
        """The down-maps to compare, by name."""
        return _candidates("down", self.down, DOWN)

    @property
    def first(self) -> dict[str, Any]:
        """The learned attributes of a model of constant data, which compares no maps."""
        return {"up_": next(iter(self.ups)), "down_": next(iter(self.downs)), "candidates_": []}

    def built(self, value: MapLike, inputs: Array, rng: np.random.Generator) -> Map | Projection:
        """Return the unfitted map that a name stands for, for inputs (n, p); maps stay as is."""
        if not isinstance(value, str):
            return value
        if value == "projection":
            return Projection()
        if value == "nw":
            return NadarayaWatson()
        n, auto = len(inputs), self.n_centers == "auto"
        if value == "rbf":
            n_centers = max(1, min(n // 5, MAX_RBF_CENTERS)) if auto else int(self.n_centers)
            return RBFNetwork(n_centers, random_state=int(rng.integers(2**31)))
        n_centers = MAX_KRR_CENTERS if auto else int(self.n_centers)
        if n_centers >= n:
            return KernelRidgeMap()
        rows = np.sort(rng.choice(n, size=n_centers, replace=False))
        return KernelRidgeMap(centers=inputs[rows])


def learn_maps(
    settings: MapSettings,
    problem: Problem,
    latents: Array,
    attributes: dict[str, Any] | None = None,
) -> Learned:
    """Learn both maps for given latents: choose them on held-out rows, and fit them to all rows.

    Parameters
    ----------
    settings : MapSettings
        The maps to compare.
    problem : Problem
        The data, the generator and the progress of the fit.
    latents : ndarray of shape (n_samples, n_components)
        Latents of the rows, in units of your choice.
    attributes : dict or None, default=None
        More learned attributes of the estimator, by name.

    Returns
    -------
    Learned
        With ``up_``, ``down_`` and ``candidates_`` among its attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold.base import MapSettings, TwoWayEstimator, learn_maps
    >>> class FirstColumns(TwoWayEstimator):
    ...     n_components, random_state, verbose = 2, 0, 0
    ...
    ...     def _learn(self, problem):
    ...         latents = problem.data[:, : problem.n_components]
    ...         return learn_maps(MapSettings("nw", "projection"), problem, latents)
    >>> FirstColumns().fit(load_iris().data).down_
    'projection'
    """
    units = CenteredUnits.of(latents, name="the embedding")
    Z, data, rng = units.into(latents), problem.data, problem.rng
    with problem.progress.phase("choosing the maps"):
        ups = {name: cast(Map, settings.built(up, Z, rng)) for name, up in settings.ups.items()}
        downs = {name: settings.built(down, data, rng) for name, down in settings.downs.items()}
        pair = choose_pair(ups, downs, data, Z, rng)
    with problem.progress.phase("fitting the maps"):
        density = LatentDensity().fit(Z[some_rows(len(Z), MAX_DENSITY_POINTS)])
        decoder, encoder = fit_pair(pair.up_map, pair.down_map, data, Z, density)
    found = {"up_": pair.up, "down_": pair.down, "candidates_": pair.table, **(attributes or {})}
    return Learned(latents, units, encoder, decoder, density, attributes=found)


def _candidates(parameter: str, value: MapLike, names: tuple[str, ...]) -> dict[str, MapLike]:
    """Return the maps or names that a parameter stands for, by name."""
    if isinstance(value, str):
        check_choice(parameter, value, ("auto", *names))
        return {name: name for name in (names if value == "auto" else (value,))}
    if not isinstance(value, Projection):
        also = f"one of {sorted(('auto', *names))}"
        check_methods(parameter, value, MAP_METHODS, also=also)
    return {type(value).__name__: value}

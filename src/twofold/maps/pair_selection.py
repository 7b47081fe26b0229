r"""Choosing a pair of maps by what it loses on held-out rows.

A pair ``(f, F)`` is judged by ``|x - f(F(x))|^2`` on rows that neither map has seen, in units of the
variance. The embedding has seen them; that favours no pair over another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from twofold.maps.projection import Projection
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import map_blocks
from twofold.protocols import Array, Map

__all__ = ["ChosenPair", "choose_pair", "fit_pair"]

MIN_ROWS = 20
MAX_HELD_OUT = 500
MAX_KEPT = 10_000
"""Rows that candidates are fitted to. The chosen pair is fitted to all, and looks for its widths again where these were fewer."""


@dataclass(frozen=True)
class ChosenPair:
    """The outcome of a choice.

    Attributes
    ----------
    up, down : str
        Names of the chosen maps.
    up_map : Map
        Unfitted, with the widths and ridges that were found on all rows, if they were.
    down_map : Map or Projection
        Likewise; a projection is without its decoder.
    table : list of dict
        Every pair compared, best first: "up", "down", the "error" it is judged by, and "latent_error",
        how far the down-map lies from the embedding, in units of the latents' spread.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps import KernelRidgeMap, NadarayaWatson
    >>> from twofold.maps.pair_selection import choose_pair
    >>> latents = np.linspace(-1.0, 1.0, 60)[:, None]
    >>> data = np.hstack([latents, latents**2 - 1 / 3])
    >>> ups = {"mean": NadarayaWatson(bandwidth=0.5), "ridge": KernelRidgeMap()}
    >>> downs = {"ridge": KernelRidgeMap()}
    >>> chosen = choose_pair(ups, downs, data, latents, np.random.default_rng(0))
    >>> chosen.up, chosen.down, [row["up"] for row in chosen.table]
    ('ridge', 'ridge', ['ridge', 'mean'])
    """

    up: str
    down: str
    up_map: Map
    down_map: Map | Projection
    table: list[dict[str, Any]]


def choose_pair(
    ups: Mapping[str, Map],
    downs: Mapping[str, Map | Projection],
    data: Array,
    latents: Array,
    rng: np.random.Generator,
) -> ChosenPair:
    """Return the pair of the lowest held-out reconstruction error.

    Parameters
    ----------
    ups : mapping of str to Map
        Unfitted up-maps, by name.
    downs : mapping of str to Map or Projection
        Unfitted down-maps, by name.
    data : ndarray of shape (n, D)
        Centred data.
    latents : ndarray of shape (n, q)
        Their latents.
    rng : Generator
        Chooses the held-out rows: a tenth, at most 500; of the others at most 10,000 are fitted to. With fewer than 20 rows there is nothing to
        judge by, and the first of each is taken.

    Returns
    -------
    ChosenPair

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.maps.projection import Projection
    >>> from twofold.maps import KernelRidgeMap, NadarayaWatson
    >>> from twofold.maps.pair_selection import choose_pair
    >>> latents = np.linspace(-1.0, 1.0, 60)[:, None]
    >>> data = np.hstack([latents, latents**2 - 1 / 3])
    >>> ups = {"mean": NadarayaWatson(bandwidth=0.5), "ridge": KernelRidgeMap()}
    >>> downs = {"mean": NadarayaWatson(bandwidth=0.5), "projection": Projection()}
    >>> chosen = choose_pair(ups, downs, data, latents, np.random.default_rng(0))
    >>> chosen.up, chosen.down, chosen.table[0]["error"] < 1e-3
    ('ridge', 'projection', True)
    """
    first_up, first_down = next(iter(ups)), next(iter(downs))
    if len(data) < MIN_ROWS or len(ups) * len(downs) == 1:
        return ChosenPair(first_up, first_down, ups[first_up], downs[first_down], [])
    order = rng.permutation(len(data))
    n_held_out = min(len(data) // 10, MAX_HELD_OUT)
    held_out = np.sort(order[:n_held_out])
    kept = np.sort(order[n_held_out : n_held_out + MAX_KEPT])
    settle = _settled if len(kept) + n_held_out == len(data) else clone
    density = LatentDensity().fit(latents[kept])
    fits = [(up, latents, data) for up in ups.values()]
    regressions = {name: down for name, down in downs.items() if not isinstance(down, Projection)}
    fits += [(down, data, latents) for down in regressions.values()]
    fitted = map_blocks(lambda fit: clone(fit[0]).fit(fit[1][kept], fit[2][kept]), fits)
    decoders = dict(zip(ups, fitted, strict=False))
    encoders = dict(zip(regressions, fitted[len(ups) :], strict=True))
    variance, latent_variance = (
        float(row_norms_sq(A - A.mean(axis=0)).mean()) or 1.0 for A in (data, latents)
    )

    def judge(pair: tuple[str, str]) -> dict[str, Any]:
        decoder = decoders[pair[0]]
        encoder = encoders.get(pair[1])
        if encoder is None:
            encoder = _fit_down(downs[pair[1]], decoder, data[kept], latents[kept], density)
        Z = encoder.predict(data[held_out])
        lost = float(row_norms_sq(data[held_out] - decoder.predict(Z)).mean()) / variance
        moved = float(np.sqrt(row_norms_sq(latents[held_out] - Z).mean() / latent_variance))
        return {"up": pair[0], "down": pair[1], "error": lost, "latent_error": moved}

    table = map_blocks(judge, [(up, down) for up in ups for down in downs])
    table.sort(key=lambda row: row["error"])
    up, down = table[0]["up"], table[0]["down"]
    chosen_down = settle(encoders[down]) if down in encoders else downs[down]
    return ChosenPair(up, down, settle(decoders[up]), chosen_down, table)


def fit_pair(
    up_map: Map, down_map: Map | Projection, data: Array, latents: Array, density: LatentDensity
) -> tuple[Map, Any]:
    """Fit a pair to all rows.

    Parameters
    ----------
    up_map : Map
        The unfitted up-map.
    down_map : Map or Projection
        The unfitted down-map.
    data : ndarray of shape (n, D)
        Centred data.
    latents : ndarray of shape (n, q)
        Their latents.
    density : LatentDensity
        The fitted density of the latents.

    Returns
    -------
    decoder : Map
        The up-map.
    encoder : Map or Projection
        The down-map; a projection is bounded by the density of the latents.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.numerics.density import LatentDensity
    >>> from twofold.maps.projection import Projection
    >>> from twofold.maps import KernelRidgeMap
    >>> from twofold.maps.pair_selection import fit_pair
    >>> latents = np.linspace(-1.0, 1.0, 60)[:, None]
    >>> data = np.hstack([latents, latents**2 - 1 / 3])
    >>> density = LatentDensity().fit(latents)
    >>> decoder, encoder = fit_pair(KernelRidgeMap(), Projection(), data, latents, density)
    >>> bool(np.abs(decoder.predict(encoder.predict(data)) - data).max() < 1e-2)
    True
    """
    decoder = clone(up_map).fit(latents, data)
    return decoder, _fit_down(down_map, decoder, data, latents, density)


def _fit_down(
    down: Map | Projection, decoder: Map, data: Array, latents: Array, density: LatentDensity
) -> Any:
    encoder = clone(down)
    if isinstance(encoder, Projection):
        encoder.set_params(decoder=decoder)
        if encoder.density is None:
            # Someone else's latents have gaps that a projection should cross, so the bound of the
            # paper (the lowest density at a latent) is too tight; about four widths from the next
            # latent is where nothing can be learned any more.
            bound = density.log_threshold() - 8.0
            encoder.set_params(density=density, log_threshold=bound)
    return encoder.fit(data, latents)


def _settled(fitted: Map) -> Map:
    """Return an unfitted copy whose "auto" width and ridge are the ones that were found."""
    fresh = clone(fitted)
    found = {
        name: getattr(fitted, f"{name}_")
        for name in ("bandwidth", "gamma", "alpha")
        if fresh.get_params().get(name) == "auto" and not np.isnan(getattr(fitted, f"{name}_"))
    }
    return fresh.set_params(**found)  # type: ignore[no-any-return]

r"""Choosing a pair of maps by its held-out reconstruction error and the score of its map.

A pair ``(f, F)`` is judged by ``|x - f(F(x))|^2`` on rows that neither map has seen, in units of
the variance. The embedding has seen them, which favors no pair over another.

Pairs whose error is within three percent of the lowest count as equally good: few rows are held
out. Among them the highest score of the map wins (`twofold.numerics.codebooks`): the negative mean
log error at several codebooks and without one. It prefers the decoder that says most about a row
when its latent is known only roughly.

An encoder must encode the embedding. A pair whose latents of held-out rows are farther from the
embedding than the embedding's mean would be is considered only if all pairs are: where two parts of
the data decode alike, a projection may have the lowest error and mix them up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from twofold.maps.affine import Affine, Chain, are_wide
from twofold.maps.features import LinearInFeatures
from twofold.maps.kernel_ridge import KernelRidgeMap
from twofold.maps.nadaraya_watson import NadarayaWatson
from twofold.maps.projection import MARGIN, Projection
from twofold.maps.rbf_network import RBFNetwork
from twofold.numerics.codebooks import (
    SMALLEST_ERROR,
    codewords,
    mean_log,
    mean_squared_error,
    sizes_of_codebooks,
)
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import MAX_RANK, row_norms_sq
from twofold.numerics.neighbors import nearest
from twofold.numerics.threads import map_blocks, some_rows
from twofold.protocols import Array, Map

MIN_ROWS = 20
MAX_HELD_OUT = 500
AS_GOOD = 1.03
"""Ratio to the lowest error up to which the score of the map decides."""

UNFAITHFUL = 1.0
"""Latent error of the embedding's mean: pairs at or beyond it do not encode the embedding."""

MAX_KEPT = 3_000
"""Rows that candidates are fitted to. The chosen pair is fitted to all rows."""

MANY_ROWS = 4_000
"""Rows from which on projections of wide data work in their leading principal subspace."""

MAX_FITTED = 50_000
"""Rows that a map with a fixed number of centers is fitted to: a hundred for each center."""


COMBINE_ROWS = (KernelRidgeMap, NadarayaWatson, RBFNetwork)
"""Maps whose images are linear combinations of the rows that they are fitted to."""


@dataclass(frozen=True)
class ChosenPair:
    """The outcome of a choice.

    Attributes
    ----------
    up, down : str
        Names of the chosen maps.
    up_map, down_map : Map or Projection
        Unfitted, with the bandwidths and ridges that were found. If they were found on a sample,
        only with bandwidths that do not depend on the number of rows.
    table : list of dict
        Every pair compared, best first: "up", "down", the held-out "error", the "map_score", and
        "latent_error", the distance of the down-map from the embedding, in units of the latents'
        spread.
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
    """Return the best pair of unfitted maps, by name.

    Of the pairs of about the lowest held-out error it is that of the highest score of the map;
    pairs that do not encode the embedding come last. A tenth of the rows, at most 500, is held out;
    at most 3,000 of the others are fitted to. With fewer than 20 rows the first of each is taken.
    """
    first_up, first_down = next(iter(ups)), next(iter(downs))
    if len(data) < MIN_ROWS or len(ups) * len(downs) == 1:
        return ChosenPair(first_up, first_down, ups[first_up], downs[first_down], [])
    order = rng.permutation(len(data))
    n_held_out = min(len(data) // 10, MAX_HELD_OUT)
    held_out = np.sort(order[:n_held_out])
    kept = np.sort(order[n_held_out : n_held_out + MAX_KEPT])
    settle = _settled if len(kept) + n_held_out == len(data) else _settled_width
    density = LatentDensity().fit(latents[kept])
    seed = int(rng.integers(2**31))
    books = [codewords(latents[kept], size, seed) for size in sizes_of_codebooks(len(kept))]
    fits = [(up, latents, data) for up in ups.values()]
    regressions = {name: down for name, down in downs.items() if not isinstance(down, Projection)}
    fits += [(down, data, latents) for down in regressions.values()]
    fitted = map_blocks(lambda fit: clone(fit[0]).fit(fit[1][kept], fit[2][kept]), fits)
    decoders = dict(zip(ups, fitted, strict=False))
    encoders = dict(zip(regressions, fitted[len(ups) :], strict=True))
    decoded = dict(
        zip(
            ups,
            map_blocks(lambda up: [decoders[up].predict(codes) for codes in books], list(ups)),
            strict=True,
        )
    )
    variance, latent_variance = (
        float(row_norms_sq(A - A.mean(axis=0)).mean()) or 1.0 for A in (data, latents)
    )

    def judge(pair: tuple[str, str]) -> dict[str, Any]:
        decoder = decoders[pair[0]]
        encoder = encoders.get(pair[1])
        if encoder is None:
            encoder = _fit_down(downs[pair[1]], decoder, data[kept], latents[kept], density)
        Z = encoder.predict(data[held_out])
        lost = mean_squared_error(data[held_out], decoder.predict(Z)) / variance
        rounded = [
            mean_squared_error(data[held_out], images, nearest(codes, Z, 1)[0][:, 0])
            for codes, images in zip(books, decoded[pair[0]], strict=True)
        ]
        score = -mean_log(np.append(np.divide(rounded, variance), lost))
        moved = float(np.sqrt(row_norms_sq(latents[held_out] - Z).mean() / latent_variance))
        return {
            "up": pair[0],
            "down": pair[1],
            "error": lost,
            "map_score": score,
            "latent_error": moved,
        }

    table = map_blocks(judge, [(up, down) for up in ups for down in downs])
    table = _best_first([row for row in table if row["latent_error"] < UNFAITHFUL]) + _best_first(
        [row for row in table if row["latent_error"] >= UNFAITHFUL]
    )
    up, down = table[0]["up"], table[0]["down"]
    chosen_down = settle(encoders[down]) if down in encoders else downs[down]
    return ChosenPair(up, down, settle(decoders[up]), chosen_down, table)


def _best_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return pairs by error, those of about the lowest one by the score of the map before."""
    limit = AS_GOOD * max(SMALLEST_ERROR, min((row["error"] for row in rows), default=0.0))
    by_error = sorted(rows, key=lambda row: row["error"])
    return sorted(by_error, key=lambda row: -row["map_score"] if row["error"] <= limit else np.inf)


def fit_pair(
    up_map: Map, down_map: Map | Projection, data: Array, latents: Array, density: LatentDensity
) -> tuple[Map, Any]:
    """Fit a pair to all rows and return decoder and encoder; the density bounds a projection."""
    decoder = _fit_map(up_map, latents, data)
    return decoder, _fit_down(down_map, decoder, data, latents, density)


def _fit_map(map_: Map, inputs: Array, targets: Array) -> Any:
    """Fit a copy of a map; of many rows a sample if their number does not change its size."""
    if len(inputs) > MAX_FITTED and isinstance(map_, LinearInFeatures):
        rows = some_rows(len(inputs), MAX_FITTED)
        inputs, targets = inputs[rows], targets[rows]
    return clone(map_).fit(inputs, targets)


def _fit_down(
    down: Map | Projection, decoder: Map, data: Array, latents: Array, density: LatentDensity
) -> Any:
    if not isinstance(down, Projection):
        return _fit_map(down, data, latents)
    encoder = clone(down)
    if encoder.density is None:
        bound = density.log_threshold() - MARGIN
        encoder.set_params(density=density, log_threshold=bound)
    if len(data) > MANY_ROWS and data.shape[1] > MAX_RANK:
        # Onto the manifold's image in the leading principal subspace, as in UKR of many rows.
        some = data[some_rows(len(data), MANY_ROWS)]
        subspace = Affine.leading_subspace(some, latents.shape[1])
    elif are_wide(data) and type(decoder) in COMBINE_ROWS:
        subspace = Affine.span_of_rows(data)
    else:
        return encoder.set_params(decoder=decoder).fit(data, latents)
    coordinates = subspace.into(data)
    within = _fit_map(_settled(decoder), latents, coordinates)
    return Chain((subspace, encoder.set_params(decoder=within).fit(coordinates, latents)))


def project_onto(decoder: Map, density: LatentDensity) -> Any:
    """Return the projection onto the manifold of a decoder that keeps latents and data."""
    kept: Any = decoder
    return _fit_down(Projection(), decoder, kept.targets_, kept.inputs_, density)


def _settled_width(fitted: Map) -> Map:
    """Return an unfitted copy with the bandwidth of a sample, if more rows do not change it."""
    if isinstance(fitted, LinearInFeatures):  # its centers stay
        return _settled(fitted, ("bandwidth", "gamma"))
    return clone(fitted)  # type: ignore[no-any-return]


def _settled(fitted: Map, names: tuple[str, ...] = ("bandwidth", "gamma", "alpha")) -> Map:
    """Return an unfitted copy with the parameters that "auto" found."""
    fresh = clone(fitted)
    found = {
        name: getattr(fitted, f"{name}_")
        for name in names
        if fresh.get_params().get(name) == "auto" and not np.isnan(getattr(fitted, f"{name}_"))
    }
    return fresh.set_params(**found)  # type: ignore[no-any-return]

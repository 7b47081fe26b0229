"""The update of a principal manifold: the alternation goes on with old and new rows.

The rows that the model keeps stand for all old ones (`twofold.base.rehearsal`): they are repeated
as often, and of very many rows both kinds are thinned alike. From the present map, with the penalty
of the fit, turns of projection and adaptation lower the functional. The domain is the same, so a
manifold grows as it stretches, and its old rows move. If there are new regions, the turns start a
second time from latents that leave room for them (`twofold.starts.new_places`), scaled to the
domain; the lower functional wins.

Old latents are those of the old manifold's points on the new manifold: a latent ``z`` becomes the
nearest place to ``f(z)``, the image that it had.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twofold.base.growth import Growth
from twofold.base.rehearsal import Rehearsal
from twofold.numerics.threads import drawn_rows, some_rows
from twofold.principal_manifold.descent import DescentSettings
from twofold.principal_manifold.domains import Points
from twofold.principal_manifold.fitting import roughness, unit_of
from twofold.principal_manifold.maps import DomainDensity, ManifoldDecoder, ManifoldEncoder
from twofold.principal_manifold.node_layout import Layout
from twofold.protocols import Array, IntArray
from twofold.starts.new_places import latents_of_region

if TYPE_CHECKING:
    from twofold.base.progress import FitProgress
    from twofold.principal_manifold.estimator import PrincipalManifold

MOST_ROWS = 10_000
"""Rows that take part in the turns."""

MAX_ITER = 20
MOST_OF_DENSITY = 20_000


def updated(
    model: PrincipalManifold, new: Array, n: int, rng: np.random.Generator, progress: FitProgress
) -> Growth:
    """Return what a model of n rows becomes with new rows (m, D), which have no gaps."""
    encoder, decoder = model.encoder_, model.decoder_
    assert isinstance(encoder, ManifoldEncoder)
    assert isinstance(decoder, ManifoldDecoder)
    inside = model._data_units.into(new)
    known = Rehearsal.of(model, n)
    with progress.phase("drift"):
        share_off, density_change = known.drift(model, inside)
        regions = known.regions(inside, rng)
    share = min(1.0, MOST_ROWS / (known.n + len(new)))
    old = np.sort(rng.integers(len(known.rows), size=round(share * known.n)))
    if known.n == len(known.rows) and share == 1.0:
        old = np.arange(known.n)
    some = drawn_rows(len(new), max(1, round(share * len(new))), rng)
    rows = encoder.frame.into(np.concatenate([known.rows[old], inside[some]]))
    places = np.concatenate([known.latents[old], encoder.predict(inside[some])])
    projection = encoder.projection
    descent = _descent_of(model, encoder)
    with progress.phase("alternation", max_iter=None, at_most=descent.max_iter) as callback:
        fitted = descent.run(rows, model.alpha_, projection.up, places, callback)
        wider = _stretched(model, known, inside, regions, rng)
        if wider is not None:
            start = np.concatenate([wider[: len(known.rows)][old], wider[len(known.rows) :][some]])
            up = descent.at_latents(rows, model.alpha_, start)
            other = descent.run(rows, model.alpha_, up, start)
            fitted = min(fitted, other, key=lambda one: float(one.history[-1]))
    grid = descent.layout.searching(fitted.latents).grid
    with progress.phase("maps"):
        found = ManifoldEncoder(encoder.frame, replace(projection, up=fitted.up, grid=grid))
        images = decoder.predict(model._latent_units.into(model.embedding_))
        latents = np.concatenate([found.predict(images), found.predict(inside)])
        density = DomainDensity(projection.domain)
        density.fit(latents[some_rows(len(latents), MOST_OF_DENSITY)])
    unit = unit_of(model.loss, encoder.frame, model._data_units)
    state = {
        "encoder_": found,
        "decoder_": ManifoldDecoder(encoder.frame, fitted.up, decoder.domain),
        "density_": density,
        "embedding_": model._latent_units.back(latents),
        "nodes_": fitted.up.nodes,
        "weights_": fitted.up.weights_,
        "intercept_": fitted.up.intercept_,
        "roughness_": roughness(fitted.up, model.penalty, unit),
        "_variance": known.variance(model._variance, inside),
    }
    return Growth(state, share_off, density_change, regions)


def _stretched(
    model: PrincipalManifold,
    known: Rehearsal,
    new: Array,
    regions: list[IntArray],
    rng: np.random.Generator,
) -> Array | None:
    """Return latents (k + m, q) of the kept and the new rows on a map with room for new regions.

    Regions are placed beyond or beside the map, and everything is scaled to the domain. None if
    there are no regions, or the domain is not a box.
    """
    domain, density = model.domain_, model.density_
    assert isinstance(density, DomainDensity)
    if not regions or isinstance(domain, Points) or any(domain.wrapped):
        return None
    unit = density.density_.bandwidth_
    Z, taken = model.encoder_.predict(new), known.latents / unit
    for rows in regions:
        found = latents_of_region(
            new[rows],
            known.rows,
            known.latents / unit,
            "isomap",
            rng,
            taken=taken,
            weight=known.weight,
        )
        Z[rows], taken = found * unit, np.concatenate([taken, found])
    everyone = np.concatenate([known.latents, Z])
    low, high = everyone.min(axis=0), everyone.max(axis=0)
    relative = (2.0 * everyone - low - high) / np.maximum(high - low, 1e-300)
    stretched: Array = relative * domain.ends
    return stretched


def _descent_of(model: PrincipalManifold, encoder: ManifoldEncoder) -> DescentSettings:
    """Return the settings of the turns: those of the fit, but hard assignment and a fixed alpha."""
    projection = encoder.projection
    up = projection.up
    return DescentSettings(
        Layout(projection.domain, up.nodes, up.kernels, up.widths, projection.grid),
        projection.loss,
        "rkhs" if model.refit_alpha is not None else model.penalty,
        "hard",
        float(model.latent_noise),
        min(int(model.max_iter), MAX_ITER),
        float(model.tol),
    )

r"""The update of an unsupervised regression: both networks learn old and new rows together.

An update is a fit that starts where the last one ended: the latents of old rows are known, and
those of new rows are projections. Where new rows form regions, their latents are beside or beyond
the map (`twofold.starts.new_places`). Nothing is tried again but the number of centers, by single
regressions (`twofold.drur.rehearsed`). Then come two turns of the fit: both regressions, and a
projection of all rows that are at hand, Carreira-Perpinan & Lu (2010), Eqs. (1)-(3).

**Old rows.** The model keeps up to 2,000 of them (`twofold.base.rehearsal`). Of a small table these
are all. Otherwise they stand for all in the regression of the down-map. In that of the up-map, half
of the old weight is theirs, and half that of other old latents with the images that they had: these
are many, and keep what the old network has learned from rows that are gone; the kept rows say what
it has not learned yet. All old latents move with the map: ``z`` becomes the projection of ``f(z)``
by the new maps.

**Scale.** The weight of ``|z - F(x)|^2`` is that of a fit to all rows: latents are scaled to the
variance of the data. A roll that grows needs this: its latents spread faster than the data, and the
pull towards F would become three times too strong. Afterwards the scale is undone, so that old
latents stay.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twofold.base.growth import Growth
from twofold.base.rehearsal import Rehearsal
from twofold.drur.alternation import project_rows
from twofold.drur.fitting import N_REPRESENTATIVES
from twofold.drur.maps import FinalMaps, encoders_of
from twofold.drur.radial_regression import ALPHAS, network_of
from twofold.drur.rehearsed import Basis, Lesson
from twofold.drur.settings import CENTERS, DRURSettings
from twofold.drur.sweep import Sweep
from twofold.maps import RBFNetwork
from twofold.maps.affine import Affine
from twofold.maps.projection import Projection
from twofold.numerics.density import LatentDensity
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.threads import some_rows
from twofold.optimize import GaussNewton
from twofold.protocols import Array, IntArray
from twofold.starts.new_places import latents_of_region

if TYPE_CHECKING:
    from twofold.base.progress import FitProgress
    from twofold.drur.estimator import DRUR

N_TURNS = 2
"""More turns follow the noise: on three growing rolls the errors after 2, 3 and 5 turns were 1.04,
1.05 and 1.17 times those of one fit in the median."""

MOST_REPLAYED = 5_000
"""Old latents whose images stand for rows that the model does not keep."""

KEPT_SHARE = 0.5
"""Share of the weight of old rows that the kept ones have, if others are replayed."""

FIRST_PROJECTION = GaussNewton(max_iter=10, tol=1e-3)
ROWS_PER_CENTER = 3
ROWS_PER_CENTER_CHOSEN = 8
"""Rows at least for each center, if a size is explicit, and if it is chosen as in a fit."""


@dataclass(frozen=True)
class Old:
    """What is left of old rows: the kept ones, and all latents if the model has them.

    ``numbers`` (k,) are those of the kept rows among the ``stored`` latents (n, q), ``replayed``
    those of some others. They are empty if the latents are not stored.
    """

    known: Rehearsal
    stored: Array
    numbers: IntArray
    replayed: IntArray

    @classmethod
    def of(cls, model: DRUR, n: int) -> Old:
        """Return what a model of n rows has."""
        known, stored = Rehearsal.of(model, n), model._latent_units.into(model.embedding_)
        numbers = model._gap_filling.donors.numbers
        if not len(stored) > numbers.max():
            numbers = numbers[:0]
        others = np.setdiff1d(np.arange(len(stored)), numbers)
        return cls(known, stored, numbers, others[some_rows(len(others), MOST_REPLAYED)])

    @property
    def weights(self) -> tuple[float, float]:
        """How many rows each kept row and each replayed latent stand for."""
        n, k = self.known.n, len(self.known.rows)
        if not len(self.replayed):
            return self.known.weight, 0.0
        others = (1.0 - KEPT_SHARE) * (n - k)
        return (n - others) / k, others / len(self.replayed)


def updated(
    model: DRUR, new: Array, n: int, rng: np.random.Generator, progress: FitProgress
) -> Growth:
    """Return what a model of n rows becomes with new rows (m, D), which have no gaps."""
    coordinates, projection = model._ways["project"].maps
    assert isinstance(coordinates, Affine)
    assert isinstance(projection, Projection)
    up, down, decoder = projection.decoder, projection.guess, model.decoder_
    if not all(type(one) is RBFNetwork for one in (up, down, decoder)):
        raise ValueError(
            "Only radial networks can take new rows in, as they are determined by sums over rows. "
            "This model has others: use up='rbf', down='rbf' and a number of centers or 'auto', or "
            "fit again to all rows."
        )
    assert isinstance(up, RBFNetwork)
    assert isinstance(down, RBFNetwork)
    assert isinstance(decoder, RBFNetwork)
    settings, old = DRURSettings.of(model), Old.of(model, n)
    known, data = old.known, model._data_units.into(new)
    inside = coordinates.into(data)
    with progress.phase("drift"):
        Z = Sweep(coordinates, up, down, projection.latents_).latents_of(inside)
        Z, _ = project_rows(up, inside, down.predict(inside), Z, FIRST_PROJECTION)
        share_off, density_change = known.drift(model, data, Z)
        regions = known.regions(data, rng)
    kept = coordinates.into(known.rows)
    Z = _with_regions(Z, inside, kept, known, model.density_, regions, rng)
    rows, inside = (np.concatenate(pair) for pair in ((known.rows, data), (kept, inside)))
    Z, k = np.concatenate([known.latents, Z]), len(kept)
    weights = np.repeat([known.weight, 1.0], [k, len(data)])
    factor = _factor(settings, inside, Z, weights)
    # Only the last regression needs all columns: projections are in coordinates.
    images = up.predict(old.stored)
    targets = (inside, images[old.replayed])
    sizes = [
        _sizes(settings, len(one.centers_), regions, known.n, len(data)) for one in (decoder, down)
    ]
    share = len(rows) / (known.n + len(data))
    alphas = [ALPHAS if one is None else (one * share,) for one in settings.alphas]
    Z, stored = factor * Z, factor * old.stored
    seed = int(rng.integers(2**31))
    weight, weight_replayed = old.weights
    with progress.phase("alternation", max_iter=None, at_most=N_TURNS):
        for turn in range(N_TURNS):
            if turn == 0:
                basis = Basis.of(Z, inside, sizes[0], alphas[0], seed)
                size = [len(basis.centers)] if settings.n_centers == "auto" else sizes[1]
                basis_down = Basis.of(inside, Z, size, alphas[1], seed)
            else:
                basis = basis.moved(Z, inside, alphas[0])
            if turn == N_TURNS - 1:
                targets = (rows, decoder.predict(old.stored[old.replayed]))
            lessons = [
                Lesson(Z[:k], targets[0][:k], weight),
                Lesson(Z[k:], targets[0][k:]),
                Lesson(stored[old.replayed], targets[1], weight_replayed),
            ]
            up = basis.network(lessons, share)
            if turn == N_TURNS - 1:
                decoder, up = up, _in_coordinates(up, coordinates)
            lessons = [Lesson(inside[:k], Z[:k], known.weight), Lesson(inside[k:], Z[k:])]
            down = basis_down.network(lessons, share)
            Z = _projected(up, down, inside, Z, k, settings)
    with progress.phase("maps"):
        if len(old.numbers) < len(stored):
            stored, _ = project_rows(up, images, down.predict(images), stored, settings.projection)
        stored[old.numbers] = Z[: len(old.numbers)]
        everyone = np.concatenate([stored if len(stored) else Z[:k], Z[k:]]) / factor
        domain = LatentDensity().fit(everyone[some_rows(len(everyone), N_REPRESENTATIVES)])
        up, decoder = (_with_latents_divided(one, factor) for one in (up, decoder))
        solution = (down.weights_ / factor, down.intercept_ / factor)
        down = network_of(down.centers_, down.bandwidth_, down.alpha_, solution)
        ways = encoders_of(coordinates, FinalMaps(up, down, decoder), domain)
    state = {
        "_ways": ways,
        "encoder_": ways[model.method_],
        "decoder_": decoder,
        "density_": domain,
        "embedding_": model._latent_units.back(everyone if len(stored) else everyone[:0]),
        "alpha_": (float(decoder.alpha_), float(down.alpha_)),
        "n_centers_": (len(decoder.centers_), len(down.centers_)),
        "_variance": known.variance(model._variance, data),
    }
    return Growth(state, share_off, density_change, regions)


def _with_regions(
    Z: Array,
    inside: Array,
    kept: Array,
    known: Rehearsal,
    density: LatentDensity,
    regions: list[IntArray],
    rng: np.random.Generator,
) -> Array:
    """Return the latents (m, q) of new rows with those of regions beside or beyond the map."""
    Z, unit = Z.copy(), density.bandwidth_
    old = places = known.latents / unit
    for rows in regions:
        found = latents_of_region(
            inside[rows], kept, old, "isomap", rng, taken=places, weight=known.weight
        )
        Z[rows] = found * unit
        places = np.concatenate([places, found])
    return Z


def _projected(
    up: RBFNetwork, down: RBFNetwork, inside: Array, Z: Array, k: int, settings: DRURSettings
) -> Array:
    """Return the latents (k + m, q) of old and new rows, projected from the present ones.

    A new row whose present latent is wrong starts elsewhere, where the energy is lower: a noisy row
    between two turns of a roll may be on the wrong side of its region.
    """
    pulls = down.predict(inside)
    Z, energies = project_rows(up, inside, pulls, Z, settings.projection)
    codewords = Z[some_rows(len(Z), N_REPRESENTATIVES)]
    others = Sweep(Affine(), up, down, codewords).latents_of(inside[k:])
    others, found = project_rows(up, inside[k:], pulls[k:], others, settings.projection)
    lower = found < energies[k:]
    Z[k:][lower] = others[lower]
    return Z


def _factor(settings: DRURSettings, inside: Array, Z: Array, weights: Array) -> float:
    """Return the factor that gives latents (n, q) the variance of a fit to all rows."""
    if settings.down_weight is None:
        return 1.0
    variance, spread = (
        float(weights @ row_norms_sq(one - np.average(one, axis=0, weights=weights)))
        for one in (inside, Z)
    )
    return float(np.sqrt(settings.down_weight * variance / spread)) if spread > 0.0 else 1.0


def _sizes(
    settings: DRURSettings, size: int, regions: list[IntArray], n: int, n_new: int
) -> list[int]:
    """Return numbers of centers to try, the present one first.

    An explicit number grows with regions alone, so that there are as many per row as elsewhere.
    """
    if settings.n_centers == "auto":
        most = (n + n_new) // ROWS_PER_CENTER_CHOSEN
        return [size, *(one for one in CENTERS if size < one <= most)]
    for rows in regions:
        wanted = round(size * len(rows) / n)
        size += min(max(wanted, 1), max(1, len(rows) // ROWS_PER_CENTER))
    return [size]


def _with_latents_divided(network: RBFNetwork, factor: float) -> RBFNetwork:
    """Return the same map for latents divided by a factor."""
    solution = (network.weights_, network.intercept_)
    width = network.bandwidth_ / factor
    return network_of(network.centers_ / factor, width, network.alpha_, solution)


def _in_coordinates(decoder: RBFNetwork, coordinates: Affine) -> RBFNetwork:
    """Return the map to coordinates, which follows from that to all columns."""
    weights = coordinates.into(decoder.weights_)
    bias = coordinates.into(decoder.intercept_[None])[0]
    return network_of(decoder.centers_, decoder.bandwidth_, decoder.alpha_, (weights, bias))

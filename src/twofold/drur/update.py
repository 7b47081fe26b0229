r"""The update of an unsupervised regression: both networks learn new rows and keep what they know.

A ridge regression with features ``Phi`` (n, M) of old rows solves ``(A + alpha G) W = R`` with
``A = Phi^T Phi``. The old targets are not kept. With what the old network says in their place, and
``alpha G W`` added, the right-hand side is ``A W + alpha G W = R``: without new rows the solution
is the old network, exactly. So new rows only add their own sums. The features of old rows come from
the latents of the model for the up-map, and for the down-map from the rows that the model keeps
(`twofold.base.rehearsal`), which stand for all.

Where new rows form regions, networks get further centers, as many per row as there are, and the
regions latents beside or beyond the map (`twofold.starts.new_places`). Then the turns of a fit
follow for the new rows alone: a projection, Carreira-Perpinan & Lu (2010), Eq. (2), and both
regressions.

Old latents are those of the old manifold's points: a latent ``z`` becomes the projection of
``f(z)``, the image that it had, by the new maps.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.base.growth import Growth
from twofold.base.rehearsal import Rehearsal
from twofold.drur.alternation import project_rows
from twofold.drur.fitting import N_REPRESENTATIVES
from twofold.drur.maps import FinalMaps, encoders_of
from twofold.drur.radial_regression import NetworkSums, RidgeSystem, network_of
from twofold.maps import RBFNetwork
from twofold.maps.affine import Affine
from twofold.maps.projection import Projection
from twofold.maps.rbf_network import kmeans_centers
from twofold.numerics.density import LatentDensity
from twofold.numerics.threads import some_rows
from twofold.protocols import Array, IntArray
from twofold.starts.new_places import latents_of_region

if TYPE_CHECKING:
    from twofold.base.progress import FitProgress
    from twofold.drur.estimator import DRUR

N_TURNS = 4
MOST_REPLAYED = 10_000
"""Old latents that stand for all in the regression of the up-map."""

ROWS_PER_CENTER = 3


@dataclass(frozen=True)
class Known:
    """Inputs (k, p) of old rows and what the old network says there (k, D), with their weight.

    ``old`` is the network, ``alpha`` its ridge.
    """

    inputs: Array
    targets: Array
    weight: float
    old: RBFNetwork
    alpha: float

    def with_new(self, network: RBFNetwork, inputs: Array, targets: Array) -> RBFNetwork:
        """Return a network with the same centers for old and new rows (m, p).

        Its first centers are those of the old network.
        """
        gram = network.features(network.centers_)
        sums = NetworkSums.of(network.features(self.inputs), self.targets)
        parts: dict[str, Any] = {
            name: getattr(sums, name) * self.weight for name in ("y", "phi_y", "phi_phi")
        }
        n_old = sums.n * self.weight
        parts |= {"n": n_old, "phi": sums.phi * self.weight}
        sums = replace(sums, **parts)
        weights = np.zeros((len(gram), self.targets.shape[1]))
        weights[: len(self.old.weights_)] = self.old.weights_
        sums = replace(sums, phi_y=sums.phi_y + self.alpha * (gram @ weights))
        total = sums + NetworkSums.of(network.features(inputs), targets)
        alpha = self.alpha * total.n / n_old
        system = RidgeSystem.of(total, gram, alpha)
        return network_of(network.centers_, network.bandwidth_, alpha, system.solve(total))


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
    data = model._data_units.into(new)
    known, inside = Rehearsal.of(model, n), coordinates.into(data)
    with progress.phase("drift"):
        share_off, density_change = known.drift(model, data)
        regions = known.regions(data, rng)
    kept = coordinates.into(known.rows)
    stored = model._latent_units.into(model.embedding_)
    replayed = stored[some_rows(len(stored), MOST_REPLAYED)] if len(stored) else known.latents
    of_up = Known(
        replayed, decoder.predict(replayed), known.n / len(replayed), decoder, model.alpha_[0]
    )
    of_down = Known(kept, down.predict(kept), known.weight, down, model.alpha_[1])
    Z, pulls = model.encoder_.predict(data), down.predict(inside)
    Z = _with_regions(Z, inside, kept, known, model.density_, regions, rng)
    for rows in regions:
        pulls[rows] = Z[rows]
    wider = _with_centers(decoder, Z, regions, known.n, rng)
    wider_down = _with_centers(down, inside, regions, known.n, rng)
    with progress.phase("alternation", max_iter=None, at_most=N_TURNS):
        for turn in range(N_TURNS):
            if turn or not regions:
                Z, _ = project_rows(up, inside, pulls, Z)
            decoder = of_up.with_new(wider, Z, data)
            up = _in_coordinates(decoder, coordinates)
            down = of_down.with_new(wider_down, inside, Z)
            pulls = down.predict(inside)
    with progress.phase("maps"):
        images = coordinates.into(of_up.old.predict(stored))
        moved = stored
        if len(stored):
            moved, _ = project_rows(up, images, down.predict(images), stored)
        Z, _ = project_rows(up, inside, pulls, Z)
        everyone = np.concatenate([moved if len(stored) else known.latents, Z])
        domain = LatentDensity().fit(everyone[some_rows(len(everyone), N_REPRESENTATIVES)])
        ways = encoders_of(coordinates, FinalMaps(up, down, decoder), domain)
    state = {
        "_ways": ways,
        "encoder_": ways[model.method_],
        "decoder_": decoder,
        "density_": domain,
        "embedding_": model._latent_units.back(
            np.concatenate([moved, Z]) if len(stored) else Z[:0]
        ),
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


def _with_centers(
    network: RBFNetwork, inputs: Array, regions: list[IntArray], n: int, rng: np.random.Generator
) -> RBFNetwork:
    """Return the network with centers in the regions too, as many per row as elsewhere."""
    centers = [network.centers_]
    for rows in regions:
        wanted = round(len(network.centers_) * len(rows) / n)
        n_centers = min(max(wanted, 1), max(1, len(rows) // ROWS_PER_CENTER))
        seed = int(rng.integers(2**31))
        centers.append(kmeans_centers(inputs[rows], n_centers, random_state=seed))
    return network_of(np.concatenate(centers), network.bandwidth_)


def _in_coordinates(decoder: RBFNetwork, coordinates: Affine) -> RBFNetwork:
    """Return the map to coordinates, which follows from that to all columns."""
    weights = coordinates.into(decoder.weights_)
    bias = coordinates.into(decoder.intercept_[None])[0]
    return network_of(decoder.centers_, decoder.bandwidth_, decoder.alpha_, (weights, bias))

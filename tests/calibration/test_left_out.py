"""Maps that forget rows equal maps that were fitted without them."""

import numpy as np
import pytest
from sklearn.base import clone

from twofold.calibration.cross_fit import N_FOLDS, CrossFit, drawn_folds
from twofold.calibration.left_out import ForgetfulMaps, KnownRows
from twofold.maps import GRNN, KernelRidgeMap, LinearMap, NadarayaWatson, Projection, RBFNetwork
from twofold.maps.affine import Affine, Chain
from twofold.principal_manifold.node_kernels import GaussianKernel
from twofold.principal_manifold.nodes import NodeExpansion

N = 60


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1.0, 1.0, (N, 2))
    data = np.column_stack([Z, np.sin(3.0 * Z[:, 0]), Z.prod(axis=1)])
    data += 0.05 * rng.standard_normal(data.shape)
    return KnownRows(data, Z, drawn_folds(N), np.arange(N))


def settled(fitted):
    """Return an unfitted copy with the choices of a fit."""
    one = clone(fitted)
    names = {"bandwidth": "bandwidth_", "alpha": "alpha_"}
    found = {name: getattr(fitted, own) for name, own in names.items() if hasattr(fitted, own)}
    return one.set_params(**{k: v for k, v in found.items() if k in one.get_params()})


class WithCenters(RBFNetwork):
    """A network that keeps given centers."""

    def fit(self, inputs, targets):
        self.centers_ = self.init
        best = self._chosen(inputs, targets)
        self.weights_, self.intercept_ = best.path.solve(best.alpha)
        return self


CENTERS = np.random.default_rng(1).uniform(-1.0, 1.0, (12, 2))
MAPS = {
    "nw": NadarayaWatson(bandwidth=0.2),
    "grnn": GRNN(bandwidth=0.3),
    "rbf": WithCenters(12, init=CENTERS, bandwidth=0.6, alpha=1e-3),
    "krr-centers": KernelRidgeMap(centers=CENTERS, bandwidth=0.6, alpha=1e-3),
    "linear": LinearMap(1e-3),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("fold", range(N_FOLDS))
def test_maps_equal_those_of_the_other_rows(name, fold, known):
    fitted = clone(MAPS[name]).fit(known.latents, known.data)
    others = known.own_folds != fold
    refitted = settled(fitted).fit(known.latents[others], known.data[others])
    made = ForgetfulMaps(None, fitted, known).lowered(fitted, known.latents, known.data, fold)
    places = np.random.default_rng(2).uniform(-1.0, 1.0, (20, 2))
    np.testing.assert_allclose(made.predict(places), refitted.predict(places), atol=1e-7)
    assert np.abs(made.predict(places) - fitted.predict(places)).max() > 1e-3


def test_all_rows_are_centers(known):
    """Without its rows a center has no weight."""
    fitted = KernelRidgeMap(bandwidth=0.6, alpha=1e-2).fit(known.latents, known.data)
    made = ForgetfulMaps(None, fitted, known).lowered(fitted, known.latents, known.data, 1)
    others = known.own_folds != 1
    refitted = settled(fitted).fit(known.latents[others], known.data[others])
    places = known.latents[~others]
    np.testing.assert_allclose(made.predict(places), refitted.predict(places), atol=1e-5)


def test_an_expansion_on_nodes(known):
    kernels = (GaussianKernel(), GaussianKernel())
    fitted = NodeExpansion(CENTERS, kernels, np.full(2, 0.8), alpha=1e-3)
    fitted.fit(known.latents, known.data)
    others = known.own_folds != 0
    # The penalty is relative to the mean squared error: the same weight beside fewer rows.
    refitted = NodeExpansion(CENTERS, kernels, np.full(2, 0.8), alpha=1e-3 * N / others.sum())
    refitted.fit(known.latents[others], known.data[others])
    made = ForgetfulMaps(None, fitted, known).lowered(fitted, known.latents, known.data, 0)
    places = known.latents[:20]
    np.testing.assert_allclose(made.predict(places), refitted.predict(places), atol=1e-6)


def test_a_projection_and_coordinates(known):
    decoder = clone(MAPS["nw"]).fit(known.latents, known.data)
    coordinates = Affine().in_units_of(2.0)
    halved = clone(MAPS["nw"]).fit(known.latents, known.data / 2.0)
    encoder = Chain((coordinates, Projection(halved).fit(known.data / 2.0, known.latents)))
    others, own = known.own_folds != 2, known.own_folds == 2
    down, up = ForgetfulMaps(encoder, decoder, known).without(2)
    refitted = clone(MAPS["nw"]).fit(known.latents[others], known.data[others])
    projection = Projection(refitted).fit(known.data[others], known.latents[others])
    Z = down.predict(known.data[own])
    expected = projection.predict(known.data[own])
    lost = [
        np.square(known.data[own] - refitted.predict(found)).sum(axis=1) for found in (Z, expected)
    ]
    np.testing.assert_allclose(lost[0], lost[1], rtol=0.05, atol=1e-3)
    np.testing.assert_allclose(up.predict(Z), refitted.predict(Z), atol=1e-12)
    assert encoder.maps[1].decoder is halved  # the model stays as it is


def test_rows_of_a_fit_with_weights_are_found_by_their_values(known):
    repeated = np.repeat(np.arange(N), 1 + np.arange(N) % 3)
    stored = NadarayaWatson(bandwidth=0.2).fit(known.latents[repeated], known.data[repeated])
    weighted = KnownRows(
        known.data[repeated], known.latents[repeated], known.folds, np.sort(repeated)
    )
    assert not weighted.in_order
    made = ForgetfulMaps(None, stored, weighted).lowered(stored, weighted.latents, weighted.data, 1)
    others = repeated[known.folds[repeated] != 1]
    np.testing.assert_array_equal(made.inputs_, known.latents[others])


def test_residuals_are_those_of_maps_that_do_not_know_the_rows(known):
    decoder = NadarayaWatson(bandwidth=0.2).fit(known.latents, known.data)
    encoder = NadarayaWatson(bandwidth=0.2).fit(known.data, known.latents)
    observed = np.ones(known.data.shape, dtype=bool)
    observed[3, 1] = False
    found = CrossFit.of(encoder, decoder, known, observed)
    for fold in range(N_FOLDS):
        own, others = known.folds == fold, known.folds != fold
        down = NadarayaWatson(bandwidth=0.2).fit(known.data[others], known.latents[others])
        up = NadarayaWatson(bandwidth=0.2).fit(known.latents[others], known.data[others])
        latents = down.predict(known.data[own])
        np.testing.assert_allclose(found.latents[own], latents)
        expected = np.where(observed[own], known.data[own] - up.predict(latents), 0.0)
        np.testing.assert_allclose(found.residuals[own], expected, atol=1e-12)
    assert found.residuals[3, 1] == 0.0
    assert np.bincount(drawn_folds(100)).tolist() == [34, 33, 33]

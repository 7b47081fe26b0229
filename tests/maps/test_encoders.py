import numpy as np
import pytest
from registry import MAPS
from scipy.optimize import least_squares
from sklearn.base import clone

from twofold.maps import KernelRidgeMap, NadarayaWatson
from twofold.maps.projection import Projection
from twofold.numerics.density import LatentDensity


@pytest.fixture
def circle():
    angle = np.linspace(0.1, 6.0, 120)[:, None]
    return angle, np.hstack([np.cos(angle), np.sin(angle)])


def test_projects_onto_a_circle(circle):
    angle, X = circle
    encoder = Projection(KernelRidgeMap().fit(angle, X)).fit(X, angle)
    radii = np.random.default_rng(0).uniform(0.5, 2.0, (120, 1))
    np.testing.assert_allclose(encoder.predict(radii * X)[1:-1], angle[1:-1], atol=1e-3)


@pytest.mark.parametrize("map_", MAPS.values(), ids=MAPS)
def test_no_worse_than_a_solver_from_the_nearest_image(map_):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((50, 2))
    X = np.tanh(Z @ rng.standard_normal((2, 6)))
    decoder = clone(map_).fit(Z, X)
    encoder = Projection(decoder).fit(X, Z)
    query = X[:8] + 0.2 * rng.standard_normal((8, 6))
    found = np.square(query - decoder.predict(encoder.predict(query))).sum(axis=1)
    images = decoder.predict(Z)
    for row, x in enumerate(query):
        start = Z[np.square(images - x).sum(axis=1).argmin()]
        reference = least_squares(lambda z, x=x: x - decoder.predict(z[None])[0], start)
        assert found[row] <= 2.0 * reference.cost * 1.001 + 1e-9


def test_rows_do_not_depend_on_their_batch(circle):
    angle, X = circle
    encoder = Projection(NadarayaWatson().fit(angle, X)).fit(X, angle)
    query = X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)
    together = encoder.predict(query)
    alone = np.vstack([encoder.predict(row[None]) for row in query])
    np.testing.assert_allclose(together, alone, atol=1e-9)
    np.testing.assert_allclose(encoder.predict(query[::-1])[::-1], together, atol=1e-9)


def test_stays_inside_the_domain():
    z = np.linspace(0.0, 1.0, 30)[:, None]
    line = np.hstack([z, 2.0 * z])
    decoder = KernelRidgeMap(kernel="student", bandwidth=3.0, alpha=1e-6).fit(z, line)
    density = LatentDensity(bandwidth=0.05).fit(z)
    free = Projection(decoder).fit(line, z)
    bound = Projection(decoder, density=density).fit(line, z)
    query = 1.2 * line[-1:]
    assert free.predict(query)[0, 0] > 1.1
    held = bound.predict(query)
    assert held[0, 0] <= 1.001
    assert density.log_density(held)[0] >= density.log_threshold() - 1e-9


def test_needs_a_decoder_and_takes_duplicates(circle):
    angle, X = circle
    with pytest.raises(ValueError, match="decoder=None"):
        Projection().fit(X, angle)
    again = Projection(KernelRidgeMap().fit(angle, X)).fit(
        np.tile(X, (5, 1)), np.tile(angle, (5, 1))
    )
    assert len(again.latents_) == len(angle)
    alone = np.vstack([again.predict(row[None]) for row in np.repeat(X[:4], 2, axis=0)])
    np.testing.assert_allclose(alone, np.repeat(angle[:4], 2, axis=0), atol=1e-2)


def test_close_starts_on_a_network_count_once(circle, monkeypatch):
    angle, X = circle
    decoder, density = KernelRidgeMap().fit(angle, X), LatentDensity(bandwidth=0.1).fit(angle)
    encoder = Projection(decoder, density=density).fit(X, angle)
    starts = np.array([[[1.0], [1.1], [3.0], [1.15]]])
    np.testing.assert_array_equal(encoder._distinct(starts), [[True, False, True, False]])
    once = encoder.predict(1.1 * X)
    monkeypatch.setattr("twofold.maps.projection.SAME_START", 0.0)
    np.testing.assert_allclose(encoder.predict(1.1 * X), once, atol=1e-3)

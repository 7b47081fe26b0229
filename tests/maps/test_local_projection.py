"""Compiled projections equal those of the batched solvers, near and far from the manifold."""

import numpy as np
import pytest

from twofold.maps import NadarayaWatson, Projection
from twofold.maps.local_projection import LocalProjection
from twofold.numerics.density import LatentDensity

SIDES = {1: 400.0, 2: 44.0, 3: 26.0}
WIDTHS = {"gaussian": 1.0, "quartic": 3.0, "student": 1.0}


def fitted(kernel, q, *, factor=1.0, density_factor=1.0, bounded=True):
    rng = np.random.default_rng(0)
    side, width = SIDES[q], WIDTHS[kernel]
    Z = side * rng.random((1500, q))
    U = 6.0 * Z / side
    X = np.hstack([np.sin(U), np.cos(1.3 * U), U]) + 0.02 * rng.random((len(Z), 3 * q))
    decoder = NadarayaWatson(kernel=kernel, bandwidth=factor * width).fit(Z, X)
    density = bound = None
    if bounded:
        density = LatentDensity(kernel=kernel, bandwidth=density_factor * width).fit(Z)
        bound = density.log_threshold() - 4.0
    projection = Projection(decoder, density=density, log_threshold=bound).fit(X, Z)
    new = X[:100] + 0.1 * rng.standard_normal((100, 3 * q))
    far = np.vstack([X[:5] + 30.0, X[5:10] * 1e6])
    return projection, np.vstack([new, far])


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
@pytest.mark.parametrize(
    "options",
    [{}, {"bounded": False}, {"factor": 0.9}, {"density_factor": 0.9}],
    ids=["shared", "unbounded", "narrow", "own density"],
)
def test_compiled_projections_equal_the_batched_ones(kernel, q, options, monkeypatch):
    pytest.importorskip("numba")
    projection, data = fitted(kernel, q, **options)
    assert projection._local is not None
    fast = projection.predict(data)
    monkeypatch.setattr(LocalProjection, "is_available", False)
    slow = projection.predict(data)
    decoder = projection.decoder
    lost = [np.square(data - decoder.predict(Z)).sum(axis=1) for Z in (fast, slow)]
    np.testing.assert_allclose(*lost, rtol=1e-3)
    assert (np.abs(fast - slow).max(axis=1) < 1e-5).mean() > 0.97


def test_a_row_does_not_depend_on_its_batch():
    projection, data = fitted("gaussian", 2)
    together = projection.predict(data)
    alone = np.vstack([projection.predict(row[None]) for row in data])
    np.testing.assert_allclose(alone, together, rtol=1e-9)


def test_another_decoder_has_no_compiled_loops():
    projection, _ = fitted("student", 2, bounded=False)
    assert projection._local is None
    bounded, _ = fitted("gaussian", 2)
    assert LocalProjection.of(bounded.decoder, bounded.density, -1e5) is None


def test_refitting_forgets_the_former_manifold():
    projection, data = fitted("gaussian", 2)
    projection.predict(data)
    latents = projection.latents_[:400]
    images = projection.images_[:400]
    projection.decoder = NadarayaWatson(bandwidth=2.0).fit(latents, images)
    projection.density = None
    projection.fit(images, latents)
    other = Projection(projection.decoder).fit(images, latents)
    np.testing.assert_array_equal(projection.predict(data), other.predict(data))

"""Prototypes in place of training points: the ridge regression, the cells, the rounding."""

import numpy as np
import pytest

from twofold.maps import NadarayaWatson
from twofold.maps.prototypes import RIDGE, WIDTH, Prototypes, cells_of, rounded
from twofold.numerics.linalg import sqdist


def curve(n, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.uniform(0.0, 6.0, size=(n, 2))
    Y = np.column_stack([np.sin(z[:, 0]), np.cos(z[:, 1]), z[:, 0] * z[:, 1] / 9.0])
    return z, Y + 0.05 * rng.normal(size=Y.shape)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
@pytest.mark.parametrize(("n", "K"), [(150, 30), (1_500, 300)])
def test_targets_solve_the_ridge_regression(kernel, n, K):
    """The same as by the definition, with all weights and the means of the cells."""
    Z, Y = curve(n)
    found = Prototypes.of(NadarayaWatson(kernel=kernel, bandwidth=0.4).fit(Z, Y), K)
    small = found.decoder
    C = small.weights(Z)
    means = np.stack([Y[found.cells == k].mean(axis=0) for k in range(len(small.inputs_))])
    gram = C.T @ C
    ridge = RIDGE * np.diag(gram).mean() * np.eye(len(gram))
    wanted = means + np.linalg.solve(gram + ridge, C.T @ (Y - C @ means))
    scale = np.abs(Y).max()
    assert np.abs(small.targets_ - wanted).max() < found.step + 1e-7 * scale
    # The rounding costs a fraction of the residual.
    plain, cost = (np.square(Y - C @ T).sum() for T in (wanted, small.targets_))
    assert cost < 1.005 * plain


def test_tuned_targets_are_better_than_means():
    Z, Y = curve(800)
    decoder = NadarayaWatson(bandwidth=0.4).fit(Z, Y)
    found = Prototypes.of(decoder, 80)
    Z_new, Y_new = curve(800, seed=1)
    means = np.stack([Y[found.cells == k].mean(axis=0) for k in range(found.cells.max() + 1)])
    plain = NadarayaWatson(bandwidth=found.decoder.bandwidth_).fit(found.decoder.inputs_, means)
    lost, lost_by_means = (
        np.square(Y_new - one.predict(Z_new)).sum() for one in (found.decoder, plain)
    )
    assert lost < 0.8 * lost_by_means


@pytest.mark.parametrize("q", [1, 2, 3])
def test_cells(q):
    Z = np.random.default_rng(q).normal(size=(400, q))
    cells, means = cells_of(Z, 40)
    assert 35 <= len(means) <= 40
    assert set(cells) == set(range(len(means)))
    by_hand = np.stack([Z[cells == k].mean(axis=0) for k in range(len(means))])
    np.testing.assert_allclose(means, by_hand, rtol=0.0, atol=1e-12)
    assert (np.diff(means[:, 0]) >= 0.0).all()
    spread = np.square(Z - means[cells]).sum()
    drawn = Z[np.random.default_rng(0).choice(400, len(means), replace=False)]
    assert spread < sqdist(Z, drawn).min(axis=1).sum()
    again = cells_of(Z, 40)
    np.testing.assert_array_equal(again[0], cells)


def test_cells_of_equal_points():
    Z = np.repeat(np.arange(3.0), 10)[:, None]
    cells, means = cells_of(Z, 8)
    np.testing.assert_array_equal(means.ravel(), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(cells, Z.ravel())


def test_narrow_kernels_get_wider():
    Z, Y = curve(600)
    found = Prototypes.of(NadarayaWatson(bandwidth=1e-3).fit(Z, Y), 60).decoder
    distances = np.sqrt(sqdist(found.inputs_, found.inputs_))
    np.fill_diagonal(distances, np.inf)
    assert found.bandwidth_ == pytest.approx(WIDTH * np.median(distances.min(axis=1)))
    assert Prototypes.of(NadarayaWatson(bandwidth=3.0).fit(Z, Y), 60).decoder.bandwidth_ == 3.0


def test_rounding():
    values = np.array([0.3, -0.3, 0.0, -0.01, 1e6])
    found = rounded(values, 0.25)
    np.testing.assert_array_equal(found, [0.25, -0.25, 0.0, 0.0, 1e6])
    assert not np.signbit(found[3])
    Z = curve(200)[0]
    made = Prototypes.of(NadarayaWatson(bandwidth=0.4).fit(Z, np.exp(Z)), 20)
    assert (made.decoder.targets_ % made.step == 0.0).all()
    assert np.log2(made.step).is_integer()
    exact = Prototypes.of(NadarayaWatson(bandwidth=1e3).fit(Z, np.ones((200, 2))), 20)
    np.testing.assert_allclose(exact.decoder.targets_, 1.0, rtol=1e-6)

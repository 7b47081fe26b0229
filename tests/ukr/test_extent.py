"""Meinicke et al. (2005), Eqs. (5), (6), (21) and (22): extent and bounds."""

import numpy as np
import pytest

from twofold import UKR
from twofold.datasets import make_noisy_spiral, make_s_curve
from twofold.kernels import Compact, Gaussian
from twofold.ukr.extent import basis_jacobian, manifold_extent

BOUNDS = ("volume", "jacobian_bound", "basis_bound", "steepest_bound", "density_bound")


left_out = pytest.mark.filterwarnings("ignore:density_threshold=.*leaves out:UserWarning")


@pytest.fixture(scope="module")
def curve():
    X, _ = make_noisy_spiral(150, random_state=0)
    return UKR(1, init="isomap", random_state=0).fit(X)


@pytest.mark.parametrize("kernel", [Gaussian(), Compact()], ids=["gaussian", "quartic"])
def test_jacobian_of_the_basis(kernel):
    """Against differences, and against Eq. (22) as printed."""
    rng = np.random.default_rng(0)
    Z, points = 0.3 * rng.standard_normal((12, 2)), 0.2 * rng.standard_normal((5, 2))
    density, jacobian = basis_jacobian(points, Z, kernel)

    def values(P):
        return np.exp(kernel.log_profile(np.square(P[:, None] - Z).sum(axis=2)))

    np.testing.assert_allclose(density, values(points).mean(axis=1))
    for axis in range(2):
        step = np.zeros(2)
        step[axis] = 1e-5
        up, down = values(points + step), values(points - step)
        by_difference = up / up.sum(axis=1)[:, None] - down / down.sum(axis=1)[:, None]
        np.testing.assert_allclose(jacobian[:, :, axis], by_difference / 2e-5, atol=1e-7)
        slopes = (up - down) / 2e-5
        p, n = density[:, None], len(Z)
        printed = slopes / (n * p) - values(points) * slopes.mean(axis=1)[:, None] / (n * p**2)
        np.testing.assert_allclose(jacobian[:, :, axis], printed, atol=1e-7)


def test_length_is_that_of_the_polygon(curve):
    found = curve.extent()
    Z = np.linspace(curve.embedding_.min() - 5.0, curve.embedding_.max() + 5.0, 20_001)[:, None]
    inside = curve.log_density(Z) >= curve.log_density_threshold_
    images = curve.inverse_transform(Z)
    pieces = np.linalg.norm(np.diff(images, axis=0), axis=1)
    polygon = pieces[inside[1:] & inside[:-1]].sum()
    assert found.volume == pytest.approx(polygon, rel=0.01)
    assert found.latent_volume == pytest.approx(inside.mean() * np.ptp(Z), rel=0.01)
    assert found.density_threshold == curve.density_threshold_


@left_out
@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
@pytest.mark.parametrize("n_components", [1, 2])
def test_raising_the_threshold_bounds_the_manifold(kernel, n_components):
    X, _ = make_s_curve(80, noise=0.02, random_state=0)
    model = UKR(n_components, kernel=kernel, init="isomap", random_state=0).fit(X)
    top = float(np.exp(model.log_density(model.embedding_).max() - model.log_density_threshold_))
    thresholds = model.density_threshold_ * np.geomspace(0.1, 0.9 * top, 6)
    found = [model.extent(threshold) for threshold in thresholds]
    for one in found:  # each bound holds, in the order of the paper
        values = [getattr(one, name) for name in BOUNDS]
        assert all(np.diff(values) >= -1e-9 * values[-1])
        assert (
            one.latent_volume
            <= np.exp(model.density_.kernel.log_integral(n_components)) / one.density_threshold
        )
    for name in ("latent_volume", *BOUNDS):
        assert (np.diff([getattr(one, name) for one in found]) <= 1e-12).all(), name
    assert found[-1].volume < 0.5 * found[0].volume


def test_area_of_a_known_sheet():
    """Latents on a lattice of a sheet in three dimensions: weighted means keep its area."""
    side = np.linspace(0.0, 14.0, 19)
    Z = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    sheet = Z @ np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 2.0]])
    border = np.exp(-0.5 * np.square(Z - [7.0, 4.0]).sum(axis=1)).mean()
    inner = manifold_extent(Z, sheet, Gaussian(), float(border))
    # In the middle, images are the sheet itself: an area of 2 for each unit of the latent area.
    assert inner.volume == pytest.approx(2.0 * inner.latent_volume, rel=0.02)
    assert inner.jacobian_bound == pytest.approx(4.0 * inner.latent_volume, rel=0.02)
    assert 20.0 < inner.latent_volume < 120.0


def test_units(curve):
    X, _ = make_noisy_spiral(150, random_state=0)
    double = UKR(1, init="isomap", random_state=0).fit(2.0 * X)
    for name in BOUNDS:
        expected = 2.0 * getattr(curve.extent(), name)
        assert getattr(double.extent(), name) == pytest.approx(expected, rel=1e-9)


@left_out
def test_feature_space(curve):
    X, _ = make_noisy_spiral(150, random_state=0)
    settings = {"init": curve.embedding_, "max_iter": 1, "tol": 1e9, "pseudo_count": 0.1}
    with pytest.warns(match="max_iter"):
        data = UKR(1, random_state=0, **settings).fit(X)
    with pytest.warns(match="max_iter"):
        feature = UKR(1, metric="linear", random_state=0, **settings).fit(X)
    assert feature.extent(0.02).volume == pytest.approx(data.extent(0.02).volume, rel=1e-3)


def test_errors_and_a_point(curve):
    X, _ = make_s_curve(60, random_state=0)
    with pytest.raises(ValueError, match="density_threshold=2"):
        curve.extent(2.0)
    model = UKR(kernel="student", init="isomap", random_state=0).fit(X)
    with pytest.raises(TypeError, match="carries no density"):
        model.extent()
    wide = np.random.default_rng(0).standard_normal((40, 5))
    with pytest.raises(ValueError, match="n_components=4"):
        UKR(4, init="pca", homotopy=False, random_state=0).fit(wide).extent()
    with pytest.warns(UserWarning, match="only 0 directions"):
        point = UKR(1).fit(np.ones((20, 3)))
    assert point.extent(0.5).volume == 0.0


@pytest.mark.parametrize("scale", [1e300, 1e-200])
def test_an_area_out_of_range(scale):
    X, _ = make_s_curve(40, random_state=0)
    model = UKR(init="pca", homotopy=False, random_state=0).fit(scale * X)
    with pytest.raises(ValueError, match=r"out of range.*n_components=2"):
        model.extent()


def test_a_domain_without_some_latents(curve):
    curve.extent(curve.density_threshold_)
    with pytest.warns(UserWarning, match=r"leaves out \d+ of 150 .*density_threshold_="):
        assert curve.extent(2.0 * curve.density_threshold_).volume > 0.0
    with pytest.warns(UserWarning, match="150 of 150 training latents, and the latent domain is"):
        assert curve.extent(0.99).volume == 0.0

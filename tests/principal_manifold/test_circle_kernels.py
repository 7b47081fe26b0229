"""Kernels on circles: Eqs. (20) and (21) of Smola et al. (2001)."""

import numpy as np
import pytest
from differences import central_gradient
from scipy import integrate

from twofold import PrincipalManifold
from twofold.export.model_files import load
from twofold.principal_manifold import (
    DampedKernel,
    DeltaKernel,
    Domain,
    FourierKernel,
    GaussianKernel,
    LinearKernel,
    PeriodicKernel,
    SplineKernel,
    WrappedKernel,
)
from twofold.principal_manifold.nodes import NodeExpansion


class Triangle:
    """A kernel of compact support, by a user."""

    def values(self, z, centers, width):
        return np.maximum(1.0 - np.abs(z[:, None] - centers) / width, 0.0)

    def slopes(self, z, centers, width):
        t = z[:, None] - centers
        return np.where(np.abs(t) < width, -np.sign(t) / width, 0.0)


KERNELS = {
    "fourier": FourierKernel((1.0, 0.3, 0.0, 0.1), (0.2, 0.7)),
    "gaussian": WrappedKernel(GaussianKernel()),
    "damped": WrappedKernel(DampedKernel()),
    "spline": WrappedKernel(SplineKernel()),
    "linear": WrappedKernel(LinearKernel()),
    "triangle": WrappedKernel(Triangle(), n_turns=1),
    "damped, tau 3": WrappedKernel(DampedKernel(), period=3.0),
    "fourier, tau 3": FourierKernel((1.0, 0.5), period=3.0),
}
Z = np.array([-0.93, -0.31, 0.13, 0.77])
CENTERS = np.linspace(-1.0, 0.9, 6)


def ring(n=150, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-np.pi, np.pi, n)
    X = np.column_stack([2.0 * np.cos(angle), np.sin(angle)])
    return X + noise * rng.standard_normal(X.shape)


@pytest.mark.parametrize("name", KERNELS)
class TestEveryKernel:
    def test_slopes(self, name):
        kernel = KERNELS[name]
        found = kernel.slopes(Z, CENTERS, 0.5)
        for i, place in enumerate(Z):
            expected = central_gradient(
                lambda at: kernel.values(at, CENTERS, 0.5)[0], np.array([place])
            )[:, 0]
            np.testing.assert_allclose(found[i], expected, atol=1e-7)

    def test_both_ends_are_one_place(self, name):
        kernel = KERNELS[name]
        for shift in (kernel.period, -3 * kernel.period):
            for what in (kernel.values, kernel.slopes):
                here, there = what(Z, CENTERS, 0.4), what(Z + shift, CENTERS, 0.4)
                np.testing.assert_allclose(here, there, atol=1e-10)

    def test_positive_definite(self, name):
        nodes = np.sort(np.random.default_rng(0).uniform(-1.0, 1.0, 25))
        gram = KERNELS[name].values(nodes, nodes, 0.3)
        np.testing.assert_allclose(gram, gram.T, atol=1e-12)
        assert np.linalg.eigvalsh(gram)[0] > -1e-12 * len(gram)


class TestSeries:
    def test_equation_20(self):
        c, s, tau = (0.5, 0.25), (0.1, 0.4), 3.0
        kernel = FourierKernel(c, s, period=tau)
        expected = sum(
            c[j - 1] * np.cos(2 * np.pi * j / tau * 0.3) * np.cos(2 * np.pi * j / tau * 1.1)
            + s[j - 1] * np.sin(2 * np.pi * j / tau * 0.3) * np.sin(2 * np.pi * j / tau * 1.1)
            for j in (1, 2)
        )
        found = kernel.values(np.array([0.3]), np.array([1.1]), 1.0)[0, 0]
        assert found == pytest.approx(expected)

    def test_gaussian_coefficients_give_the_wrapped_gaussian(self):
        width, j = 0.3, np.arange(1, 40)
        c = 2.0 * np.exp(-0.5 * (np.pi * j * width) ** 2)
        scale = np.sqrt(2.0 * np.pi) * width / 2.0
        series = scale * (1.0 + FourierKernel(c).values(Z, CENTERS, width))
        np.testing.assert_allclose(series, PeriodicKernel().values(Z, CENTERS, width), atol=1e-12)

    @pytest.mark.parametrize("width", [0.05, 0.5, 3.0])
    def test_the_damped_sum(self, width):
        # Eq. (21), with the tail of the sum by the integral of 1 / t^2.
        t, far = Z[:, None] - CENTERS, 4_000
        turns = np.arange(-far, far + 1) * 2.0
        direct = sum(1.0 / (1.0 + ((t - turn) / width) ** 2) for turn in turns)
        tail = width**2 / (2.0 * (far + 0.5))
        found = WrappedKernel(DampedKernel()).values(Z, CENTERS, width)
        np.testing.assert_allclose(found, direct + tail, rtol=1e-6)

    def test_damped_kernels_of_extreme_width(self):
        kernel = WrappedKernel(DampedKernel())
        for width in (1e-100, 1e6):
            for found in (kernel.values(Z, Z, width), kernel.slopes(Z, Z, width)):
                assert np.isfinite(found).all()
        np.testing.assert_allclose(np.diag(kernel.values(Z, Z, 1e-100)), 1.0)

    def test_the_closed_splines_norm_is_the_squared_speed(self):
        nodes = Domain((True,)).grid((7,))
        up = NodeExpansion(nodes, (WrappedKernel(SplineKernel()),), np.ones(1))
        up.weights_ = np.random.default_rng(0).standard_normal((7, 3))
        up.weights_ -= up.weights_.mean(axis=0)  # functions of mean zero: others have no length
        up.intercept_ = np.zeros(3)
        z = np.linspace(-1.0, 1.0, 40_001)[:, None]
        speed = np.square(up.jacobian(z)[:, :, 0]).sum(axis=1)
        norm = np.vdot(up.weights_, up.gram() @ up.weights_)
        assert integrate.trapezoid(speed, z[:, 0]) == pytest.approx(norm, rel=1e-3)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: FourierKernel(()), "cosines="),
            (lambda: FourierKernel((1.0,), (-1.0,)), "sines="),
            (lambda: FourierKernel((0.0, 0.0)), "at least one"),
            (lambda: FourierKernel((1.0,), period=0.0), "period="),
            (lambda: FourierKernel(None), "cosines=None"),
            (lambda: FourierKernel((1e300,)), r"1e\+300.*between 1e-08"),
            (lambda: FourierKernel((1e-300,)), r"1e-300.*between 1e-08"),
            (lambda: WrappedKernel(GaussianKernel(), n_turns=0), "n_turns="),
        ],
    )
    def test_values_that_make_no_sense(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    @pytest.mark.parametrize("kernel", [DeltaKernel(), PeriodicKernel(), "gaussian", object()])
    def test_what_cannot_be_wrapped(self, kernel):
        with pytest.raises(TypeError, match="kernel="):
            WrappedKernel(kernel)


class TestFits:
    @pytest.mark.parametrize(
        ("kernel", "domain", "message"),
        [
            (FourierKernel((1.0,)), "box", "domain with circles"),
            (WrappedKernel(DampedKernel()), "box", "domain with circles"),
            (FourierKernel((1.0,)), Domain((True, False)), "circles only"),
            (FourierKernel((1.0,), period=3.0), "circle", "circumference 2"),
            (WrappedKernel(DampedKernel(), period=3.0), "circle", "circumference 2"),
            (PeriodicKernel(3.0), "circle", "circumference 2"),
        ],
    )
    def test_domains_of_other_kernels(self, kernel, domain, message):
        q = 1 if isinstance(domain, str) else domain.n_components
        with pytest.raises(ValueError, match=message):
            PrincipalManifold(q, kernel=kernel, domain=domain).fit(np.c_[ring(40), ring(40)])

    @pytest.mark.parametrize("kernel", ["gaussian", "periodic", "damped", "spline", "linear"])
    def test_every_kernel_closes_a_curve(self, kernel):
        X = ring()
        model = PrincipalManifold(kernel=kernel, domain="circle", alpha=1e-4, init="pca").fit(X)
        ends = model.inverse_transform([[-1.0], [1.0]])
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-10)
        assert model.score(X) > 0.99
        assert np.diff(model.history_).max() <= 1e-12

    @pytest.mark.parametrize("kernel", ["gaussian", "damped", "linear"])
    @pytest.mark.parametrize("domain", ["torus", "cylinder"])
    def test_surfaces(self, kernel, domain):
        rng = np.random.default_rng(0)
        u, v = rng.uniform(-np.pi, np.pi, (2, 300))
        X = np.column_stack([np.cos(u), np.sin(u), np.cos(v), np.sin(v)])
        if domain == "cylinder":
            X = np.column_stack([np.cos(u), np.sin(u), v])
        model = PrincipalManifold(
            2, kernel=kernel, domain=domain, alpha=1e-5, init="pca", tol=1e-2, random_state=0
        ).fit(X)
        places = rng.uniform(-1.0, 1.0, (5, 2))
        around = places + np.array([2.0, 0.0])
        np.testing.assert_allclose(
            model.inverse_transform(places), model.inverse_transform(around), atol=1e-8
        )
        assert model.score(X) > 0.9

    def test_linear_on_a_circle_is_an_ellipse(self):
        X = ring(noise=0.2)
        model = PrincipalManifold(kernel="linear", domain="circle", alpha=0.0, init="pca").fit(X)
        curve = model.inverse_transform(np.linspace(-1.0, 1.0, 100)[:, None])
        u, v = curve.T
        design = np.column_stack([u * u, u * v, v * v, u, v])
        assert np.linalg.lstsq(design, np.ones(100))[1] < 1e-10  # a quadratic curve

    def test_waves_of_ones_own_and_model_files(self, tmp_path):
        X = ring()
        for kernel in (FourierKernel((1.0, 0.1)), WrappedKernel(Triangle())):
            model = PrincipalManifold(kernel=kernel, domain="circle", alpha=1e-4).fit(X)
            assert model.score(X) > 0.9
        model = PrincipalManifold(kernel=KERNELS["damped"], domain="circle", alpha=1e-4).fit(X)
        model.save(tmp_path / "model.twofold")
        again = load(tmp_path / "model.twofold")
        np.testing.assert_array_equal(again.transform(X), model.transform(X))

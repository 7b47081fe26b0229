import numpy as np
import pytest
from differences import central_gradient
from registry import KERNELS
from scipy import integrate

from twofold.kernels import Compact, DensityKernel, Gaussian, StudentT, resolve_kernel

DENSITIES = {name: k for name, k in KERNELS.items() if isinstance(k, DensityKernel)}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_derivative_of_the_log_profile(kernel):
    sqdist = np.array([0.0, 0.01, 0.1, 0.3, 0.6, 0.8])[1:]
    numeric = np.diag(central_gradient(kernel.log_profile, sqdist, step=1e-4))
    np.testing.assert_allclose(kernel.dlog_profile(sqdist), numeric, rtol=1e-6)


def test_profiles_are_the_papers():
    r2 = np.array([0.0, 0.25, 0.9, 4.0])
    np.testing.assert_allclose(np.exp(Gaussian().log_profile(r2)), np.exp(-r2 / 2))
    np.testing.assert_allclose(np.exp(Compact().log_profile(r2)), np.maximum(1 - r2, 0) ** 2)
    np.testing.assert_allclose(np.exp(StudentT().log_profile(r2)), 1 / (1 + r2))


def test_compact_kernel_ends_at_one():
    outside = np.array([1.0, 1.5, 1e300])
    kernel = Compact()
    assert np.isneginf(kernel.log_profile(outside)).all()
    assert (kernel.dlog_profile(outside) == 0.0).all()


@pytest.mark.parametrize("kernel", DENSITIES.values(), ids=DENSITIES)
@pytest.mark.parametrize("q", [1, 2, 3])
def test_integral(kernel, q):
    surface = {1: 2.0, 2: 2.0 * np.pi, 3: 4.0 * np.pi}[q]

    def shell(r):
        return surface * r ** (q - 1) * np.exp(kernel.log_profile(np.array([r * r])))[0]

    total, _ = integrate.quad(shell, 0.0, 1.0 if isinstance(kernel, Compact) else 12.0)
    assert np.exp(kernel.log_integral(q)) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("kernel", DENSITIES.values(), ids=DENSITIES)
def test_samples_follow_the_kernel(kernel):
    offsets = kernel.sample(40_000, 2, np.random.default_rng(0))
    assert offsets.shape == (40_000, 2)
    # E r^2 under a radial density in two dimensions, by quadrature.
    grid = np.linspace(0.0, 1.0 if isinstance(kernel, Compact) else 10.0, 20_001)
    weight = grid * np.exp(kernel.log_profile(grid**2))
    expected = np.trapezoid(weight * grid**2, grid) / np.trapezoid(weight, grid)
    assert np.square(offsets).sum(axis=1).mean() == pytest.approx(expected, rel=0.03)
    assert np.abs(offsets.mean(axis=0)).max() < 0.03


def test_resolve_kernel():
    assert resolve_kernel("quartic") == Compact(2.0)
    kernel = StudentT(2.0)
    assert resolve_kernel(kernel) is kernel
    with pytest.raises(ValueError, match=r"kernel='box' is unknown.*gaussian"):
        resolve_kernel("box")
    with pytest.raises(TypeError, match="log_profile"):
        resolve_kernel(3)
    with pytest.raises(TypeError, match="log_profile"):
        resolve_kernel(Gaussian)


@pytest.mark.parametrize(
    ("make", "name"), [(lambda: Compact(1.0), "power"), (lambda: StudentT(0.0), "df")]
)
def test_parameters_are_checked(make, name):
    with pytest.raises(ValueError, match=name):
        make()

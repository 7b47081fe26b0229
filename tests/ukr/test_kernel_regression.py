import os

import numpy as np
import pytest

from twofold.datasets import make_noisy_spiral
from twofold.kernels import Compact, Gaussian, StudentT
from twofold.numerics.sums.dense import DenseWeights
from twofold.numerics.sums.pairs import PairWeights
from twofold.optimize import LBFGS
from twofold.starts.candidates import scaled_candidate, whitened
from twofold.ukr.density_constraint import relaxed
from twofold.ukr.descent import rescue
from twofold.ukr.homotopy import Homotopy
from twofold.ukr.regression import KernelRegression
from twofold.ukr.settings import check_memory


@pytest.fixture
def spiral():
    X, truth = make_noisy_spiral(120, random_state=0)
    return X - X.mean(axis=0), truth


def test_whitened():
    Z = np.random.default_rng(0).standard_normal((50, 3)) @ np.array(
        [[1, 2, 0], [0, 1, 0], [3, 0, 1e-3]]
    )
    white = whitened(Z)
    np.testing.assert_allclose(white.T @ white / 50, np.eye(3), atol=1e-5)
    np.testing.assert_allclose(whitened(1e200 * Z), white, rtol=1e-6)
    line = whitened(np.outer(np.arange(9.0), [1.0, 2.0]))
    assert line.shape == (9, 2)
    assert not line[:, 1].any()
    assert not whitened(np.ones((4, 2))).any()


@pytest.mark.parametrize("kernel", [Gaussian(), Compact(), StudentT(3.0)])
def test_scales_minimize_the_error(kernel, spiral):
    X, truth = spiral
    scheme = KernelRegression.of(X, kernel, many=False)
    candidate = scaled_candidate("truth", 1e3 * truth, scheme, few=True)
    assert candidate.error == pytest.approx(scheme.cv_error(candidate.latents))
    error = scheme.objective().value
    for factor in (0.5, 0.7, 1.43, 2.0):
        assert error(candidate.latents) <= error(factor * candidate.latents) * 1.001


def test_scales_of_many_rows_are_as_good_as_those_of_all():
    X, truth = make_noisy_spiral(1_500, random_state=0)
    scheme = KernelRegression.of(X - X.mean(axis=0), Gaussian(), many=True)
    some, all_ = (scaled_candidate("truth", truth, scheme, few=few) for few in (False, True))
    assert scheme.cv_error(some.latents) < 1.1 * all_.error
    assert some.error == pytest.approx(all_.error, rel=0.2)


def test_form_follows_cost(spiral):
    X, truth = spiral
    wide = np.random.default_rng(0).standard_normal((30, 40))
    assert KernelRegression.of(X, Gaussian(), many=False).gram is None
    assert KernelRegression.of(wide, Gaussian(), many=False).gram is not None
    scheme = KernelRegression.of(X, Compact(), many=False)
    assert isinstance(scheme.weigh(20.0 * truth), PairWeights)
    assert isinstance(scheme.weigh(0.01 * truth), DenseWeights)
    assert isinstance(KernelRegression.of(X, Gaussian(), many=False).weigh(truth), DenseWeights)


def test_cv_error_is_really_leaving_out(spiral):
    from twofold.maps import NadarayaWatson

    X, truth = spiral
    Z = 3.0 * truth
    total = 0.0
    for row in range(len(X)):
        rest = np.arange(len(X)) != row
        part = NadarayaWatson(bandwidth=1.0).fit(Z[rest], X[rest])
        total += np.square(X[row] - part.predict(Z[[row]])).sum()
    assert KernelRegression.of(X, Gaussian(), many=False).cv_error(Z) == pytest.approx(
        total / len(X), rel=1e-9
    )


def test_homotopy_unrolls_from_one_place(spiral):
    X, _ = spiral
    scheme = KernelRegression.of(X, Gaussian(), many=False)
    start = X[:, :1]

    def lbfgs(n_steps, tol):
        return LBFGS(max_iter=n_steps, tol=tol)

    schedule = Homotopy(max_iter=20)
    Z = relaxed(scheme, start, schedule, lbfgs)
    assert scheme.cv_error(Z) < scheme.cv_error(whitened(start))
    kept = relaxed(scheme, start, schedule, lbfgs, until=0.1)
    density = (1.0 + scheme.weigh(kept).mass) / len(X)
    assert density.min() >= 0.25  # the last threshold above 0.1


def test_strays_are_given_a_place(spiral):
    X, truth = spiral
    scheme = KernelRegression.of(X, Gaussian(), many=False)
    Z = 3.0 * truth
    Z[7] += 1e4
    before = scheme.cv_error(Z)
    moved, n_moved = rescue(scheme, Z)
    assert n_moved == 1
    assert abs(moved[7, 0] - 3.0 * truth[7, 0]) < 5.0
    assert scheme.cv_error(moved) < before
    again, none = rescue(scheme, 3.0 * truth)
    assert none == 0
    assert again is not None


def test_too_large_says_so_before_allocating(monkeypatch):
    with pytest.raises(MemoryError, match=r"n_samples=10000000 needs about .* GB"):
        check_memory(10_000_000, 16e7, "matrices of all pairs")

    def unknown(_):
        raise ValueError

    monkeypatch.setattr(os, "sysconf", unknown)
    check_memory(1_000, 16e3, "matrices of all pairs")

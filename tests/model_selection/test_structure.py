"""Noise is called noise, and nothing else is."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from twofold.datasets import UCI_NAMES, load_uci, make_noisy_spiral, make_s_curve, make_swiss_roll
from twofold.model_selection import detect_structure
from twofold.model_selection.structure import _log_distance, _permuted, _spectrum


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(1000, 10), (1000, 50), (300, 3), (60, 5), (50, 200)])
def test_gaussian_noise_is_noise(shape, seed):
    X = np.random.default_rng(seed).standard_normal(shape)
    assert detect_structure(X, random_state=seed).is_noise


@pytest.mark.parametrize("seed", range(3))
def test_independent_columns_are_noise_whatever_their_distribution(seed):
    rng = np.random.default_rng(seed)
    for X in (
        rng.uniform(size=(500, 8)),
        rng.standard_t(3, size=(500, 8)),
        rng.standard_normal((500, 8)) * np.arange(1, 9),
        rng.integers(0, 5, (500, 8)).astype(float),
    ):
        assert detect_structure(X, random_state=seed).is_noise


def test_a_line_in_noise_is_linear_but_not_nonlinear():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 1)) @ rng.standard_normal((1, 10))
    found = detect_structure(X + 0.5 * rng.standard_normal(X.shape))
    assert found.n_linear == 1
    assert found.is_linear
    assert not found.is_nonlinear
    assert not found.is_noise


@pytest.mark.parametrize(
    "X",
    [
        make_noisy_spiral(300, random_state=0)[0],
        make_swiss_roll(500, 0.5, random_state=0)[0],
        make_swiss_roll(500, 0.5, n_features=50, random_state=0)[0],
        make_s_curve(300, 0.05, random_state=0)[0],
        load_digits().data,
        load_iris().data,
        load_wine().data,
        load_breast_cancer().data,
    ],
    ids=["spiral", "roll", "roll in 50", "s-curve", "digits", "iris", "wine", "cancer"],
)
def test_structure_is_not_noise(X):
    for seed in range(3):
        assert not detect_structure(X, random_state=seed).is_noise


@pytest.mark.parametrize("name", UCI_NAMES)
def test_tables_of_uci_are_not_noise(name):
    try:
        bunch = load_uci(name)
    except FileNotFoundError:
        pytest.skip("the data are not here")
    X = bunch["X_train" if "X_train" in bunch else "X"]
    assert not detect_structure(X).is_noise


def test_clusters_are_nonlinear():
    rng = np.random.default_rng(0)
    X = (
        rng.standard_normal((600, 20))
        + 4.0 * rng.standard_normal((12, 20))[rng.integers(12, size=600)]
    )
    assert detect_structure(X).is_nonlinear


def test_figures_are_those_of_loops():
    X = np.random.default_rng(0).standard_normal((40, 3))
    distances = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)
    assert _log_distance(X) == pytest.approx(np.log(distances[:, 5]).mean())
    assert_allclose(_spectrum(X), np.linalg.svd(X, compute_uv=False) ** 2)
    copy = _permuted(X, np.random.default_rng(1))
    assert_allclose(np.sort(copy, axis=0), np.sort(X, axis=0))
    assert not np.allclose(copy, X)


@pytest.mark.parametrize("X", [np.ones((50, 3)), np.arange(90.0)[:, None], np.eye(5)])
def test_what_permutations_do_not_change_is_noise(X):
    assert detect_structure(X).is_noise


def test_units_do_not_matter():
    X = make_swiss_roll(300, 0.5, random_state=0)[0]
    assert detect_structure(2.0**300 * X) == detect_structure(X)


def test_it_is_quick():
    X = np.random.default_rng(0).standard_normal((2000, 50))
    began = time.process_time()
    detect_structure(X)
    assert time.process_time() - began < 5.0


def test_missing_values_are_an_error():
    with pytest.raises(ValueError, match="NaN"):
        detect_structure(np.full((20, 2), np.nan))

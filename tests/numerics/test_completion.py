"""The factor model and the nearest rows behind filled gaps, beside plain loops."""

import numpy as np
import pytest

from twofold.numerics.completion import (
    FILLED_WEIGHT,
    WIDTHS,
    Completion,
    Donors,
    Errors,
    GapFilling,
    _gaps_come_together,
    fill_table,
)
from twofold.numerics.factor_model import FactorModel, n_factors


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def low_rank(rng, n=400, n_columns=12, rank=2, noise=0.1):
    loadings = rng.standard_normal((n_columns, rank))
    X = rng.standard_normal((n, rank)) @ loadings.T
    return X + noise * rng.standard_normal(X.shape)


def test_conditional_means_are_those_of_the_normal_distribution(rng):
    model = FactorModel(
        rng.standard_normal(5), rng.standard_normal((5, 2)), rng.uniform(0.5, 1.0, 5)
    )
    X = rng.standard_normal((20, 5))
    observed = rng.random(X.shape) < 0.6
    means, variances = model.conditional(X, observed)
    covariance = model.loadings @ model.loadings.T + np.diag(model.noise)
    for row in range(len(X)):
        known, gap = observed[row], ~observed[row]
        gain = covariance[np.ix_(gap, known)] @ np.linalg.pinv(covariance[np.ix_(known, known)])
        expected = model.mean[gap] + gain @ (X[row] - model.mean)[known]
        left = covariance[np.ix_(gap, gap)] - gain @ covariance[np.ix_(known, gap)]
        np.testing.assert_allclose(means[row, gap], expected, atol=1e-10)
        np.testing.assert_allclose(variances[row, gap], np.diag(left), atol=1e-10)


def test_steps_raise_the_likelihood(rng):
    X = low_rank(rng)
    observed = rng.random(X.shape) < 0.7

    def likelihood(model):
        total = 0.0
        covariance = model.loadings @ model.loadings.T + np.diag(model.noise)
        for row, known in zip(X - model.mean, observed, strict=True):
            part = covariance[np.ix_(known, known)]
            total -= np.linalg.slogdet(part)[1] + row[known] @ np.linalg.solve(part, row[known])
        return total

    # Bounded noise and the prior of the loadings are no part of the likelihood: few steps.
    values = [likelihood(FactorModel.fit(X, observed, n_iter=steps)) for steps in (0, 1, 2, 3)]
    assert np.diff(values).min() > 0.0


@pytest.mark.parametrize(
    ("shape", "expected"), [((1000, 4), 1), ((1000, 12), 7), ((50, 300), 5), ((3, 1), 1)]
)
def test_number_of_factors(shape, expected):
    assert n_factors(*shape) == expected


@pytest.mark.parametrize("gaps_of_donors", [False, True])
def test_nearest_rows_beside_a_loop(rng, gaps_of_donors):
    rows = rng.standard_normal((30, 4)).astype(np.float32)
    gaps = np.zeros((0, 4), dtype=bool)
    if gaps_of_donors:
        gaps = rng.random((30, 4)) < 0.3
    donors = Donors(rows, gaps, np.arange(30))
    X = rng.standard_normal((6, 4))
    observed = np.ones(X.shape, dtype=bool)
    observed[np.arange(6), rng.integers(4, size=6)] = False
    means, variances = donors.nearest(X, observed)
    for row in range(len(X)):
        known = observed[row]
        distances = np.square(rows[:, known] - X[row, known]).sum(axis=1)
        found = np.argsort(distances)[:21]
        scale = WIDTHS[0] * np.median(distances[found])
        weights = np.exp(-(distances[found] - distances.min()) / scale)[:, None]
        if gaps_of_donors:
            weights = weights * np.where(gaps[found], FILLED_WEIGHT, 1.0)
        weights = weights / weights.sum(axis=0)
        mean = (weights * rows[found]).sum(axis=0)
        np.testing.assert_allclose(means[row], mean, rtol=1e-6)
        spread = (weights * np.square(rows[found] - mean)).sum(axis=0)
        np.testing.assert_allclose(variances[row], spread, rtol=1e-5)


def test_a_row_does_not_fill_itself(rng):
    """The row that is among the donors with the same gaps gives the same as without it."""
    rows = rng.standard_normal((20, 3))
    gaps = np.zeros(rows.shape, dtype=bool)
    gaps[4, 1] = True
    with_own = Donors.of(rows, gaps, np.arange(20))
    others = np.arange(20) != 4
    without = Donors.of(rows[others], np.zeros((19, 3), dtype=bool), np.flatnonzero(others))
    query, observed = rows[[4]], ~gaps[[4]]
    np.testing.assert_allclose(
        with_own.nearest(query, observed)[0], without.nearest(query, observed)[0], rtol=0.2
    )
    assert with_own.nearest(query, observed)[0][0, 1] != pytest.approx(rows[4, 1])


def test_low_rank_tables_are_completed(rng):
    X = low_rank(rng)
    gaps = rng.random(X.shape) < 0.3
    filled = fill_table(np.where(gaps, np.nan, X))
    np.testing.assert_array_equal(filled.table[~gaps], X[~gaps])
    assert np.sqrt(np.square(filled.table - X)[gaps].mean()) < 0.35 * X.std()


def test_many_rows_are_filled_from_some(rng):
    X = low_rank(rng, n=2500, n_columns=6)
    gaps = rng.random(X.shape) < 0.2
    filled = fill_table(np.where(gaps, np.nan, X))
    assert len(filled.numbers) == 2000
    assert np.isfinite(filled.table).all()


def test_deviations_cover_nine_tenths(rng):
    X = low_rank(rng, n=1500)
    filling = GapFilling.of_complete(X[:1000])
    gaps = rng.random(X[1000:].shape) < 0.3
    estimate, std = filling.completion.estimate(np.where(gaps, np.nan, X[1000:]))
    covered = (np.abs(estimate - X[1000:]) <= 1.645 * std)[gaps].mean()
    assert 0.87 < covered < 0.93


def test_deviations_cover_nine_tenths_of_blocks():
    side, rng = np.linspace(0, 1, 8), np.random.default_rng(2)
    row, column = np.meshgrid(side, side)
    waves = rng.normal(size=(600, 3)) * 3.0
    X = np.stack([np.sin(a + b * row + c * column).ravel() for a, b, c in waves])
    X += 0.05 * rng.standard_normal(X.shape)
    gaps = np.zeros((600, 8, 8), dtype=bool)
    for image, (top, left) in zip(gaps, rng.integers(0, 5, (600, 2)), strict=True):
        image[top : top + 4, left : left + 4] = True
    gaps = gaps.reshape(600, 64)
    table = np.where(gaps, np.nan, X)
    filled = fill_table(table)
    donors = Donors.of(filled.table, filled.gaps, filled.numbers, filled.width)
    estimate, std = Completion(donors, donors.differences(), filled.errors).estimate(table)
    covered = (np.abs(estimate - X) <= 1.645 * std)[gaps].mean()
    assert 0.87 < covered < 0.93


@pytest.mark.parametrize("n_rows", [50, 1000])
def test_independent_gaps_do_not_come_together(rng, n_rows):
    observed = rng.random((n_rows, 60)) > 0.3
    assert not _gaps_come_together(observed)
    assert not _gaps_come_together(observed[:10])
    assert _gaps_come_together(np.repeat(observed, 2, axis=1))
    assert not _gaps_come_together(observed[:, :1])


def test_errors_without_hidden_cells():
    nothing = np.empty(0)
    assert Errors.measured(nothing, nothing, nothing, nothing, nothing) == Errors()

"""Units of columns."""

import numpy as np
import pytest

from twofold.numerics.column_factors import factors_of_rows
from twofold.numerics.units import CenteredUnits


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((5_000, 3)) * [1.0, 1e5, 1e-5] + [3.0, -2.0, 0]


def test_deviations(X):
    np.testing.assert_allclose(factors_of_rows("standard", X), X.std(axis=0), rtol=1e-12)


def test_quartiles_and_the_deviation_where_they_vanish(X):
    X[:, 1] = 0.0
    X[:9, 1] = 7.0
    low, high = np.percentile(X, [25, 75], axis=0)
    expected = np.where((high > low), (high - low) / 1.349, X.std(axis=0))
    np.testing.assert_allclose(factors_of_rows("robust", X), expected, rtol=1e-12)


@pytest.mark.parametrize("scale", ["standard", "robust"])
@pytest.mark.parametrize("power", [-900, -40, 40, 900])
def test_factors_scale_with_their_columns(X, scale, power):
    scaled = np.ldexp(X, power)
    np.testing.assert_array_equal(
        factors_of_rows(scale, scaled), np.ldexp(factors_of_rows(scale, X), power)
    )


@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_missing_values_are_left_out(X, scale):
    holes = X.copy()
    holes[np.random.default_rng(1).uniform(size=X.shape) < 0.3] = np.nan
    found = factors_of_rows(scale, holes)
    for column, factor in zip(holes.T, found, strict=True):
        seen = column[~np.isnan(column)][:, None]
        assert factor == pytest.approx(factors_of_rows(scale, seen)[0], rel=1e-12)


def test_columns_that_are_constant_or_vary_by_rounding(X):
    X[:, 0] = 0.1
    X[:, 2] = 1e9 + 1e-7 * np.arange(len(X)) % 2e-7
    factors = factors_of_rows("standard", X)
    assert factors[0] == 1.0
    units = CenteredUnits.of(X, factors=factors)
    inside = units.into(X)
    assert inside.shape[1] == 2 or units.varying.tolist() == [False, True, False]
    assert (inside.std(axis=0)[1:] < 1e-6).all()


def test_a_column_out_of_range_is_named(X):
    X[:, 1] *= 1e-315
    with pytest.raises(ValueError, match="out of range for scale: the largest in column 1"):
        factors_of_rows("standard", X)


def test_an_offset_keeps_its_digits(X):
    far = X[:, :1] + 2.0**40
    expected = (far - 2.0**40).std()
    assert factors_of_rows("standard", far)[0] == pytest.approx(expected, rel=1e-9)

"""Centered units."""

import numpy as np
import pytest

from twofold.numerics.units import FAR, CenteredUnits, bandwidth_in_units


def test_round_trip_and_total_variance():
    X = np.random.default_rng(0).standard_normal((50, 4)) * 37.0 + 5.0
    units = CenteredUnits.of(X)
    U = units.into(X)
    assert 1.0 <= np.square(U).sum(axis=1).mean() < 4.0
    np.testing.assert_allclose(units.back(U), X, rtol=1e-14)
    np.testing.assert_allclose(U.mean(axis=0), 0.0, atol=1e-14)


@pytest.mark.parametrize("power", [-900, -40, 40, 900])
def test_powers_of_two_change_no_bit(power):
    X = np.random.default_rng(0).standard_normal((20, 3))
    np.testing.assert_array_equal(
        CenteredUnits.of(X).into(X),
        CenteredUnits.of(np.ldexp(X, power)).into(np.ldexp(X, power)),
    )


def test_constant_columns_are_left_out_and_put_back_exactly():
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[:, 1] = 0.1
    units = CenteredUnits.of(X)
    U = units.into(X)
    np.testing.assert_array_equal(U, CenteredUnits.of(X[:, ::2]).into(X[:, ::2]))
    assert (units.back(U)[:, 1] == 0.1).all()


def test_equal_rows():
    X = np.full((4, 3), 0.1)
    units = CenteredUnits.of(X)
    assert not units.into(X).any()
    np.testing.assert_array_equal(units.back(units.into(X)), X)
    assert units.into(np.zeros((1, 3))).any()


@pytest.mark.parametrize("value", [1e305, 1e-305])
def test_out_of_range(value):
    with pytest.raises(ValueError, match=r"latents are out of range.*Rescale"):
        CenteredUnits.of(np.array([[value], [2 * value]]), name="latents")


def test_far_points_are_moved_in():
    units = CenteredUnits.of(np.array([[0.0, 0.0], [1e-100, 1e-100]]))
    assert np.abs(units.into(np.full((1, 2), 1e300))).max() == FAR
    assert np.isfinite(units.back(np.full((1, 2), FAR))).all()


def test_distances_do_not_overflow():
    units = CenteredUnits.of(np.eye(2))
    X, Y = np.array([[3e300, 0.0], [1.0, 1.0]]), np.array([[0.0, 4e300], [1.0, 1.0]])
    np.testing.assert_allclose(units.distances(X, Y), [5e300, 0.0])
    big = np.full((1, 2), 1.7e308)
    assert np.isfinite(units.distances(big, -big)).all()


def test_bandwidths_are_converted_to_centered_units():
    units = CenteredUnits.of(np.array([[0.0], [1024.0]]))
    assert (units.unit(), units.unit(2)) == (2.0**units.exponent, 4.0**units.exponent)
    assert bandwidth_in_units(8.0, units.unit(2)) == 8.0 / 4.0**units.exponent
    assert 0.0 < bandwidth_in_units(1e-300, 1e300) < bandwidth_in_units(1e300, 1e-300) < np.inf

import numpy as np
import pytest

from twofold.maps.affine import Affine, Chain, Inverse
from twofold.numerics.linalg import principal_axes


def centered(n_rows, n_columns):
    rng = np.random.default_rng(0)
    data = rng.standard_normal((n_rows, 3)) @ rng.standard_normal((3, n_columns))
    return data - data.mean(axis=0)


WIDE = centered(100, 80)
MAPS = {
    "identity": Affine(),
    "unit": Affine().in_units_of(3.0),
    "subspace": Affine.leading_subspace(WIDE, 3).in_units_of(2.0),
    "one unit": Affine.one_unit(7.0, 80),
    "whitened": Affine.whitened(*principal_axes(WIDE, 80)),
}


@pytest.mark.parametrize("affine", MAPS.values(), ids=MAPS)
def test_back_undoes_into(affine):
    inside = affine.into(WIDE)
    np.testing.assert_allclose(affine.back(inside), WIDE, atol=1e-9)
    chain = Chain((affine, Inverse(affine)))
    np.testing.assert_array_equal(chain.predict(WIDE), affine.back(inside))
    alone = np.vstack([chain.predict(row[None]) for row in WIDE])
    np.testing.assert_array_equal(alone, chain.predict(WIDE))


def test_few_columns_stay_as_they_are():
    narrow = WIDE[:, :10]
    affine = Affine.leading_subspace(narrow)
    assert affine.is_identity
    assert affine.into(narrow) is narrow
    assert not MAPS["subspace"].is_identity


def test_fewer_rows_than_leading_axes():
    few = centered(20, 80)
    assert Affine.leading_subspace(few).into(few).shape[1] <= 3


def test_units():
    np.testing.assert_allclose(MAPS["one unit"].into(WIDE), WIDE / np.sqrt(7.0 / 80))
    inside = MAPS["whitened"].into(WIDE)
    np.testing.assert_allclose(inside.T @ inside / len(WIDE), np.eye(3), atol=1e-9)
    assert Affine().in_units_of(0.0).unit == 1.0

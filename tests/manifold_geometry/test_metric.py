"""The metric of the manifold, against differences of the decoder, and densities per unit area."""

import warnings

import numpy as np
import pytest
from differences import central_gradient
from registry import ESTIMATORS
from scipy import sparse
from sklearn.base import clone

from twofold import UKR, PrincipalManifold, TableMap, TwoWay, load
from twofold.datasets import make_s_curve
from twofold.manifold_geometry.metric import Behind
from twofold.maps.affine import Affine
from twofold.principal_manifold import Points

X = make_s_curve(60, noise=0.03, random_state=0)[0] * [1e3, 2e3, 5e3] + 7e4
_fitted = {}


def fitted(name, scale=None):
    if (name, scale) not in _fitted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(ESTIMATORS[name])
            _fitted[name, scale] = model.set_params(scale=scale).fit(X)
    return _fitted[name, scale]


def by_differences(model, Z, factors=1.0, step=1e-4):
    """Return J^T J from fourth-order differences of ``inverse_transform``."""
    unit = np.ptp(model.embedding_) or 1.0
    J = np.stack(
        [
            central_gradient(
                lambda z: model.inverse_transform(z[None])[0] / factors, z, step * unit
            )
            for z in Z
        ]
    )
    return np.einsum("ndi,ndj->nij", J, J)


def places(model):
    """Return latents inside the map, where no domain ends."""
    return 0.5 * (model.embedding_[:4] + model.embedding_[4:8])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_is_that_of_the_decoder(name):
    model = fitted(name)
    Z = places(model)
    G = model.metric_tensor(Z)
    assert G.shape == (4, 2, 2)
    assert np.array_equal(G, G.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(G) >= -1e-9 * np.abs(G).max()).all()
    if name == "ukr-l1":  # medians are steps: a wide step sees their slope
        wide = by_differences(model, Z, step=0.05)
        assert 0.3 < np.sqrt(np.trace(G.sum(axis=0)) / np.trace(wide.sum(axis=0))) < 3.0
        return
    expected = by_differences(model, Z)
    np.testing.assert_allclose(G, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_do_not_depend_on_each_other(name):
    model = fitted(name)
    Z = model.embedding_[:6]
    whole = model.metric_tensor(Z)
    assert np.array_equal(whole[2:3], model.metric_tensor(Z[2:3]))
    density = model.log_density(Z, per="manifold")
    assert np.isfinite(density).all()
    assert np.array_equal(density[2:3], model.log_density(Z[2:3], per="manifold"))
    far = model.log_density([[1e12, -1e12]], per="manifold")
    assert np.isfinite(far).all()
    assert np.isfinite(model.metric_tensor([[1e300, -1e300]])).all()
    assert model.metric_tensor(Z.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", ["two_way-krr", "ukr", "manifold", "auto"])
def test_scaled_columns_are_measured_in_their_units(name):
    model = fitted(name, "standard")
    Z = places(model)
    expected = by_differences(model, Z, X.std(axis=0))
    np.testing.assert_allclose(model.metric_tensor(Z), expected, atol=1e-6 * expected.max())


def test_large_sparse_tables_are_measured_through_their_subspace():
    rng = np.random.default_rng(0)
    table = sparse.random(300, 4_000, density=0.02, random_state=0, format="csr") * 30.0
    table = table + sparse.csr_array(rng.poisson(0.1, (300, 1)) @ np.ones((1, 4_000)) * 1e-3)
    for scale in (None, "standard"):
        model = TwoWay("pca", up="nw", down="nw", scale=scale).fit(sparse.csr_array(table))
        Z = model.embedding_[:2]
        expected = by_differences(model, Z, model._data_units.column_factors())
        np.testing.assert_allclose(model.metric_tensor(Z), expected, rtol=1e-4)


def test_affine_maps_behind_a_map_multiply():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(7, 3)))[0]
    first = Affine(rng.normal(size=(3, 2)), rng.normal(size=(2, 3)), unit=0.5)
    second = Affine(axes, unit=3.0)
    steps = rng.normal(size=(5, 2))
    origin = np.zeros((1, 2))
    through = second.back(first.back(steps)) - second.back(first.back(origin))
    found = Behind().after(second).after(first).steps(steps)
    expected = np.linalg.norm(through, axis=1)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), expected, rtol=1e-12)
    one_unit = Behind(2.0).after(Affine.one_unit(9.0, 1)).steps(steps)
    np.testing.assert_allclose(one_unit, 6.0 * steps)


def test_latents_that_do_not_vary_and_edges_have_no_length():
    flat = np.column_stack([np.linspace(0, 1, 20), np.full(20, 3.0)])
    model = TwoWay(lambda X, q, rng: flat, up="nw", down="nw").fit(
        np.column_stack([np.linspace(0, 5, 20), np.linspace(0, 3, 20) ** 2])
    )
    G = model.metric_tensor(flat[8:10])
    assert (G[:, 0, 0] > 0.0).all()
    assert (G[:, 1] == 0.0).all()
    assert (G[:, 0, 1] == 0.0).all()
    with pytest.warns(UserWarning, match="vary in only 0"):
        equal = UKR(2, random_state=0).fit(np.ones((12, 3)))
    assert (equal.metric_tensor(equal.embedding_) == 0.0).all()
    assert np.isfinite(equal.log_density(equal.embedding_, per="manifold")).all()
    box = fitted("manifold")
    assert (box.metric_tensor([[3.0, 0.1]])[0, 0] == 0.0).all()
    steps = PrincipalManifold(domain=Points(4), kernel="delta", alpha=0.0, random_state=0).fit(X)
    assert (steps.metric_tensor([[1.0]]) == 0.0).all()


def test_density_per_area_does_not_depend_on_the_coordinates():
    data, truth = make_s_curve(800, random_state=0)
    truth = (truth - truth.min(axis=0)) / np.ptp(truth, axis=0)
    bent = np.column_stack(
        [truth[:, 0] + 2.5 * truth[:, 0] ** 2, np.expm1(2.0 * truth[:, 1]) / 2.0]
    )
    inner = ((truth > 0.15) & (truth < 0.85)).all(axis=1)
    found = {}
    for per in ("latent", "manifold"):
        logs = []
        for latents in (truth, bent):
            model = TwoWay(latents, up="krr", down="nw", random_state=0).fit(data)
            logs.append(model.log_density(latents[inner], per=per))
        difference = logs[1] - logs[0]
        found[per] = float(np.std(difference)), float(abs(np.mean(difference)))
    # Per unit of the map the densities differ by the area of the bend, on average by exp(2.2). Per
    # area they differ as kernel densities of two widths do: by 0.12 to 0.14 over three seeds.
    assert found["latent"][0] > 0.4
    assert found["latent"][1] > 2.0
    assert found["manifold"][0] < 0.2
    assert found["manifold"][1] < 0.12


def test_density_per_area_has_the_units_of_the_data():
    model = fitted("two_way-krr")
    Z = model.embedding_[:5]
    areas = 0.5 * np.log(np.linalg.det(model.metric_tensor(Z)))
    expected = model.log_density(Z) - areas
    np.testing.assert_allclose(model.log_density(Z, per="manifold"), expected, rtol=1e-9)


def test_wrong_input_and_pairs_with_files_tables_and_dask(tmp_path):
    model = fitted("two_way-krr")
    with pytest.raises(ValueError, match="per='area' must be one of"):
        model.log_density(model.embedding_, per="area")
    with pytest.raises(ValueError, match="Z has 3 columns"):
        model.metric_tensor(X)
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(model.embedding_, chunks=(20, 2))
    with pytest.raises(TypeError, match=r"Z is a Dask collection.*compute"):
        model.metric_tensor(lazy)
    found = model.log_density(lazy, per="manifold").compute()
    assert np.array_equal(found, model.log_density(model.embedding_, per="manifold"))
    model.save(tmp_path / "model.twofold")
    again = load(tmp_path / "model.twofold")
    assert np.array_equal(again.metric_tensor(lazy.compute()), model.metric_tensor(lazy.compute()))
    table = TableMap(TwoWay("pca", up="nw", down="nw")).fit(X)
    Z = table.embedding_[:3]
    assert np.array_equal(table.metric_tensor(Z), table.model_.metric_tensor(Z))
    inside = table.model_.log_density(Z, "manifold")
    assert np.array_equal(table.log_density(Z, per="manifold"), inside)


def test_updated_and_compressed_models_are_measured_in_their_own_units():
    model = UKR(init="pca", homotopy=False, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:45])
        small = model.compress(30)
        model.update(X[45:])
    for one in (small, model):
        Z = places(one)
        expected = by_differences(one, Z)
        np.testing.assert_allclose(one.metric_tensor(Z), expected, atol=1e-6 * expected.max())
        found = one.stretch(one.embedding_)
        largest = found.singular_values[:, 0]
        assert 0.8 < found.usual / np.median(largest) < 1.25
        assert np.isfinite(one.geodesic(Z[:1], Z[1:2])).all()

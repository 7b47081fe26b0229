"""The slopes of features at the scale of the map, and what an explanation promises."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

import twofold
from twofold import UKR, TwoWay
from twofold.explaining import Explanation
from twofold.explaining.reference import Reference
from twofold.explaining.slopes import local_slopes

FLAT = TwoWay("pca", up="nw", down="nw")


def test_slopes_are_those_of_a_weighted_regression(data):
    reference = Reference.of(FLAT.fit(data))
    places = reference.latents[:3] + 0.1
    found = local_slopes(reference, places, 0.3)
    width = 0.3 * np.sqrt(np.mean(np.square(reference.latents - reference.latents.mean(axis=0))))
    for place, slopes in zip(places, found, strict=True):
        offsets = reference.latents - place
        root = np.sqrt(1.0 / (1.0 + np.square(offsets).sum(axis=1) / width**2))
        inputs = np.column_stack([np.ones(len(offsets)), offsets]) * root[:, None]
        fitted = np.linalg.lstsq(inputs, reference.images * root[:, None], rcond=None)[0]
        np.testing.assert_allclose(slopes, fitted[1:].T, rtol=1e-6, atol=1e-9)


def test_effects_and_moves_are_the_formula(data):
    model = FLAT.fit(data)
    found, reference = model.explain(data[:4]), Reference.of(model)
    slopes = local_slopes(reference, found.latents, 0.25)
    covariance = np.cov(model.embedding_.T, bias=True)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(values) @ vectors.T
    share = model.inverse_transform(model.embedding_).var(axis=0) / data.var(axis=0)
    np.testing.assert_allclose(found.explained, share, rtol=1e-5)
    np.testing.assert_allclose(found.spreads, data.std(axis=0), rtol=1e-5)
    for row in range(4):
        scaled = slopes[row] * (share / reference.spreads)[:, None]
        expected = np.linalg.norm(scaled @ root, axis=1)
        np.testing.assert_allclose(found.effects[row], expected, rtol=1e-5)
        np.testing.assert_allclose(found.moves[row], scaled @ covariance, rtol=1e-4, atol=1e-9)


def test_promises(model_and_rows):
    """Finite, pure, batch-invariant; noise comes last."""
    name, model, X = model_and_rows
    before = pickle.dumps(model)
    found = model.explain(X)
    assert isinstance(found, Explanation)
    n_features, q = X.shape[1], model.embedding_.shape[1]
    assert found.effects.shape == (20, n_features)
    assert found.moves.shape == (20, n_features, q)
    assert all(np.isfinite(getattr(found, key)).all() for key in ("effects", "moves", "latents"))
    np.testing.assert_array_equal(found.latents, model.transform(X))
    np.testing.assert_array_equal(model.explain(X[3:5]).effects, found.effects[3:5])
    assert pickle.dumps(model) == before
    noise = [2] if name == "circle" else [3, 4]
    if name not in ("two_way-function", "supervised"):
        assert not np.isin(found.effects.argmax(axis=1), noise).any()
    far = model.explain(1e6 * X[:5])
    assert np.isfinite(far.effects).all()


def test_circles_go_round(fitted):
    """On a circle, both sides of the seam are near each other."""
    model = fitted["circle"]
    reference = Reference.of(model)
    assert reference.wrapped.all()
    seam = local_slopes(reference, np.array([[-1.0], [1.0], [0.999]]), 0.25)
    np.testing.assert_allclose(seam[0], seam[1], rtol=1e-9)
    np.testing.assert_allclose(seam[0], seam[2], rtol=0.1, atol=0.1)


def test_auto_explains_as_its_winner(fitted, data):
    model = fitted["auto"]
    best = model.best_estimator_
    np.testing.assert_array_equal(model.explain(data).effects, best.explain(data).effects)


def test_model_files_and_names(fitted, data, tmp_path):
    for name in ("ukr", "drur"):
        fitted[name].save(tmp_path / "model.twofold")
        loaded = twofold.load(tmp_path / "model.twofold")
        assert np.array_equal(loaded.explain(data).effects, fitted[name].explain(data).effects)
    frame = pd.DataFrame(data, columns=list("abcde"))
    found = FLAT.fit(frame).explain(frame)
    assert found.feature_names == tuple("abcde")
    assert FLAT.fit(data).explain(data).feature_names == ("x0", "x1", "x2", "x3", "x4")
    ranked = np.argsort(-found.effects, axis=1)
    assert (found.strongest(2) == np.array(list("abcde"))[ranked[:, :2]]).all()
    table = found.to_frame()
    assert table.effect.is_monotonic_decreasing
    assert table["first"].sum() == pytest.approx(1.0)
    assert found.per_row(1).feature_1.tolist() == found.strongest(1)[:, 0].tolist()
    lines = str(found).splitlines()
    assert lines[0].split() == ["feature", "effect", "first", "explained", "spread"]
    assert lines[1].split()[0] == table.feature[0]
    assert "<th>feature</th>" in found._repr_html_()


def test_units_and_columns_that_do_not_vary(data):
    plain = FLAT.fit(data).explain(data)
    for factor in (1e150, 1e-150):
        far = FLAT.fit(data * factor).explain(data * factor)
        np.testing.assert_allclose(far.effects, plain.effects, rtol=1e-6)
        np.testing.assert_allclose(far.spreads, plain.spreads * factor, rtol=1e-6)
    for scale in (0.25, 0.0):
        wide = np.insert(data, 2, 7.0, axis=1)
        found = FLAT.fit(wide).explain(wide, scale=scale)
        assert (found.effects[:, 2] == 0.0).all()
        expected = FLAT.fit(data).explain(data, scale=scale).effects
        np.testing.assert_allclose(np.delete(found.effects, 2, axis=1), expected, rtol=1e-9)
    with pytest.warns(UserWarning, match="vary in only 0 directions"):
        same = FLAT.fit(np.ones((9, 3)))
    assert not same.explain(np.ones((2, 3))).effects.any()
    assert not same.explain(np.ones((2, 3)), scale=0.0).moves.any()


def test_gaps_are_filled_as_in_transform(data):
    model = FLAT.fit(data)
    rows = data[:6].copy()
    rows[::2, 1] = np.nan
    for scale in (0.25, 0.0):
        assert np.isfinite(model.explain(rows, scale=scale).effects).all()
    np.testing.assert_array_equal(model.explain(rows).latents, model.transform(rows))
    assert np.isfinite(model.explain_difference(rows, data[6:]).differences).all()


def test_sparse_tables():
    rng = np.random.default_rng(0)
    place = rng.uniform(-1.0, 1.0, (150, 1))
    X = rng.poisson(0.1, (150, 30)).astype(float)
    X[:, :5] = rng.poisson(np.exp(1.0 + place * np.linspace(0.5, 1.0, 5)))
    model = FLAT.fit(scipy.sparse.csr_matrix(X))
    found = model.explain(scipy.sparse.csr_matrix(X[:20]))
    np.testing.assert_allclose(found.effects, model.explain(X[:20]).effects, rtol=1e-9)
    assert (found.effects.argmax(axis=1) < 5).all()
    assert model.explain(X[:3], scale=0.0).effects.shape == (3, 30)


def test_models_of_a_subspace(data):
    """Slopes and derivatives pass the affine map behind which such models work."""
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    from twofold.pipelines.conversion import from_pipeline

    pipe = make_pipeline(PCA(4), TwoWay("pca", up="krr", down="krr")).fit(data)
    model = from_pipeline(pipe)
    found = model.explain(data[:6], scale=0.0)
    numeric = np.empty_like(found.moves)
    for column in range(5):
        move = np.zeros(5)
        move[column] = 1e-4
        change = (model.transform(data[:6] + move) - model.transform(data[:6] - move)) / 2e-4
        numeric[:, column] = change * found.spreads[column]
    np.testing.assert_allclose(found.moves, numeric, rtol=1e-3, atol=1e-6)
    assert (model.explain(data).effects.argmax(axis=1) < 3).all()


def test_latents_that_were_not_kept(fitted, data):
    model = copy.copy(fitted["drur"])
    model.embedding_ = model.embedding_[:0]
    effects = model.explain(data).effects
    agree = effects.argmax(axis=1) == fitted["drur"].explain(data).effects.argmax(axis=1)
    assert agree.mean() > 0.9
    np.testing.assert_array_equal(model.explain(data).effects, effects)


def test_prototypes_stand_for_different_numbers_of_rows():
    """The explained share is that of rows, not that of the prototypes of a compressed model."""
    rng = np.random.default_rng(0)
    dense = 0.3 * rng.standard_normal((170, 3))
    data = np.vstack([dense, dense[:10] + np.array([9.0, 0.0, 0.0])])
    small = TwoWay("pca", up="nw", down="nw").fit(data).compress(20)
    expected = small.reconstruct(data).var(axis=0) / data.var(axis=0)
    np.testing.assert_allclose(small.explain(data).explained, expected, atol=0.03)


def test_errors(fitted, data):
    model = fitted["ukr"]
    with pytest.raises(NotFittedError):
        UKR().explain(data)
    with pytest.raises(ValueError, match=r"scale=-1\.0 must be finite and at least 0"):
        model.explain(data, scale=-1.0)
    with pytest.raises(TypeError, match="scale='wide' must be a number"):
        model.explain(data, scale="wide")
    with pytest.raises(ValueError, match="4 features"):
        model.explain(data[:, :4])
    with pytest.raises(ValueError, match="infinity"):
        model.explain(np.where(data > 2, np.inf, data))
    with pytest.raises(ValueError, match="n_features=0 must be at least 1"):
        model.explain(data).strongest(0)
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"explain takes rows in memory.*X.compute\(\)"):
        model.explain(da.from_array(data))

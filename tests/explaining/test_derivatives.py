"""The exact derivative of encoders, beside differences of `transform`."""

import numpy as np
import pytest

from twofold import UKR, TwoWay
from twofold.explaining.derivatives import STEP, _solved, encoder_derivatives
from twofold.explaining.reference import FeatureColumns
from twofold.maps.affine import Affine, Chain
from twofold.maps.projection import Projection


def by_differences(model, X, step):
    """Return the derivatives (n, q, D) of ``transform`` by naive central differences."""
    found = np.empty((len(X), model.embedding_.shape[1], X.shape[1]))
    for column in range(X.shape[1]):
        move = np.zeros(X.shape[1])
        move[column] = step
        found[:, :, column] = (model.transform(X + move) - model.transform(X - move)) / (2 * step)
    return found


def is_settled(model, X):
    """Tell which rows have a derivative: a strict minimum of the distance, within the domain."""
    encoder = model.encoder_
    if not isinstance(encoder, Projection):
        return np.ones(len(X), dtype=bool)
    inside = model._data_units.into(X)
    JTJ, JTr, losses = encoder.decoder.normal_terms(encoder.predict(inside), inside)
    values = np.linalg.eigvalsh(JTJ)
    is_minimum = np.linalg.norm(JTr, axis=1) < 1e-6 * np.sqrt(losses * values.sum(axis=1))
    return is_minimum & (values[:, 0] > 1e-6 * values[:, -1])


def test_derivatives_are_those_of_transform(model_and_rows):
    """Those by differences, of other encoders, are compared with differences of the same step."""
    name, model, X = model_and_rows
    columns = FeatureColumns.of(model._data_units, None)
    long_step = STEP / np.sqrt(X.shape[1]) * columns.factors[0]
    by_steps = name in ("manifold", "manifold-norm", "circle", "ukr-l1")
    numeric = by_differences(model, X, long_step if by_steps else 1e-5)
    if name == "circle":
        around = np.abs(numeric) * 2.0 * long_step > 1.0
        numeric = np.where(around, numeric - np.sign(numeric) / long_step, numeric)
    exact = encoder_derivatives(model, columns, X) / columns.factors
    assert np.isfinite(exact).all()
    settled = is_settled(model, X)
    assert settled.sum() >= 8
    size = np.abs(numeric).max()
    np.testing.assert_allclose(exact[settled], numeric[settled], rtol=2e-3, atol=1e-3 * size)


def test_moves_are_derivatives_times_spreads(data):
    model = UKR(init="pca", homotopy=False, max_iter=30, random_state=0).fit(data)
    X = data[is_settled(model, data)][:5]
    found = model.explain(X, scale=0.0)
    numeric = by_differences(model, X, 1e-5) * data.std(axis=0)
    np.testing.assert_allclose(found.moves, numeric.transpose(0, 2, 1), rtol=1e-3, atol=1e-4)
    values, vectors = np.linalg.eigh(np.cov(model.embedding_.T, bias=True))
    whitened = found.moves @ (vectors / np.sqrt(values))
    np.testing.assert_allclose(found.effects, np.linalg.norm(whitened, axis=2), rtol=1e-9)


def test_moves_of_updated_models_are_in_the_units_of_their_latents(data):
    model = UKR(init="pca", homotopy=False, max_iter=30, random_state=0).fit(data)
    model.update(data[:20] + np.array([0.1, 0.1, 0.0, 0.0, 0.0]))
    factors = model._latent_units.factors
    assert np.abs(factors - 1.0).max() > 0.01  # or the test shows nothing
    X = data[is_settled(model, data)][:5]
    found = model.explain(X, scale=0.0)
    numeric = by_differences(model, X, 1e-5) * found.spreads
    np.testing.assert_allclose(found.moves, numeric.transpose(0, 2, 1), rtol=1e-3, atol=1e-4)


def test_units_of_columns_and_images_of_data(data):
    """Scaled columns and chains of affine maps enter the derivative."""
    scaled = TwoWay("pca", up="krr", down="krr", scale="standard").fit(data * [1, 10, 100, 1e-3, 1])
    X = data[:4] * [1, 10, 100, 1e-3, 1]
    moves = scaled.explain(X, scale=0.0).moves
    spreads = (data * [1, 10, 100, 1e-3, 1]).std(axis=0)
    for column in range(5):
        move = np.zeros(5)
        move[column] = 1e-5 * spreads[column]
        numeric = (scaled.transform(X + move) - scaled.transform(X - move)) / 2e-5
        np.testing.assert_allclose(moves[:, column], numeric, rtol=1e-3, atol=1e-6)
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 2)))[0]
    plain = TwoWay("pca", up="nw", down="nw").fit(data)
    plain.encoder_ = Chain((Affine(2.0, 0.5, unit=4.0), Affine(axes)))
    columns = FeatureColumns.of(plain._data_units, None)
    found = encoder_derivatives(plain, columns, data[:3])
    expected = np.broadcast_to(0.5 * axes.T * plain._latent_units.unit(), found.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_singular_or_indefinite_curvature_falls_back_to_gauss_newton():
    J = np.array([[[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]])
    JTJ = J.transpose(0, 2, 1) @ J
    indefinite = np.stack([np.diag([1.0, -1.0]), np.zeros((2, 2))])
    found = _solved(JTJ, indefinite, J)
    np.testing.assert_allclose(found, np.linalg.pinv(J), atol=1e-12)
    definite = np.stack([np.diag([5.0, 2.0])] * 2)
    expected = np.linalg.solve(definite, J.transpose(0, 2, 1))
    np.testing.assert_allclose(_solved(JTJ, definite, J), expected, atol=1e-12)
    assert np.isfinite(_solved(0.0 * JTJ, 0.0 * indefinite, 0.0 * J)).all()


@pytest.mark.parametrize("factor", [2.0**500, 2.0**-500])
def test_powers_of_two_change_no_effect(data, factor):
    estimator = TwoWay("pca", up="nw", down="projection", random_state=0)
    plain, far = (estimator.fit(X).explain(X[:9], scale=0.0) for X in (data, data * factor))
    np.testing.assert_allclose(far.effects, plain.effects, rtol=1e-9)

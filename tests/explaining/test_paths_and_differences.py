"""Features along paths and between selections, of arrays and of tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from twofold import TableMap, TwoWay
from twofold.explaining.paths import smoothed_images
from twofold.explaining.reference import Reference

FLAT = TwoWay("pca", up="nw", down="nw")


def path_of(model, n_points=12):
    Z = model.embedding_
    return np.linspace(Z[Z[:, 0].argmin()], Z[Z[:, 0].argmax()], n_points)


def test_a_path_by_hand(data):
    model = FLAT.fit(data)
    Z = path_of(model)
    found = model.explain_path(Z, scale=0.0)
    values = (model.inverse_transform(Z) - model.reconstruct(data).mean(axis=0)) / data.std(axis=0)
    shift = found.profiles - values
    np.testing.assert_allclose(shift, np.broadcast_to(shift[0], shift.shape), atol=1e-5)
    np.testing.assert_allclose(found.net, values[-1] - values[0], rtol=1e-5)
    steps = np.abs(np.diff(values, axis=0))
    np.testing.assert_allclose(found.variation, steps.sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(found.steepest, (steps.argmax(axis=0) + 0.5) / 11)
    share = model.explain(data).explained
    np.testing.assert_allclose(found.effects, share * np.ptp(values, axis=0), rtol=1e-5)
    np.testing.assert_array_equal(found.decoded, model.inverse_transform(Z))
    assert found.to_frame().feature[0] == "x0"
    assert len(found) == 12


def test_smoothed_values_are_means(data):
    reference = Reference.of(FLAT.fit(data))
    Z = reference.latents[:3] + 0.2
    found = smoothed_images(reference, Z, 0.25)
    for place, mean in zip(Z, found, strict=True):
        squares = np.square(reference.latents - place).sum(axis=1)
        weights = np.exp(-0.5 * squares / (0.25 * reference.extent) ** 2)
        np.testing.assert_allclose(mean, weights @ reference.images / weights.sum(), rtol=1e-9)
    far = smoothed_images(reference, np.full((1, 2), 1e200), 0.25)
    assert np.isfinite(far).all()


def test_every_model_explains_paths(model_and_rows):
    _, model, _ = model_and_rows
    found = model.explain_path(path_of(model))
    arrays = (found.effects, found.net, found.variation, found.steepest, found.profiles)
    assert all(np.isfinite(one).all() for one in arrays)
    assert "steepest" in str(found)


def test_every_model_explains_differences(model_and_rows):
    name, model, X = model_and_rows
    high = X[:, 0] > np.median(X[:, 0])
    found = model.explain_difference(X[high], X[~high])
    assert np.isfinite([found.differences, found.low, found.high, found.off_manifold]).all()
    assert ((found.low <= found.differences) & (found.differences <= found.high)).all()
    rebuilt = model.reconstruct(X)
    apart = (rebuilt[high].mean(axis=0) - rebuilt[~high].mean(axis=0)) / model.explain(X).spreads
    np.testing.assert_allclose(found.differences, apart, rtol=1e-6, atol=1e-9)
    if name not in ("two_way-function", "supervised"):
        assert found.feature_names[found.order[0]] == "x0"
    np.testing.assert_allclose(found.mean_a, rebuilt[high].mean(axis=0), rtol=1e-6, atol=1e-9)
    back = model.explain_difference(X[~high], X[high])
    np.testing.assert_allclose(back.low, -found.high, rtol=1e-6, atol=1e-9)


def test_intervals_cover_the_difference_of_the_populations():
    """Along an axis that the map keeps, reconstructions are the data: Welch's intervals."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) * [5.0, 4.0, 0.5, 0.5, 0.5, 0.5]
    model = TwoWay("pca", up="krr", down="krr").fit(X)
    spread = model.explain(X[:2]).spreads
    shift = np.array([3.0, -2.0, 0.0, 0.0, 0.0, 0.0])
    hits = []
    for _ in range(150):
        A = rng.standard_normal((25, 6)) * [2.0, 2.0, 0.5, 0.5, 0.5, 0.5] + shift
        B = rng.standard_normal((40, 6)) * [3.0, 1.0, 0.5, 0.5, 0.5, 0.5]
        found = model.explain_difference(A, B, level=0.9)
        hits.append((found.low <= shift / spread) & (shift / spread <= found.high))
    covered = np.mean(hits, axis=0)
    # 150 draws: three standard errors are 0.073. Features off the map have wider intervals.
    assert (np.abs(covered[:2] - 0.9) < 0.075).all()
    assert (covered[2:] > 0.85).all()


def test_tables_have_their_own_columns():
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=150)
    frame = pd.DataFrame(
        {
            "size": kind + 0.1 * rng.standard_normal(150),
            "species": np.array(["ant", "bee", "cat"])[kind],
            "noise": rng.standard_normal(150),
            "tame": rng.random(150) < 0.5,
            "same": 1.0,
            "weight": np.exp(kind + 0.3 * rng.standard_normal(150)),
        }
    )
    frame.loc[3, "size"] = np.nan
    table = TableMap(TwoWay("pca", up="nw", down="projection"), kinds={"weight": "log"}).fit(frame)
    found = table.explain(frame)
    assert found.feature_names == ("size", "species", "noise", "tame", "weight")
    assert np.isfinite(found.effects).all()
    assert found.moves.shape == (150, 5, 2)
    # The second latent is the truth value; species has two directions, of which one is on the map.
    assert set(found.to_frame().feature[:2]) == {"size", "weight"}
    mean = dict(zip(found.feature_names, found.effects.mean(axis=0), strict=True))
    assert mean["species"] > 0.5
    assert mean["species"] > 1.2 * mean["noise"]
    inner = table.model_.explain(table.layout_.into(frame))
    block = [number for number, name in enumerate(table.layout_.flat_names) if "species" in name]
    unscaled = inner.effects[:, block] * inner.spreads[block] / inner.explained[block]
    total = np.sqrt(np.square(inner.spreads[block]).sum())
    share = found.explained[1] / total
    combined = share * np.sqrt(np.square(unscaled).sum(axis=1))
    np.testing.assert_allclose(found.effects[:, 1], combined, rtol=1e-6)
    exact = table.explain(frame, scale=0.0)
    assert np.isfinite(exact.effects).all()
    ways = np.linspace(table.transform(frame[kind == 0])[1], table.transform(frame[kind == 2])[1])
    path = table.explain_path(ways)
    assert path.decoded.species.iloc[[0, -1]].tolist() == ["ant", "cat"]
    assert path.feature_names[path.order[0]] in ("size", "species", "weight")
    assert np.isfinite(path.profiles).all()
    apart = table.explain_difference(frame[kind == 0], frame[kind == 1])
    assert apart.mean_a[1] == "ant"
    assert apart.mean_b[1] == "bee"
    assert apart.low[1] > 0.0
    noise = apart.feature_names.index("noise")
    assert apart.low[noise] < 0.0 < apart.high[noise]
    assert {"feature", "mean_a"} <= set(apart.to_frame().columns)


def test_one_hot_columns_are_one_feature():
    rng = np.random.default_rng(1)
    kind = rng.integers(3, size=90)
    frame = pd.DataFrame({"x": kind + 0.1 * rng.standard_normal(90)})
    for number, color in enumerate(["red", "green", "blue"]):
        frame[f"color_{color}"] = (kind == number).astype(int)
    table = TableMap(FLAT).fit(frame)
    assert len(table.explain(frame).feature_names) == 2
    apart = table.explain_difference(frame[kind == 0], frame[kind == 2])
    assert apart.mean_a[1] == "red"
    assert apart.mean_b[1] == "blue"


def test_tables_that_are_not_fitted():
    frame, unfitted = pd.DataFrame({"a": range(9)}), TableMap(FLAT)
    for call in (
        lambda: unfitted.explain(frame),
        lambda: unfitted.explain_path(np.zeros((2, 2))),
        lambda: unfitted.explain_difference(frame, frame),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()


def test_errors(fitted, data):
    model = fitted["ukr"]
    with pytest.raises(ValueError, match=r"Z has 1 row: a path needs at least 2 places"):
        model.explain_path(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="Z has 3 columns"):
        model.explain_path(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"B has 1 row: an interval of a difference needs"):
        model.explain_difference(data, data[:1])
    for level in (0.0, 1.0, -1.0):
        with pytest.raises(ValueError, match="level="):
            model.explain_difference(data, data, level=level)


@pytest.mark.parametrize("n_columns", [2, 8])  # the inner model halves the units of wide tables
def test_spreads_of_tables_are_in_encoded_units(n_columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((60, n_columns))).rename(columns=str)
    frame["kind"] = np.where(rng.random(60) < 0.5, "a", "b")
    table = TableMap(TwoWay("pca", up="nw", down="nw")).fit(frame)
    encoded = np.asarray(table.layout_.into(frame))
    spreads = table.explain(frame).spreads
    np.testing.assert_allclose(spreads[:-1], encoded[:, :n_columns].std(axis=0), rtol=1e-5)
    total = np.sqrt(encoded[:, n_columns:].var(axis=0).sum())
    np.testing.assert_allclose(spreads[-1], total, rtol=1e-5)


def test_means_of_dates_are_days():
    days = pd.date_range("2020-01-01", periods=40)
    frame = pd.DataFrame({"day": days, "size": np.arange(40.0)})
    table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
    found = table.explain_difference(frame[:20], frame[20:])
    first, second = found.mean_a[0], found.mean_b[0]
    assert "2020-01-01" < first < "2020-01-21" <= second < "2020-02-10"

"""Shortest paths: their lengths, where they run, and what they do not depend on."""

import warnings

import numpy as np
import pytest
from differences import central_gradient
from registry import ESTIMATORS
from sklearn.base import clone

from twofold import DRUR, PrincipalManifold, TableMap, TwoWay, load
from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.manifold_geometry.paths import N_SINES, Curve, Roads
from twofold.principal_manifold import Points

RNG = np.random.default_rng(0)
ROLL, ROLL_TRUTH = make_swiss_roll(600, random_state=0)
HOLE, HOLE_TRUTH = make_swiss_roll(700, hole=True, random_state=0)
ANGLES = np.sort(RNG.uniform(-np.pi, np.pi, 300))
RING = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]) + 0.04 * RNG.standard_normal((300, 2))
_fitted = {}


def fitted(name):
    if name not in _fitted:
        model, X = {
            "roll": (DRUR(random_state=0), ROLL),
            "bent": (TwoWay((ROLL_TRUTH - ROLL_TRUTH.min(axis=0)) ** 1.7, random_state=0), ROLL),
            "hole": (TwoWay(HOLE_TRUTH, up="krr", down="nw", random_state=0), HOLE),
            "ring": (TwoWay("pca", up="krr", down="nw", random_state=0), RING),
            "circle": (PrincipalManifold(domain="circle", alpha=1e-3, random_state=0), RING),
        }[name]
        _fitted[name] = model.fit(X)
    return _fitted[name]


def length(model, path):
    images = model.inverse_transform(path)
    return np.linalg.norm(np.diff(images, axis=0), axis=1).sum()


def line(a, b, n=200):
    return a + np.linspace(0.0, 1.0, n)[:, None] * (b - a)


@pytest.mark.parametrize("name", ["roll", "bent"])
def test_lengths_on_a_clean_roll_are_the_known_ones(name):
    """Distances between the parameters are the geodesic distances, also if the map is bent."""
    model = fitted(name)
    first, last = np.random.default_rng(1).integers(0, len(ROLL), (2, 8))
    paths = model.geodesic(model.embedding_[first], model.embedding_[last], n_points=150)
    known = np.linalg.norm(ROLL_TRUTH[first] - ROLL_TRUTH[last], axis=1)
    ratios = np.array([length(model, path) for path in paths]) / known
    assert np.abs(np.median(ratios) - 1.0) < 0.015  # 1.000 and 1.002
    assert (np.abs(ratios - 1.0) < 0.08).all()
    # Decoded points are equally far apart.
    for path in model.geodesic(model.embedding_[first], model.embedding_[last], n_points=12):
        steps = np.linalg.norm(np.diff(model.inverse_transform(path), axis=0), axis=1)
        assert steps.max() < 1.35 * steps.min()  # chords of arcs of equal length


@pytest.mark.parametrize("name", ["hole", "ring"])
def test_paths_keep_to_where_data_are(name):
    model = fitted(name)
    Z = model.embedding_
    center = Z.mean(axis=0) if name == "ring" else np.median(Z, axis=0)
    start = np.argsort(Z[:, 0])[[5, 30, 60]]
    opposite = 2.0 * center - Z[start]
    end = np.square(Z[:, None] - opposite).sum(axis=2).argmin(axis=0)
    paths = model.geodesic(Z[start], Z[end], n_points=80)
    usual = np.quantile(model.log_density(Z), 0.1)
    for path in paths:
        along = model.log_density(path).min()
        across = model.log_density(line(path[0], path[-1])).min()
        assert across < usual - 1.5  # a straight line crosses the empty middle
        assert along > across + 1.0
        assert along > usual - 1.5


def test_circles_are_gone_round_the_shorter_way():
    model = fitted("circle")
    paths = model.geodesic([[0.9], [0.2], [-0.5]], [[-0.8], [0.5], [-0.5]], n_points=13)
    assert (np.abs(paths) <= 1.0).all()
    over_the_seam = paths[0, :, 0]
    assert (np.abs(over_the_seam) >= 0.8 - 1e-9).all()
    assert length(model, paths[0]) < 0.35 * length(model, line(np.array([0.9]), np.array([-0.8])))
    assert (np.diff(paths[1, :, 0]) > 0.0).all()
    assert (paths[2] == -0.5).all()
    places = PrincipalManifold(domain=Points(4), kernel="delta", alpha=0.0, random_state=0)
    with pytest.raises(ValueError, match="nothing between its places"):
        places.fit(RING).geodesic([[0.0]], [[1.0]])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_gives_the_same_path_alone(name, tmp_path):
    X = make_s_curve(50, noise=0.02, random_state=0)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(ESTIMATORS[name]).fit(X)
    Z = model.embedding_[[0, 10, 20]]
    paths = model.geodesic(Z[:2], Z[1:], n_points=6)
    assert paths.shape == (2, 6, 2)
    assert np.isfinite(paths).all()
    assert np.array_equal(paths[:, 0], Z[:2])
    assert np.array_equal(paths[:, -1], Z[1:])
    assert np.array_equal(model.geodesic(Z[1:2], Z[2:], n_points=6), paths[1:])
    if name == "supervised":  # a class of the tests
        return
    model.save(tmp_path / "m.twofold")
    assert np.array_equal(load(tmp_path / "m.twofold").geodesic(Z[:1], Z[1:2], 6), paths[:1])


def test_never_costs_more_than_the_straight_line_or_the_roads():
    model = fitted("hole")
    roads = Roads.of(model)
    inside = model._latent_units.into(model.embedding_[RNG.integers(0, 700, (2, 6)).ravel()])
    for a, b in zip(inside[:6], inside[6:], strict=True):
        path = roads._path(a, b, 161)
        straight, way = line(a, b, 161), roads._way(a, b)
        cost, limit, by_road = (
            float(roads.surface.costs(one[None])[0]) for one in (path, straight, way)
        )
        assert cost <= 1.01 * limit
        # Costs of a road are summed on few nodes.
        assert cost <= 1.2 * by_road
        assert np.array_equal(way[0], a)
        np.testing.assert_allclose(way[-1], b, atol=1e-12)


@pytest.mark.parametrize("name", ["hole", "circle", "ring"])
def test_the_slope_of_the_energy_is_its_derivative(name):
    model = fitted(name)
    surface = Roads.of(model).surface
    inside = model._latent_units.into(model.embedding_[[3, 40]])
    curve = Curve.near(surface, line(*inside, 161))
    at = 0.05 * np.random.default_rng(2).normal(size=(N_SINES, inside.shape[1]))
    value, slope = curve.energy(at)
    assert value > 0.0
    expected = central_gradient(lambda a: curve.energy(a)[0], at, 1e-4)
    np.testing.assert_allclose(slope, expected, atol=2e-4 * np.abs(expected).max())


def test_tables_shapes_and_wrong_input():
    table = TableMap(TwoWay("pca", up="nw", down="nw")).fit(ROLL[:80])
    Z = table.embedding_
    assert np.array_equal(table.geodesic(Z[:1], Z[1:2], 5), table.model_.geodesic(Z[:1], Z[1:2], 5))
    model = fitted("ring")
    Z = model.embedding_
    fan = model.geodesic(Z[:1], Z[1:4], n_points=3)
    assert fan.shape == (3, 3, 2)
    assert np.array_equal(fan[:, 0], np.repeat(Z[:1], 3, axis=0))
    assert model.geodesic(Z[:1].astype(np.float32), Z[1:2]).dtype == np.float32
    assert np.isfinite(model.geodesic([[1e200, 0.0]], [[-1e200, 0.0]])).all()
    with pytest.raises(ValueError, match="n_points=1"):
        model.geodesic(Z[:1], Z[1:2], n_points=1)
    with pytest.raises(ValueError, match="Za has 2 rows, but Zb has 3"):
        model.geodesic(Z[:2], Z[:3])
    with pytest.raises(ValueError, match="Z has 3 columns"):
        model.geodesic(ROLL[:1], ROLL[:1])


def test_models_of_equal_rows_and_without_latents():
    with pytest.warns(UserWarning, match="vary in only 0"):
        flat = TwoWay("pca", up="nw", down="nw").fit(np.ones((20, 3)))
    assert np.isfinite(flat.geodesic([[0.0, 0.0]], [[1.0, 2.0]])).all()
    small = DRUR(n_centers=15, alpha=1e-3, init="pca", store_embedding=False, random_state=0)
    small.fit(ROLL[:200])
    ends = small.transform(ROLL[:2])
    path = small.geodesic(ends[:1], ends[1:])
    assert np.isfinite(path).all()
    assert np.array_equal(path, small.geodesic(ends[:1], ends[1:]))

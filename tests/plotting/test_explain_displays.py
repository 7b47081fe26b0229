"""Arrows of features on the map, and heat maps of paths."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from twofold import TableMap, TwoWay
from twofold.plotting import FeatureArrowsDisplay, PathFeaturesDisplay, save_figure

RNG = np.random.default_rng(0)
PLACES = RNG.uniform(-1.0, 1.0, (120, 2))
FRAME = pd.DataFrame(
    {
        "right": PLACES[:, 0],
        "up$_1$": PLACES[:, 1],
        "noise": 0.1 * RNG.standard_normal(120),
    }
)


@pytest.fixture(scope="module")
def model():
    """A map whose latents are the first two columns."""
    return TwoWay(PLACES, up="krr", down="krr").fit(FRAME)


def test_arrows_point_to_where_features_grow(model):
    display = FeatureArrowsDisplay.from_estimator(model, FRAME, n_places=4, n_grid=9)
    assert display.names.shape == (4, 2)
    assert set(display.names.ravel()) == {"right", "up$_1$"}
    for names, slopes in zip(display.names, display.slopes, strict=True):
        for name, slope in zip(names, slopes, strict=True):
            along = slope / np.linalg.norm(slope)
            assert along[0 if name == "right" else 1] > 0.98
    longest = max(np.hypot(one.U, one.V).max() for one in display.arrows_)
    width = np.ptp(display.ax_.get_xlim())
    assert 0.05 < longest / width < 0.3
    assert {text.get_text() for text in display.legend_.get_texts()} == {"right", "up$_1$"}
    inside = {tuple(row) for row in display.latents.round(9)}
    assert all(tuple(place) in inside for place in display.places.round(9))


def test_arrows_of_tables_and_pipelines(model, tmp_path):
    table = TableMap(TwoWay("pca", up="nw", down="nw")).fit(FRAME)
    display = FeatureArrowsDisplay.from_estimator(table, FRAME, n_places=3, n_features=1, n_grid=9)
    assert display.names.shape == (3, 1)
    pipe = make_pipeline(StandardScaler(), TwoWay("pca", up="nw", down="nw")).fit(FRAME)
    ax = Figure().add_subplot()
    display = FeatureArrowsDisplay.from_estimator(pipe, FRAME, n_places=2, n_grid=9, ax=ax)
    assert display.ax_ is ax
    assert save_figure(display, tmp_path / "arrows.png").stat().st_size > 1_000
    exact = FeatureArrowsDisplay.from_estimator(model, FRAME, n_places=2, scale=0.0, n_grid=9)
    assert np.isfinite(exact.slopes).all()
    own = make_pipeline(FunctionTransformer(np.cbrt), TwoWay("pca", up="nw", down="nw")).fit(FRAME)
    with pytest.raises(TypeError, match="cannot become part of a model"):
        FeatureArrowsDisplay.from_estimator(own, FRAME)
    line = TwoWay("pca", n_components=1, up="nw", down="nw").fit(FRAME)
    with pytest.raises(ValueError, match="1 latent dimensions; arrows need two"):
        FeatureArrowsDisplay.from_estimator(line, FRAME)
    with pytest.raises(ValueError, match="a slope of two numbers"):
        FeatureArrowsDisplay(PLACES, PLACES[:2], np.zeros((2, 1)), [["a"], ["b"]])


def test_a_heat_map_of_a_path(model):
    path = np.linspace([-0.8, 0.0], [0.8, 0.0], 20)
    display = PathFeaturesDisplay.from_estimator(model, path)
    assert display.ax_.get_yticklabels()[0].get_text() == "right"
    shown = display.image_.get_array()
    assert shown.shape == (3, 20)
    np.testing.assert_array_equal(shown[0], display.explanation.profiles[:, 0])
    assert (np.diff(shown[0]) > 0.0).all()
    assert display.plot(n_features=2).image_.get_array().shape == (2, 20)
    with pytest.raises(TypeError, match="has no explain_path"):
        PathFeaturesDisplay.from_estimator(make_pipeline(model), path)

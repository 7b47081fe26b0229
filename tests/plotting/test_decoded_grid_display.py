"""Decoded grids: cells, support, images and curves."""

import numpy as np
import pytest
from drawn_models import MODELS, RENDERED, is_drawn, model_of, page, width_of
from numpy.testing import assert_allclose

from twofold import TwoWay
from twofold.plotting import DecodedGridDisplay


@pytest.mark.parametrize("name", MODELS)
def test_cells_show_what_their_latents_decode_to(name, tmp_path):
    model, _ = model_of(name)
    q = width_of(name)
    settings = {"at": np.zeros(q)} if q > 2 else {}
    display = DecodedGridDisplay.from_estimator(model, n_side=6, snap=False, ax=page(), **settings)
    rows, columns = display.support.shape
    Z = np.zeros((rows, columns, q))
    Z[..., 0] = display.horizontal
    if q > 1:
        Z[..., 1] = display.vertical[:, None]
    shown = display.support > 0
    assert shown.any()
    assert_allclose(display.decoded[shown], model.inverse_transform(Z[shown]))
    assert np.isnan(display.decoded[~shown]).all()
    assert len(display.curves_.get_segments()) == shown.sum()
    assert name not in RENDERED or is_drawn(display, tmp_path)


@pytest.mark.parametrize("name", ["ukr-2", "two_way", "ukr-1"])
def test_support_is_the_density_against_that_of_the_data(name):
    model, _ = model_of(name)
    display = DecodedGridDisplay.from_estimator(model, n_side=8, snap=False, ax=page())
    q = width_of(name)
    Z = np.stack(np.meshgrid(display.horizontal, display.vertical), -1).reshape(-1, 2)[:, :q]
    reference = np.quantile(model.log_density(model.embedding_), 0.1)
    weights = np.exp(np.minimum(model.log_density(Z) - reference, 0.0))
    assert_allclose(display.support.ravel(), np.where(weights > 0.02, weights, 0.0))


def test_curves_are_scaled_to_their_cells():
    model, _ = model_of("ukr-2")
    display = DecodedGridDisplay.from_estimator(model, n_side=18, snap=False, ax=page())
    low, high = np.nanmin(display.decoded), np.nanmax(display.decoded)
    width = display.horizontal[1] - display.horizontal[0]
    height = display.vertical[1] - display.vertical[0]
    shown = np.argwhere(display.support > 0)
    for (row, column), segment in zip(shown, display.curves_.get_segments(), strict=True):
        decoded = (display.decoded[row, column] - low) / (high - low)
        x, y = segment.T
        assert_allclose(x, display.horizontal[column] + 0.84 * width * np.array([-0.5, 0, 0.5]))
        assert_allclose((y - display.vertical[row]) / (0.84 * height) + 0.5, decoded, atol=1e-12)
    opacities = display.curves_.get_colors()[:, 3]
    assert_allclose(opacities, display.support[display.support > 0])


def brightness_model(n_colors=1):
    """Latents are the brightness of two pixels, or the red of one and the blue of the other."""
    side = np.linspace(0, 1, 12)
    Z = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    if n_colors == 1:
        return TwoWay(Z, up="krr", down="nw", random_state=0).fit(Z[:, ::-1])
    X = np.zeros((len(Z), 1, 2, 3))
    X[:, 0, 0, 0], X[:, 0, 1, 2] = Z.T
    return TwoWay(Z, up="krr", down="nw", random_state=0).fit(X.reshape(len(Z), -1))


def test_orientation_of_images():
    """The first pixel grows with latent 2, the second with latent 1."""
    display = DecodedGridDisplay.from_estimator(brightness_model(), image_shape=(1, 2), n_side=6)
    mosaic = display.image_.get_array()
    assert display.support.shape == (6, 3)  # a cell is as wide as two are high
    assert mosaic.shape[:2] == (6 * 2, 3 * 3)  # a gap between images
    first, second = mosaic[::2, 0::3, 0], mosaic[::2, 1::3, 0]
    rows = first.mean(axis=1)
    assert (np.diff(rows) > 0).all()  # rows of an image run downwards
    assert (np.diff(second.mean(axis=0)) < 0).all()
    left, right, bottom, top = display.image_.get_extent()
    assert_allclose((right - left) / 3, 2 * (top - bottom) / 6)


def test_images_in_color():
    display = DecodedGridDisplay.from_estimator(
        brightness_model(3), image_shape=(1, 2, 3), n_side=6, value_range=(0.0, 1.0)
    )
    mosaic = display.image_.get_array()
    red, blue = mosaic[::2, 0::3], mosaic[::2, 1::3]
    full = display.support[::-1] == 1.0
    assert (np.diff(red[full.all(axis=1)][0, :, 0]) > 0).all()
    assert blue[0, 2, 2] > blue[-1, 2, 2] + 0.5
    assert_allclose(red[full][:, 1:], 0.0, atol=0.02)
    assert (mosaic[1::2] == 1.0).all()  # white between images


def test_faded_where_nothing_supports_them():
    rng = np.random.default_rng(0)
    Z = np.vstack([rng.standard_normal((60, 2)), rng.standard_normal((60, 2)) + 30])
    model = TwoWay(Z, up="nw", down="nw", random_state=0).fit(np.hstack([Z, Z**2]) + 50.0)
    display = DecodedGridDisplay.from_estimator(model, image_shape=(2, 2), n_side=9, ax=page())
    assert display.support[0, 0] > 0.5
    assert display.support[-1, 0] == display.support[0, -1] == 0.0
    mosaic = display.image_.get_array()
    assert (mosaic[:3, :3] == 1.0).all()


def test_snapped_cells_show_training_latents():
    model, _ = model_of("ukr-2")
    display = DecodedGridDisplay.from_estimator(model, n_side=8, ax=page())  # "auto" snaps here
    cells = np.array([np.diff(display.horizontal)[0], np.diff(display.vertical)[0]])
    images = model.inverse_transform(model.embedding_)
    n_found = 0
    for row, column in np.argwhere(display.support > 0):
        center = np.array([display.horizontal[column], display.vertical[row]])
        within = (np.abs(model.embedding_ - center) <= cells / 2).all(axis=1)
        if within.any():
            n_found += 1
            assert np.isclose(images[within], display.decoded[row, column]).all(axis=1).any()
    assert n_found > 10
    with pytest.raises(ValueError, match="snap=True needs all latent dimensions"):
        DecodedGridDisplay.from_estimator(model_of("cube")[0], components=[0, 1], snap=True)


def test_large_images_are_made_smaller(monkeypatch):
    """Pixels are averaged: a grid holds no more of them than can be seen."""
    monkeypatch.setattr("twofold.plotting.decoded_grid.MOST_PIXELS", 200)
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((40, 2))
    X = np.repeat(Z, 288, axis=1)  # an upper and a lower half
    model = TwoWay(Z, up="nw", down="nw", random_state=0).fit(X)
    display = DecodedGridDisplay.from_estimator(model, image_shape=(24, 24), n_side=10, ax=page())
    assert display.image_shape == (20, 20)
    assert max(display.image_.get_array().shape) <= 10 * 21
    shown = display.support > 0
    halves = display.decoded[shown].reshape(-1, 2, 200)
    assert np.ptp(halves, axis=2).max() < 1e-9
    assert np.ptp(halves[:, 0]) > 1.0
    curves = DecodedGridDisplay.from_estimator(model, n_side=4, ax=page())
    assert curves.decoded.shape[2] == 200


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_shape": (8, 8)}, r"image_shape=\(8, 8\) has 64 pixels; the data have 3 features"),
        ({"image_shape": (1, 1, 4)}, "must be \\(height, width\\)"),
        ({"n_side": 1}, "n_side=1 must be at least 2"),
        ({"value_range": (1.0, 1.0)}, "low < high"),
        ({"components": [0, 2]}, "different numbers from 0 to 1"),
        ({"at": [0.0]}, "one number for each of the 2"),
    ],
)
def test_what_a_grid_refuses(settings, message):
    with pytest.raises(ValueError, match=message):
        DecodedGridDisplay.from_estimator(model_of("ukr-2")[0], **settings)

"""The latent map: points, density, border, and lanes of a strip."""

import numpy as np
import pytest
from drawn_models import (
    MODELS,
    RENDERED,
    N,
    is_drawn,
    last_of,
    model_of,
    offsets_of,
    page,
    same_rows,
    width_of,
)
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose

from twofold.plotting import LatentMapDisplay
from twofold.plotting._labels import class_color

KEPT = [name for name in MODELS if name != "drur-small"]


@pytest.mark.parametrize("name", KEPT)
def test_latent_map_draws_every_training_latent(name, tmp_path):
    model, X = model_of(name)
    Z = last_of(model).embedding_
    display = LatentMapDisplay.from_estimator(
        model, labels=np.arange(len(X)) % 3, n_grid=30, ax=page(Z.shape[1])
    )
    drawn = offsets_of(display.points_)
    if Z.shape[1] == 1:  # across the strip points lie by chance, around a ring along their angle
        if name == "circle":
            drawn = np.arctan2(drawn[:, 1], drawn[:, 0])[:, None] / np.pi
        drawn = drawn[:, :1]
    assert same_rows(drawn, Z)
    assert name not in RENDERED or is_drawn(display, tmp_path)


@pytest.mark.parametrize("name", ["ukr-1", "ukr-2", "drur-small", "box", "pipeline"])
def test_latent_map_of_other_rows(name):
    model, X = model_of(name)
    display = LatentMapDisplay.from_estimator(model, X[:40], n_grid=30, ax=page())
    q = width_of(name)
    assert same_rows(offsets_of(display.points_)[:, :q], model.transform(X[:40]))


def test_latent_map_needs_rows_where_the_model_has_none():
    model, _ = model_of("drur-small")
    with pytest.raises(ValueError, match="has not kept its training latents: give X"):
        LatentMapDisplay.from_estimator(model)


@pytest.mark.parametrize("name", ["ukr-2", "ukr-quartic", "two_way", "drur", "pipeline"])
def test_the_border_is_where_the_density_is_the_threshold(name):
    model, _ = model_of(name)
    last = last_of(model)
    display = LatentMapDisplay.from_estimator(model, n_grid=160, ax=page())
    (border,) = display.border_
    lines = [path.vertices for path in border.get_paths()]
    found = last.log_density(np.vstack(lines))
    lowest = getattr(last, "log_density_threshold_", last.log_density(last.embedding_).min())
    assert_allclose(np.median(found), lowest, atol=0.05)
    # It is closed: no latent lies outside, and no line ends at the edge of the picture.
    (left, right), (bottom, top) = display.ax_.get_xlim(), display.ax_.get_ylim()
    edges = np.vstack(lines)
    assert edges[:, 0].min() > left
    assert edges[:, 0].max() < right
    assert edges[:, 1].min() > bottom
    assert edges[:, 1].max() < top


def test_the_bands_hold_the_shares_they_say():
    model, _ = model_of("ukr-2")
    display = LatentMapDisplay.from_estimator(model, n_grid=40, ax=page())
    reached = model.log_density(model.embedding_)[:, None] >= display.density.levels
    assert_allclose(reached.mean(axis=0), [0.95, 0.8, 0.6, 0.4, 0.2], atol=0.01)
    assert len(display.bands_.get_facecolor()) == 5


def test_the_border_of_a_strip():
    model, _ = model_of("ukr-1")
    display = LatentMapDisplay.from_estimator(model, n_grid=2_000, ax=page())
    ends = np.array([line.get_xdata()[0] for line in display.border_])
    assert len(ends) >= 2
    assert_allclose(model.log_density(ends[:, None]), model.log_density_threshold_, atol=0.01)


@pytest.mark.parametrize(
    ("name", "styles"), [("box", ["-"] * 4), ("cylinder", [":", ":", "-", "-"]), ("cube", None)]
)
def test_the_border_of_a_domain(name, styles):
    """Sides are drawn at -1 and 1: solid where the domain ends, dotted where it goes round."""
    model, _ = model_of(name)
    display = LatentMapDisplay.from_estimator(model, n_grid=20, ax=page(width_of(name)))
    if styles is None:
        assert len(display.border_) == 6  # two squares and four edges between them
        return
    assert [line.get_linestyle() for line in display.border_] == styles
    ends = [np.ptp(line.get_xdata()) + np.ptp(line.get_ydata()) for line in display.border_]
    assert_allclose(ends, 2.0)
    goes_round = display.ax_.get_xlabel() == "latent 1 (goes round)"
    assert goes_round == (name == "cylinder")


def test_a_circle_is_drawn_as_a_ring():
    model, _ = model_of("circle")
    display = LatentMapDisplay.from_estimator(model, ax=page())
    (circle,) = display.border_
    assert_allclose(np.hypot(*circle.get_data()), 1.0, atol=1e-6)
    assert (np.hypot(*offsets_of(display.points_).T) < 1.0).all()
    assert np.hypot(*display.bands_.get_xy().T).max() > 1.4


@pytest.mark.parametrize("name", ["ukr-3", "cube", "isomap"])
def test_some_of_the_latent_dimensions(name):
    model, _ = model_of(name)
    Z = last_of(model).embedding_
    columns = (Z.shape[1] - 1, 0)
    display = LatentMapDisplay.from_estimator(model, components=columns, n_grid=20, ax=page())
    assert same_rows(offsets_of(display.points_), Z[:, columns])
    assert display.ax_.get_xlabel() == f"latent {Z.shape[1]}"
    strip = LatentMapDisplay.from_estimator(model, components=[1], n_grid=20, ax=page())
    assert same_rows(offsets_of(strip.points_)[:, :1], Z[:, [1]])


def test_lanes_of_a_strip():
    model, X = model_of("ukr-1")
    labels = np.array(["b", "a", "c"])[np.arange(len(X)) % 3]
    display = LatentMapDisplay.from_estimator(model, labels=labels, n_grid=20, ax=page())
    ticks = dict(
        zip(
            (t.get_text() for t in display.ax_.get_yticklabels()),
            display.ax_.get_yticks(),
            strict=True,
        )
    )
    assert list(ticks) == ["a", "b", "c"]
    drawn = offsets_of(display.points_)
    colors = display.points_[0].get_facecolors()
    for number, height in enumerate(ticks.values()):
        own = (colors[:, :3] == to_rgb(class_color(number))).all(axis=1)
        assert own.sum() == N / 3
        assert np.abs(drawn[own, 1] - height).max() < 1 / 6
    assert display.legend_ is None


@pytest.mark.parametrize("names", ["map", "legend", "both"])
def test_names_of_a_strip_or_a_ring_are_in_a_legend(names):
    for name in ("ukr-1", "circle"):
        model, X = model_of(name)
        labels = np.array(["b", "a", "c"])[np.arange(len(X)) % 3]
        display = LatentMapDisplay.from_estimator(
            model, labels=labels, n_grid=20, names=names, ax=page()
        )
        assert not display.texts_
        assert [text.get_text() for text in display.legend_.get_texts()] == ["a", "b", "c"]


def test_what_a_latent_map_refuses():
    with pytest.raises(ValueError, match="names='somewhere' must be one of"):
        LatentMapDisplay(np.zeros((3, 2))).plot(names="somewhere")
    with pytest.raises(ValueError, match="latents hold NaN"):
        LatentMapDisplay([[0.0, np.nan]])
    with pytest.raises(ValueError, match="one to three columns"):
        LatentMapDisplay(np.zeros((3, 4)))

"""Reconstruction errors: colors and histogram."""

import numpy as np
import pytest
from drawn_models import MODELS, RENDERED, RNG, is_drawn, last_of, model_of, offsets_of, page
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from twofold import from_pipeline
from twofold.plotting import ReconstructionErrorDisplay


@pytest.mark.parametrize("name", [*MODELS, "ukr-l1"])
def test_colors_are_the_errors(name, tmp_path):
    model, X = model_of(name)
    ax = page(last_of(model).embedding_.shape[1])
    display = ReconstructionErrorDisplay.from_estimator(model, X, n_grid=20, ax=ax)
    last = last_of(model)
    if model is last:
        assert_allclose(display.errors, model.reconstruction_error(X), atol=1e-9)
    else:
        assert_allclose(display.errors, from_pipeline(model).reconstruction_error(X), atol=1e-9)
    assert_allclose(display.latents, model.transform(X), atol=1e-6)
    drawn = offsets_of(display.points_)
    q = display.latents.shape[1]
    order = np.argsort(display.errors, kind="stable")  # the largest are drawn last
    assert_allclose(drawn[:, :q], display.latents[order])
    if q == 1:
        assert_allclose(drawn[:, 1], display.errors[order])
    counts = np.array([bar.get_width() for bar in display.bars_])
    assert counts.sum() == len(X)
    assert name not in RENDERED or is_drawn(display, tmp_path)


def test_one_outlier_does_not_take_all_the_colors():
    errors = np.append(np.linspace(0.5, 1.0, 300), 100.0)
    display = ReconstructionErrorDisplay(RNG.standard_normal((301, 2)), errors).plot()
    colors = display.points_[0].get_facecolors()
    assert len(np.unique(colors, axis=0)) > 30
    assert display.ax_histogram_.get_ylim()[1] == 100.0
    with pytest.raises(ValueError, match="give one for each"):
        ReconstructionErrorDisplay(np.zeros((3, 2)), np.zeros(2))


def test_errors_within_axes_of_yours():
    model, X = model_of("ukr-2")
    figure = Figure()
    ax = figure.add_subplot(1, 2, 1)
    display = ReconstructionErrorDisplay.from_estimator(model, X, ax=ax, n_grid=20)
    assert display.ax_ is ax
    assert display.ax_histogram_ in ax.child_axes

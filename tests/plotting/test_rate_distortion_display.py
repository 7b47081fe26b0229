"""Rate-distortion curves: the errors, their limit, the plain error and lookups."""

import itertools

import numpy as np
import pytest
from drawn_models import SHEET, N, is_drawn, model_of
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from twofold.datasets import make_s_curve
from twofold.metrics import RateDistortion, rate_distortion
from twofold.plotting import RateDistortionDisplay

HELD_OUT, _ = make_s_curve(N, random_state=1)


def texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]


@pytest.mark.parametrize("name", ["ukr-2", "drur", "two_way", "box"])
def test_lines_are_the_curve(name, tmp_path):
    model, X = model_of(name)
    judged = {"X_train": X, "n_codes": [16, 4]}
    display = RateDistortionDisplay.from_estimator(model, HELD_OUT, **judged)
    curve = rate_distortion(model, HELD_OUT, **judged)
    (line,), (mark,) = display.lines_, display.marks_
    assert list(line.get_xdata()) == list(display.limit_.get_xdata()) == [4, 16]
    assert_allclose(line.get_ydata(), curve.errors[::-1])
    assert_allclose(display.limit_.get_ydata(), curve.limits[::-1])
    assert_allclose(mark.get_ydata(), curve.error)
    assert min(mark.get_xdata()) > 16
    levels = [line.get_ydata()[0] for line in display.lookups_]
    assert_allclose(levels, [curve.nearest_row, curve.mean_of_five])
    assert texts(display) == [
        "model",
        "k-means of the data",
        "nearest training row",
        "mean of five nearest",
    ]
    labels = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert labels == ["4", "16", "no limit"]
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert is_drawn(display, tmp_path)


def test_several_models_and_a_pipeline():
    models = {name: model_of(name)[0] for name in ("ukr-2", "two_way")}
    display = RateDistortionDisplay.from_estimators(
        models, HELD_OUT, n_codes=[8], line_kwargs={"linewidth": 3}
    )
    assert texts(display) == ["ukr-2", "two_way", "k-means of the data"]
    assert len({line.get_color() for line in display.lines_}) == 2
    assert [mark.get_color() for mark in display.marks_] == [
        line.get_color() for line in display.lines_
    ]
    assert display.lines_[0].get_linewidth() == 3
    pipeline, X = model_of("pipeline")
    assert RateDistortionDisplay.from_estimator(pipeline, X).lines_[0].get_xdata().tolist() == [16]


def test_labels_are_on_the_page():
    display = RateDistortionDisplay.from_estimator(model_of("drur")[0], HELD_OUT, X_train=SHEET)
    display.figure_.savefig("/dev/null", format="png")
    renderer = display.figure_._get_renderer()
    width, height = display.figure_.bbox.size
    shown = [*display.ax_.get_xticklabels(), display.ax_.yaxis.label, *display.legend_.get_texts()]
    boxes = [text.get_window_extent(renderer) for text in shown]
    assert all(box.x0 >= 0 and box.y0 >= 0 for box in boxes)
    assert all(box.x1 <= width and box.y1 <= height for box in boxes)
    ticks = sorted((box.x0, box.x1) for box in boxes[: len(display.ax_.get_xticklabels())])
    assert all(one[1] < other[0] for one, other in itertools.pairwise(ticks))


def test_what_cannot_be_drawn_is_left_out(tmp_path):
    none = np.array([], dtype=int)
    few = RateDistortion(none, np.empty(0), np.empty(0), 0.5)
    display = RateDistortionDisplay({"few": few}).plot()
    assert display.limit_ is None
    assert display.lookups_ == []
    assert is_drawn(display, tmp_path)
    exact = RateDistortion(np.array([4]), np.array([0.0]), np.array([np.inf]), 0.0, 0.0, np.inf)
    display = RateDistortionDisplay({"exact": exact, "few": few}).plot()
    assert np.isnan(display.lines_[0].get_ydata()).all()
    assert display.limit_ is None
    assert display.lookups_ == []
    assert is_drawn(display, tmp_path)


def test_bad_input():
    model, _ = model_of("drur")
    with pytest.raises(ValueError, match="models is empty"):
        RateDistortionDisplay.from_estimators({}, HELD_OUT)
    with pytest.raises(ValueError, match="curves is empty"):
        RateDistortionDisplay({})
    with pytest.raises(ValueError, match="PCA has no training latents"):
        RateDistortionDisplay.from_estimator(PCA(2).fit(SHEET), HELD_OUT)
    with pytest.raises(ValueError, match="NaN"):
        RateDistortionDisplay.from_estimator(model, np.full((9, 3), np.nan))

"""Learning curves and generalization reports."""

import numpy as np
import pytest
from drawn_models import CURVE, is_drawn, last_of, model_of
from numpy.testing import assert_allclose

from twofold import UKR
from twofold.plotting import GeneralizationDisplay, LearningCurveDisplay

OBJECTIVES = {
    "ukr-2": "leave-one-out error",
    "drur": "energy of a row",
    "box": "regularized quantization error",
    "sne": "Kullback-Leibler divergence of a row",
    "pipeline": "leave-one-out error",
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_learning_curves_are_the_histories(name, tmp_path):
    model, _ = model_of(name)
    last = last_of(model)
    display = LearningCurveDisplay.from_estimator(model)
    (line,) = display.lines_
    assert_allclose(line.get_ydata(), last.history_)
    assert display.ax_.get_ylabel() == OBJECTIVES[name]
    assert line.get_xdata()[-1] == (last.n_iter_ if name != "drur" else len(last.history_))
    if name == "drur":
        (held_out,) = display.held_out_lines_
        assert_allclose(held_out.get_ydata(), last.validation_history_)
    assert is_drawn(display, tmp_path)


def test_held_out_errors_in_other_units_have_an_axis_of_their_own(tmp_path):
    model = UKR(1, init="isomap:6", max_iter=25, tol=0.0, validation_fraction=0.2, random_state=0)
    model.fit(CURVE)
    display = LearningCurveDisplay.from_estimator(model)
    assert display.ax_held_out_.get_ylabel() == "map score of held-out rows"
    (held_out,) = display.held_out_lines_
    assert (
        list(held_out.get_xdata())
        == [5.0, 10.0, 15.0, 20.0, 25.0][: len(model.validation_history_)]
    )
    assert_allclose(held_out.get_ydata(), model.validation_history_)
    assert [t.get_text() for t in display.legend_.get_texts()] == [
        "rows of the fit",
        "held-out rows",
    ]
    assert is_drawn(display, tmp_path)


def test_several_learning_curves_and_their_scale():
    models = {name: model_of(name)[0] for name in ("ukr-2", "ukr-quartic")}
    display = LearningCurveDisplay.from_estimators(models)
    assert [text.get_text() for text in display.legend_.get_texts()] == list(models)
    assert display.ax_.get_yscale() == "linear"
    assert LearningCurveDisplay.from_estimators(models, scale="log").ax_.get_yscale() == "log"
    with pytest.raises(ValueError, match="minimize different objectives"):
        LearningCurveDisplay.from_estimators({"a": models["ukr-2"], "b": model_of("drur")[0]})
    with pytest.raises(ValueError, match="TwoWay is not fitted by iterations"):
        LearningCurveDisplay.from_estimator(model_of("two_way")[0])
    with pytest.raises(ValueError, match="models is empty"):
        LearningCurveDisplay.from_estimators({})
    with pytest.raises(ValueError, match="curves is empty"):
        LearningCurveDisplay({})


def test_generalization():
    model, X = model_of("circle")
    display = GeneralizationDisplay.from_estimator(model, X, n_repeats=1)
    curve = display.report.curve
    assert_allclose(display.measured_.get_xdata(), curve.sizes)
    assert curve.best is not None
    excess = np.median(curve.held_out - curve.best, axis=1)
    assert_allclose(display.measured_.get_ydata(), np.where(excess > 0, excess, np.nan))
    assert display.ax_.get_ylabel() == "held-out minus lowest error"
    assert_allclose(display.predicted_.get_ydata(), display.report.predicted())
    assert "certificate" in display.ax_.get_title()
    with pytest.raises(TypeError, match="PrincipalManifold has"):
        GeneralizationDisplay.from_estimator(model_of("two_way")[0], X)

"""Residual variances of held-out rows, models and distances."""

import numpy as np
import pytest
from drawn_models import SHEET, is_drawn, model_of
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold import TwoWay
from twofold.plotting import ResidualVarianceDisplay


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_residual_variances_are_those_of_held_out_rows(in_pipeline, tmp_path):
    from sklearn.base import clone
    from sklearn.model_selection import ShuffleSplit

    model = TwoWay("pca", up="nw", down="nw", random_state=0)
    estimator = make_pipeline(StandardScaler(), model) if in_pipeline else model
    display = ResidualVarianceDisplay.from_data(
        estimator, SHEET, [2, 1], n_splits=2, random_state=4
    )
    name = "twoway__n_components" if in_pipeline else "n_components"
    for split, (train, test) in enumerate(
        ShuffleSplit(2, test_size=0.2, random_state=4).split(SHEET)
    ):
        for place, number in enumerate((2, 1)):
            fitted = clone(estimator).set_params(**{name: number}).fit(SHEET[train])
            assert_allclose(display.residuals[place, split], 1.0 - fitted.score(SHEET[test]))
    assert list(display.line_.get_xdata()) == [1, 2]
    assert_allclose(display.line_.get_ydata(), np.median(display.residuals, axis=1)[::-1])
    assert model.n_components is None
    assert is_drawn(display, tmp_path)


def test_residual_variances_of_models_and_of_distances():
    model, X = model_of("isomap")
    display = ResidualVarianceDisplay.from_estimator(model)
    assert_allclose(display.line_.get_ydata(), model.residual_variance_)
    assert display.chosen == model.embedding_.shape[1]
    assert_allclose(display.ax_.lines[-1].get_xdata(), [display.chosen])
    pair = [
        TwoWay("pca", n_components=k, up="nw", down="nw", random_state=0).fit(X) for k in (2, 1)
    ]
    of_models = ResidualVarianceDisplay.from_estimators(pair, X)
    assert_allclose(of_models.line_.get_ydata(), [1 - pair[1].score(X), 1 - pair[0].score(X)])
    first = ResidualVarianceDisplay([1, 2], [0.5, 0.2]).plot(label="first")
    second = ResidualVarianceDisplay([1, 3], [0.4, 0.1]).plot(first.ax_, label="second")
    assert [text.get_text() for text in second.legend_.get_texts()] == ["first", "second"]
    assert first.line_.get_color() != second.line_.get_color()
    assert list(first.ax_.get_xticks()) == [1, 2, 3]
    higher = ResidualVarianceDisplay([1, 2], [0.9, 0.3]).plot(first.ax_, label="higher")
    bottom, top = higher.ax_.get_ylim()
    assert bottom == 0.0
    assert top > 0.9
    splits = [[0.3, 0.3, 0.3], [-0.2, 0.1, 0.1]]
    below = ResidualVarianceDisplay([1, 2], splits).plot(first.ax_, label="below")
    assert below.ax_.get_ylim()[0] < -0.1
    ResidualVarianceDisplay([1, 2], [0.5, 0.2]).plot(first.ax_)
    assert first.ax_.get_ylim()[0] < -0.1
    with pytest.raises(ValueError, match="use from_data"):
        ResidualVarianceDisplay.from_estimator(model_of("ukr-2")[0])
    with pytest.raises(ValueError, match="dimensions is empty"):
        ResidualVarianceDisplay.from_data(model, X, [])
    with pytest.raises(ValueError, match="models is empty"):
        ResidualVarianceDisplay.from_estimators([], X)
    with pytest.raises(ValueError, match="give one for each"):
        ResidualVarianceDisplay([1, 2], [0.1])

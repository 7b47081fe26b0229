"""Scores over dimensions, the rule of one standard error, and its use in a grid search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from twofold import TwoWay
from twofold.datasets import make_s_curve
from twofold.metrics import codebook_error, codebook_score, map_score
from twofold.model_selection import DimensionCurve, dimension_curve, one_standard_error

X = make_s_curve(400, 0.1, random_state=0)[0]
MODEL = TwoWay("isomap", up="nw", down="nw")
FOLDS = KFold(3, shuffle=True, random_state=0)


def test_the_score_is_the_mean_log_of_codebook_errors():
    model = TwoWay("pca", up="nw", down="nw").fit(X[:300])
    errors = [codebook_error(model, X[300:], size) for size in (16, 64)]
    assert codebook_score(model, X[300:]) == pytest.approx(-np.log(errors).mean())
    assert codebook_score(model, X[300:], n_codes=[16]) == pytest.approx(-np.log(errors[0]))
    with pytest.raises(ValueError, match="n_codes"):
        codebook_score(model, X[300:], n_codes=[])


def test_two_dimensions_of_a_sheet_are_chosen():
    curve = dimension_curve(MODEL, X, dimensions=[3, 1, 2], cv=FOLDS)
    assert_array_equal(curve.dimensions, [1, 2, 3])
    assert curve.scores.shape == (3, 3)
    assert curve.chosen == 2


def test_scores_are_those_of_a_loop():
    curve = dimension_curve(TwoWay("pca", up="nw", down="nw", random_state=0), X, cv=FOLDS)
    assert_array_equal(curve.dimensions, [1, 2, 3])
    for dimension, row in zip(curve.dimensions, curve.scores, strict=True):
        for (train, test), score in zip(FOLDS.split(X), row, strict=True):
            model = TwoWay("pca", up="nw", down="nw", n_components=int(dimension), random_state=0)
            assert score == codebook_score(model.fit(X[train]), X[test])


def test_pipelines_and_other_scores():
    model = make_pipeline(StandardScaler(), TwoWay("pca", up="nw", down="nw"))
    curve = dimension_curve(model, X, dimensions=[1, 2], cv=2, scoring=map_score)
    assert curve.best == 2
    assert model.steps[-1][1].n_components is None


def test_the_default_estimator_is_isomap():
    curve = dimension_curve(None, X[:150], dimensions=[1, 2], cv=2)
    assert curve.best == 2


def test_bad_arguments():
    with pytest.raises(TypeError, match="n_components"):
        dimension_curve(SVC(), X)
    with pytest.raises(ValueError, match="dimensions is empty"):
        dimension_curve(MODEL, X, dimensions=[])
    with pytest.raises(ValueError, match="dimensions=0"):
        dimension_curve(MODEL, X, dimensions=[0])
    with pytest.raises(ValueError, match="cv=1"):
        dimension_curve(MODEL, X, cv=1)
    with pytest.raises(ValueError, match="embedding_"):
        dimension_curve(PCA(), X, dimensions=[1])


def test_the_rule():
    scores = np.array([[0.0, 0.2], [0.9, 1.1], [1.0, 1.2], [0.5, 0.5]])
    curve = DimensionCurve(np.array([1, 2, 3, 4]), scores)
    assert_allclose(curve.means, [0.1, 1.0, 1.1, 0.5])
    assert_allclose(curve.standard_errors, [0.1, 0.1, 0.1, 0.0])
    assert (curve.best, curve.chosen) == (3, 2)
    assert repr(curve).startswith("DimensionCurve(chosen=2, best=3; 1: 0.100, 2: 1.000")
    one_fold = DimensionCurve(np.array([1, 2]), np.array([[0.9], [1.0]]))
    assert one_fold.chosen == one_fold.best == 2


def results(scores, dimensions, name="param_n_components"):
    columns = {f"split{number}_test_score": s for number, s in enumerate(np.transpose(scores))}
    return {name: np.ma.array(dimensions), **columns}


def test_the_index_of_the_rule():
    scores = [[1.0, 1.2], [0.9, 1.1], [0.95, 1.15], [0.0, 0.2], [np.nan, 9.0]]
    assert one_standard_error(results(scores, [3, 2, 2, 1, 1])) == 2
    assert one_standard_error(results(scores, [3, 2, 2, 1, 1], "param_ukr__n_components")) == 2
    with pytest.raises(ValueError, match="search over n_components"):
        one_standard_error(results(scores, [3, 2, 2, 1, 1], "param_alpha"))
    with pytest.raises(ValueError, match="finite"):
        one_standard_error(results([[np.nan, 1.0]], [1]))


def test_a_grid_search_takes_two_dimensions():
    search = GridSearchCV(
        TwoWay("isomap", up="nw", down="nw", random_state=0),
        {"n_components": [1, 2, 3]},
        scoring=codebook_score,
        refit=one_standard_error,
        cv=FOLDS,
    ).fit(X)
    assert search.best_params_ == {"n_components": 2}
    assert search.best_estimator_.embedding_.shape == (400, 2)

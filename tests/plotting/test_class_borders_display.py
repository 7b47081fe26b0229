"""Class borders for classifiers with and without scores."""

import numpy as np
import pytest
from drawn_models import N, is_drawn, model_of, offsets_of, page, same_rows
from numpy.testing import assert_allclose
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from twofold.numerics.density import KernelDensityClassifier
from twofold.plotting import ClassBordersDisplay

CLASSIFIERS = {
    "density": KernelDensityClassifier(),
    "neighbors": KNeighborsClassifier(3),
    "scores": SVC(),
}


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("name", ["two_way", "box"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_borders_are_where_the_answer_changes(name, kind, n_classes, tmp_path):
    model, _ = model_of(name)
    Z = model.embedding_
    order = np.argsort(np.argsort(Z[:, 0]))
    labels = np.array(["low", "middle", "high"])[order * n_classes // N]
    classifier = CLASSIFIERS[kind].fit(Z, labels)
    display = ClassBordersDisplay.from_estimator(
        model, classifier, Z[::2], labels[::2], n_grid=60, ax=page()
    )
    assert len(display.borders_) == n_classes
    step = 1.5 * display.density.grid.spacing
    ways = step * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    for border in display.borders_:
        places = np.vstack([path.vertices for path in border.get_paths()])[::5]
        around = classifier.predict((places[:, None] + ways).reshape(-1, 2)).reshape(len(places), 4)
        changes = (around != around[:, :1]).any(axis=1)
        assert changes.mean() > 0.95
    assert same_rows(offsets_of(display.points_), Z[::2])
    assert sum(len(marks.get_offsets()) for marks in display.points_) == N // 2
    names = sorted(text.get_text() for text in display.legend_.get_texts())
    assert names == sorted(set(labels))
    assert is_drawn(display, tmp_path)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_borders_lie_between_the_places_of_the_grid(n_classes):
    """Linear scores have straight borders; contours find them exactly between the places."""

    class Linear:
        classes_ = np.array(["left", "right", "never"])[:n_classes]

        def decision_function(self, Z):
            ahead = Z[:, 0] + 0.3 * Z[:, 1] - 0.0123
            return ahead if n_classes == 2 else np.column_stack([-ahead, ahead, -9.0 + 0 * ahead])

        def predict(self, Z):
            return self.classes_[(Z[:, 0] + 0.3 * Z[:, 1] > 0.0123).astype(int)]

    model, _ = model_of("two_way")
    labels = Linear().predict(model.embedding_)
    display = ClassBordersDisplay.from_estimator(
        model, Linear(), model.embedding_, labels, n_grid=20, ax=page()
    )
    places = np.vstack([p.vertices for line in display.borders_ for p in line.get_paths()])
    assert len(display.borders_) == 2
    assert_allclose(places[:, 0] + 0.3 * places[:, 1], 0.0123, atol=1e-9)


def test_classifiers_without_scores_and_points_of_the_wrong_kind():
    class Halves:
        def predict(self, Z):
            return np.where(Z[:, 1] > 0.0, "up", "down")

    model, X = model_of("two_way")
    Z = model.embedding_
    labels = Halves().predict(Z)
    display = ClassBordersDisplay.from_estimator(model, Halves(), Z, labels, n_grid=40, ax=page())
    places = np.vstack([path.vertices for path in display.borders_[0].get_paths()])
    assert np.abs(places[:, 1]).max() <= display.density.grid.spacing
    with pytest.raises(ValueError, match=r"Z has shape .*use model.transform"):
        ClassBordersDisplay.from_estimator(model, Halves(), X, labels)
    with pytest.raises(ValueError, match="labels has 3 entries"):
        ClassBordersDisplay.from_estimator(model, Halves(), Z, labels[:3])
    with pytest.raises(ValueError, match="borders on paper need n_components=2"):
        ClassBordersDisplay.from_estimator(model_of("ukr-1")[0], Halves(), Z, labels)

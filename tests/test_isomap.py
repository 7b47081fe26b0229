"""Agglomerative and supervised Isomap: equal to what they generalise, and honest about labels, pieces and memory."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.manifold import Isomap
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from twofold import AgglomerativeIsomap, SupervisedIsomap
from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.graph import knn_graph
from twofold.maps import KernelRidgeMap, RBFNetwork
from twofold.metrics import procrustes_r2
from twofold.scaling import (
    classical_scaling,
    elbow,
    landmark_scaling,
    residual_variances,
    squared_geodesics,
)

MODULE = "twofold.estimators.agglomerative_isomap"
joined = pytest.mark.filterwarnings("ignore:.*joined at their closest points.*:UserWarning")


@pytest.fixture(scope="module")
def curve():
    return make_s_curve(250, noise=0.02, random_state=0)[0]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def total_deviation(X):
    return np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean())


def difference_after_alignment(Z, reference):
    rotation, _ = orthogonal_procrustes(Z, reference)
    return np.abs(Z @ rotation - reference).max() / np.abs(reference).max()


class TestScaling:
    def test_implicit_centring_is_that_of_the_matrix(self, curve, monkeypatch):
        squares = squared_geodesics(knn_graph(curve, 8), None, np.float64)
        explicit = classical_scaling(squares, 3)
        monkeypatch.setattr("twofold.scaling.DENSE_EIGEN", 10)
        np.testing.assert_allclose(classical_scaling(squares, 3), explicit, atol=1e-9)
        single = classical_scaling(squares.astype(np.float32), 3)
        np.testing.assert_allclose(single, explicit, atol=1e-5)

    def test_euclidean_distances_give_the_points_back(self):
        X = np.random.default_rng(0).standard_normal((40, 3))
        Z = classical_scaling(cdist(X, X, "sqeuclidean"), 5)
        assert difference_after_alignment(Z[:, :3], X - X.mean(axis=0)) < 1e-10
        assert np.abs(Z[:, 3:]).max() < 1e-6
        landmarks = np.arange(0, 40, 4)
        Z = landmark_scaling(cdist(X[landmarks], X, "sqeuclidean"), landmarks, 3)
        assert difference_after_alignment(Z, X - X.mean(axis=0)) < 1e-10

    def test_residual_variance_is_one_minus_the_squared_correlation(self, curve):
        squares = squared_geodesics(knn_graph(curve, 8), None, np.float64)
        Z = classical_scaling(squares, 3)
        found = residual_variances(squares, None, Z)
        for d in (1, 2, 3):
            distances = cdist(Z[:, :d], Z[:, :d])
            expected = 1.0 - np.corrcoef(np.sqrt(squares).ravel(), distances.ravel())[0, 1] ** 2
            assert found[d - 1] == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize(
        ("variances", "dimension"),
        [([0.3, 0.01, 0.01, 0.009], 2), ([1e-9, 0, 0, 0], 1), ([0.8, 0.6, 0.4, 0.05, 0.05], 4)],
    )
    def test_elbow(self, variances, dimension):
        assert elbow(np.array(variances)) == dimension

    def test_no_convergence_is_said(self, monkeypatch):
        monkeypatch.setattr("twofold.scaling.DENSE_EIGEN", 10)
        monkeypatch.setattr("twofold.scaling.MOST_RESTARTS", 1)
        X = np.random.default_rng(0).standard_normal((300, 40))
        with pytest.warns(UserWarning, match="eigenvectors converged"):
            Z = classical_scaling(cdist(X, X, "sqeuclidean"), 5)
        assert np.isfinite(Z).all()


class TestAgglomerative:
    @pytest.mark.parametrize("k", [5, 12])
    def test_equals_scikit_learn_on_a_connected_graph(self, curve, k):
        ours = AgglomerativeIsomap(2, n_neighbors=k).fit(curve)
        assert ours.n_pieces_ == 1
        theirs = Isomap(n_neighbors=k, n_components=2).fit_transform(curve / total_deviation(curve))
        assert difference_after_alignment(ours.embedding_, theirs) < 1e-8
        given = AgglomerativeIsomap(2, n_neighbors=k, dissimilarity="precomputed")
        given.fit(cdist(curve, curve))
        assert difference_after_alignment(given.embedding_, theirs) < 1e-8

    def test_single_precision_beyond_some_rows(self, curve, monkeypatch):
        exact = AgglomerativeIsomap(2).fit(curve).embedding_
        monkeypatch.setattr(f"{MODULE}.MOST_IN_DOUBLE", 100)
        assert (
            difference_after_alignment(AgglomerativeIsomap(2).fit(curve).embedding_, exact) < 1e-5
        )

    def test_landmarks(self, curve):
        exact = AgglomerativeIsomap(2).fit(curve)
        all_of_them = AgglomerativeIsomap(2, n_landmarks=250).fit(curve)
        assert all_of_them.landmarks_ is None
        np.testing.assert_array_equal(all_of_them.embedding_, exact.embedding_)
        some = AgglomerativeIsomap(2, n_landmarks=60, random_state=0).fit(curve)
        assert len(some.landmarks_) == 60
        assert procrustes_r2(exact.embedding_, some.embedding_, scaling=False) > 0.999

    def test_dimension_by_the_elbow(self, curve):
        model = AgglomerativeIsomap("auto").fit(curve)
        assert model.embedding_.shape == (250, 2)
        assert len(model.residual_variance_) == 10
        assert model.residual_variance_[1] < 0.01
        line = np.outer(np.linspace(0.0, 1.0, 50), [1.0, 2.0])
        assert AgglomerativeIsomap("auto").fit(line).embedding_.shape == (50, 1)

    def test_two_rolls_apart(self):
        """Joined with five neighbours. One bridge is a hinge, so a plane holds both rolls less well than each (0.99)."""
        one, flat = make_swiss_roll(800, random_state=0)
        X = np.vstack([one, one + np.array([0.0, 60.0, 0.0])])
        with pytest.warns(UserWarning, match=r"had 2 connected components, which were joined"):
            model = AgglomerativeIsomap(2, n_neighbors=5, n_centers=50).fit(X)
        assert model.n_pieces_ == 2
        assert np.isfinite(model.embedding_).all()
        for half in (model.embedding_[:800], model.embedding_[800:]):
            assert procrustes_r2(flat, half) > 0.85

    def test_given_distances_are_checked_and_mapped(self, curve):
        D = cdist(curve, curve)
        model = AgglomerativeIsomap(dissimilarity="precomputed").fit(D[:200, :200])
        assert model.__sklearn_tags__().input_tags.pairwise
        new = model.transform(D[200:, :200])
        data = AgglomerativeIsomap().fit(curve[:200]).transform(curve[200:])
        assert procrustes_r2(data, new) > 0.95
        assert model.inverse_transform(new).shape == (50, 200)
        for bad, message in (
            (D[:50], "square"),
            (D - 1.0, "nonnegative"),
            (D + np.arange(250), "same both ways"),
        ):
            with pytest.raises(ValueError, match=message):
                clone(model).fit(bad)

    def test_cross_fitted_latents_are_those_of_leaving_out(self, curve):
        X = curve[:60]
        ridge = KernelRidgeMap(gamma=0.5, alpha=0.01)
        model = AgglomerativeIsomap(out_of_sample=ridge, cross_fit=True)
        Z = model.fit_transform(X)
        units = model._data_units.into(X)
        for row in (0, 17, 59):
            rest = np.arange(60) != row
            part = clone(ridge).fit(units[rest], model.embedding_[rest])
            np.testing.assert_allclose(part.predict(units[[row]])[0], Z[row], rtol=1e-5, atol=1e-7)
        assert np.abs(Z - model.transform(X)).max() > 1e-4
        assert model.fit_transform(X.astype(np.float32)).dtype == np.float32
        with pytest.raises(TypeError, match="has no leave_one_out"):
            model.set_params(out_of_sample=RBFNetwork(5)).fit_transform(X)

    def test_centres_beyond_some_rows(self, curve, monkeypatch):
        monkeypatch.setattr("twofold.estimators._isomap_maps.MOST_CENTERS", 100)
        monkeypatch.setattr("twofold.estimators._isomap_maps.FEWER_CENTERS", 80)
        model = AgglomerativeIsomap(cross_fit=True, random_state=0)
        Z = model.fit_transform(curve)
        assert model.decoder_.centers_.shape == (80, 2)
        assert model.score(curve) > 0.98
        assert procrustes_r2(model.embedding_, Z) > 0.98
        monkeypatch.setattr("twofold.estimators._isomap_maps.CHOICE_ROWS", 90)
        assert AgglomerativeIsomap(n_centers=300).fit(curve).score(curve) > 0.98

    def test_too_many_rows_for_memory(self, curve, monkeypatch):
        monkeypatch.setattr("twofold._memory.available_memory", lambda: 1e5)
        with pytest.raises(MemoryError, match=r"n_samples=250 needs about .* GB.*of all pairs"):
            AgglomerativeIsomap().fit(curve)
        with pytest.raises(MemoryError, match=r"n_landmarks=240.*fewer landmarks"):
            AgglomerativeIsomap(n_landmarks=240).fit(curve)
        AgglomerativeIsomap(n_landmarks=40, random_state=0).fit(curve)
        monkeypatch.setattr("twofold._memory.available_memory", lambda: 1e6)
        with pytest.raises(MemoryError, match="Use landmarks: n_landmarks=1000"):
            AgglomerativeIsomap().fit(np.vstack([curve] * 5))

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"n_neighbors": 250}, "n_neighbors=250"),
            ({"n_neighbors": "few"}, "n_neighbors='few'"),
            ({"n_components": "all"}, "n_components='all'"),
            ({"dissimilarity": "cosine"}, "dissimilarity='cosine'"),
            ({"out_of_sample": "nyström"}, "out_of_sample='nyström'"),
            ({"n_landmarks": 1}, "n_landmarks=1"),
            ({"n_centers": 0}, "n_centers=0"),
            ({"n_jobs": 0}, "n_jobs=0"),
        ],
    )
    def test_settings_are_checked(self, curve, settings, message):
        with pytest.raises(ValueError, match=message):
            AgglomerativeIsomap(**settings).fit(curve)
        with pytest.raises(TypeError, match="out_of_sample"):
            AgglomerativeIsomap(out_of_sample=KernelRidgeMap).fit(curve)


class TestSupervised:
    @joined
    def test_classes_lie_apart_and_new_rows_find_them(self, wine):
        X, y = wine
        model = SupervisedIsomap(3).fit(X[::2], y[::2])
        exact = KNeighborsClassifier(5).fit(model.embedding_, y[::2])
        assert exact.score(model.embedding_, y[::2]) == 1.0
        assert exact.score(model.transform(X[1::2]), y[1::2]) > 0.95
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.beta_ == 1.0
        assert model.reconstruction_error(X[1::2]).max() < 10.0

    @joined
    @pytest.mark.parametrize("out_of_sample", ["krr", "grnn"])
    def test_shuffled_labels_give_chance(self, out_of_sample):
        """No way from a row's label to its coordinates but through fit."""
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((240, 6)), rng.permutation(np.arange(240) % 2)
        model = make_pipeline(
            SupervisedIsomap(4, out_of_sample=out_of_sample), KNeighborsClassifier(5)
        )
        accuracy = cross_val_score(model, X, y, cv=5).mean()
        assert abs(accuracy - 0.5) < 0.1  # three standard deviations
        # The exact embedding knows the labels, which is why nothing may be judged on it.
        exact = model[0].fit(X, y).embedding_
        assert KNeighborsClassifier(5).fit(exact, y).score(exact, y) > 0.9
        cross_fitted = model[0].fit_transform(X, y)
        assert cross_val_score(SVC(), cross_fitted, y, cv=5).mean() < 0.65

    @joined
    def test_training_latents_are_cross_fitted_by_default(self, wine):
        """As TargetEncoder's are; scikit-learn's checks run without."""
        X, y = wine
        model = SupervisedIsomap(3)
        assert model.__sklearn_tags__().target_tags.required
        Z = model.fit_transform(X, y)
        new = model.transform(X)
        assert np.abs(Z - new).max() > 0.1
        exact = clone(model).set_params(cross_fit=False).fit_transform(X, y)
        np.testing.assert_array_equal(exact, new)

    @joined
    def test_in_a_pipeline(self):
        X, y = load_wine(return_X_y=True)
        model = make_pipeline(StandardScaler(), SupervisedIsomap(), SVC())
        search = GridSearchCV(model, {"supervisedisomap__n_components": [1, 3]}, cv=3)
        search.fit(X, y)
        assert search.best_score_ > 0.95

    @joined
    @pytest.mark.parametrize("factor", [1.0, 100.0])
    def test_unscaled_data_saturate_and_are_said_to(self, factor):
        X, y = load_wine(return_X_y=True)
        with pytest.warns(
            UserWarning, match=r"% of the pairs have exponents .* scale_distances=True"
        ):
            model = SupervisedIsomap(scale_distances=False).fit(X * factor, y)
        assert model.saturation_ > 0.05
        for output in (model.embedding_, model.transform(X), model.reconstruct(X * factor)):
            assert np.isfinite(output).all()
        scaled = SupervisedIsomap().fit(X * factor, y)
        assert scaled.saturation_ < 0.05
        reference = SupervisedIsomap().fit(X, y)
        np.testing.assert_allclose(scaled.embedding_, reference.embedding_, atol=1e-8)

    @joined
    def test_duplicates_and_small_classes(self):
        X, y = load_iris(return_X_y=True)
        X, y = np.vstack([X, X[:40], X[:40]]), np.concatenate([y, y[:40], 1 - y[:40]])
        y[0], y[-1] = 7, 8  # classes of one row, smaller than the neighbourhoods
        for alpha in (0.0, 1.0):
            model = SupervisedIsomap(2, alpha=alpha)
            Z = model.fit_transform(X, y)
            for output in (Z, model.embedding_, model.reconstruct(X), model.log_density(Z)):
                assert np.isfinite(output).all()

    @joined
    def test_landmarks_and_given_distances(self, wine):
        X, y = wine
        some = SupervisedIsomap(2, n_landmarks=60, random_state=0).fit(X, y)
        exact = SupervisedIsomap(2).fit(X, y)
        assert procrustes_r2(exact.embedding_, some.embedding_) > 0.9
        given = SupervisedIsomap(2, dissimilarity="precomputed").fit(cdist(X, X), y)
        np.testing.assert_allclose(given.embedding_, exact.embedding_, atol=1e-6)

    def test_equal_rows(self):
        model = SupervisedIsomap(1)
        with pytest.warns(UserWarning, match="vary in only 0 directions"):
            Z = model.fit_transform(np.ones((10, 2)), np.arange(10) % 2)
        assert (Z == 0.0).all()
        assert (model.n_pieces_, model.saturation_) == (1, 0.0)
        assert model.classes_.tolist() == [0, 1]

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (None, "requires y to be passed, but the target y is None"),
            (np.zeros(178), "y has one class"),
            (np.r_[np.nan, np.zeros(177)], "contains NaN"),
            (np.zeros(7), "inconsistent numbers of samples"),
            (np.linspace(0.0, 1.0, 178), "continuous"),
        ],
    )
    def test_labels_are_checked(self, wine, y, message):
        with pytest.raises(ValueError, match=message):
            SupervisedIsomap().fit(wine[0], y)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"alpha": 1.5}, "alpha=1.5 must be between 0 and 1"),
            ({"alpha": -0.1}, "alpha=-0.1"),
            ({"beta": 0.0}, "beta=0.0"),
        ],
    )
    def test_settings_are_checked(self, wine, settings, message):
        with pytest.raises(ValueError, match=message):
            SupervisedIsomap(**settings).fit(*wine)


def test_zero_lengths_are_paths():
    """Duplicates are linked by stored zeros, over which paths lead."""
    X = np.repeat(np.arange(4.0), 3)[:, None]
    graph = csr_array(knn_graph(X, 3))
    squares = squared_geodesics(graph, None, np.float64)
    np.testing.assert_allclose(np.sqrt(squares), np.abs(X - X.T))

"""Agglomerative and supervised Isomap: special cases, labels, components and memory."""

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.manifold import Isomap
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from twofold import AgglomerativeIsomap, SupervisedIsomap
from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.isomap.out_of_sample import ridge_or_network
from twofold.maps import GRNN, KernelRidgeMap, RBFNetwork
from twofold.metrics import procrustes_r2

MODULE = "twofold.isomap.agglomerative"
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


class TestAgglomerative:
    @pytest.mark.parametrize("k", [5, 12])
    def test_equals_scikit_learn_on_a_connected_graph(self, curve, k):
        ours = AgglomerativeIsomap(2, n_neighbors=k, graph="knn").fit(curve)
        assert ours.n_pieces_ == 1
        theirs = Isomap(n_neighbors=k, n_components=2).fit_transform(curve / total_deviation(curve))
        assert difference_after_alignment(ours.embedding_, theirs) < 1e-8
        given = clone(ours).set_params(dissimilarity="precomputed").fit(cdist(curve, curve))
        assert difference_after_alignment(given.embedding_, theirs) < 1e-8

    def test_the_default_graph_has_no_short_circuits(self):
        X, sheet = make_swiss_roll(1_000, 0.5, random_state=0)
        maps = {"n_centers": 50, "out_of_sample": "krr"}
        model = AgglomerativeIsomap(**maps).fit(X)
        assert procrustes_r2(sheet, model.embedding_) > 0.99
        usual = AgglomerativeIsomap(graph="knn", **maps).fit(X)
        assert procrustes_r2(sheet, usual.embedding_) < 0.8
        D = cdist(X[:200], X[:200])
        given = AgglomerativeIsomap(dissimilarity="precomputed", **maps).fit(D)
        same = AgglomerativeIsomap(**maps).fit(X[:200])
        assert procrustes_r2(same.embedding_, given.embedding_) > 1 - 1e-10

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
        """One bridge is a hinge, so a plane holds both rolls less well than each alone (0.99)."""
        one, flat = make_swiss_roll(800, random_state=0)
        X = np.vstack([one, one + np.array([0.0, 60.0, 0.0])])
        with pytest.warns(UserWarning, match=r"had 2 connected components, which were joined"):
            model = AgglomerativeIsomap(2, n_neighbors=5, graph="knn", n_centers=50).fit(X)
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
        negative, uneven = D.copy(), D.copy()
        negative[3, 7] = negative[7, 3] = -2.0
        uneven[9, 4] += 1.0
        for bad, message in (
            (D[:50], r"shape \(50, 250\).*square"),
            (negative, r"X\[3, 7\]=-2 is negative"),
            (
                np.exp(-D),
                r"X\[0, 0\]=1 on the diagonal.*similarities: pass distances such as 1 - X",
            ),
            (np.ones((5, 5)), "looks like similarities"),
            (uneven, r"X\[4, 9\]=.*, but X\[9, 4\]=.*symmetric"),
        ):
            with pytest.raises(ValueError, match=message):
                clone(model).fit(bad)
        clone(model).fit(D[:50, :50] + 1e-9 * np.random.default_rng(0).random((50, 50)))

    def test_cross_fitted_latents_are_those_of_leaving_out(self, curve):
        X = curve[:60]
        ridge = KernelRidgeMap(kernel="rbf", gamma=0.5, alpha=0.01)
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

    def test_the_maps_of_lower_error_are_taken(self, curve):
        model = AgglomerativeIsomap(random_state=0)
        only = AgglomerativeIsomap(out_of_sample="krr", random_state=0).fit(curve)
        smooth = clone(model).fit(curve)
        assert isinstance(smooth.encoder_, KernelRidgeMap)
        assert isinstance(smooth.decoder_, KernelRidgeMap)
        np.testing.assert_array_equal(smooth.transform(curve), only.transform(curve))
        X = load_digits().data
        rough = clone(model).set_params(graph="knn").fit(X[:500])
        ridge = clone(rough).set_params(out_of_sample="krr").fit(X[:500])
        assert isinstance(rough.encoder_, GRNN)
        assert rough.encoder_.error_ < ridge.encoder_.error_
        assert rough.score(X[500:800]) > ridge.score(X[500:800])

    def test_a_torn_map_is_decoded_by_a_network(self):
        # Two crossing lines: the latents of distant rows coincide
        t = np.linspace(-1.0, 1.0, 200)
        Z = np.column_stack([t, np.where(np.arange(200) % 2, t, -t)])
        X = np.column_stack([t, np.arange(200) % 2])
        chosen = ridge_or_network(Z, X, "auto", np.random.default_rng(0))
        ridge = KernelRidgeMap(kernel="rbf").fit(Z, X)
        assert chosen.error_ == min(ridge.error_, GRNN().fit(Z, X).error_)
        assert isinstance(chosen, GRNN)

    def test_copies_of_rows_do_not_favor_a_network(self):
        X, sheet = make_s_curve(250, noise=0.1, random_state=0)
        rows, wanted = np.vstack([X, X[:100]]), np.vstack([sheet, sheet[:100]])
        ridge = KernelRidgeMap(kernel="rbf").fit(rows, wanted)
        assert GRNN().fit(rows, wanted).error_ < ridge.error_  # by the copies
        chosen = ridge_or_network(rows, wanted, "auto", np.random.default_rng(0))
        assert isinstance(chosen, KernelRidgeMap)

    def test_a_network_is_not_compared_on_many_rows(self, monkeypatch):
        monkeypatch.setattr("twofold.isomap.out_of_sample.MOST_COMPARED", 100)
        model = AgglomerativeIsomap().fit(load_digits().data[:200])
        assert isinstance(model.encoder_, KernelRidgeMap)
        assert isinstance(model.decoder_, KernelRidgeMap)

    def test_centers_beyond_some_rows(self, curve, monkeypatch):
        monkeypatch.setattr("twofold.isomap.out_of_sample.MOST_CENTERS", 100)
        monkeypatch.setattr("twofold.isomap.out_of_sample.FEWER_CENTERS", 80)
        model = AgglomerativeIsomap(cross_fit=True, random_state=0)
        Z = model.fit_transform(curve)
        assert model.decoder_.centers_.shape == (80, 2)
        assert model.score(curve) > 0.98
        assert procrustes_r2(model.embedding_, Z) > 0.98
        monkeypatch.setattr("twofold.isomap.out_of_sample.CHOICE_ROWS", 90)
        assert AgglomerativeIsomap(n_centers=300).fit(curve).score(curve) > 0.98

    def test_too_many_rows_for_memory(self, curve, monkeypatch):
        monkeypatch.setattr("twofold.numerics.memory.available_memory", lambda: 1e5)
        few = AgglomerativeIsomap(n_centers=10, random_state=0)
        with pytest.raises(MemoryError, match=r"n_samples=250 needs about .* GB.*of all pairs"):
            few.fit(curve)
        with pytest.raises(MemoryError, match=r"n_landmarks=240.*fewer landmarks"):
            clone(few).set_params(n_landmarks=240).fit(curve)
        clone(few).set_params(n_landmarks=20).fit(curve)
        with pytest.raises(MemoryError, match=r"kernels of 250 centers.*Use fewer centers"):
            AgglomerativeIsomap(n_landmarks=20).fit(curve)
        monkeypatch.setattr("twofold.numerics.memory.available_memory", lambda: 1e6)
        with pytest.raises(MemoryError, match="Use landmarks: n_landmarks=1000"):
            few.fit(np.vstack([curve] * 5))
        with pytest.raises(MemoryError, match=r"copies of the given distances.*Fit fewer rows"):
            few.set_params(dissimilarity="precomputed").fit(cdist(curve, curve))

    def test_memory_is_about_what_is_estimated(self, monkeypatch):
        """The peak of what NumPy allocates in a fit is near the estimate."""
        X = make_swiss_roll(900, random_state=0)[0]
        estimates = []
        monkeypatch.setattr(
            f"{MODULE}.check_memory_for", lambda who, needed, *_: estimates.append(needed)
        )
        for settings, data in (
            ({"n_landmarks": 30, "n_centers": 450}, X),
            ({"n_landmarks": 850, "n_centers": 30}, X),
            ({"dissimilarity": "precomputed", "n_centers": 100}, cdist(X, X)),
        ):
            tracemalloc.start()
            try:
                AgglomerativeIsomap(random_state=0, n_jobs=1, **settings).fit(data)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            # Blocks of a few MB beside it count at this size: 1.27, 1.26, 0.8 were measured.
            assert 0.6 < peak / estimates[-1] < 1.6, settings

    def test_landmarks_are_more_than_components(self, curve):
        with pytest.raises(ValueError, match="n_landmarks=2 must be more than n_components=2"):
            AgglomerativeIsomap(2, n_landmarks=2).fit(curve)
        few = AgglomerativeIsomap("auto", n_landmarks=5, random_state=0).fit(curve)
        assert len(few.residual_variance_) == 4
        assert (few.embedding_.std(axis=0) > 0.0).all()

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"n_neighbors": 250}, 'n_neighbors=250 must be between 1 and 249, or "auto"'),
            ({"dissimilarity": "cosine"}, "dissimilarity='cosine'"),
            ({"graph": "directed"}, "graph='directed'"),
            ({"graph": "linked"}, "graph='linked'"),
            ({"out_of_sample": "nyström"}, "out_of_sample='nyström'"),
            ({"n_landmarks": 1}, "n_landmarks=1"),
            ({"n_centers": 0}, "n_centers=0"),
            ({"n_jobs": 0}, "n_jobs=0"),
        ],
    )
    def test_settings_are_checked(self, curve, settings, message):
        for X in (curve, np.ones((250, 3))):  # whatever the data
            with pytest.raises(ValueError, match=message):
                AgglomerativeIsomap(**settings).fit(X)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"n_neighbors": "few"}, "n_neighbors='few' must be an integer, or \"auto\""),
            ({"n_components": "all"}, "n_components='all' must be an integer, or \"auto\""),
            ({"n_components": None}, 'n_components=None must be an integer, or "auto"'),
            ({"n_centers": "x"}, "n_centers='x' must be an integer, or \"auto\""),
            ({"n_landmarks": "auto"}, "n_landmarks='auto' must be an integer, or None"),
            ({"cross_fit": "yes"}, "cross_fit='yes' must be True or False, or \"embedding\""),
            (
                {"out_of_sample": None},
                "out_of_sample=None must be 'krr', 'grnn' or 'auto', or an object",
            ),
            ({"out_of_sample": KernelRidgeMap}, "out_of_sample"),
        ],
    )
    def test_types_are_checked(self, curve, settings, message):
        for X in (curve, np.ones((250, 3))):
            with pytest.raises(TypeError, match=message):
                AgglomerativeIsomap(**settings).fit(X)


class TestSupervised:
    @joined
    def test_classes_lie_apart_and_new_rows_find_them(self, wine):
        X, y = wine
        accuracies = []
        for half, other in ((1, 0), (0, 1)):
            model = SupervisedIsomap(3)
            Z = model.fit_transform(X[half::2], y[half::2])
            exact = KNeighborsClassifier(5).fit(model.embedding_, y[half::2])
            assert exact.score(model.embedding_, y[half::2]) == 1.0
            predicted = KNeighborsClassifier(5).fit(Z, y[half::2])
            accuracies.append(predicted.score(model.transform(X[other::2]), y[other::2]))
        assert np.mean(accuracies) > 0.95
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.beta_ == 1.0
        assert model.reconstruction_error(X[1::2]).max() < 10.0

    @joined
    @pytest.mark.parametrize("out_of_sample", ["krr", "grnn"])
    def test_shuffled_labels_give_chance(self, out_of_sample):
        """Cross-validation finds nothing in noise, although the embedding knows its labels."""
        accuracies = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            X, y = rng.standard_normal((120, 6)), rng.permutation(np.arange(120) % 2)
            model = make_pipeline(
                SupervisedIsomap(4, out_of_sample=out_of_sample), KNeighborsClassifier(5)
            )
            accuracies.append(cross_val_score(model, X, y, cv=4).mean())
        assert abs(np.mean(accuracies) - 0.5) < 0.06  # three standard errors of 720 predictions
        exact = model[0].fit(X, y).embedding_
        assert KNeighborsClassifier(5).fit(exact, y).score(exact, y) > 0.9

    @joined
    def test_training_latents_are_cross_fitted_by_default(self, wine):
        """fit_transform and fit().transform() differ, as in TargetEncoder, only with cross_fit."""
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
        for output in (model.embedding_, model.transform(X[:9]), model.reconstruct(X * factor)):
            assert np.isfinite(output).all()
        scaled = SupervisedIsomap().fit(X * factor, y)
        assert scaled.saturation_ < 0.05
        reference = SupervisedIsomap().fit(X, y)
        np.testing.assert_allclose(scaled.embedding_, reference.embedding_, atol=1e-8)

    @joined
    def test_duplicates_and_small_classes(self):
        X, y = load_iris(return_X_y=True)
        X, y = np.vstack([X, X[:40], X[:40]]), np.concatenate([y, y[:40], 1 - y[:40]])
        y[0], y[-1] = 7, 8  # classes of one row, smaller than the neighborhoods
        for alpha in (0.0, 1.0):
            model = SupervisedIsomap(2, alpha=alpha)
            Z = model.fit_transform(X, y)
            for output in (Z, model.embedding_, model.reconstruct(X), model.log_density(Z)):
                assert np.isfinite(output).all()

    @joined
    def test_a_network_and_landmarks(self, wine):
        """The other map and the other scaling, with predictions of each row by the others."""
        X, y = wine
        model = SupervisedIsomap(3, out_of_sample="grnn", n_landmarks=70, random_state=0)
        Z = model.fit_transform(X, y)
        assert isinstance(model.encoder_, GRNN)
        assert len(model.landmarks_) == 70
        assert KNeighborsClassifier(5).fit(Z, y).score(model.transform(X), y) > 0.95
        assert model.score(X) > 0.3
        np.testing.assert_array_equal(clone(model).fit_transform(X, y), Z)
        far = model.transform(X[:9] * 1e6)
        assert np.isfinite(far).all()
        model.set_params(cross_fit=False)
        np.testing.assert_array_equal(model.fit_transform(X, y), model.transform(X))

    def test_torn_classes_are_said(self):
        """Whole classes apart are no reason to warn; a class in two pieces is."""
        rng = np.random.default_rng(0)
        places = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 30, axis=0)
        X = places + rng.standard_normal((90, 2))
        model = SupervisedIsomap(2, n_neighbors=5, graph="knn")
        assert model.fit(X, np.repeat([0, 1, 2], 30)).n_pieces_ == 3  # warnings are errors
        with pytest.warns(UserWarning, match=r"had 3 .*; 1 of the 3 classes lay in more than one"):
            model.fit(X, np.r_[np.repeat([0, 0, 1], 30)[:-1], 2])

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
            (np.r_[0.0, np.nan, np.zeros(176)], r"missing label, first in row 1 \(1 in all\)"),
            (np.array(["a"] * 176 + [None] * 2, dtype=object), "missing label, first in row 176"),
            (np.array(["a", "b", np.nan] + ["a"] * 175, dtype=object), "first in row 2"),
            (np.array([1, 2, None] + [1] * 175, dtype=object), "first in row 2"),
            (np.zeros(7), "inconsistent numbers of samples"),
            (np.linspace(0.0, 1.0, 178), "continuous"),
        ],
    )
    def test_labels_are_checked(self, wine, y, message):
        with pytest.raises(ValueError, match=message):
            SupervisedIsomap().fit(wine[0], y)

    def test_missing_labels_of_pandas(self, wine):
        pd = pytest.importorskip("pandas")
        values = ["a", "b", "b", pd.NA] + ["a"] * 174
        for y in (values, pd.Series(values, dtype="category"), pd.Series(values, dtype="string")):
            with pytest.raises(ValueError, match="missing label, first in row 3"):
                SupervisedIsomap().fit(wine[0], y)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"alpha": 1.5}, "alpha=1.5 must be between 0 and 1"),
            ({"alpha": -0.1}, "alpha=-0.1"),
            ({"beta": 0.0}, 'beta=0.0 must be finite and greater than 0, or "auto"'),
        ],
    )
    def test_settings_are_checked(self, wine, settings, message):
        X, y = wine
        for data in (X, np.ones_like(X)):
            with pytest.raises(ValueError, match=message):
                SupervisedIsomap(**settings).fit(data, y)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"beta": "x"}, 'beta=\'x\' must be a number, or "auto" or "literal"'),
            ({"beta": None}, 'beta=None must be a number, or "auto" or "literal"'),
            ({"scale_distances": "no"}, "scale_distances='no' must be True or False"),
            ({"cross_fit": "yes"}, "cross_fit='yes' must be True or False, or \"embedding\""),
            (
                {"out_of_sample": None},
                "out_of_sample=None must be 'krr', 'grnn' or 'auto', or an object",
            ),
        ],
    )
    def test_types_are_checked(self, wine, settings, message):
        with pytest.raises(TypeError, match=message):
            SupervisedIsomap(**settings).fit_transform(*wine)


@pytest.mark.parametrize("out_of_sample", ["auto", "krr"])
def test_decoders_are_of_use_at_the_latents_of_the_encoder(out_of_sample):
    # Labels that have nothing to do with the data move rows where no encoder predicts them.
    rng = np.random.default_rng(1)
    X = np.eye(5)[rng.integers(0, 5, 40)]
    y = np.random.default_rng(101).integers(0, 3, 40)
    for n_components in (1, 2):
        model = SupervisedIsomap(n_components, out_of_sample=out_of_sample, random_state=0)
        assert model.fit(X, y).score(X) > 0.3  # a decoder of the embedding: -297 and -19


def test_decoders_of_the_embedding_are_kept(curve, wine):
    for model, X, y in ((AgglomerativeIsomap(2), curve, None), (SupervisedIsomap(2), *wine)):
        model.fit(X, y)
        Z = model._latent_units.into(model.embedding_)
        data = model._data_units.into(X)
        again = ridge_or_network(Z, data, "auto", np.random.default_rng(0))
        np.testing.assert_array_equal(model.decoder_.predict(Z), again.predict(Z))

"""k-planes: quantization by several planes (Smola et al. 2001, section 2)."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

import twofold
from twofold.principal_manifold import KPlanes


def crossing(n=300, noise=0.02, seed=0):
    """Return two lines that cross, and which row is from which."""
    rng = np.random.default_rng(seed)
    t, line = rng.uniform(-1.0, 1.0, n), rng.integers(0, 2, n)
    X = np.column_stack([t, np.where(line, 0.8, -0.8) * t, 0.1 * t])
    return X + noise * rng.standard_normal(X.shape), line


SHUFFLED = "the check shuffles the rows too, and starts are drawn by row numbers"


@parametrize_with_checks(
    [KPlanes(random_state=0, n_init=2)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": SHUFFLED,
        "check_sample_weight_equivalence_on_sparse_data": SHUFFLED,
    },
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


class TestSpecialCases:
    def test_one_plane_is_principal_components(self):
        X = np.random.default_rng(0).standard_normal((100, 5)) * [5.0, 4.0, 1.0, 0.5, 0.1]
        model, pca = KPlanes(1, 2).fit(X), PCA(2).fit(X)
        images = pca.inverse_transform(pca.transform(X))
        np.testing.assert_allclose(model.inverse_transform(model.transform(X)), images, atol=1e-8)

    def test_planes_without_dimensions_are_k_means(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((200, 2)) + 10.0 * rng.integers(0, 2, (200, 2))
        model = KPlanes(4, 0, random_state=0).fit(X)
        rival = KMeans(4, n_init=10, random_state=0).fit(X)
        total = np.square(X - X.mean(axis=0)).sum()
        assert model.history_[-1] * total == pytest.approx(rival.inertia_, rel=1e-6)

    @pytest.mark.parametrize("seed", range(3))
    def test_rows_on_several_planes_belong_to_the_first(self, seed):
        X = np.random.default_rng(seed).standard_normal((40, 2))
        model = KPlanes(n_planes=2, n_components=2, random_state=0).fit(X)
        assert model.score(X) == 1.0
        assert not model.predict(X).any()
        assert not any(model.predict(X[[row]]).any() for row in range(40))

    def test_all_dimensions_lose_nothing(self):
        X, _ = crossing()
        assert KPlanes(2, 3, random_state=0).fit(X).score(X) == pytest.approx(1.0)


class TestFit:
    @pytest.mark.parametrize("seed", range(3))
    def test_crossing_lines(self, seed):
        X, line = crossing(seed=seed)
        model = KPlanes(2, 1, random_state=seed).fit(X)
        away = np.abs(X[:, 0]) > 0.2
        same = model.labels_[away] == line[away]
        assert max(same.mean(), 1.0 - same.mean()) > 0.97
        means = KMeans(2, n_init=10, random_state=0).fit(X)
        total = np.square(X - X.mean(axis=0)).sum()
        assert model.history_[-1] < 0.05 * means.inertia_ / total

    def test_the_error_never_rises(self):
        X = np.random.default_rng(0).standard_normal((150, 4))
        for seed in range(5):
            model = KPlanes(4, 2, n_init=1, random_state=seed).fit(X)
            assert np.diff(model.history_).max() <= 1e-12
            codes = model.transform(X)
            squares = np.square(X - model.inverse_transform(codes)).sum(axis=1)
            assert squares.mean() / X.var(axis=0).sum() == pytest.approx(model.history_[-1])
            assert 1.0 - model.score(X) == pytest.approx(model.history_[-1])
            np.testing.assert_array_equal(codes[:, 0], model.predict(X))

    def test_no_plane_is_nearer(self):
        X, _ = crossing(60)
        model = KPlanes(3, 1, random_state=0).fit(X)
        for x, label in zip(X, model.predict(X), strict=True):
            distances = []
            for center, axes in zip(model.centers_, model.axes_, strict=True):
                offset = x - center
                distances.append(np.linalg.norm(offset - axes.T @ (axes @ offset)))
            assert label == np.argmin(distances)

    def test_offsets_and_units(self):
        X, _ = crossing()
        here = KPlanes(2, 1, random_state=0).fit(X)
        there = KPlanes(2, 1, random_state=0).fit(1e3 * X + 1e6)
        np.testing.assert_array_equal(here.labels_, there.labels_)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"n_planes": 0}, "n_planes=0"),
            ({"n_planes": 400}, "n_planes=400"),
            ({"n_components": -1}, "n_components=-1"),
            ({"n_components": 4}, "n_components=4"),
            ({"n_init": 0}, "n_init=0"),
            ({"tol": -1.0}, "tol="),
        ],
    )
    def test_settings_that_make_no_sense(self, settings, message):
        with pytest.raises(ValueError, match=message):
            KPlanes(**settings).fit(crossing()[0])

    @pytest.mark.parametrize("scale", [2.0**40, 1e-150, 1e-170, 1e-300, 1e150, 1e300])
    def test_any_scale(self, scale):
        X, _ = crossing(80)
        here, there = (KPlanes(n_init=2, random_state=0).fit(one) for one in (X, scale * X))
        np.testing.assert_array_equal(here.labels_, there.labels_)
        np.testing.assert_allclose(there.history_, here.history_, rtol=1e-9)
        assert there.score(scale * X) == pytest.approx(here.score(X), rel=1e-9)
        codes = there.transform(scale * X)
        np.testing.assert_allclose(codes[:, 1] / scale, here.transform(X)[:, 1], atol=1e-9)
        images = here.inverse_transform(here.transform(X))
        np.testing.assert_allclose(there.inverse_transform(codes) / scale, images, atol=1e-9)
        np.testing.assert_allclose(there.centers_ / scale, here.centers_, atol=1e-9)

    def test_values_out_of_range(self):
        with pytest.raises(ValueError, match="range"):
            KPlanes().fit(crossing()[0] * 1e307)

    def test_a_constant_column_is_left_out(self):
        X, _ = crossing(80)
        wide = np.insert(X, 1, 0.1, axis=1)
        here, there = (KPlanes(random_state=0).fit(one) for one in (X, wide))
        codes = there.transform(wide)
        np.testing.assert_array_equal(codes, here.transform(X))
        assert (there.inverse_transform(codes)[:, 1] == 0.1).all()
        assert there.score(wide) == here.score(X)
        wide[:, 1] = 5.0
        assert there.score(wide) < 0.0

    def test_as_many_planes_as_rows(self):
        X, _ = crossing(12)
        model = KPlanes(12, random_state=0).fit(X)
        assert np.isfinite(model.centers_).all()
        assert model.score(X) == pytest.approx(1.0)

    @pytest.mark.parametrize("n_components", [0, 1])
    def test_equal_rows(self, n_components):
        X = np.full((5, 3), 0.1)
        with pytest.warns(UserWarning, match="rows of X are equal"):
            model = KPlanes(2, n_components, random_state=0).fit(X)
        np.testing.assert_array_equal(model.inverse_transform(model.transform(X)), X)
        assert model.score(X) == 1.0

    def test_collinear_rows(self):
        with pytest.warns(UserWarning, match="only 1 directions"):
            KPlanes(2, 2, random_state=0).fit(np.outer(np.arange(9.0), [1.0, 2.0, 3.0]))


class TestCodes:
    @pytest.mark.parametrize("number", [5.0, -1.0, 0.5])
    def test_numbers_of_no_plane(self, number):
        model = KPlanes(random_state=0).fit(crossing(40)[0])
        with pytest.raises(ValueError, match=r"row 1, column 0.*from 0 to 1"):
            model.inverse_transform([[1.0, 0.0], [number, 0.0]])

    def test_too_few_columns(self):
        model = KPlanes(random_state=0).fit(crossing(40)[0])
        with pytest.raises(ValueError, match=r"n_components=1, .* 1 \+ n_components = 2 columns"):
            model.inverse_transform([[1.0]])

    def test_names_and_frames(self):
        X, _ = crossing(40)
        model = KPlanes(random_state=0).set_output(transform="pandas").fit(X)
        assert model.transform(X).columns.tolist() == ["kplanes0", "kplanes1"]

    def test_model_files(self, tmp_path):
        X, _ = crossing(40)
        model = KPlanes(random_state=0).fit(X)
        twofold.save(model, tmp_path / "model.twofold")
        again = twofold.load(tmp_path / "model.twofold")
        codes = model.transform(X)
        np.testing.assert_array_equal(again.transform(X), codes)
        np.testing.assert_array_equal(
            again.inverse_transform(codes), model.inverse_transform(codes)
        )
        assert again.score(X) == model.score(X)


class TestWeights:
    def test_weights_equal_repeated_rows(self):
        X, _ = crossing(100)
        counts = np.random.default_rng(0).integers(0, 4, 100)
        weighted = KPlanes(random_state=0).fit(X, sample_weight=counts)
        repeated = KPlanes(random_state=0).fit(X.repeat(counts, axis=0))
        np.testing.assert_array_equal(weighted.transform(X), repeated.transform(X))
        np.testing.assert_array_equal(weighted.labels_, repeated.predict(X))
        expected = repeated.score(X.repeat(counts, axis=0))
        assert weighted.score(X, sample_weight=counts) == pytest.approx(expected, rel=1e-12)

    def test_equal_weights_change_nothing(self):
        X, _ = crossing(100)
        plain = KPlanes(random_state=0).fit(X)
        weighted = KPlanes(random_state=0).fit(X, sample_weight=np.full(100, 0.7))
        np.testing.assert_array_equal(weighted.labels_, plain.labels_)
        np.testing.assert_array_equal(weighted.axes_, plain.axes_)
        with pytest.raises(ValueError, match="sample_weight has shape"):
            plain.score(X, sample_weight=[1.0])

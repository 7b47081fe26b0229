import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import manhattan_distances, pairwise_kernels, rbf_kernel

from twofold import UKR
from twofold.datasets import make_s_curve
from twofold.ukr.feature_space import FeatureSpace
from twofold.ukr.preimages import preimages, weighted_chi2_centers, weighted_medians


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((30, 3)), rng.standard_normal((8, 3))


def test_l1_distances_become_squared_euclidean_ones(data):
    """Meinicke et al. (2005), Eqs. (17)-(18)."""
    X, query = data
    space = FeatureSpace.of(X, "l1")
    c, (q, excess) = space.coordinates, space.locate(query)
    squared = np.square(c[:, None] - c).sum(axis=2)
    np.testing.assert_allclose(squared, manhattan_distances(X), atol=1e-10)
    squared = np.square(q[:, None] - c).sum(axis=2) + excess[:, None]
    np.testing.assert_allclose(squared, manhattan_distances(query, X), atol=1e-8)
    inner = space.kernel_rows(query, X)
    expected = 0.5 * (
        np.abs(query).sum(axis=1)[:, None] + np.abs(X).sum(axis=1) - manhattan_distances(query, X)
    )
    np.testing.assert_allclose(inner, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("metric", "params"),
    [("rbf", {"gamma": 0.3}), ("linear", None), ("poly", {"degree": 2}), (rbf_kernel, None)],
    ids=["rbf", "linear", "poly", "function"],
)
def test_coordinates_reproduce_the_kernel(metric, params, data):
    X, query = data
    space = FeatureSpace.of(X, metric, params)
    K = space.kernel_rows(X, X)
    centering = np.eye(30) - 1.0 / 30
    np.testing.assert_allclose(
        space.coordinates @ space.coordinates.T, centering @ K @ centering, atol=1e-8
    )
    coordinates, excess = space.locate(X)
    np.testing.assert_allclose(coordinates, space.coordinates, atol=1e-6)
    assert np.abs(excess).max() < 1e-6
    assert (space.locate(query)[1] >= 0.0).all()


def test_precomputed_equals_named(data):
    X, query = data
    named = FeatureSpace.of(X, "rbf", {"gamma": 0.3})
    given = FeatureSpace.of(rbf_kernel(X, gamma=0.3), "precomputed")
    np.testing.assert_allclose(given.coordinates, named.coordinates, atol=1e-10)
    rows = rbf_kernel(query, X, gamma=0.3)
    np.testing.assert_allclose(given.locate(rows)[0], named.locate(query)[0], atol=1e-8)
    assert given.kernel_rows(rows, X) is rows


def test_leading_coordinates_are_kernel_pca(data):
    X, _ = data
    ours = FeatureSpace.of(X, "rbf", {"gamma": 0.3}).coordinates[:, ::-1][:, :2]
    theirs = KernelPCA(2, kernel="rbf", gamma=0.3).fit_transform(X)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)


def test_not_a_kernel(data):
    X, _ = data
    with pytest.raises(ValueError, match="not positive definite"):
        FeatureSpace.of(X, lambda A, B: manhattan_distances(A, B))
    with pytest.raises(ValueError, match=r"metric='cosmic' must be a function or one of.*'l1'"):
        FeatureSpace.of(X, "cosmic")
    with pytest.raises(ValueError, match="finite matrix of shape"):
        FeatureSpace.of(X, lambda A, B: np.ones(3))


def test_kernels_whose_scale_is_far_from_the_data(data):
    X, _ = data
    with pytest.warns(UserWarning, match="'rbf' sees all rows as equally far apart.*lower gamma"):
        model = UKR(1, metric="rbf", init="pca", homotopy=False, random_state=0).fit(1e8 * X)
    assert np.isfinite(model.embedding_).all()
    with pytest.warns(UserWarning, match="equally far apart.*Use a kernel whose scale"):
        UKR(1, metric="precomputed", init="pca", homotopy=False, random_state=0).fit(np.eye(40))
    for factor, params in ((1e-8, None), (1e-9, None), (1.0, {"gamma": 1e-12})):
        with pytest.raises(ValueError, match=r"equal up to rounding.*raise gamma"):
            FeatureSpace.of(factor * X, "rbf", params)


def test_messages_about_kernels(data):
    X, _ = data

    def with_nan(A, B):
        K = rbf_kernel(A, B)
        K[2, 1] = np.nan
        return K

    with pytest.raises(ValueError, match="has NaN or infinity, first at row 2, column 1"):
        FeatureSpace.of(X, with_nan)
    for metric in ("chi2", "additive_chi2"):
        with pytest.raises(ValueError, match=f"metric='{metric}' needs data without negative"):
            FeatureSpace.of(X, metric)
    for metric, names in (("rbf", "'gamma'"), ("cosine", "no parameters")):
        with pytest.raises(ValueError, match=f"unknown keys: metric='{metric}' takes {names}"):
            UKR(1, metric=metric, metric_params={"foo": 1}).fit(X)
    with pytest.raises(ValueError, match="has no meaning"):
        UKR(1, metric=rbf_kernel, metric_params={"gamma": 1.0}).fit(X)


@pytest.mark.parametrize(
    "metric", ["cosine", "chi2", "additive_chi2", "polynomial", "precomputed", "rbf", "l1"]
)
def test_identical_rows(metric):
    X = np.full((12, 12), 1.5)
    with pytest.warns(UserWarning, match="only 0 directions"):
        model = UKR(2, metric=metric).fit(X)
    np.testing.assert_array_equal(model.inverse_transform(model.transform(X)), X)


@pytest.mark.parametrize("metric", ["l1", "linear", "rbf"])
def test_fewer_directions_of_feature_space_than_components(metric):
    three = np.random.default_rng(0).random((3, 4))[np.arange(20) % 3]
    with pytest.warns(UserWarning, match="only 2 directions, .* n_components=3"):
        model = UKR(3, metric=metric, init="pca").fit(three)
    Z = model.transform(three)
    assert np.isfinite(model.inverse_transform(Z)).all()
    assert model.score(three) > 0.9
    # The data vary in more directions than their features.
    X = np.random.default_rng(0).random((30, 4))
    with pytest.warns(UserWarning, match="only 2 directions of the feature space of metric="):
        model = UKR(3, metric=lambda A, B: A[:, :2] @ B[:, :2].T, init="pca").fit(X)
    assert np.isfinite(model.transform(X)).all()


def test_weighted_medians_minimize_absolute_differences(data):
    X, _ = data
    weights = np.random.default_rng(1).dirichlet(np.ones(30), size=5)
    medians = weighted_medians(X, weights)
    for w, m in zip(weights, medians, strict=True):
        cost = (w[:, None] * np.abs(X - m)).sum()
        for other in X:
            for column in range(3):
                moved = m.copy()
                moved[column] = other[column]
                assert cost <= (w[:, None] * np.abs(X - moved)).sum() + 1e-12


class TestPreimages:
    weights = np.random.default_rng(2).dirichlet(np.ones(30), size=4)

    def test_linear_is_the_mean(self, data):
        X, _ = data
        np.testing.assert_allclose(
            FeatureSpace.of(X, "linear").preimages(self.weights), self.weights @ X
        )

    def test_l1_is_the_median(self, data):
        X, _ = data
        found = FeatureSpace.of(X, "l1").preimages(self.weights)
        np.testing.assert_array_equal(found, weighted_medians(X, self.weights))

    def test_gaussian_is_a_fixed_point_that_lowers_the_distance(self, data):
        X, _ = data
        space = FeatureSpace.of(X, "rbf", {"gamma": 0.2})
        found = space.preimages(self.weights)
        inner = np.einsum("mn,mn->m", self.weights, rbf_kernel(found, X, gamma=0.2))
        for scale in (1e-3, 0.1):
            moved = found + scale * np.random.default_rng(3).standard_normal(found.shape)
            worse = np.einsum("mn,mn->m", self.weights, rbf_kernel(moved, X, gamma=0.2))
            assert (worse <= inner + 1e-9).all()
        alone = np.vstack([space.preimages(w[None]) for w in self.weights])
        np.testing.assert_allclose(alone, found, atol=1e-12)

    @pytest.mark.parametrize(
        ("metric", "params"),
        [
            ("laplacian", {"gamma": 0.2}),
            ("poly", {"degree": 3, "gamma": 0.2}),
            ("polynomial", {"degree": 2}),
            ("additive_chi2", {}),
            ("chi2", {"gamma": 0.3}),
            ("cosine", {}),
        ],
    )
    def test_no_nearby_point_is_nearer_in_feature_space(self, metric, params, data):
        X = np.abs(data[0]) + 0.1
        space = FeatureSpace.of(X, metric, params)
        found = space.preimages(self.weights)

        def distances(points):
            own = np.array(
                [pairwise_kernels(x[None], metric=metric, **params)[0, 0] for x in points]
            )
            rows = pairwise_kernels(points, X, metric=metric, **params)
            return own - 2.0 * np.einsum("mn,mn->m", self.weights, rows)

        here = distances(found)
        rng = np.random.default_rng(3)
        for scale in (1e-3, 0.03, 0.1):
            for _ in range(10):
                moved = np.abs(found + scale * rng.standard_normal(found.shape))
                assert (distances(moved) >= here - 1e-9).all()
        alone = np.vstack([space.preimages(w[None]) for w in self.weights])
        np.testing.assert_allclose(alone, found, atol=1e-9)

    def test_chi2_centers_of_mostly_empty_columns_are_zero(self):
        counts = np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 2.0], [5.0, 2.0]])
        weights = np.array([[0.3, 0.3, 0.3, 0.1], [0.1, 0.1, 0.1, 0.7]])
        (rare, _), (common, _) = weighted_chi2_centers(counts, weights)
        assert rare == 0.0
        assert 0.0 < common < 5.0

    @pytest.mark.parametrize(
        ("metric", "reason"),
        [
            ("precomputed", "rows themselves are unknown"),
            ("sigmoid", "not positive definite in general"),
            (rbf_kernel, "only its values are known"),
        ],
        ids=["precomputed", "sigmoid", "function"],
    )
    def test_others_say_why_not(self, metric, reason, data):
        with pytest.raises(NotImplementedError, match=rf"no pre-images: .*{reason}.*nearest_rows"):
            preimages(metric, {}, data[0], self.weights)


class TestConditionallyPositiveDefinite:
    """Minus a power of the distance is not a kernel, but centering makes it one."""

    @staticmethod
    def minus_distances(A, B):
        return -np.sqrt(np.square(A[:, None] - B).sum(axis=2))

    def test_the_matrix_has_both_signs_and_the_centered_one_has_not(self, data):
        X, _ = data
        K = self.minus_distances(X, X)
        assert np.linalg.eigvalsh(K)[0] < -1.0
        space = FeatureSpace.of(X, self.minus_distances)
        squared = np.square(space.coordinates[:, None] - space.coordinates).sum(axis=2)
        np.testing.assert_allclose(squared, -2.0 * K, atol=1e-9)

    def test_fit(self):
        X, truth = make_s_curve(100, noise=0.02, random_state=0)
        model = UKR(1, metric=self.minus_distances, init="isomap", random_state=0).fit(X[:80])
        assert model.score(X[80:]) > 0.6
        # A constant changes no distance: the same fit.
        shifted = UKR(
            1,
            metric=lambda A, B: self.minus_distances(A, B) + 100.0,
            init="isomap",
            random_state=0,
        ).fit(X[:80])
        assert shifted.cv_error_ == pytest.approx(model.cv_error_, rel=1e-3)
        assert abs(spearmanr(truth[:80, 0], model.embedding_[:, 0])[0]) > 0.9

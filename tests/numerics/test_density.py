import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks

from twofold.kernels import Compact, Gaussian
from twofold.numerics.density import (
    LOG_FLOOR,
    KernelDensityClassifier,
    LatentDensity,
    likelihood_cv_bandwidth,
)


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((60, 2)) * [1.0, 3.0]


def test_equals_scikit_learns(points):
    query = points[:7] + 0.3
    ours = LatentDensity(bandwidth=0.7).fit(points).log_density(query)
    theirs = KernelDensity(bandwidth=0.7).fit(points).score_samples(query)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic", "triweight"])
def test_integrates_to_one(kernel, points):
    density = LatentDensity(kernel=kernel, bandwidth=1.5).fit(points)
    axis = np.linspace(-15.0, 15.0, 301)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    total = np.exp(density.log_density(grid)).sum() * (axis[1] - axis[0]) ** 2
    assert total == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_far_away_is_finite_and_falls(kernel, points):
    density = LatentDensity(kernel=kernel).fit(points)
    far = density.log_density(np.array([[1e3, 0.0], [1e6, 0.0], [1e150, 0.0]]))
    assert np.isfinite(far).all()
    assert (np.diff(far) < 0.0).all()
    assert far[0] < density.log_densities_.min()


@pytest.mark.parametrize("kernel", [Gaussian(), Compact()])
def test_likelihood_cv_equals_really_leaving_out(kernel, points):
    def log_likelihood(width):
        total = 0.0
        for row in range(len(points)):
            rest = LatentDensity(kernel=kernel, bandwidth=width).fit(np.delete(points, row, axis=0))
            total += max(rest.log_density(points[[row]])[0], LOG_FLOOR)
        return total

    best = likelihood_cv_bandwidth(points, kernel)
    assert log_likelihood(best) >= max(log_likelihood(best * r) for r in (0.5, 0.7, 1.4, 2.0))


def test_duplicates_do_not_collapse_the_width(points):
    once, twice = (
        likelihood_cv_bandwidth(Z, Gaussian()) for Z in (points, np.repeat(points, 2, axis=0))
    )
    assert twice > 0.05 * once
    assert likelihood_cv_bandwidth(np.zeros((5, 2)), Gaussian()) == 1.0
    assert likelihood_cv_bandwidth(np.zeros((1, 2)), Gaussian()) == 1.0


def test_many_points_use_a_part(monkeypatch):
    Z = np.random.default_rng(0).standard_normal((1_500, 1))
    whole = likelihood_cv_bandwidth(Z, Gaussian())
    monkeypatch.setattr("twofold.numerics.density.MAX_CV_POINTS", 300)
    assert likelihood_cv_bandwidth(Z, Gaussian()) == pytest.approx(whole, rel=0.5)
    monkeypatch.setattr("twofold.numerics.density.MAX_POINTS", 500)
    assert len(LatentDensity(bandwidth=0.3).fit(Z).points_) == 500


def test_threshold(points):
    density = LatentDensity(bandwidth=1.0).fit(points)
    assert density.log_threshold() == density.log_densities_.min()
    assert (density.log_densities_ >= density.log_threshold(0.1)).mean() == pytest.approx(0.9)
    with pytest.raises(ValueError, match="quantile=2"):
        density.log_threshold(2)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_reaches_a_bound_where_the_density_does(kernel, points):
    density = LatentDensity(kernel=kernel).fit(points)
    Z = np.vstack([points + 0.5, 30.0 * points, [[1e150, 0.0]]])
    for bound in (density.log_threshold(), density.log_threshold() - 8.0, LOG_FLOOR):
        np.testing.assert_array_equal(density.reaches(Z, bound), density.log_density(Z) >= bound)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_samples(kernel):
    Z = np.array([[0.0, 0.0], [10.0, 10.0]])
    density = LatentDensity(kernel=kernel, bandwidth=0.5).fit(Z)
    drawn = density.sample(2_000, random_state=0)
    np.testing.assert_array_equal(drawn, density.sample(2_000, random_state=0))
    near_first = np.linalg.norm(drawn, axis=1) < 5.0
    assert near_first.mean() == pytest.approx(0.5, abs=0.05)
    assert np.abs(drawn[near_first]).max() < 3.0


def test_bad_parameters(points):
    with pytest.raises(TypeError, match="not known to be finite"):
        LatentDensity(kernel="student").fit(points)
    with pytest.raises(ValueError, match="bandwidth=0"):
        LatentDensity(bandwidth=0.0).fit(points)


@parametrize_with_checks([KernelDensityClassifier()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class TestClassifier:
    def test_is_bayes_rule_on_the_density(self):
        X, y = load_iris(return_X_y=True)
        X = X[:, 2:]
        model = KernelDensityClassifier(bandwidth=0.3).fit(X, y)
        by_hand = np.array(
            [
                [
                    np.exp(-0.5 * np.square((x - X[y == c]) / 0.3).sum(axis=1)).sum()
                    for c in range(3)
                ]
                for x in X
            ]
        )
        by_hand /= by_hand.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(X), by_hand, rtol=1e-9)
        np.testing.assert_array_equal(model.predict(X), by_hand.argmax(axis=1))

    def test_far_points_get_the_nearest_class(self):
        X = np.array([[0.0], [1.0], [10.0], [11.0]])
        model = KernelDensityClassifier(kernel="quartic", bandwidth=2.0).fit(X, list("aabb"))
        assert model.predict([[-1e6], [1e6]]).tolist() == ["a", "b"]
        assert np.isfinite(model.predict_proba([[-1e6]])).all()

    def test_units(self):
        X, y = load_iris(return_X_y=True)
        reference = KernelDensityClassifier(bandwidth=0.4).fit(X, y).predict_proba(X)
        for factor in (2.0**600, 2.0**-600):
            model = KernelDensityClassifier(bandwidth=0.4 * factor).fit(X * factor, y)
            np.testing.assert_allclose(model.predict_proba(X * factor), reference, rtol=1e-12)
            assert model.bandwidth_ == 0.4 * factor
        far = KernelDensityClassifier().fit(X, y).predict_proba([[1e200] * 4])
        np.testing.assert_allclose(far.sum(axis=1), 1.0)

    def test_failed_refit_keeps_the_old_model(self):
        X, y = load_iris(return_X_y=True)
        model = KernelDensityClassifier().fit(X, y)
        before = model.predict(X)
        with pytest.raises(ValueError, match="1 class"):
            model.fit(X, np.zeros(150))
        np.testing.assert_array_equal(model.predict(X), before)

    def test_one_class(self):
        with pytest.raises(ValueError, match="1 class"):
            KernelDensityClassifier().fit([[0.0], [1.0]], [1, 1])

    @pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (-np.inf, "infinity")])
    def test_values_that_are_not_finite_are_located(self, value, word):
        X, y = load_iris(return_X_y=True)
        model = KernelDensityClassifier().fit(X, y)
        X[7, 2] = value
        for method in (lambda X: model.fit(X, y), model.predict, model.predict_proba):
            with pytest.raises(ValueError, match=f"X contains {word}, first in row 7, column 2"):
                method(X)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_density_over_neighbors_equals_that_over_all(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    points = 200.0 * rng.random((600, 2))
    queries = np.vstack([200.0 * rng.random((300, 2)), [[-9.0, 4.0], [500.0, -3.0]]])
    near = LatentDensity(kernel=kernel, bandwidth=2.0).fit(points)
    assert near._neighbors is not None
    monkeypatch.setattr("twofold.numerics.sums.neighbors.FEWEST_SOURCES", 10**9)
    all_pairs = LatentDensity(kernel=kernel, bandwidth=2.0).fit(points)
    assert all_pairs._neighbors is None
    np.testing.assert_allclose(near.log_density(queries), all_pairs.log_density(queries), rtol=1e-9)


def test_weights_of_a_classifier_equal_repeated_rows():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 2)), rng.integers(0, 2, 80)
    X += 2.0 * y[:, None]
    counts = rng.integers(0, 4, 80)
    weighted = KernelDensityClassifier().fit(X, y, sample_weight=counts)
    repeated = KernelDensityClassifier().fit(X.repeat(counts, axis=0), y.repeat(counts))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert weighted.bandwidth_ == repeated.bandwidth_


@pytest.mark.parametrize("seed", range(4))
def test_the_width_is_near_the_best_of_all(seed):
    """Widths are tried at steps of a factor of 1.41."""
    Z = np.random.default_rng(seed).standard_normal((80, 2))
    sqdist = np.square(Z[:, None] - Z).sum(axis=2)
    np.fill_diagonal(sqdist, np.inf)
    widths = np.geomspace(0.05, 5.0, 400)
    likelihoods = [
        np.log(np.exp(-0.5 * sqdist / width**2).sum(axis=1)).sum() - 2 * 80 * np.log(width)
        for width in widths
    ]
    best = widths[np.argmax(likelihoods)]
    found = likelihood_cv_bandwidth(Z, Gaussian())
    assert abs(np.log2(found / best)) < 0.3


def test_widths_of_a_part_shrink_with_the_number_of_all_points():
    Z = np.random.default_rng(0).standard_normal((900, 2))
    part = likelihood_cv_bandwidth(Z, Gaussian(), most=90)
    rows = np.sort(np.random.default_rng(0).permutation(900)[:90])
    assert part == pytest.approx(likelihood_cv_bandwidth(Z[rows], Gaussian()) * 10.0 ** (-1 / 6))


class Uniform:
    """The indicator of [-1, 1]: a kernel of a user."""

    def log_profile(self, sqdist):
        return np.where(sqdist < 1.0, 0.0, -np.inf)

    def dlog_profile(self, sqdist):
        return np.zeros_like(sqdist)

    def log_integral(self, n_components):
        return np.log(2.0)

    def sample(self, n_samples, n_components, rng):
        return rng.uniform(-1.0, 1.0, (n_samples, n_components))


def test_a_kernel_of_a_user():
    density = LatentDensity(kernel=Uniform(), bandwidth=0.5).fit(np.array([[0.0], [0.2]]))
    found = density.log_density(np.array([[0.0], [0.6], [-9.0]]))
    np.testing.assert_allclose(np.exp(found), [2.0 / (2 * 2.0 * 0.5), 1.0 / (2 * 2.0 * 0.5), 0.0])
    assert found[2] == pytest.approx(LOG_FLOOR - (9.0 / 0.5) ** 2 - density.log_unit)


def test_a_density_that_no_point_reaches_falls_with_the_square_of_the_distance():
    density = LatentDensity(kernel="quartic", bandwidth=2.0).fit(np.array([[0.0], [1.0]]))
    found = density.log_density(np.array([[-4.0], [5.0]])) + density.log_unit
    np.testing.assert_allclose(found, LOG_FLOOR - 4.0)

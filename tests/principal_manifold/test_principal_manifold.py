"""Regularized principal manifolds: special cases, starts, penalties, domains, reports."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from benchmarks.fuzz._forging import Forged
from twofold import PrincipalManifold, load
from twofold.base.journal import Journal
from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.losses import L1, Huber, Squared
from twofold.metrics import procrustes_r2
from twofold.numerics.linalg import spatial_median
from twofold.plotting import GeneralizationDisplay
from twofold.principal_manifold import CrossValidation, Domain, Points
from twofold.principal_manifold.functional import Quantization
from twofold.principal_manifold.generalization import (
    GeneralizationReport,
    KernelSpectrum,
    LearningCurve,
)
from twofold.principal_manifold.node_kernels import GaussianKernel, PeriodicKernel, SplineKernel
from twofold.principal_manifold.soft import SoftQuantization

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


PLACES = np.linspace(-1.0, 1.0, 1_500)[:, None]


def sine(n=300, noise=0.05, seed=0, length=2.0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.0, 1.0, n)
    X = np.column_stack([length * t, np.sin(np.pi * t)])
    truth = np.column_stack([length * PLACES[:, 0], np.sin(np.pi * PLACES[:, 0])])
    return X + noise * rng.standard_normal(X.shape), truth


def loop(shape, n=400, noise=0.1, seed=0):
    rng = np.random.default_rng([7, seed])
    X = shape(rng.uniform(-np.pi, np.pi, n))
    return X + noise * rng.standard_normal(X.shape), shape(np.pi * PLACES[:, 0])


def ring(angle):
    return np.column_stack([np.cos(angle), np.sin(angle)])


def eight(angle):
    return 2.0 * np.column_stack([np.sin(angle), np.sin(angle) * np.cos(angle)])


def both_distances(model, truth):
    distances = cdist(truth, model.inverse_transform(PLACES))
    return distances.min(axis=1).mean(), distances.min(axis=0).mean()


class TestSpecialCases:
    def test_a_constant_map_is_the_mean(self):
        X, _ = sine()
        model = PrincipalManifold(alpha=1e12).fit(X)
        np.testing.assert_allclose(
            model.inverse_transform(PLACES[:3]), [X.mean(axis=0)] * 3, atol=1e-9
        )

    def test_a_constant_map_of_absolute_losses_is_the_median(self):
        X, _ = sine(301)
        model = PrincipalManifold(alpha=1e12, loss="l1", max_iter=500, tol=0.0).fit(X)
        middle = model.inverse_transform(PLACES[:1])[0]
        np.testing.assert_allclose(middle, np.median(X, axis=0), atol=0.02)

    @pytest.mark.parametrize("q", [1, 2])
    def test_a_linear_kernel_gives_principal_components(self, q):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((300, 4)) * [3.0, 1.5, 0.7, 0.3] + 5.0
        model = PrincipalManifold(q, kernel="linear", alpha=0.0, init="pca", max_iter=500, tol=0.0)
        plane = PCA(q).fit(X)
        expected = plane.inverse_transform(plane.transform(X))
        np.testing.assert_allclose(model.fit(X).reconstruct(X), expected, atol=5e-3)

    def test_points_without_a_penalty_are_k_means(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((400, 3)) * [3.0, 2.0, 1.0]
        labels = rng.integers(5, size=400)
        means = np.array([X[labels == k].mean(axis=0) for k in range(5)])
        model = PrincipalManifold(
            domain=Points(5), kernel="delta", alpha=0.0, init=labels[:, None], tol=0.0
        ).fit(X)
        rival = KMeans(5, init=means, n_init=1, tol=0.0).fit(X)
        inertia = np.square(model.reconstruction_error(X)).sum()
        assert inertia == pytest.approx(rival.inertia_, rel=1e-9)
        assert (model.transform(X)[:, 0] == np.rint(model.transform(X)[:, 0])).all()
        centers = model.inverse_transform(np.arange(5.0)[:, None])
        np.testing.assert_allclose(
            np.sort(centers, axis=0), np.sort(rival.cluster_centers_, axis=0)
        )

    def test_points_with_absolute_losses_are_k_medians(self):
        rng = np.random.default_rng(1)
        X = np.concatenate([rng.standard_t(2, (101, 2)) + c for c in ((0, 0), (9, 0), (0, 9))])
        labels = np.repeat([0.0, 1.0, 2.0], 101)
        model = PrincipalManifold(
            domain=Points(3), kernel="delta", alpha=0.0, loss="l1", init=labels, tol=0.0
        ).fit(X)
        centers = np.array([np.median(X[labels == k], axis=0) for k in range(3)])
        for _ in range(50):
            nearest = np.abs(X[:, None] - centers).sum(axis=2).argmin(axis=1)
            centers = np.array([np.median(X[nearest == k], axis=0) for k in range(3)])
        found = model.inverse_transform(np.arange(3.0)[:, None])
        np.testing.assert_allclose(found, centers, atol=0.05)

    def test_smooth_kernels_on_points_keep_neighbors_together(self):
        X, _ = sine()
        model = PrincipalManifold(domain=Points(20), alpha=1e-3, width=2.0).fit(X)
        steps = np.diff(model.inverse_transform(np.arange(20.0)[:, None])[:, 0])
        assert (np.sign(steps) == np.sign(steps[0])).mean() > 0.8


LOSSES = ("squared", "l1", "norm", "huber", "mahalanobis")
PENALTIES = ("rkhs", "l2", "l1")
ASSIGNMENTS = ("hard", "soft")
COMBINED = [("gaussian", *rest) for rest in itertools.product(LOSSES, PENALTIES, ASSIGNMENTS)]
"""Every loss with every penalty and assignment; the other kernels meet every pair of loss and
assignment, and the penalties in turn."""
for number, kernel in enumerate(("periodic", "damped", "spline")):
    COMBINED += [
        (kernel, loss, PENALTIES[(number + place) % 3], assignment)
        for place, (loss, assignment) in enumerate(itertools.product(LOSSES, ASSIGNMENTS))
    ]


class TestFunctional:
    @pytest.mark.parametrize(("kernel", "loss", "penalty", "assignment"), COMBINED)
    @pytest.mark.filterwarnings("ignore:penalty='l1' with")  # few turns at a high temperature
    def test_never_rises(self, kernel, loss, penalty, assignment):
        X, _ = loop(ring, 30)
        model = PrincipalManifold(
            kernel=kernel,
            n_nodes=6,
            loss=loss,
            penalty=penalty,
            assignment=assignment,
            domain="circle" if kernel == "periodic" else "box",
            alpha=1e-3,
            init="pca",
            max_iter=4,
            tol=0.0,
        ).fit(X)
        history = model.history_
        assert len(history) > 2
        assert np.diff(history).max() <= 1e-10 * history[0]

    @pytest.mark.parametrize("assignment", ["hard", "soft"])
    def test_never_rises_with_a_noisy_channel(self, assignment):
        X, _ = sine(100)
        model = PrincipalManifold(
            alpha=1e-4, latent_noise=0.1, assignment=assignment, max_iter=10, tol=0.0
        ).fit(X)
        assert np.diff(model.history_).max() <= 1e-10 * model.history_[0]

    def test_soft_assignment_cools_to_the_noise(self):
        X, truth = loop(ring, 500)
        model = PrincipalManifold(domain="circle", alpha=1e-3, assignment="soft").fit(X)
        unit = float(np.sqrt(X.var(axis=0).mean()))
        assert np.sqrt(0.5 * model.temperature_) * unit == pytest.approx(0.1, rel=0.15)
        assert max(both_distances(model, truth)) < 0.025

    def test_a_noisy_channel_costs_the_squared_derivative(self):
        """Eq. (40), with the factor 1 that an expansion gives."""
        X, _ = sine(200)
        sigma, step = 0.05, 1e-5
        model = PrincipalManifold(alpha=1e-4).fit(X)
        projection = model.encoder_.projection
        data = model.encoder_.frame.into(X - X.mean(axis=0))
        Z = model.embedding_
        plain, noisy = (
            Quantization(data, projection.domain, projection.grid, Squared(), "rkhs", 1e-4, noise)
            for noise in (0.0, sigma)
        )
        slopes = (projection.up.predict(Z + step) - projection.up.predict(Z - step)) / (2.0 * step)
        squares = np.square(slopes).sum(axis=1)
        gained = noisy.value(projection.up, Z) - plain.value(projection.up, Z)
        assert gained == pytest.approx(sigma**2 * squares.mean(), rel=1e-4)
        rng = np.random.default_rng(0)
        lost = np.mean(
            [
                np.square(
                    data - projection.up.predict(Z + sigma * rng.standard_normal(Z.shape))
                ).sum(axis=1)
                for _ in range(400)
            ],
            axis=0,
        ) - np.square(data - projection.up.predict(Z)).sum(axis=1)
        inside = np.abs(Z[:, 0]) < 0.8
        assert lost[inside].mean() == pytest.approx(sigma**2 * squares[inside].mean(), rel=0.2)

    def test_soft_losses_contain_the_derivative_too(self):
        X, _ = sine(100)
        model = PrincipalManifold(alpha=1e-4).fit(X)
        up, grid = model.encoder_.projection.up, model.encoder_.projection.grid[::10]
        data = model.encoder_.frame.into(X - X.mean(axis=0))
        plain, noisy = (
            SoftQuantization(data, grid, Squared(), "rkhs", 1e-4, noise)._losses(
                up, data, up.predict(grid)
            )
            for noise in (0.0, 0.3)
        )
        slopes = (up.predict(grid + 1e-5) - up.predict(grid - 1e-5)) / 2e-5
        expected = np.broadcast_to(0.09 * np.square(slopes).sum(axis=1), plain.shape)
        np.testing.assert_allclose(noisy - plain, expected, rtol=1e-4)

    def test_codes_for_a_noisy_channel_make_shorter_curves(self):
        X, _ = sine(200)
        lengths = []
        for noise in (0.0, 0.2):
            model = PrincipalManifold(alpha=1e-5, latent_noise=noise, init="isomap").fit(X)
            lengths.append(
                np.linalg.norm(np.diff(model.inverse_transform(PLACES), axis=0), axis=1).sum()
            )
        assert lengths[1] < 0.9 * lengths[0]


class TestDomains:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize(("shape", "bound"), [(ring, 0.25), (eight, 0.35)])
    def test_closed_curves(self, shape, bound, seed):
        X, truth = loop(shape, 500, seed=seed)
        model = PrincipalManifold(domain="circle", alpha=1e-3).fit(X)
        assert max(both_distances(model, truth)) <= bound * 0.1

    def test_a_closed_curve_by_cross_validation(self):
        X, truth = loop(eight, 300, noise=0.05)
        folds = CrossValidation(2, "one_se")
        model = PrincipalManifold(domain="circle", alpha=folds, random_state=0).fit(X)
        assert max(both_distances(model, truth)) <= 0.35 * 0.05

    def test_circles_have_no_ends(self):
        X, _ = loop(ring)
        model = PrincipalManifold(domain="circle", alpha=1e-3).fit(X)
        ends = np.array([[-1.0], [1.0], [-1.0 + 1e-9], [1.0 - 1e-9]])
        np.testing.assert_allclose(np.ptp(model.inverse_transform(ends), axis=0), 0.0, atol=1e-6)
        np.testing.assert_allclose(np.ptp(model.log_density(ends)), 0.0, atol=1e-6)
        density = np.exp(model.log_density(PLACES))
        assert np.trapezoid(density, PLACES[:, 0]) == pytest.approx(1.0, rel=0.01)

    def test_a_cylinder_and_a_torus(self):
        rng = np.random.default_rng(0)
        a, b = rng.uniform(-np.pi, np.pi, (2, 150))
        tube = np.column_stack([np.cos(a), np.sin(a), 0.3 * b])
        model = PrincipalManifold(2, domain="cylinder", alpha=1e-4).fit(tube)
        assert model.score(tube) > 0.99
        ring4 = np.column_stack([np.cos(a), np.sin(a), np.cos(b), np.sin(b)])
        torus = PrincipalManifold(2, domain="torus", alpha=1e-4).fit(ring4)
        assert torus.score(ring4) > 0.98
        assert torus.sample(50, random_state=0).shape == (50, 4)

    def test_latents_stay_inside_and_outside_means_the_edge(self):
        X, _ = sine()
        model = PrincipalManifold(alpha=1e-3).fit(X)
        assert np.abs(model.embedding_).max() <= 1.0
        np.testing.assert_array_equal(
            model.inverse_transform([[7.0]]), model.inverse_transform([[1.0]])
        )

    def test_more_than_three_dimensions_have_nodes_where_the_data_are(self):
        X = np.random.default_rng(0).standard_normal((250, 6)) * [3, 2, 2, 1, 0.1, 0.1]
        model = PrincipalManifold(4, alpha=1e-3, init="pca", max_iter=10, random_state=0).fit(X)
        assert len(model.nodes_) == 200
        assert model.score(X) > 0.9


class TestStarts:
    def test_isomap_unfolds_what_the_plane_folds(self):
        rng = np.random.default_rng(0)
        t = rng.uniform(-1.0, 1.0, 300)
        X = np.column_stack([t, np.sin(np.pi * t)]) + 0.05 * rng.standard_normal((300, 2))
        model = PrincipalManifold(alpha=1e-3, random_state=0).fit(X)
        assert model.init_ == "isomap"
        assert [one["name"] for one in model.candidates_] == ["isomap", "grown"]
        assert model.candidates_[0]["map_score"] > model.candidates_[1]["map_score"]
        order = np.corrcoef(model.embedding_[:, 0], t)[0, 1]
        assert abs(order) > 0.98

    @pytest.mark.parametrize("seed", [1, 2])
    def test_noisy_rolls_are_unrolled_by_default(self, seed):
        X, sheet = make_swiss_roll(600, 0.3, random_state=seed)
        model = PrincipalManifold(2, alpha=1e-5, random_state=seed).fit(X)
        assert procrustes_r2(sheet, model.embedding_) > 0.98
        assert model.domain_.ends[0] == 1.0
        assert model.domain_.ends[1] == pytest.approx(50.0 / 90.0, abs=0.1)
        assert np.all(np.abs(model.embedding_) <= model.domain_.ends)

    def test_numbers_of_nodes_and_other_starts_keep_the_cube(self):
        X, _ = make_s_curve(200, random_state=0)
        for setting in ({"n_nodes": 36}, {"init": "isomap"}, {"init": "pca"}):
            model = PrincipalManifold(2, alpha=1e-3, random_state=0, **setting).fit(X)
            assert model.domain_ == Domain((False, False))

    def test_sides_of_your_own(self):
        X, _ = make_s_curve(200, random_state=0)
        wide = Domain((False, False), sides=(2.0, 0.5))
        for init in ("auto", "pca", "isomap"):
            model = PrincipalManifold(2, alpha=1e-4, domain=wide, init=init, random_state=0).fit(X)
            assert model.domain_ == wide
            assert np.all(np.abs(model.embedding_) <= [2.0, 0.5])
            assert model.score(X) > 0.9
            outside = model.inverse_transform([[9.0, -9.0]])
            np.testing.assert_array_equal(outside, model.inverse_transform([[2.0, -0.5]]))

    def test_robust_losses_compare_functionals(self):
        X, _ = make_s_curve(200, random_state=0)
        model = PrincipalManifold(2, alpha=1e-2, loss="norm", random_state=0).fit(X)
        values = [one["value"] for one in model.candidates_]
        assert values == sorted(values)
        assert all(np.isnan(one["map_score"]) for one in model.candidates_)

    def test_the_papers_start_is_the_leading_plane(self):
        X, _ = sine(length=4.0)
        model = PrincipalManifold(alpha=1e-6, init="pca", max_iter=1, tol=1.0).fit(X)
        along = (X - X.mean(axis=0)) @ PCA(1).fit(X).components_[0]
        assert abs(np.corrcoef(model.embedding_[:, 0], along)[0, 1]) > 0.95

    def test_given_latents_and_their_scale(self):
        X, _ = sine()
        t = X[:, :1]
        inside = PrincipalManifold(alpha=1e-3, init=t / np.abs(t).max()).fit(X)
        scaled = PrincipalManifold(alpha=1e-3, init=100.0 * t + 7.0).fit(X)
        assert inside.init_ == scaled.init_ == "given"
        assert inside.score(X) == pytest.approx(scaled.score(X), abs=1e-3)

    def test_random_starts_repeat_by_seed(self):
        X, _ = sine()
        fits = [
            PrincipalManifold(alpha=1e-3, init="random", n_init=3, random_state=s).fit(X)
            for s in (0, 0)
        ]
        np.testing.assert_array_equal(fits[0].embedding_, fits[1].embedding_)
        assert len(fits[0].candidates_) == 3


class TestSettings:
    @pytest.mark.parametrize("loss", ["squared", "l1", "norm", "huber"])
    def test_alpha_means_the_same_in_other_units_and_with_repeated_columns(self, loss):
        X, _ = sine(150)
        model = PrincipalManifold(loss=loss, alpha=0.01, init="pca").fit(X)
        for other in (1e-4 * X, 1e5 * X + 3.0, np.hstack([X] * 4)):
            again = PrincipalManifold(loss=loss, alpha=0.01, init="pca").fit(other)
            assert again.score(other) == pytest.approx(model.score(X), abs=2e-4)

    @pytest.mark.parametrize("loss", ["norm", "huber", "l1"])
    def test_rows_most_of_which_are_equal(self, loss):
        X, _ = sine(100)
        X = np.vstack([X, np.zeros((150, 2))])
        assert PrincipalManifold(loss=loss, alpha=0.01, random_state=0).fit(X).score(X) > 0.9

    def test_kernel_objects_are_wrapped_like_their_names(self):
        X, _ = loop(ring)
        named, given, wrapped = (
            PrincipalManifold(domain="circle", kernel=kernel, alpha=1e-3).fit(X)
            for kernel in ("gaussian", GaussianKernel(), PeriodicKernel())
        )
        np.testing.assert_array_equal(named.embedding_, given.embedding_)
        np.testing.assert_array_equal(named.embedding_, wrapped.embedding_)

    def test_wide_kernels_take_no_longer(self):
        X, _ = loop(ring, 60)
        for width in (1e-200, 1e6):
            model = PrincipalManifold(domain="circle", width=width, alpha=1e-3, max_iter=3).fit(X)
            assert np.isfinite(model.embedding_).all()

    def test_soft_assignment_of_many_rows_stays_soft(self, monkeypatch):
        monkeypatch.setattr("twofold.principal_manifold.settings.MOST_ROWS", 1_000)
        X, _ = loop(ring, 1_500, noise=0.25)
        model = PrincipalManifold(
            domain="circle", assignment="soft", alpha=1e-3, max_iter=30, tol=1e-3
        )
        model.fit(X)
        radius = np.linalg.norm(model.inverse_transform(PLACES), axis=1)
        assert abs(radius.mean() - 1.0) < 0.03

    def test_codebooks_start_from_far_apart_rows(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((300, 2)) + 10.0 * rng.integers(0, 4, (300, 2))
        model = PrincipalManifold(domain=Points(16), kernel="delta", alpha=0.0, random_state=0).fit(
            X
        )
        assert model.init_ == "kmeans++"
        assert len(np.unique(model.embedding_)) == 16
        rival = KMeans(16, n_init=1, random_state=0).fit(X)
        assert np.square(model.reconstruction_error(X)).sum() < 1.5 * rival.inertia_

    def test_one_column_keeps_its_order(self):
        x = np.random.default_rng(0).standard_normal((80, 1))
        for alpha in (0.1, 1e-3):
            Z = PrincipalManifold(alpha=alpha, random_state=0).fit(x).transform(x)
            steps = np.diff(Z[np.argsort(x[:, 0]), 0])
            assert (steps * np.sign(steps.sum()) >= 0.0).all()

    def test_far_rows_find_the_nearest_side(self):
        X, _ = loop(ring)
        model = PrincipalManifold(domain="circle", alpha=3e-3).fit(X)
        near = model.transform([[8.0, 6.0]])
        for far in (1e2, 1e6, 1e17):
            np.testing.assert_allclose(model.transform([[0.8 * far, 0.6 * far]]), near, atol=0.02)

    def test_nothing_left_says_so(self):
        X, _ = sine(100)
        with pytest.warns(UserWarning, match="no node"):
            PrincipalManifold(penalty="l1", alpha=100.0).fit(X)

    def test_embedding_is_what_transform_gives(self):
        X, _ = loop(eight)
        model = PrincipalManifold(domain="circle", alpha=1e-3).fit(X)
        np.testing.assert_array_equal(model.embedding_, model.transform(X))

    def test_cross_validation_keeps_its_curve(self):
        X, _ = sine(40)
        least, smooth = (
            PrincipalManifold(alpha=CrossValidation(rule=rule), random_state=0).fit(X)
            for rule in ("min", "one_se")
        )
        assert least.cv_errors_.shape == (10, 5)
        means = least.cv_errors_.mean(axis=1)
        assert least.alpha_ == least.alphas_[means.argmin()]
        error = least.cv_errors_[means.argmin()].std(ddof=1) / np.sqrt(5)
        assert smooth.alpha_ == least.alphas_[means <= means.min() + error].max()

    def test_mahalanobis_does_not_depend_on_the_columns_units(self):
        X, _ = make_s_curve(200, random_state=0)
        one = PrincipalManifold(2, loss="mahalanobis", alpha=0.01, init="pca").fit(X)
        other = PrincipalManifold(2, loss="mahalanobis", alpha=0.01, init=one.embedding_)
        scales = np.array([1.0, 50.0, 0.02])
        other.fit(X * scales)
        np.testing.assert_allclose(other.history_[-1], one.history_[-1], rtol=0.02)

    def test_robust_losses_forgive_outliers(self):
        grown = {"squared": [], "norm": [], "huber": []}
        for seed in range(3):
            X, truth = sine(200, 0.1, seed, length=3.0)
            spoiled = X.copy()
            spoiled[:20] += 20.0 * np.random.default_rng([1, seed]).standard_normal((20, 2))
            for loss, values in grown.items():
                model = PrincipalManifold(loss=loss, alpha=0.02, init="pca", random_state=0)
                clean = both_distances(model.fit(X), truth)[0]
                values.append(both_distances(model.fit(spoiled), truth)[0] / clean)
        assert np.median(grown["squared"]) > 2.5
        assert np.median(grown["norm"]) < 1.5
        assert np.median(grown["huber"]) < 1.5

    def test_hubers_scale_is_that_of_the_residuals(self):
        X, _ = sine(300, 0.05)
        model = PrincipalManifold(loss="huber", alpha=1e-3).fit(X)
        assert isinstance(model.loss_, Huber)
        unit = np.sqrt(np.median(np.square(X - spatial_median(X)).sum(axis=1)) / 2.0)
        lengths = model.reconstruction_error(X) / unit
        assert model.loss_.scale == pytest.approx(np.median(lengths), rel=0.3)

    def test_few_nodes_and_a_refit(self):
        X, _ = sine(400)
        test, _ = sine(2_000, seed=1)
        full = PrincipalManifold(n_nodes=30, width=3.0, alpha=1e-3).fit(X)
        few = PrincipalManifold(
            n_nodes=30, width=3.0, penalty="l1", alpha=3e-3, refit_alpha=1e-3
        ).fit(X)
        assert len(few.nodes_) <= 15
        assert 1.0 - few.score(test) < 1.1 * (1.0 - full.score(test))

    def test_losses_and_kernels_of_ones_own(self):
        X, _ = sine(100)
        model = PrincipalManifold(alpha=1e-3, loss=Squared(), kernel=GaussianKernel()).fit(X)
        assert model.score(X) > 0.98
        assert PrincipalManifold(alpha=1e-3, loss=L1()).fit(X).score(X) > 0.98

    def test_many_rows_take_part_in_the_end(self, monkeypatch):
        monkeypatch.setattr("twofold.principal_manifold.settings.MOST_ROWS", 300)
        X, _ = sine(1_500)
        model = PrincipalManifold(alpha=1e-3).fit(X)
        assert model.embedding_.shape == (1_500, 1)
        part = PrincipalManifold(alpha=1e-3).fit(X[:300])
        assert model.score(X) == pytest.approx(part.score(X), abs=2e-3)

    def test_a_fit_that_is_cut_short_says_so(self):
        X, _ = make_s_curve(200, random_state=0)
        with pytest.warns(ConvergenceWarning, match="max_iter=3"):
            PrincipalManifold(2, alpha=1e-5, init="pca", max_iter=3).fit(X)

    def test_a_resumed_fit_warns_again(self, monkeypatch):
        finished = {}

        class Resumed(Journal):
            def step(self, name, function):
                if name not in finished:
                    finished[name] = function()
                return finished[name]

        monkeypatch.setattr("twofold.principal_manifold.estimator.Journal", Resumed)
        X, _ = make_s_curve(200, random_state=0)
        model = PrincipalManifold(2, penalty="l1", alpha=100.0, init="pca", max_iter=1, tol=0.0)
        for _ in range(2):
            with (
                pytest.warns(UserWarning, match="leaves no node"),
                pytest.warns(ConvergenceWarning, match="max_iter=1"),
            ):
                model.fit(X)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"kernel": "cubic"}, "kernel="),
            ({"kernel": 3}, "kernel=3"),
            ({"kernel": GaussianKernel}, "instance"),
            ({"kernel": SplineKernel(), "n_components": 2}, "spline"),
            ({"loss": Squared}, "instance"),
            ({"init": None}, "init=None"),
            ({"domain": Points(5), "n_nodes": 7}, "n_nodes=7"),
            ({"domain": Points(4000), "kernel": "delta"}, "3000"),
            ({"domain": Points(90), "kernel": "delta"}, "more points"),
            ({"alpha": CrossValidation(61)}, "n_folds=61"),
            ({"kernel": "periodic"}, "circle"),
            ({"kernel": "delta", "domain": "circle"}, "Points"),
            ({"kernel": "spline", "n_components": 2}, "spline"),
            ({"kernel": "delta"}, "Points"),
            ({"n_nodes": "many"}, "n_nodes="),
            ({"n_nodes": (3, 3)}, "n_nodes="),
            ({"n_nodes": 10_000}, "n_nodes=10000"),
            ({"n_nodes": 0}, "n_nodes=0"),
            ({"width": 0.0}, "width="),
            ({"loss": "cubic"}, "loss="),
            ({"loss": 3}, "loss=3"),
            ({"penalty": "l3"}, "penalty="),
            ({"alpha": -1.0}, "alpha="),
            ({"alpha": "best"}, "alpha='best' must be 'cv', a CrossValidation, a PenaltyLimit or"),
            ({"refit_alpha": 0.1}, "refit_alpha="),
            ({"domain": "sphere"}, "domain="),
            ({"domain": Domain((False, False))}, "domain="),
            ({"assignment": "fuzzy"}, "assignment="),
            ({"latent_noise": -1.0}, "latent_noise="),
            ({"init": "unknown"}, "init="),
            ({"init": np.zeros((5, 1))}, "init"),
            ({"n_init": 0}, "n_init="),
            ({"max_iter": 0}, "max_iter="),
            ({"tol": -1.0}, "tol="),
        ],
    )
    def test_settings_that_make_no_sense(self, settings, message):
        X, _ = sine(60)
        with pytest.raises((ValueError, TypeError), match=message):
            PrincipalManifold(**{"alpha": 0.01, **settings}).fit(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_folds": 1}, "n_folds=1"),
        ({"rule": "max"}, "rule='max'"),
        ({"alphas": ()}, "alphas="),
        ({"alphas": (0.1, -1.0)}, "alphas=-1.0"),
    ],
)
def test_cross_validations_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        CrossValidation(**settings)


def test_cross_validation_compares_given_weights():
    X, _ = sine(60)
    folds = CrossValidation(n_folds=2, alphas=[1e-4, 1e-1])
    model = clone(PrincipalManifold(alpha=folds, random_state=0)).fit(X)
    assert model.alphas_.tolist() == [1e-1, 1e-4]
    assert model.cv_errors_.shape == (2, 2)
    assert model.alpha_ == 1e-4


def test_early_model_files_had_two_more_parameters(tmp_path):
    X, _ = sine(60)
    model = PrincipalManifold(alpha=CrossValidation(2, "one_se"), random_state=0).fit(X)
    expected = model.transform(X)
    for alpha, rule, n_folds in (("cv", "one_se", 2), ("cv", "min", 5), (0.1, "one_se", 2)):
        model.save(tmp_path / "today.twofold")
        early = Forged((tmp_path / "today.twofold").read_bytes())
        early.nodes[0]["state"] |= {"alpha": alpha, "alpha_rule": rule, "cv": n_folds}
        (tmp_path / "early.twofold").write_bytes(early.signed())
        loaded = load(tmp_path / "early.twofold")
        strategy = CrossValidation(2, "one_se") if rule == "one_se" else "cv"
        assert loaded.get_params()["alpha"] == (0.1 if alpha == 0.1 else strategy)
        assert not {"alpha_rule", "cv"} & set(vars(loaded))
        np.testing.assert_array_equal(loaded.transform(X), expected)


@pytest.mark.parametrize("n_points", [0, -1, 2.5, "a", True])
def test_points_are_counted(n_points):
    with pytest.raises((ValueError, TypeError), match="n_points="):
        Points(n_points)


@pytest.mark.parametrize("wrapped", [True, "ab", (), (1, 0)])
def test_dimensions_are_wrapped_or_not(wrapped):
    with pytest.raises(TypeError, match="wrapped="):
        Domain(wrapped)


class TestReport:
    def test_rates_of_the_paper(self):
        X, _ = sine(100)
        length = PrincipalManifold(kernel="spline", alpha=1e-3, n_nodes=20, max_iter=3).fit(X)
        spectrum = length.generalization_report().spectrum
        assert spectrum.decay == "polynomial"
        assert spectrum.exponent == pytest.approx(2.0, abs=0.15)
        assert spectrum.rate == pytest.approx(0.25, abs=0.02)
        linear = PrincipalManifold(
            kernel="spline", penalty="l1", alpha=1e-3, n_nodes=20, max_iter=3
        ).fit(X)
        assert linear.generalization_report().spectrum.rate == pytest.approx(0.375, abs=0.02)
        damped = PrincipalManifold(kernel="damped", alpha=1e-3, max_iter=3).fit(X)
        spectrum = damped.generalization_report().spectrum
        assert (spectrum.decay, spectrum.rate) == ("exponential", 0.5)
        assert spectrum.exponent == pytest.approx(1.0, abs=0.15)

    def test_eigenvalues_of_the_length_constraint_are_known(self):
        X, _ = sine(60)
        model = PrincipalManifold(kernel="spline", alpha=1e-3, max_iter=2).fit(X)
        values = model.generalization_report().spectrum.eigenvalues[:5]
        j = np.arange(1, 6)
        np.testing.assert_allclose(values, np.square(4.0 / (np.pi * (2 * j - 1))), rtol=0.01)

    def test_finite_spectra(self):
        X, _ = sine(60)
        model = PrincipalManifold(kernel="linear", alpha=0.0, max_iter=2).fit(X)
        spectrum = model.generalization_report().spectrum
        assert (spectrum.decay, spectrum.rate) == ("finite", 0.5)
        points = PrincipalManifold(domain=Points(4), kernel="delta", alpha=0.0).fit(X)
        assert points.generalization_report().spectrum.decay == "finite"

    def test_the_learning_curve_falls(self):
        X, _ = sine(240, noise=0.2)
        model = PrincipalManifold(alpha=1e-4, init="pca", max_iter=20, random_state=0).fit(X)
        report = model.generalization_report(X, n_repeats=3)
        assert report.curve.gaps[0] > report.curve.gaps[-1]
        assert report.curve.held_out.shape == (len(report.curve.sizes), 3)
        text = str(report)
        assert "not a certificate" in text
        assert "Measured" in text
        slope = np.polyfit(np.log(report.curve.sizes), np.log(report.predicted()), 1)[0]
        assert slope == pytest.approx(-report.spectrum.rate)
        assert "certificate" in GeneralizationDisplay.from_report(report).ax_.get_title()

    def test_gaps_that_are_not_positive(self):
        spectrum = KernelSpectrum(np.ones(1), "finite", np.inf, 0.5)
        sizes = np.array([10.0, 20.0, 40.0])
        some = LearningCurve(sizes, np.zeros((3, 1)), np.array([[0.1], [-0.001], [0.05]]))
        predicted = GeneralizationReport(spectrum, some).predicted()
        assert (predicted > 0.03).all()
        assert (predicted < 0.2).all()
        none = GeneralizationReport(
            spectrum, LearningCurve(sizes, np.zeros((3, 1)), -np.ones((3, 1)))
        )
        assert np.isnan(none.predicted()).all()
        assert "no gap" in str(none)

    def test_reports_of_given_latents(self):
        X, _ = sine(100)
        model = PrincipalManifold(alpha=1e-3, init=X[:, :1]).fit(X)
        assert model.generalization_report(X, n_repeats=1).curve is not None

    def test_what_cannot_be_reported(self):
        X, _ = sine(60)
        model = PrincipalManifold(alpha=1e-3, max_iter=3).fit(X)
        with pytest.raises(ValueError, match="at least 40"):
            model.generalization_report(X[:30])
        with pytest.raises(ValueError, match="no learning curve"):
            model.generalization_report().predicted()
        with pytest.raises(ValueError, match="no learning curve"):
            GeneralizationDisplay.from_report(model.generalization_report())
        with pytest.raises(ValueError, match="n_repeats=0"):
            model.generalization_report(X, n_repeats=0)
        with pytest.warns(UserWarning, match="0 directions"):
            constant = PrincipalManifold().fit(np.ones((20, 3)))
        with pytest.raises(ValueError, match="all equal"):
            constant.generalization_report()

from functools import partial

import numpy as np
import pytest
from differences import central_gradient
from registry import MAPS
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

from twofold.kernels import Gaussian
from twofold.maps import GRNN, MLP, KernelRidgeMap, NadarayaWatson, RBFNetwork
from twofold.maps.ridge import RidgePath
from twofold.numerics.bandwidths import width_grid
from twofold.protocols import Map

maps = pytest.mark.parametrize("map_", MAPS.values(), ids=MAPS)


@pytest.fixture(params=[2, 9], ids=["D=2", "D=9"])
def pairs(request):
    """Fewer and more targets than the RBF network has centers: both ways of normal_terms."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((40, 2))
    return inputs, np.sin(inputs @ rng.standard_normal((2, request.param))) + 3.0


@maps
def test_is_a_map(map_, pairs):
    assert isinstance(map_, Map)
    fitted = clone(map_).fit(*pairs)
    assert fitted.predict(pairs[0][:3]).shape == (3, pairs[1].shape[1])


@maps
def test_jacobian_by_differences(map_, pairs):
    fitted = clone(map_).fit(*pairs)
    point = pairs[0][:3] + 0.1
    jacobian = fitted.jacobian(point)
    for row in range(3):
        numeric = central_gradient(lambda z: fitted.predict(z[None])[0], point[row])
        np.testing.assert_allclose(jacobian[row], numeric, rtol=1e-6, atol=1e-8)


@maps
def test_normal_terms_equal_the_jacobians(map_, pairs, monkeypatch):
    fitted = clone(map_).fit(*pairs)
    point, targets = pairs[0][:7] + 0.1, pairs[1][:7] - 0.3
    J = fitted.jacobian(point)
    r = targets - fitted.predict(point)
    expected = (
        np.einsum("ndq,ndp->nqp", J, J),
        np.einsum("ndq,nd->nq", J, r),
        np.square(r).sum(axis=1),
    )
    monkeypatch.setattr("twofold.numerics.threads.BLOCK_BYTES", 2_000)
    for got, want in zip(fitted.normal_terms(point, targets), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@maps
def test_no_rows(map_, pairs):
    fitted = clone(map_).fit(*pairs)
    none = np.empty((0, 2))
    assert fitted.predict(none).shape == (0, pairs[1].shape[1])
    assert fitted.normal_terms(none, np.empty((0, pairs[1].shape[1])))[0].shape == (0, 2, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KernelRidgeMap(bandwidth=-1.0), "bandwidth=-1"),
        (lambda: KernelRidgeMap(alpha=-1.0), "alpha=-1"),
        (lambda: RBFNetwork(bandwidth=np.nan), "bandwidth=nan"),
        (lambda: NadarayaWatson(bandwidth=-1.0), "bandwidth=-1"),
        (lambda: KernelRidgeMap(kernel="quartic"), "not positive definite"),
        (lambda: RBFNetwork(kernel="quartic"), "not positive definite"),
    ],
    ids=range(6),
)
def test_settings_are_checked(make, message, pairs):
    with pytest.raises(ValueError, match=message):
        make().fit(*pairs)


@pytest.mark.parametrize(
    "make", [KernelRidgeMap, partial(RBFNetwork, 9, random_state=0)], ids=["krr", "rbf"]
)
@pytest.mark.parametrize("bandwidth", [1e-200, 1e200])
def test_extreme_widths_stay_finite(make, bandwidth, pairs):
    fitted = make(bandwidth=bandwidth, alpha=1e-3).fit(*pairs)
    assert np.isfinite(fitted.predict(pairs[0] + 0.1)).all()
    assert np.isfinite(fitted.jacobian(pairs[0] + 0.1)).all()


@maps
def test_refit_is_deterministic_and_inputs_unchanged(map_, pairs):
    inputs, targets = (a.copy() for a in pairs)
    one = clone(map_).fit(inputs, targets).predict(inputs)
    two = clone(map_).fit(inputs, targets).predict(inputs)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(inputs, pairs[0])
    np.testing.assert_array_equal(targets, pairs[1])


@pytest.mark.parametrize(
    "up", [KernelRidgeMap(), RBFNetwork(20, random_state=0), MLP(20, random_state=0)]
)
def test_learns_a_curve(up):
    z = np.linspace(0.0, 1.0, 200)[:, None]
    curve = np.hstack([np.cos(6.0 * z), np.sin(6.0 * z), z])
    fitted = clone(up).fit(z[::2], curve[::2])
    assert np.abs(fitted.predict(z[1:-1:2]) - curve[1:-1:2]).max() < 0.05


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_error_is_that_of_leaving_out(kernel, pairs):
    inputs, targets = pairs
    chosen = NadarayaWatson(kernel=kernel).fit(inputs, targets)
    residuals = targets - chosen.leave_one_out(inputs, targets)
    assert chosen.error_ == pytest.approx(np.square(residuals).sum(axis=1).mean(), rel=1e-6)
    assert np.isnan(NadarayaWatson(kernel=kernel, bandwidth=0.5).fit(inputs, targets).error_)


class TestRadialRidge:
    def test_equals_kernel_ridge(self, pairs):
        inputs, targets = pairs
        ours = KernelRidgeMap(bandwidth=0.8, alpha=0.05).fit(inputs, targets)
        theirs = KernelRidge(alpha=0.05, kernel="rbf", gamma=0.5 / 0.8**2).fit(inputs, targets)
        np.testing.assert_allclose(ours.predict(inputs), theirs.predict(inputs), rtol=1e-8)

    def test_all_centers_given_equal_all_centers(self, pairs):
        inputs, targets = pairs
        implied = KernelRidgeMap(bandwidth=0.8, alpha=0.05).fit(inputs, targets)
        given = KernelRidgeMap(bandwidth=0.8, alpha=0.05, centers=inputs).fit(inputs, targets)
        np.testing.assert_allclose(given.predict(inputs), implied.predict(inputs), rtol=1e-6)

    @pytest.mark.parametrize("kernel", ["gaussian", "student"])
    @pytest.mark.parametrize("alpha", [0.05, 1e-3])
    def test_leave_one_out_by_formula_equals_leaving_out(self, kernel, alpha, pairs):
        inputs, targets = pairs
        whole = KernelRidgeMap(kernel=kernel, bandwidth=0.8, alpha=alpha).fit(inputs, targets)
        errors = []
        for row in range(len(inputs)):
            rest = np.arange(len(inputs)) != row
            part = clone(whole).fit(inputs[rest], targets[rest])
            errors.append(np.square(targets[row] - part.predict(inputs[[row]])).sum())
        assert whole.error_ == pytest.approx(np.mean(errors), rel=1e-6)
        left_out = targets - whole.leave_one_out(inputs, targets)
        assert np.square(left_out).sum(axis=1).mean() == pytest.approx(whole.error_, rel=1e-6)

    def test_without_a_ridge_the_width_is_still_chosen_well(self):
        z = np.random.default_rng(0).uniform(0.0, 1.0, (60, 1))
        fitted = KernelRidgeMap(alpha=0.0).fit(z, np.sin(6.0 * z))
        grid = np.linspace(0.05, 0.95, 200)[:, None]
        assert np.square(fitted.predict(grid) - np.sin(6.0 * grid)).mean() < 1e-3

    def test_auto_is_the_best_of_the_grid(self, pairs):
        inputs, targets = pairs
        auto = KernelRidgeMap().fit(inputs, targets)
        for width in width_grid(inputs):
            for alpha in (1e-4, 1e-1):
                other = KernelRidgeMap(bandwidth=width, alpha=alpha).fit(inputs, targets)
                # The largest ridge within one percent of the best is taken.
                assert auto.error_ <= other.error_ * 1.01


class TestKernelRidgeMap:
    @pytest.mark.parametrize(
        ("kernel", "params"),
        [
            ("rbf", {"gamma": 0.4}),
            ("laplacian", {"gamma": 0.4}),
            ("polynomial", {"gamma": 0.4, "degree": 4, "coef0": 2.0}),
            ("linear", {}),
        ],
    )
    def test_equals_kernel_ridge(self, kernel, params, pairs):
        inputs, targets = pairs
        ours = KernelRidgeMap(kernel=kernel, alpha=0.05, **params).fit(inputs, targets)
        theirs = KernelRidge(kernel=kernel, alpha=0.05, **params).fit(inputs, targets)
        query = inputs + 0.1
        np.testing.assert_allclose(ours.predict(query), theirs.predict(query), rtol=1e-8, atol=1e-8)

    def test_a_function_as_kernel(self, pairs):
        def kernel(x, y, power=1):
            return (1.0 + x @ y) ** power

        ours = KernelRidgeMap(kernel=kernel, kernel_params={"power": 2}, alpha=0.1).fit(*pairs)
        theirs = KernelRidge(kernel="polynomial", gamma=1, degree=2, alpha=0.1).fit(*pairs)
        np.testing.assert_allclose(ours.predict(pairs[0]), theirs.predict(pairs[0]), rtol=1e-8)

    def test_rbf_equals_gaussian(self, pairs):
        ours, theirs = KernelRidgeMap(kernel="rbf").fit(*pairs), KernelRidgeMap().fit(*pairs)
        assert ours.gamma_ == pytest.approx(0.5 / theirs.bandwidth_**2)
        assert ours.alpha_ == theirs.alpha_
        np.testing.assert_allclose(ours.predict(pairs[0]), theirs.predict(pairs[0]), rtol=1e-6)

    @pytest.mark.parametrize("alpha", [0.0, 1e-8, 0.05])
    @pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
    @pytest.mark.parametrize("centers", [None, 15])
    def test_leave_one_out_by_formula_equals_leaving_out(self, kernel, centers, alpha, pairs):
        inputs, targets = pairs
        given = None if centers is None else inputs[:centers]
        # A narrow Gaussian, whose smallest eigenvalues count: none is left out of some refits only.
        gamma = 8.0 if kernel == "rbf" else 0.5
        whole = KernelRidgeMap(kernel=kernel, gamma=gamma, alpha=alpha, centers=given)
        whole.fit(inputs, targets)
        assert whole.alpha_ >= alpha
        refit = clone(whole).set_params(alpha=whole.alpha_)
        left_out = []
        for row in range(len(inputs)):
            rest = np.arange(len(inputs)) != row
            left_out.append(refit.fit(inputs[rest], targets[rest]).predict(inputs[[row]])[0])
        found = whole.leave_one_out(inputs, targets)
        # Tiny residuals over tiny 1 - h: digits are lost as the ridge goes to rounding.
        near = {"rtol": 1e-6, "atol": 1e-9} if alpha == 0.05 else {"rtol": 1e-3, "atol": 5e-3}
        np.testing.assert_allclose(found, left_out, **near)
        error = np.square(targets - found).sum(axis=1).mean()
        assert whole.error_ == pytest.approx(error, rel=1e-4)
        with pytest.raises(ValueError, match="inputs has 3 rows"):
            whole.leave_one_out(inputs[:3], targets[:3])

    @pytest.mark.parametrize("scale", [{"bandwidth": 1.0}, {"kernel": "rbf", "gamma": 0.5}])
    def test_folds_by_formula_equal_leaving_out(self, scale, pairs):
        inputs, targets = pairs
        whole = KernelRidgeMap(alpha=0.05, cv=5, **scale).fit(inputs, targets)
        lost = 0.0
        for fold in whole._folds(len(inputs)):
            rest = np.setdiff1d(np.arange(len(inputs)), fold)
            part = KernelRidgeMap(kernel="rbf", gamma=0.5, alpha=0.05).fit(
                inputs[rest], targets[rest]
            )
            lost += np.square(targets[fold] - part.predict(inputs[fold])).sum()
        assert whole.error_ == pytest.approx(lost / len(inputs), rel=1e-8)

    @pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "cosine", "sigmoid"])
    def test_scale_and_ridge_are_chosen(self, kernel, pairs):
        inputs, targets = pairs
        for cv in (None, 4):
            auto = KernelRidgeMap(kernel=kernel, cv=cv).fit(inputs, targets)
            assert np.isfinite(auto.error_)
            assert np.isnan(auto.gamma_) == (kernel == "cosine")
            fixed = KernelRidgeMap(kernel=kernel, alpha=10.0, cv=cv).fit(inputs, targets)
            assert auto.error_ <= 1.01 * fixed.error_

    @pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
    def test_far_inputs_stay_finite(self, kernel, pairs):
        fitted = KernelRidgeMap(kernel=kernel, degree=9).fit(*pairs)
        far = pairs[0] * 2.0**300
        assert np.isfinite(fitted.predict(far)).all()
        assert np.isfinite(fitted.jacobian(far)).all()
        assert all(np.isfinite(terms).all() for terms in fitted.normal_terms(far, pairs[1]))

    def test_centers_where_the_kernel_vanishes(self, pairs):
        fitted = KernelRidgeMap(kernel="linear", centers=np.zeros((3, 2))).fit(*pairs)
        assert (fitted.predict(pairs[0]) == 0.0).all()
        np.testing.assert_allclose(fitted.leave_one_out(*pairs), 0.0)

    def test_memory_is_estimated(self, pairs, monkeypatch):
        monkeypatch.setattr("twofold.numerics.memory.available_memory", lambda: 40_000.0)
        with pytest.raises(MemoryError, match=r"40 rows and 40 centers .* Use fewer centers"):
            KernelRidgeMap().fit(*pairs)
        KernelRidgeMap(centers=pairs[0][:10]).fit(*pairs)

    def test_settings_are_checked(self, pairs):
        for name, value in (("gamma", -1.0), ("alpha", -1.0), ("cv", 1)):
            with pytest.raises(ValueError, match=name):
                KernelRidgeMap(kernel="rbf", **{name: value}).fit(*pairs)

    @pytest.mark.parametrize(
        ("bad", "error", "message"),
        [
            ({"kernel": "wavy"}, ValueError, "kernel='wavy' must be one of"),
            ({"kernel": None}, TypeError, "kernel=None must be a name"),
            ({"kernel": 3}, TypeError, "kernel=3 must be a name"),
            ({"kernel": Gaussian}, TypeError, "must be a name"),
            ({"kernel": "rbf", "gamma": "x"}, TypeError, "gamma='x' must be a number, or \"auto\""),
            ({"bandwidth": "x"}, TypeError, "bandwidth='x' must be a number, or \"auto\""),
            ({"gamma": 0.5}, ValueError, "gamma=0.5 does not apply to kernel='gaussian'"),
            ({"kernel": "rbf", "bandwidth": 2}, ValueError, "bandwidth=2 does not .* use gamma"),
            ({"alpha": None}, TypeError, 'alpha=None must be a number, or 0 or "auto"'),
            ({"degree": "3"}, TypeError, "degree='3'"),
            ({"coef0": None}, TypeError, "coef0=None"),
            ({"kernel_params": {"gamma": 2}}, ValueError, "kernel_params=.* is a name"),
            ({"centers": np.zeros((3, 5))}, ValueError, "centers has 5 columns, but inputs has 2"),
            ({"kernel": "polynomial", "degree": 2.5}, ValueError, "whole degree"),
            ({"kernel": "poly", "degree": 0.5, "coef0": 99.0}, ValueError, "whole degree"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
    def test_errors_name_the_parameter(self, bad, error, message, pairs):
        with pytest.raises(error, match=message):
            KernelRidgeMap(**bad).fit(*pairs)


class TestGRNN:
    def test_is_the_weighted_mean(self, pairs):
        inputs, targets = pairs
        network = GRNN(bandwidth=0.4).fit(inputs, targets)
        weights = np.exp(-0.5 * np.square(inputs[:, None] - inputs).sum(axis=2) / 0.4**2)
        expected = weights @ targets / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(network.predict(inputs), expected, rtol=1e-10)
        np.fill_diagonal(weights, 0.0)
        expected = weights @ targets / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(network.leave_one_out(*pairs), expected, rtol=1e-10)
        with pytest.raises(ValueError, match="inputs has 3 rows, but the map was fitted to 40"):
            network.leave_one_out(inputs[:3], targets[:3])

    def test_far_away_the_nearest_counts(self, pairs):
        inputs, targets = pairs
        network = GRNN(bandwidth=1e-3).fit(inputs, targets)
        np.testing.assert_allclose(network.predict(inputs + 1e-2), targets, rtol=1e-6)


class TestRidge:
    def test_bias_and_penalty_are_equations_14_to_16(self, pairs):
        """The paper's normal equations, solved as printed."""
        inputs, targets = pairs
        network = RBFNetwork(7, bandwidth=1.0, alpha=0.3, random_state=0).fit(inputs, targets)
        G_xy = network.features(inputs).T
        G_xx = network.features(network.centers_)
        n, ones = len(inputs), np.ones((len(inputs), 1))
        system = G_xy @ G_xy.T + 0.3 * G_xx - (G_xy @ ones) @ (G_xy @ ones).T / n
        W = np.linalg.solve(system, G_xy @ (np.eye(n) - ones @ ones.T / n) @ targets)
        np.testing.assert_allclose(network.weights_, W, rtol=1e-6)
        np.testing.assert_allclose(
            network.intercept_, (targets - G_xy.T @ W).mean(axis=0), rtol=1e-8
        )

    def test_leave_one_out_with_bias(self):
        rng = np.random.default_rng(0)
        features, targets = rng.standard_normal((15, 4)), rng.standard_normal((15, 2))
        gram = np.diag([1.0, 2.0, 3.0, 4.0])
        errors = []
        for row in range(15):
            rest = np.arange(15) != row
            path = RidgePath.of(features[rest], targets[rest], gram, intercept=True)
            weights, bias = path.solve(0.7)
            errors.append(np.square(targets[row] - features[row] @ weights - bias).sum())
        whole = RidgePath.of(features, targets, gram, intercept=True)
        assert whole.held_out_error(0.7) == pytest.approx(np.mean(errors), rel=1e-8)


class TestRBFNetwork:
    def test_more_centers_than_points(self):
        inputs = np.repeat(np.arange(3.0), 4)[:, None]
        network = RBFNetwork(50, random_state=0).fit(inputs, inputs)
        assert len(network.centers_) == 3
        np.testing.assert_allclose(network.predict(inputs), inputs, atol=1e-3)

    def test_warm_start(self, pairs):
        first = RBFNetwork(5, random_state=0).fit(*pairs)
        again = RBFNetwork(5, init=first.centers_).fit(*pairs)
        np.testing.assert_allclose(again.centers_, first.centers_, atol=1e-8)

    def test_one_repeated_input(self):
        network = RBFNetwork(3, random_state=0).fit(np.ones((5, 2)), np.arange(5.0)[:, None])
        np.testing.assert_allclose(network.predict(np.ones((1, 2))), [[2.0]])

    @pytest.mark.parametrize("n_targets", [2, 9])
    def test_normal_terms_of_another_kernel_equal_the_jacobians(self, pairs, n_targets):
        inputs, targets = pairs[0], np.tile(pairs[1], 5)[:, :n_targets]
        network = RBFNetwork(7, kernel="student", bandwidth=0.9, random_state=0)
        network.fit(inputs, targets)
        J, r = network.jacobian(inputs), targets + 1.0 - network.predict(inputs)
        JTJ, JTr, loss = network.normal_terms(inputs, targets + 1.0)
        np.testing.assert_allclose(JTJ, np.einsum("ndq,ndp->nqp", J, J), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(JTr, np.einsum("ndq,nd->nq", J, r), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(loss, np.square(r).sum(axis=1), rtol=1e-12)

    def test_penalty_is_the_norm_of_the_function(self, pairs):
        network = RBFNetwork(7, bandwidth=0.8, alpha=0.3, random_state=0).fit(*pairs)
        differences = network.centers_[:, None] - network.centers_
        gram = np.exp(-0.5 * np.square(differences).sum(axis=2) / 0.8**2)
        weights = network.weights_
        expected = 0.3 * np.trace(weights.T @ gram @ weights)
        assert network.penalty() == pytest.approx(expected, rel=1e-9)

    def test_many_targets_are_all_learned(self):
        """Leading coordinates choose width and ridge; error and weights are those of all."""
        rng = np.random.default_rng(0)
        inputs = rng.random((80, 2))
        targets = np.sin(3.0 * inputs @ rng.standard_normal((2, 70))) + 0.1 * rng.random((80, 70))
        network = RBFNetwork(9, random_state=0).fit(inputs, targets)
        assert network.weights_.shape == (9, 70)
        gram = network.features(network.centers_)
        path = RidgePath.of(network.features(inputs), targets, gram, intercept=True)
        assert network.error_ == pytest.approx(path.held_out_error(network.alpha_), rel=1e-9)
        assert network.error_ < 0.2 * np.square(targets - targets.mean(axis=0)).sum(axis=1).mean()

    @pytest.mark.parametrize("kernel", ["gaussian", "student"])
    @pytest.mark.parametrize("distance", [1.0, 10.0])
    def test_centers_many_bandwidths_from_each_other(self, kernel, distance):
        """Distances and Jacobians as differences of products would lose their digits."""
        rng = np.random.default_rng(0)
        inputs = 1e-4 * rng.standard_normal((40, 2))
        inputs[::2] += distance
        inputs[1::2] -= distance
        targets = np.sin(1e4 * inputs[:, [0]] + [0.0, 1.0, 2.0])
        network = RBFNetwork(12, kernel=kernel, bandwidth=1e-4, alpha=1e-3, random_state=0)
        network.fit(inputs, targets)
        query = inputs[:5] + 3e-5
        log_profile = network._radial_kernel().log_profile
        differences = query[:, None] / 1e-4 - network.centers_ / 1e-4
        expected = np.exp(log_profile(np.square(differences).sum(axis=2)))
        np.testing.assert_allclose(network.features(query), expected, rtol=1e-9, atol=1e-9)
        J, r = network.jacobian(query), targets[:5] - network.predict(query)
        JTJ, JTr, loss = network.normal_terms(query, targets[:5])
        np.testing.assert_allclose(JTJ, np.einsum("ndq,ndp->nqp", J, J), rtol=1e-9, atol=1e-2)
        np.testing.assert_allclose(JTr, np.einsum("ndq,nd->nq", J, r), rtol=1e-9, atol=1e-6)
        np.testing.assert_allclose(loss, np.square(r).sum(axis=1), rtol=1e-9)


class TestNadarayaWatson:
    def test_limits_of_the_bandwidth(self, pairs):
        inputs, targets = pairs
        wide = NadarayaWatson(bandwidth=1e150).fit(inputs, targets)
        np.testing.assert_allclose(wide.predict(inputs), np.tile(targets.mean(axis=0), (40, 1)))
        narrow = NadarayaWatson(bandwidth=1e-200).fit(inputs, targets)
        np.testing.assert_array_equal(narrow.predict(inputs), targets)
        query = inputs + 1e-3
        np.testing.assert_array_equal(narrow.predict(query), targets)
        assert not narrow.jacobian(query).any()

    def test_unreached_points_take_the_nearest_target(self, pairs):
        fitted = NadarayaWatson(kernel="quartic", bandwidth=0.1).fit(*pairs)
        far = np.array([[100.0, 0.0], [1e6, -1e6]])
        nearest = np.square(far[:, None] - pairs[0]).sum(axis=2).argmin(axis=1)
        np.testing.assert_array_equal(fitted.predict(far), pairs[1][nearest])
        JTJ, JTr, loss = fitted.normal_terms(far, np.zeros((2, pairs[1].shape[1])))
        assert not JTJ.any()
        assert not JTr.any()
        assert (loss > 0.0).all()

    @pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
    def test_bandwidth_minimizes_the_leave_one_out_error(self, kernel, pairs):
        inputs, targets = pairs

        def error(width):
            total = 0.0
            for row in range(len(inputs)):
                rest = np.arange(len(inputs)) != row
                part = NadarayaWatson(kernel=kernel, bandwidth=width).fit(
                    inputs[rest], targets[rest]
                )
                total += np.square(targets[row] - part.predict(inputs[[row]])).sum()
            return total

        best = NadarayaWatson(kernel=kernel).fit(inputs, targets).bandwidth_
        assert error(best) <= min(error(best * ratio) for ratio in (0.25, 0.5, 2.0, 4.0)) * 1.001

    def test_many_points_use_some_targets(self, pairs, monkeypatch):
        monkeypatch.setattr("twofold.maps.left_out_widths.MAX_PAIRS", 400)
        assert 0.01 < NadarayaWatson().fit(*pairs).bandwidth_ < 10.0


class TestMLP:
    def test_warm_start_goes_on(self, pairs):
        cold = MLP(5, max_iter=30, random_state=0).fit(*pairs)
        warm = MLP(5, max_iter=30, warm_start=True, random_state=0)
        for _ in range(5):
            warm.fit(*pairs)
        loss = [np.square(m.predict(pairs[0]) - pairs[1]).sum() for m in (cold, warm)]
        assert loss[1] < loss[0]

    def test_one_target_and_constant_targets(self):
        z = np.linspace(0, 1, 30)[:, None]
        assert MLP(3, random_state=0).fit(z, z**2).predict(z).shape == (30, 1)
        constant = MLP(3, random_state=0).fit(z, np.full((30, 2), 4.0))
        np.testing.assert_allclose(constant.predict(z), 4.0, atol=1e-2)


def test_width_grid_ignores_duplicates_and_rounding():
    points = np.random.default_rng(0).standard_normal((300, 12)) + 1e3
    spacing = [np.sort(np.linalg.norm(points - p, axis=1))[1] for p in points]
    assert width_grid(points)[0] == pytest.approx(np.median(spacing), rel=1e-6)
    assert width_grid(np.repeat(points, 3, axis=0))[0] == pytest.approx(
        np.median(spacing), rel=0.05
    )


def test_width_grid():
    grid = width_grid(np.arange(100.0)[:, None])
    assert grid[0] == pytest.approx(1.0)
    assert grid[-1] >= np.std(np.arange(100.0))
    assert width_grid(np.ones((4, 2))) == [1.0]


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_kernel_means_over_neighbors_equal_those_over_all(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    inputs, targets = 200.0 * rng.random((600, 2)), rng.random((600, 5))
    queries = np.vstack([200.0 * rng.random((300, 2)), [[-9.0, 4.0], [500.0, -3.0]]])
    data = rng.random((302, 5))
    near = NadarayaWatson(kernel=kernel, bandwidth=2.5).fit(inputs, targets)
    assert near._neighbors is not None
    monkeypatch.setattr("twofold.numerics.sums.neighbors.FEWEST_SOURCES", 10**9)
    all_pairs = NadarayaWatson(kernel=kernel, bandwidth=2.5).fit(inputs, targets)
    assert all_pairs._neighbors is None
    np.testing.assert_allclose(
        near.predict(queries), all_pairs.predict(queries), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(
        near.jacobian(queries), all_pairs.jacobian(queries), rtol=1e-7, atol=1e-7
    )
    for a, b in zip(
        near.normal_terms(queries, data), all_pairs.normal_terms(queries, data), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7)

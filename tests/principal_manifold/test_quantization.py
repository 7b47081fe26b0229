"""Principal manifolds: domains, kernels on them, and a functional that never rises."""

import numpy as np
import pytest
from differences import central_gradient
from scipy import integrate
from sklearn.cluster import KMeans

from twofold.losses import L1, Huber, Norm, Squared
from twofold.numerics.turns import TurnOptions
from twofold.principal_manifold.domains import Domain, resolve_domain
from twofold.principal_manifold.functional import Quantization, penalized
from twofold.principal_manifold.node_kernels import (
    NODE_KERNELS,
    DampedKernel,
    GaussianKernel,
    PeriodicKernel,
    SplineKernel,
    fourier_form,
    resolve_node_kernel,
)
from twofold.principal_manifold.nodes import NodeExpansion

LOSSES = {"squared": Squared(), "l1": L1(), "norm": Norm(), "huber": Huber(0.1)}
SIZES = {
    "gaussian": 0.4,
    "periodic": 0.4,
    "damped": 0.4,
    "spline": 1.0,
    "linear": 1.0,
    "delta": 1.0,
}


def expansion(kernel, q=1, n=8, *, domain=None, seed=0, n_targets=3):
    domain = domain or Domain((kernel == "periodic",) * q)
    nodes = domain.grid((n,) * q)
    up = NodeExpansion(nodes, (NODE_KERNELS[kernel],) * q, np.full(q, SIZES[kernel]))
    rng = np.random.default_rng(seed)
    up.weights_ = rng.standard_normal((len(nodes), n_targets))
    up.intercept_ = rng.standard_normal(n_targets)
    return up, domain


def circle(n=150, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-np.pi, np.pi, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * rng.standard_normal(X.shape), angle


def functional(X, domain, *, loss="squared", penalty="rkhs", alpha=0.01, n_grid=40):
    q = domain.n_components
    grid = domain.grid((n_grid,) * q)
    return Quantization(X, domain, grid, LOSSES[loss], penalty, alpha)


def test_penalties():
    up, _ = expansion("gaussian", n=2, n_targets=2)
    up.weights_ = W = np.array([[1.0, -2.0], [0.5, 0.0]])
    assert penalized(up, "l1") == 3.5
    assert penalized(up, "l2") == 0.5 * 5.25
    assert penalized(up, "rkhs") == pytest.approx(0.5 * np.trace(W.T @ up.gram() @ W))


class TestDomain:
    def test_circles_wrap_and_intervals_end(self):
        domain = Domain((True, False))
        inside = domain.into(np.array([[1.5, 1.5], [-1.25, -3.0], [0.5, 0.5]]))
        np.testing.assert_allclose(inside, [[-0.5, 1.0], [0.75, -1.0], [0.5, 0.5]])

    def test_grids(self):
        assert Domain((False,)).grid((3,)).ravel().tolist() == [-1.0, 0.0, 1.0]
        assert Domain((True,)).grid((4,)).ravel().tolist() == [-1.0, -0.5, 0.0, 0.5]
        assert Domain((True, False)).grid((4, 3)).shape == (12, 2)
        assert Domain((False,)).grid((1,)).tolist() == [[0.0]]
        np.testing.assert_allclose(Domain((True, False)).spacing((4, 5)), [0.5, 0.5])

    def test_sides(self):
        box = Domain((True, False), sides=(1.0, 0.25))
        np.testing.assert_allclose(box.into(np.array([[1.5, 0.3]])), [[-0.5, 0.25]])
        np.testing.assert_allclose(box.spacing((4, 5)), [0.5, 0.125])
        assert np.abs(box.grid((4, 3))).max(axis=0).tolist() == [1.0, 0.25]
        assert Domain((False,), sides=(1.0,)).ends.tolist() == Domain((False,)).ends.tolist()

    @pytest.mark.parametrize("sides", [(1.0,), (0.0, 1.0), (1.0, np.inf), (1.0, 0.5)])
    def test_sides_that_do_not_fit(self, sides):
        with pytest.raises(ValueError, match="sides="):
            Domain((False, True), sides=sides)

    def test_names(self):
        assert resolve_domain("box", 2) == Domain((False, False))
        assert resolve_domain("circle", 1) == Domain((True,))
        assert resolve_domain("torus", 2) == Domain((True, True))
        assert resolve_domain("cylinder", 3) == Domain((True, False, False))
        given = Domain((False, True))
        assert resolve_domain(given, 2) is given

    @pytest.mark.parametrize(
        ("domain", "q"), [("sphere", 2), ("circle", 2), ("cylinder", 1), (Domain((True,)), 2)]
    )
    def test_what_makes_no_sense(self, domain, q):
        with pytest.raises(ValueError, match="domain="):
            resolve_domain(domain, q)


class TestKernels:
    @pytest.mark.parametrize("name", NODE_KERNELS)
    def test_slopes(self, name):
        kernel, centers = NODE_KERNELS[name], np.linspace(-1.0, 1.0, 6)
        z = np.array([-0.93, -0.31, 0.13, 0.77])
        found = kernel.slopes(z, centers, 0.5)
        for i, place in enumerate(z):
            expected = central_gradient(
                lambda at: kernel.values(at, centers, 0.5)[0], np.array([place])
            )[:, 0]
            np.testing.assert_allclose(found[i], expected, atol=1e-8)

    @pytest.mark.parametrize("name", NODE_KERNELS)
    def test_positive_definite(self, name):
        nodes = np.sort(np.random.default_rng(0).uniform(-1.0, 1.0, 25))
        gram = NODE_KERNELS[name].values(nodes, nodes, 0.3)
        np.testing.assert_allclose(gram, gram.T, atol=1e-12)
        assert np.linalg.eigvalsh(gram)[0] > -1e-12 * len(gram)

    def test_both_periodic_forms_are_one(self):
        t = np.linspace(-3.0, 3.0, 50)
        for width in (0.1, 0.5, 2.0):
            wrapped = PeriodicKernel().values(t, np.zeros(1), width)[:, 0]
            np.testing.assert_allclose(wrapped, fourier_form(t, width), atol=1e-14)
        np.testing.assert_allclose(
            PeriodicKernel().values(t, np.zeros(1), 0.3),
            PeriodicKernel().values(t + 2.0, np.zeros(1), 0.3),
            rtol=1e-10,
        )

    def test_the_splines_norm_is_the_squared_speed(self):
        up, _ = expansion("spline", n=6)
        norm = np.vdot(up.weights_, up.gram() @ up.weights_)
        z = np.linspace(-1.0, 1.0, 20_001)[:, None]
        speed = np.square(up.jacobian(z)[:, :, 0]).sum(axis=1)
        assert integrate.trapezoid(speed, z[:, 0]) == pytest.approx(norm, rel=1e-3)

    def test_names(self):
        assert isinstance(resolve_node_kernel("damped"), DampedKernel)
        given = SplineKernel()
        assert resolve_node_kernel(given) is given
        with pytest.raises(ValueError, match="kernel='cubic'"):
            resolve_node_kernel("cubic")


class TestExpansion:
    @pytest.mark.parametrize("name", ["gaussian", "periodic", "damped"])
    @pytest.mark.parametrize("q", [1, 2, 3])
    def test_jacobian(self, name, q):
        up, _ = expansion(name, q, 4)
        Z = np.random.default_rng(1).uniform(-0.9, 0.9, (3, q))
        for z, found in zip(Z, up.jacobian(Z), strict=True):
            expected = central_gradient(lambda at: up.predict(at[None])[0], z)
            np.testing.assert_allclose(found, expected, atol=1e-7)

    def test_fit_is_the_papers_equation(self):
        rng = np.random.default_rng(0)
        Z, X = rng.uniform(-1.0, 1.0, (60, 1)), rng.standard_normal((60, 2))
        up, _ = expansion("gaussian", n=5)
        up.set_params(alpha=0.2).fit(Z, X)
        # Eq. (33), with f_0 as one more feature without a penalty.
        features = np.hstack([np.ones((60, 1)), up.features(Z)])
        penalty = np.zeros((6, 6))
        penalty[1:, 1:] = 0.5 * 0.2 * 60 * up.gram()
        expected = np.linalg.solve(features.T @ features + penalty, features.T @ X)
        np.testing.assert_allclose(up.weights_, expected[1:], atol=1e-8)
        np.testing.assert_allclose(up.intercept_, expected[0], atol=1e-8)

    def test_wide_kernels(self):
        z = np.linspace(-1.0, 1.0, 100)[:, None]
        up = NodeExpansion(z[::5], (GaussianKernel(),), np.array([30.0]), alpha=1e-9).fit(z, z**2)
        assert np.isfinite(up.weights_).all()
        assert np.abs(up.predict(z) - z**2).max() < 0.1


class TestFunctional:
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("penalty", ["rkhs", "l2", "l1"])
    @pytest.mark.parametrize("kernel", ["delta"])
    def test_never_rises(self, loss, penalty, kernel):
        X, _ = circle(120)
        up, domain = expansion(kernel, n_targets=2)
        problem = functional(X, domain, loss=loss, penalty=penalty)
        start = problem.project(up, None)
        history = problem.run(up, start, TurnOptions(8, 0.0)).history
        assert np.diff(history).max() <= 1e-10 * history[0]
        assert history[-1] < (0.5 if loss == "squared" else 0.8) * history[0]

    @pytest.mark.parametrize("penalty", ["rkhs", "l1"])
    @pytest.mark.parametrize("wrapped", [(False, False), (True, False), (True, True)])
    def test_never_rises_on_surfaces(self, penalty, wrapped):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((150, 4)) * [1.0, 0.8, 0.3, 0.1]
        domain = Domain(wrapped)
        kernels = tuple(PeriodicKernel() if one else GaussianKernel() for one in wrapped)
        up = NodeExpansion(domain.grid((5, 5)), kernels, np.array([0.4, 0.4]))
        up.weights_, up.intercept_ = rng.standard_normal((25, 4)), np.zeros(4)
        problem = functional(X, domain, penalty=penalty, n_grid=12)
        found = problem.run(up, problem.project(up, None), TurnOptions(6, 0.0))
        assert np.diff(found.history).max() <= 1e-10 * found.history[0]
        assert (np.abs(found.latents) <= 1.0).all()

    def test_projection_is_the_nearest_point(self):
        X, _ = circle(60)
        up, domain = expansion("gaussian", n_targets=2)
        problem = functional(X, domain, n_grid=60)
        Z = problem.project(up, None)
        fine = np.linspace(-1.0, 1.0, 20_001)[:, None]
        distances = np.square(X[:, None] - up.predict(fine)).sum(axis=2).min(axis=1)
        found = np.square(X - up.predict(Z)).sum(axis=1)
        assert (found >= distances - 1e-6).all()
        np.testing.assert_allclose(found, distances, rtol=5e-3)

    def test_a_closed_curve_is_found(self):
        X, _ = circle(400, noise=0.1)
        up, domain = expansion("periodic", n=12, n_targets=2)
        t = up.nodes[:, 0]
        flat = np.column_stack([np.cos(np.pi * t), 0.3 * np.sin(np.pi * t)])
        up.set_params(alpha=1e-4).fit(up.nodes, flat)
        problem = functional(X, domain, alpha=1e-3)
        found = problem.run(up, problem.project(up, None), TurnOptions(100, 1e-5))
        curve = found.up.predict(np.linspace(-1.0, 1.0, 400)[:, None])
        assert np.abs(np.linalg.norm(curve, axis=1) - 1.0).mean() < 0.025

    def test_speed_becomes_constant_under_the_length_constraint(self):
        rng = np.random.default_rng(0)
        t = np.sort(rng.beta(0.4, 1.5, 400))  # rows crowd at one end
        X = np.column_stack([t, 0.3 * np.sin(3.0 * t)])
        up, domain = expansion("spline", n=30, n_targets=2)
        ordered = np.linspace(-1.0, 1.0, 400)[:, None]
        up.set_params(alpha=1e-4).fit(ordered, X)

        def unevenness(one):
            speed = np.linalg.norm(one.jacobian(np.linspace(-0.95, 0.95, 200)[:, None]), axis=1)
            return float(speed.std() / speed.mean())

        problem = functional(X, domain, alpha=1e-2, n_grid=200)
        found = problem.run(up, ordered, TurnOptions(200, 0.0))
        assert unevenness(found.up) < 0.2 * unevenness(up)

    def test_the_absolute_penalty_leaves_few_nodes(self):
        t = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 1))
        X = np.hstack([t, np.sin(2.0 * t)])
        up, domain = expansion("gaussian", n=20, n_targets=2)
        problem = functional(X, domain, penalty="l1", alpha=1e-3)
        sparse = problem.run(up, t, TurnOptions(20, 0.0)).up
        active = np.abs(sparse.weights_).max(axis=1) > 0.0
        assert active.sum() <= 10
        residuals = X - sparse.predict(problem.project(sparse, t))
        assert np.square(residuals).sum() < 0.01 * np.square(X - X.mean(axis=0)).sum()

    def test_separate_nodes_are_k_means(self):
        rng = np.random.default_rng(0)
        X = np.concatenate(
            [rng.standard_normal((60, 2)) + 8.0 * rng.standard_normal(2) for _ in range(4)]
        )
        domain = Domain((False,))
        nodes = domain.grid((4,))
        up = NodeExpansion(nodes, (GaussianKernel(),), np.array([1e-3]))  # no node sees another
        up.weights_, up.intercept_ = X[[0, 60, 120, 180]].copy(), np.zeros(2)
        problem = Quantization(X, domain, nodes, Squared(), "l2", 1e-12)
        found = problem.run(up, problem.project(up, None), TurnOptions(50, 0.0))
        rival = KMeans(4, init=X[[0, 60, 120, 180]], n_init=1, tol=0.0).fit(X)
        error = np.square(X - found.up.predict(found.latents)).sum()
        assert error == pytest.approx(rival.inertia_, rel=1e-6)

    def test_robust_losses_forgive_outliers(self):
        rng = np.random.default_rng(0)
        t = rng.uniform(-1.0, 1.0, (300, 1))
        X = np.hstack([2.0 * t, np.sin(3.0 * t)]) + 0.05 * rng.standard_normal((300, 2))
        X[:30] += 6.0 * rng.standard_normal((30, 2))
        truth = np.hstack([2.0 * t, np.sin(3.0 * t)])[30:]
        errors = {}
        for loss in ("squared", "norm", "huber"):
            up, domain = expansion("gaussian", n=10, n_targets=2)
            up.set_params(alpha=1e-4).fit(t, X)
            problem = functional(X, domain, loss=loss, alpha=1e-3)
            found = problem.run(up, t, TurnOptions(40, 1e-6))
            clean = functional(truth, domain, loss=loss, alpha=1e-3)
            nearest = found.up.predict(clean.project(found.up, None))
            errors[loss] = float(np.linalg.norm(truth - nearest, axis=1).mean())
        assert errors["norm"] < 0.5 * errors["squared"]
        assert errors["huber"] < 0.5 * errors["squared"]

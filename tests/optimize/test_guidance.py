"""Spectral guidance of descents, and the objective of stochastic neighbor embedding."""

from dataclasses import replace

import numpy as np
import pytest
from differences import central_gradient
from scipy.sparse import csr_array
from scipy.stats import spearmanr

from twofold.datasets import make_noisy_helix, make_partitioned_circle
from twofold.kernels import Gaussian
from twofold.numerics.probabilities import calibrated_neighbors, transition_probabilities
from twofold.numerics.sums.dense import DenseWeights
from twofold.optimize import (
    LBFGS,
    ConjugateGradient,
    GradientDescent,
    RProp,
    SpectralGuidance,
    Staged,
)
from twofold.optimize._bandwidth import bandwidth_within_gaps
from twofold.sne.divergence import NeighborEmbedding
from twofold.ukr.objective import Reconstruction


def helix_error(X, seed, guide, max_iter=200):
    objective = Reconstruction(X - X.mean(axis=0), lambda Z: DenseWeights.of(Z, Gaussian()))
    Z0 = np.random.default_rng(seed).standard_normal((len(X), 1))
    return GradientDescent(max_iter=max_iter, tol=0.0, guide=guide).minimize(objective, Z0)


class TestOperator:
    def test_power_is_the_power_of_the_matrix(self):
        X, _ = make_noisy_helix(60, random_state=0)
        guide = SpectralGuidance(bandwidth=1.0).prepare(X)
        kernel = np.exp(-np.square(X[:, None] - X).sum(axis=2))
        root = np.sqrt(kernel.sum(axis=1))
        M = kernel / np.outer(root, root)
        G = np.random.default_rng(0).standard_normal((60, 2))
        np.testing.assert_allclose(guide.guided(G, 7), np.linalg.matrix_power(M, 3) @ G, rtol=1e-9)
        assert guide.guided(G, 10) is G

    def test_kernel_pca_matrix_is_centered(self):
        X, _ = make_noisy_helix(50, random_state=0)
        guide = SpectralGuidance("kpca", bandwidth=1.0).prepare(X)
        np.testing.assert_allclose(guide.matrix.sum(axis=0), 0.0, atol=1e-12)
        assert np.linalg.eigvalsh(guide.matrix)[-1] == pytest.approx(1.0)

    def test_truncated_projects_to_the_leading_vectors_but_the_first(self):
        X, _ = make_partitioned_circle(60, random_state=0)
        guide = SpectralGuidance(form="truncated", schedule=(2, 2), bandwidth=0.1).prepare(X)
        G = np.random.default_rng(0).standard_normal((60, 2))
        once = guide.guided(G, 0)
        np.testing.assert_allclose(guide.guided(once, 5), once, atol=1e-12)
        assert np.linalg.matrix_rank(once) <= 2
        assert abs(float(guide.vectors()[:, 0] @ once[:, 0])) < 1e-10

    def test_growing_truncation_ends_in_the_plain_gradient(self):
        X, _ = make_partitioned_circle(40, random_state=0)
        guide = SpectralGuidance(form="truncated", schedule=(1, 39), bandwidth=0.1).prepare(X)
        G = np.random.default_rng(0).standard_normal((40, 2))
        sizes = [np.linalg.norm(guide.guided(G, n_iter)) for n_iter in (0, 10, 30)]
        assert sizes == sorted(sizes)
        assert guide.guided(G, 38) is G

    def test_deflated_columns_go_different_ways(self):
        X, _ = make_noisy_helix(80, random_state=0)
        G = np.random.default_rng(0).standard_normal((80, 2))
        plain, deflated = (
            SpectralGuidance(form=form, schedule=(40, 0), bandwidth=1.0).prepare(X).guided(G, 0)
            for form in ("power", "deflated")
        )

        def cosine(columns):
            unit = columns / np.linalg.norm(columns, axis=0)
            return abs(float(unit[:, 0] @ unit[:, 1]))

        assert cosine(plain) > 0.9
        assert cosine(deflated) < 0.3

    def test_many_rows_are_linked_to_neighbors_alone(self):
        X = np.random.default_rng(0).standard_normal((2_500, 3))
        guide = SpectralGuidance().prepare(X)
        assert guide.matrix.nnz < 2_500 * 60
        G = np.random.default_rng(1).standard_normal((2_500, 1))
        smooth = guide.guided(G, 0)
        assert float(np.vdot(smooth, G)) > 0.0  # positive semi-definite

    def test_a_matrix_and_a_schedule_of_ones_own(self):
        M = csr_array(np.diag(np.arange(1.0, 6.0)))
        guide = SpectralGuidance(M, schedule=lambda n_iter: 2 if n_iter < 3 else 0).prepare(
            np.ones((5, 2))
        )
        G = np.ones((5, 1))
        # scaled to a largest eigenvalue of one
        np.testing.assert_allclose(guide.guided(G, 0)[:, 0], (np.arange(1.0, 6.0) / 5.0) ** 2)
        assert guide.guided(G, 3) is G
        assert np.isnan(guide.bandwidth)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"form": "cubic"}, "form="),
            ({"affinity": "cosine"}, "affinity="),
            ({"bandwidth": 0.0}, "bandwidth="),
            ({"schedule": (-1, 0)}, "schedule"),
            ({"schedule": (0, 10)}, "must fall"),
            ({"schedule": (9, 2), "form": "truncated"}, "must rise"),
            ({"schedule": (10**9, 0)}, "has a level of 1e\\+09; at most 4000"),
            ({"schedule": (10, 0), "form": "truncated"}, "schedule"),
            ({"n_neighbors": 0}, "n_neighbors"),
            ({"schedule": (np.nan, 0)}, "schedule"),
            ({"schedule": (9.5, 0), "form": "deflated"}, "whole powers"),
            ({"schedule": (9, 0.5), "form": "deflated"}, "whole powers"),
            ({"deflate_above": -1.0}, "deflate_above"),
            ({"n_eigenvectors": 0}, "n_eigenvectors"),
        ],
    )
    def test_settings_that_make_no_sense(self, settings, message):
        with pytest.raises(ValueError, match=message):
            SpectralGuidance(**settings)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"bandwidth": "best"}, "bandwidth='best'"),
            ({"schedule": 5}, "schedule=5"),
            ({"schedule": (10, 5, 0)}, "schedule="),
            ({"schedule": (1.5, 9), "form": "truncated"}, "schedule"),
            ({"schedule": ("10", 0)}, "schedule"),
            ({"deflate_above": "low"}, "deflate_above"),
            ({"n_eigenvectors": 30.0}, "n_eigenvectors"),
        ],
    )
    def test_settings_of_the_wrong_type(self, settings, message):
        with pytest.raises(TypeError, match=message):
            SpectralGuidance(**settings)

    def test_matrices_that_do_not_fit(self):
        X = np.arange(10.0).reshape(5, 2)
        with pytest.raises(ValueError, match="5 rows"):
            SpectralGuidance(np.eye(4)).prepare(X)
        with pytest.raises(ValueError, match="not finite"):
            SpectralGuidance(np.full((5, 5), np.nan)).prepare(X)
        with pytest.raises(ValueError, match="symmetric"):
            SpectralGuidance(np.triu(np.ones((5, 5)))).prepare(X)
        with pytest.raises(ValueError, match="zero everywhere"):
            SpectralGuidance(csr_array(np.zeros((5, 5)))).prepare(X)
        with pytest.raises(TypeError, match="matrix of numbers"):
            SpectralGuidance(np.array([["a"] * 5] * 5)).prepare(X)
        many = np.random.default_rng(0).standard_normal((2_100, 2))
        with pytest.raises(ValueError, match="n_neighbors=3000"):
            SpectralGuidance(n_neighbors=3_000).prepare(many)
        with pytest.raises(ValueError, match=r"X has shape \(1, 2\)"):
            SpectralGuidance().prepare(X[:1])
        with pytest.raises(TypeError, match="schedule='a'"):
            SpectralGuidance(schedule=lambda _: "a").prepare(X).guided(X, 0)

    def test_sizes_of_a_matrix_do_not_matter(self):
        X = make_noisy_helix(50, random_state=0)[0]
        K = np.exp(-np.square(X[:, None] - X).sum(axis=2))
        G = np.random.default_rng(0).standard_normal((50, 1))
        small, large = (SpectralGuidance(size * K).prepare(X).guided(G, 0) for size in (1e-5, 1e5))
        np.testing.assert_allclose(small, large, rtol=1e-2)

    def test_kernel_pca_of_many_rows_is_centered(self):
        X = np.random.default_rng(0).standard_normal((2_100, 3))
        guide = SpectralGuidance("kpca").prepare(X)
        G = np.random.default_rng(1).standard_normal((2_100, 2))
        guided = guide.guided(G + 5.0, 0)
        np.testing.assert_allclose(guided.sum(axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose(guided, guide.guided(G, 0), atol=1e-9)
        rows = np.arange(40, 10, -1)
        part = guide.take(rows)
        assert part.guided(G[:30], 0).shape == (30, 2)

    def test_kernel_pca_keeps_its_first_vector(self):
        X = make_partitioned_circle(60, random_state=0)[0]
        guide = SpectralGuidance("kpca", form="truncated", schedule=(1, 1), bandwidth=0.5).prepare(
            X
        )
        G = np.random.default_rng(0).standard_normal((60, 1))
        first = guide.vectors()[:, :1]
        np.testing.assert_allclose(guide.guided(G, 0), first @ (first.T @ G), atol=1e-12)

    def test_eigenvalues_are_those_of_what_is_left(self):
        M = np.diag([4.0, 3.0, 2.0, 1.0]) / 4.0
        guide = SpectralGuidance(M, form="deflated", schedule=(200, 200)).prepare(np.eye(4))
        G = np.ones((4, 3)) + 0.1 * np.arange(12.0).reshape(4, 3)
        columns = guide.guided(G, 0)
        unit = np.abs(columns / np.linalg.norm(columns, axis=0))
        np.testing.assert_allclose(unit, np.eye(4)[:, :3], atol=1e-3)


class TestDescent:
    def test_a_helix_is_unrolled_from_chance(self):
        X, truth = make_noisy_helix(150, random_state=0)
        guide = SpectralGuidance(bandwidth=1.0, schedule=(10, 0)).prepare(X)
        plain = [helix_error(X, seed, None, 100) for seed in range(3)]
        guided = [helix_error(X, seed, guide, 100) for seed in range(3)]
        assert np.median([r.value for r in guided]) < 0.5 * np.median([r.value for r in plain])
        orders = [abs(spearmanr(r.Z[:, 0], truth[:, 0])[0]) for r in guided]
        assert np.median(orders) > 0.9
        for result in guided:
            assert (np.diff(result.history) <= 0.0).all()

    def test_a_guide_that_leads_nowhere_is_left(self):
        X, _ = make_noisy_helix(60, random_state=0)
        wrong = SpectralGuidance(-np.eye(60), schedule=(1, 1)).prepare(X)
        result = helix_error(X, 0, wrong, 20)
        assert result.value < result.history[0]

    @pytest.mark.parametrize("hold", [5, 20])
    def test_the_end_is_plain(self, hold):
        X, _ = make_noisy_helix(60, random_state=0)
        guide = SpectralGuidance(form="truncated", schedule=(1, 8), hold=hold, bandwidth=1.0)
        endless = guide.prepare(X)
        faded = SpectralGuidance(
            form="truncated",
            schedule=lambda number: 1 + number if number < 8 else 60,
            hold=hold,
            bandwidth=1.0,
        ).prepare(X)
        objective = Reconstruction(X - X.mean(axis=0), lambda Z: DenseWeights.of(Z, Gaussian()))
        Z0 = np.random.default_rng(0).standard_normal((60, 1))
        # Any guided step meets this tolerance, but it counts only after the guidance has ended.
        loose = GradientDescent(tol=10.0, window=1)
        first = replace(loose, guide=endless).minimize(objective, Z0)
        assert first.n_iter == 1
        assert first.status.endswith("The guidance never ends.")
        assert replace(loose, guide=faded).minimize(objective, Z0).n_iter > 8 * hold
        short = replace(loose, guide=faded, max_iter=4).minimize(objective, Z0)
        assert short.status.endswith("The guidance had not ended.")


class TestNeighborEmbedding:
    @pytest.mark.parametrize("kind", ["bandwidth", "perplexity"])
    def test_gradient(self, kind):
        rng = np.random.default_rng(0)
        X, Z = rng.standard_normal((15, 4)), rng.standard_normal((15, 2))
        P = (
            transition_probabilities(X, 0.5)
            if kind == "bandwidth"
            else calibrated_neighbors(X, 5.0)
        )
        objective = NeighborEmbedding(P)
        value, gradient = objective.value_and_grad(Z)
        expected = central_gradient(lambda at: objective.value_and_grad(at)[0], Z)
        np.testing.assert_allclose(gradient, expected, atol=1e-8)
        assert value > 0.0

    def test_value_is_that_of_a_loop(self):
        rng = np.random.default_rng(1)
        X, Z = rng.standard_normal((8, 3)), rng.standard_normal((8, 2))
        P = transition_probabilities(X, 0.5)
        total = 0.0
        for i in range(8):
            weights = np.exp(-np.square(Z[i] - Z).sum(axis=1))
            data_weights = np.exp(-np.square(X[i] - X).sum(axis=1) / 0.5)
            weights[i] = data_weights[i] = 0.0
            p, q = data_weights / data_weights.sum(), weights / weights.sum()
            others = np.arange(8) != i
            total += float((p[others] * np.log(p[others] / q[others])).sum())
        assert NeighborEmbedding(P).value_and_grad(Z)[0] == pytest.approx(total / 8)

    def test_perplexity_is_met_by_every_row(self):
        X = np.random.default_rng(0).standard_normal((60, 3)) * np.linspace(0.1, 5.0, 60)[:, None]
        P = calibrated_neighbors(X, 12.0)
        logs = np.log(P, out=np.zeros_like(P), where=P > 0.0)
        np.testing.assert_allclose(np.exp(-(P * logs).sum(axis=1)), 12.0, rtol=1e-6)
        assert not np.diag(P).any()
        with pytest.raises(ValueError, match="perplexity=60"):
            calibrated_neighbors(X, 60.0)


class Pulled:
    """A quadratic whose curvatures differ widely, with its lowest point known."""

    def __init__(self, goal):
        self.goal = goal
        self.curvature = np.linspace(1.0, 50.0, len(goal))[:, None]

    def value_and_grad(self, Z):
        return float((self.curvature * (Z - self.goal) ** 2).sum()), 2.0 * self.curvature * (
            Z - self.goal
        )


class TestStages:
    line = np.linspace(0.0, 1.0, 40)[:, None]

    def guide(self, **settings):
        return SpectralGuidance(**{"bandwidth": 0.02, **settings}).prepare(self.line)

    @pytest.mark.parametrize(
        "minimizer", [LBFGS(tol=1e-12), ConjugateGradient(tol=1e-12), RProp(tol=1e-12)]
    )
    @pytest.mark.parametrize("form", ["power", "truncated"])
    def test_ends_at_the_minimum_of_the_plain_objective(self, minimizer, form):
        schedule = (10, 0) if form == "power" else (1, 39)
        goal = np.sin(5.0 * np.hstack([self.line, self.line**2]))
        guide = self.guide(form=form, schedule=schedule, hold=3)
        seen = []
        result = Staged(minimizer, guide).minimize(
            Pulled(goal), np.zeros_like(goal), callback=lambda n, value, Z: seen.append((n, value))
        )
        assert result.value < 1e-4
        np.testing.assert_allclose(result.Z, goal, atol=1e-2)
        assert [n for n, _ in seen] == list(range(1, result.n_iter + 1))
        np.testing.assert_allclose([value for _, value in seen], result.history[1:])
        assert len(result.history) == result.n_iter + 1

    def test_first_steps_are_smooth(self):
        goal = np.random.default_rng(0).standard_normal((40, 1))

        def roughness(minimizer):
            Z = minimizer.minimize(Pulled(goal), np.zeros_like(goal)).Z
            return np.square(np.diff(Z, axis=0)).sum() / np.square(Z).sum()

        few = LBFGS(max_iter=3, tol=0.0)
        assert roughness(Staged(few, self.guide(schedule=(20, 10)))) < 0.2 * roughness(few)

    def test_iterations_of_all_stages_count(self):
        goal = np.random.default_rng(0).standard_normal((40, 1))
        result = Staged(LBFGS(max_iter=17, tol=0.0), self.guide()).minimize(
            Pulled(goal), np.zeros_like(goal)
        )
        assert result.n_iter == 17
        assert not result.converged
        assert "max_iter=17" in result.status

    def test_a_callback_ends_everything(self):
        goal = np.random.default_rng(0).standard_normal((40, 1))
        result = Staged(LBFGS(), self.guide(hold=2)).minimize(
            Pulled(goal), np.zeros_like(goal), callback=lambda n, value, Z: n == 7
        )
        assert result.n_iter == 7
        assert result.converged

    def test_stages_are_those_of_the_schedule(self):
        stages = list(self.guide(schedule=(5, 0), hold=4).stages())
        assert [n for _, n in stages] == [4, 8, 8, np.inf]
        assert stages[-1][0] is None
        G = np.random.default_rng(0).standard_normal((40, 2))
        change = stages[0][0]
        guide = self.guide(schedule=(6, 6))
        np.testing.assert_allclose(change.apply(change.adjoint(G)), guide.guided(G, 0), rtol=1e-10)
        forever = list(self.guide(schedule=(4, 2)).stages())
        assert forever[-1][0] is not None
        assert forever[-1][1] == np.inf

    def test_scale_free(self):
        goal = np.random.default_rng(0).standard_normal((40, 1))
        start = np.random.default_rng(1).standard_normal((40, 1))
        minimizer = Staged(LBFGS(max_iter=30, tol=0.0), self.guide())
        one = minimizer.minimize(Pulled(goal), start)
        other = minimizer.minimize(Pulled(1024.0 * goal), 1024.0 * start)
        np.testing.assert_array_equal(1024.0 * one.Z, other.Z)

    def test_some_rows(self):
        rows = np.array([7, 3, 11])
        some = np.random.default_rng(0).standard_normal((40, 40))
        for affinity in (some + some.T, csr_array(some + some.T)):
            guide = SpectralGuidance(affinity).prepare(self.line)
            part, whole = (
                one @ np.eye(one.shape[0]) for one in (guide.take(rows).matrix, guide.matrix)
            )
            np.testing.assert_array_equal(part, whole[np.ix_(rows, rows)])


class TestBandwidth:
    def test_narrower_where_turns_are_closer(self):
        found = [
            bandwidth_within_gaps(make_noisy_helix(300, pitch=pitch, random_state=0)[0])
            for pitch in (0.7, 1.0, 1.5)
        ]
        assert found == sorted(found)
        # Kernels of this width hardly reach the next turn.
        for bandwidth, pitch in zip(found, (0.7, 1.0, 1.5), strict=True):
            assert np.exp(-(pitch**2) / bandwidth) < 0.1

    def test_moves_with_the_units(self):
        X = make_noisy_helix(200, random_state=0)[0]
        assert bandwidth_within_gaps(8.0 * X) == pytest.approx(64.0 * bandwidth_within_gaps(X))

    @pytest.mark.parametrize(
        "X", [np.zeros((30, 2)), np.repeat(np.eye(2), 20, axis=0), np.array([[0.0], [3.0]])]
    )
    def test_equal_rows_and_few_rows(self, X):
        assert 0.0 < bandwidth_within_gaps(X) < np.inf

    def test_copies_do_not_make_it_narrow(self):
        X = np.random.default_rng(0).standard_normal((20, 64))
        nearest = np.sort(np.square(X[:, None] - X).sum(axis=2), axis=1)[:, 1].min()
        assert bandwidth_within_gaps(np.repeat(X, 20, axis=0)) > nearest

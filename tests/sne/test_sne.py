"""Stochastic neighbor embedding: the objective in both forms, and the estimator."""

import numpy as np
import pytest
from differences import central_gradient
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from twofold import SNE
from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.geodesics.graph import geodesic_distances, mutual_graph
from twofold.kernels import Gaussian
from twofold.metrics import procrustes_r2
from twofold.numerics.neighbors import nearest, nearest_neighbors
from twofold.numerics.probabilities import (
    calibrated_neighbors,
    neighbor_matrix,
    probabilities_of,
    transition_probabilities,
)
from twofold.numerics.sums.dense import DenseWeights
from twofold.numerics.sums.grid import GridWeights, weigh_many
from twofold.numerics.sums.reach import kernel_radius
from twofold.optimize import GradientDescent, SpectralGuidance
from twofold.sne import divergence as neighbor_embedding
from twofold.sne import estimator as module
from twofold.sne.divergence import NeighborEmbedding, SparseNeighborEmbedding

RNG = np.random.default_rng(0)


def exact(Z):
    return DenseWeights.of(Z, Gaussian())


@pytest.fixture(scope="module")
def sheet():
    return make_s_curve(150, noise=0.02, random_state=0)[0]


@pytest.fixture(scope="module")
def model(sheet):
    return SNE(perplexity=12, random_state=0).fit(sheet)


class TestSparseObjective:
    def test_gradient(self):
        X, Z = RNG.standard_normal((30, 4)), 1.5 * RNG.standard_normal((30, 2))
        P = neighbor_matrix(X, nearest_neighbors(X, 8, RNG), perplexity=3.0)
        objective = SparseNeighborEmbedding(P, exact)
        expected = central_gradient(lambda at: objective.value_and_grad(at)[0], Z)
        np.testing.assert_allclose(objective.value_and_grad(Z)[1], expected, atol=1e-8)

    @pytest.mark.parametrize("kind", ["bandwidth", "perplexity"])
    def test_equals_the_dense_one_where_everyone_is_seen(self, kind, monkeypatch):
        monkeypatch.setattr(neighbor_embedding, "LEAST_MASS", 0.0)
        X, Z = RNG.standard_normal((40, 3)), RNG.standard_normal((40, 2))
        setting = {kind: 4.0}
        P = neighbor_matrix(X, nearest_neighbors(X, 39, RNG), **setting)
        dense = (transition_probabilities if kind == "bandwidth" else calibrated_neighbors)(X, 4.0)
        np.testing.assert_allclose(P.toarray(), dense, atol=1e-8)
        sparse = SparseNeighborEmbedding(csr_array(dense), exact).value_and_grad(Z)
        expected = NeighborEmbedding(dense).value_and_grad(Z)
        assert sparse[0] == pytest.approx(expected[0])
        np.testing.assert_allclose(sparse[1], expected[1], atol=1e-10)

    @pytest.mark.parametrize("spread", [0.3, 3.0, 30.0])
    @pytest.mark.parametrize("q", [1, 2, 3, 4])
    def test_sums_over_many_rows_are_near_the_exact_ones(self, q, spread):
        n = 1_500
        X, Z = RNG.standard_normal((n, 3)), spread * RNG.standard_normal((n, q))
        P = neighbor_matrix(X, nearest_neighbors(X, 10, RNG), perplexity=4.0)
        radius = kernel_radius(Gaussian(), 5e-5)
        value, gradient = SparseNeighborEmbedding(
            P, lambda at: weigh_many(at, Gaussian(), radius, masses_alone=True)
        ).value_and_grad(Z)
        expected, reference = SparseNeighborEmbedding(P, exact).value_and_grad(Z)
        assert value == pytest.approx(expected, rel=1e-3)
        assert np.linalg.norm(gradient - reference) < 2e-2 * np.linalg.norm(reference)

    @pytest.mark.parametrize("distance", [1e3, 1e6, 1e9])
    def test_an_outlier_does_not_change_the_others(self, distance):
        X = RNG.standard_normal((60, 3))
        with_outlier = np.vstack([X, np.full((1, 3), distance)])
        P, Q = calibrated_neighbors(X, 8.0), calibrated_neighbors(with_outlier, 8.0)
        np.testing.assert_allclose(Q[:60, :60], P, atol=1e-6)

    def test_one_calibration(self):
        with pytest.raises(ValueError, match="one of perplexity=None"):
            neighbor_matrix(np.ones((3, 2)), np.zeros((3, 1), dtype=int))

    def test_equal_rows_share_their_probabilities(self):
        X = np.repeat(RNG.standard_normal((4, 2)), 6, axis=0)
        P = calibrated_neighbors(X, 3.0)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert P[0, 1:6].min() == pytest.approx(0.2)


class TestRowsAmongTheirOwnNeighbors:
    """Eqs. (1)-(3) as printed, with k = i."""

    X, Z = RNG.standard_normal((12, 3)), RNG.standard_normal((12, 2))

    def test_value_is_that_of_a_loop(self):
        total = 0.0
        for x, z in zip(self.X, self.Z, strict=True):
            p = np.exp(-np.square(x - self.X).sum(axis=1) / 0.5)
            q = np.exp(-np.square(z - self.Z).sum(axis=1))
            p, q = p / p.sum(), q / q.sum()
            total += float((p * np.log(p / q)).sum())
        P = transition_probabilities(self.X, 0.5, include_self=True)
        value, gradient = NeighborEmbedding(P, include_self=True).value_and_grad(self.Z)
        assert value == pytest.approx(total / 12)
        difference = self.Z[:, None] - self.Z
        q = np.exp(-np.square(difference).sum(axis=2))
        Q = q / q.sum(axis=1, keepdims=True)
        weights = P + P.T - Q - Q.T
        expected = 2.0 / 12 * np.einsum("li,lid->ld", weights, difference)  # Eq. (4)
        np.testing.assert_allclose(gradient, expected, atol=1e-12)

    def test_gradients(self):
        P = transition_probabilities(self.X, 0.5, include_self=True)
        for objective in (
            NeighborEmbedding(P, include_self=True),
            SparseNeighborEmbedding(csr_array(P), exact, include_self=True),
        ):
            expected = central_gradient(lambda at, o=objective: o.value_and_grad(at)[0], self.Z)
            np.testing.assert_allclose(objective.value_and_grad(self.Z)[1], expected, atol=1e-8)

    def test_sparse_equals_dense(self):
        P = transition_probabilities(self.X, 0.5, include_self=True)
        order = RNG.permutation(12)
        sparse = SparseNeighborEmbedding(csr_array(P), exact, include_self=True)
        dense = NeighborEmbedding(P, include_self=True).value_and_grad(self.Z)[0]
        assert sparse.value_and_grad(self.Z)[0] == pytest.approx(dense)
        assert sparse.take(order).value_and_grad(self.Z[order])[0] == pytest.approx(dense)

    def test_perplexities_count_the_row(self):
        X = RNG.standard_normal((40, 3))
        P = probabilities_of(np.square(X[:, None] - X).sum(axis=2), perplexity=6, include_self=True)
        assert (np.diag(P) == P.max(axis=1)).all()
        np.testing.assert_allclose(np.exp(-(P * np.log(P)).sum(axis=1)), 6.0, rtol=1e-6)

    @pytest.mark.parametrize("distances", ["euclidean", "geodesic"])
    def test_many_rows_are_embedded_as_few(self, monkeypatch, distances):
        X = make_s_curve(250, noise=0.02, random_state=1)[0]
        settings = {"include_self": True, "distances": distances, "up": "nw", "down": "nw"}
        few = SNE(perplexity=12, random_state=0, **settings).fit(X)
        assert few.kl_divergence_ < 0.2 * few.history_[0] or few.kl_divergence_ < 0.1
        monkeypatch.setattr(module, "MOST_DENSE", 100)
        many = SNE(perplexity=12, random_state=0, **settings).fit(X)
        assert many.kl_divergence_ == pytest.approx(few.kl_divergence_, abs=0.05)

    def test_models_of_older_files_do_without(self, model):
        older = object.__new__(SNE)
        older.__dict__.update({k: v for k, v in model.__dict__.items() if k != "include_self"})
        assert older.get_params()["include_self"] is False

    def test_only_truth_values(self, sheet):
        with pytest.raises(TypeError, match="include_self='yes'"):
            SNE(include_self="yes").fit(sheet)


class TestFit:
    def test_both_ways(self, model, sheet):
        assert model.score(sheet) > 0.98
        assert model.history_.shape == (model.n_iter_ + 1,)
        assert model.kl_divergence_ == model.history_.min()
        assert model.perplexity_ == 12.0
        assert np.isnan(model.guidance_bandwidth_)  # the geodesic start needs no guidance
        settings = {"perplexity": 12, "up": "nw", "down": "nw", "random_state": 0}
        assert SNE(init="pca", **settings).fit(sheet).guidance_bandwidth_ > 0.0
        assert SNE(distances="euclidean", **settings).fit(sheet).guidance_bandwidth_ > 0.0

    def test_the_error_is_that_of_the_latents(self, model, sheet):
        plain = SNE(distances="euclidean", perplexity=12, random_state=0).fit(sheet)
        centered = sheet - sheet.mean(axis=0)
        graph, _ = mutual_graph(centered, nearest(centered, None, 150 // 8)[0])
        along = probabilities_of(geodesic_distances(graph) ** 2, perplexity=12.0)
        for fitted, P in ((model, along), (plain, calibrated_neighbors(sheet, 12.0))):
            objective = NeighborEmbedding(P)
            value, gradient = objective.value_and_grad(fitted.embedding_)
            assert value == pytest.approx(fitted.kl_divergence_, rel=1e-6)
            first = objective.value_and_grad(sheet[:, :2])[1]
            assert np.abs(gradient).max() < 0.05 * np.abs(first).max()

    @pytest.mark.parametrize("most_dense", [2_000, 300])
    def test_rolls_are_unrolled(self, monkeypatch, most_dense):
        # Euclidean neighborhoods of 30 reach the next sheet, and R^2 is 0.3 to 0.4.
        monkeypatch.setattr(module, "MOST_DENSE", most_dense)
        X, truth = make_swiss_roll(900, 0.5, random_state=0)
        maps = {"up": "nw", "down": "nw", "random_state": 0}
        assert procrustes_r2(truth, SNE(**maps).fit(X).embedding_) > 0.98
        folded = SNE(distances="euclidean", **maps).fit(X)
        assert procrustes_r2(truth, folded.embedding_) < 0.7

    @pytest.mark.filterwarnings("ignore:The divergence was still falling")
    def test_guidance_untangles_random_starts(self, sheet):
        ends = {}
        for guidance in (None, "auto"):
            ends[guidance] = [
                SNE(
                    bandwidth=0.1,
                    guidance=guidance,
                    optimizer="gd",
                    max_iter=60,
                    tol=0.0,
                    init="random",
                    up="nw",
                    down="nw",
                    random_state=seed,
                )
                .fit(sheet)
                .kl_divergence_
                for seed in range(5)
            ]
        assert np.median(ends["auto"]) < np.median(ends[None])

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("optimizer", ["lbfgs", "rprop", "cg", "gd"])
    @pytest.mark.parametrize("form", ["power", "truncated"])
    def test_every_minimizer_can_be_guided(self, sheet, optimizer, form):
        start = np.random.default_rng(0).standard_normal((len(sheet), 2))
        maps = {"up": "nw", "down": "nw"}
        guidance = SpectralGuidance(form=form)
        affinity = guidance.prepare(sheet).matrix

        def roughness(guidance):
            model = SNE(perplexity=12, optimizer=optimizer, init=start, max_iter=1, **maps)
            Z = model.set_params(guidance=guidance).fit(sheet).embedding_
            move = Z - start - (Z - start).mean(axis=0)
            return np.linalg.norm(move - affinity @ move) / np.linalg.norm(move)

        assert roughness(guidance) < 0.6 * roughness(None)
        whole = SNE(perplexity=12, optimizer=optimizer, guidance=guidance, **maps).fit(sheet)
        assert whole.kl_divergence_ < 0.25 * whole.history_[0]

    def test_many_rows_are_embedded_as_well_as_few(self, monkeypatch):
        X = make_s_curve(250, noise=0.02, random_state=1)[0]
        settings = {"perplexity": 12, "random_state": 0, "up": "nw", "down": "nw"}
        few = SNE(**settings).fit(X)
        monkeypatch.setattr(module, "MOST_DENSE", 100)
        many = SNE(**settings).fit(X)
        objective = NeighborEmbedding(calibrated_neighbors(X, 12.0))
        ends = [objective.value_and_grad(fitted.embedding_)[0] for fitted in (few, many)]
        assert ends[1] < 1.05 * ends[0]
        fixed = SNE(bandwidth=0.05, **settings).fit(X)
        assert np.isnan(fixed.perplexity_)
        assert fixed.kl_divergence_ < 0.2 * fixed.history_[0]

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_bandwidths_carry_units(self, sheet):
        settings = {"random_state": 0, "up": "nw", "down": "nw", "max_iter": 20}
        one = SNE(bandwidth=0.2, guidance=SpectralGuidance(bandwidth=0.3), **settings)
        other = SNE(bandwidth=3.2, guidance=SpectralGuidance(bandwidth=4.8), **settings)
        one.fit(sheet)
        np.testing.assert_array_equal(one.embedding_, other.fit(4.0 * sheet).embedding_)
        assert one.guidance_bandwidth_ == pytest.approx(0.3)

    def test_latents_of_ones_own_are_the_start(self, sheet, model):
        settings = {"perplexity": 12, "guidance": None, "up": "nw", "down": "nw", "random_state": 0}
        again = SNE(init=model.embedding_, max_iter=5, **settings).fit(sheet)
        assert again.history_[0] == pytest.approx(model.kl_divergence_, rel=1e-6)
        with pytest.raises(ValueError, match="3 columns"):
            SNE(init=np.ones((150, 3)), **settings).fit(sheet)
        with pytest.raises(ValueError, match="all latents in one place"):
            SNE(init=np.ones((150, 2)), **settings).fit(sheet)

    def test_a_large_perplexity_is_lowered(self, sheet):
        few = SNE(random_state=0).fit(sheet[:20])
        assert few.perplexity_ == pytest.approx(19 / 3)

    def test_a_run_cut_short_says_so(self, sheet):
        with pytest.warns(UserWarning, match="max_iter=2 was reached"):
            SNE(perplexity=12, guidance=None, max_iter=2, random_state=0).fit(sheet)

    def test_a_run_that_ends_guided_says_so(self, sheet):
        slow = SpectralGuidance(form="truncated", schedule=(1, 149))
        with pytest.warns(UserWarning, match=r"\(max_iter=25\) while steps were still guided"):
            SNE(perplexity=12, guidance=slow, max_iter=25, tol=1e-9, random_state=0).fit(sheet)

    @pytest.mark.parametrize("optimizer", ["lbfgs", "gd"])
    @pytest.mark.parametrize(
        "settings",
        [
            {"schedule": (5, 1)},
            {"schedule": lambda _: 2},
            {"schedule": (1, 10), "form": "truncated"},
        ],
    )
    def test_a_guidance_that_never_ends_says_so(self, settings, optimizer, sheet):
        model = SNE(
            perplexity=8,
            init="random",
            distances="euclidean",
            optimizer=optimizer,
            guidance=SpectralGuidance(**settings),
            max_iter=40,
            random_state=0,
        )
        with pytest.warns(ConvergenceWarning, match="never becomes plain.*End the schedule at 0"):
            model.fit(sheet[:60])

    @pytest.mark.filterwarnings("ignore:The divergence was still falling")
    def test_a_minimizer_of_ones_own(self, sheet):
        class Steps:
            def minimize(self, objective, Z0, *, callback=None):
                return GradientDescent(max_iter=10_000, tol=0.0).minimize(
                    objective, Z0, callback=callback
                )

        for guidance in (None, SpectralGuidance(schedule=(2, 0), hold=2)):
            fitted = SNE(
                perplexity=12, optimizer=Steps(), guidance=guidance, max_iter=30, random_state=0
            ).fit(sheet)
            assert fitted.n_iter_ == 30

    @pytest.mark.parametrize(
        ("settings", "error", "message"),
        [
            ({"perplexity": 1.0}, ValueError, "perplexity=1.0"),
            ({"bandwidth": 0.0}, ValueError, "bandwidth=0.0"),
            ({"distances": "cosine"}, ValueError, "distances='cosine'"),
            ({"guidance": "none"}, TypeError, "guidance='none'"),
            ({"guidance": SpectralGuidance(form="deflated")}, ValueError, "form='deflated'"),
            ({"optimizer": "adam"}, ValueError, "optimizer='adam'"),
            ({"max_iter": 0}, ValueError, "max_iter"),
            ({"up": "gp"}, ValueError, "up="),
            ({"n_centers": 0}, ValueError, "n_centers"),
        ],
    )
    def test_settings_that_make_no_sense(self, sheet, settings, error, message):
        with pytest.raises(error, match=message):
            SNE(**{"perplexity": 12, **settings}).fit(sheet)

    @pytest.mark.filterwarnings("ignore:The divergence was still falling")
    def test_deflation_is_for_descent(self, sheet):
        fitted = SNE(
            perplexity=12,
            optimizer=GradientDescent(max_iter=40, tol=1e-3),
            guidance=SpectralGuidance(form="deflated"),
            init="random",
            up="nw",
            down="nw",
            random_state=0,
        ).fit(sheet)
        assert (np.diff(fitted.history_) <= 0.0).all()


def test_rows_in_another_order_have_the_same_divergence():
    X = RNG.standard_normal((150, 4))
    P = neighbor_matrix(X, nearest(X, None, 20)[0], perplexity=6.0)
    Z, order = RNG.standard_normal((150, 2)), RNG.permutation(150)

    def weigh(points):
        return DenseWeights.of(points, Gaussian())

    embedding = SparseNeighborEmbedding(P, weigh)
    value, gradient = embedding.value_and_grad(Z)
    moved, other = embedding.take(order).value_and_grad(Z[order])
    assert moved == pytest.approx(value)
    np.testing.assert_allclose(other, gradient[order], atol=1e-10)


def test_weights_of_a_spreading_map_do_not_need_a_huge_grid():
    weigh = module._Weigher(4.0)
    Z = RNG.standard_normal((3_000, 2))
    assert isinstance(weigh(Z), GridWeights)
    assert isinstance(weigh(1.1 * Z), GridWeights)
    Z[0] = 1e5
    assert not isinstance(weigh(Z), GridWeights)

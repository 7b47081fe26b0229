"""Real powers of affinities, the end of deflation, and truncation of many rows."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array

from twofold import SNE
from twofold.datasets import make_noisy_helix, make_s_curve
from twofold.optimize import LBFGS, GradientDescent, SpectralGuidance, Staged
from twofold.optimize import _spectrum as module
from twofold.optimize import guidance as guidance_module

RNG = np.random.default_rng(0)


def by_eigenvectors(M, exponent, values):
    """Return ``V D^nu V^T`` times values, the definition above Eq. (17)."""
    eigenvalues, vectors = eigh(M @ np.eye(M.shape[0]))
    return vectors @ (np.maximum(eigenvalues, 0.0)[:, None] ** exponent * (vectors.T @ values))


class TestRealPowers:
    X = make_noisy_helix(80, random_state=0)[0]
    G = np.random.default_rng(0).standard_normal((80, 2))

    @pytest.mark.parametrize("affinity", ["clustering", "kpca"])
    @pytest.mark.parametrize("level", [0.1, 0.5, 1.0, 2.5, 7.25])
    def test_is_the_power_of_the_spectrum(self, affinity, level):
        guide = SpectralGuidance(affinity, bandwidth=1.0, schedule=(level, level)).prepare(self.X)
        expected = by_eigenvectors(guide.matrix, level, self.G)
        np.testing.assert_allclose(guide.guided(self.G, 3), expected, atol=1e-7)

    def test_powers_add(self):
        guide = SpectralGuidance(bandwidth=1.0).prepare(self.X)
        twice = guide.power(guide.power(self.G, 1.3), 1.7)
        np.testing.assert_allclose(twice, guide.power(self.G, 3), atol=1e-8)

    def test_small_powers_approach_the_plain_gradient(self):
        # "a choice 0 < nu < 1 will flatten the spectrum": more of the rough part is left.
        guide = SpectralGuidance(bandwidth=0.05).prepare(self.X)
        left = [np.linalg.norm(guide.power(self.G, level)) for level in (2, 1, 0.5, 0.1, 0.01)]
        assert left == sorted(left)
        assert np.linalg.norm(guide.power(self.G, 0.001) - self.G) < 0.05 * np.linalg.norm(self.G)

    @pytest.mark.parametrize("affinity", ["clustering", "kpca", "own"])
    @pytest.mark.parametrize("level", [0.25, 0.5, 3.75])
    def test_many_rows_take_products_only(self, monkeypatch, affinity, level):
        monkeypatch.setattr(module, "MOST_DENSE", 100)
        monkeypatch.setattr(guidance_module, "MOST_DENSE", 100)
        X = RNG.standard_normal((300, 3))
        if affinity == "own":
            beside = np.full(299, 0.2)
            affinity = csr_array(
                diags_array([np.full(300, 0.6), beside, beside], offsets=[0, 1, -1])
            )
        guide = SpectralGuidance(affinity, schedule=(level, level)).prepare(X)
        G = RNG.standard_normal((300, 2))
        found = guide.guided(G, 0)
        assert "_all" not in guide._spectrum.__dict__
        np.testing.assert_allclose(found, by_eigenvectors(guide.matrix, level, G), atol=1e-7)

    def test_a_negative_eigenvalue_has_no_real_power(self):
        M = np.diag([1.0, 0.5, -0.5])
        guide = SpectralGuidance(M).prepare(np.eye(3))
        np.testing.assert_allclose(guide.power(np.ones((3, 1)), 2)[:, 0], [1.0, 0.25, 0.25])
        with pytest.raises(ValueError, match="negative eigenvalue -0"):
            guide.power(np.ones((3, 1)), 0.5)
        many = diags_array(np.linspace(-0.5, 1.0, 2_100)).tocsr()
        guide = SpectralGuidance(many).prepare(RNG.standard_normal((2_100, 2)))
        with pytest.raises(ValueError, match="negative eigenvalue -0"):
            guide.power(np.ones((2_100, 1)), 0.5)

    def test_stages_of_real_powers_are_exact_roots(self):
        guidance = SpectralGuidance(
            bandwidth=1.0, schedule=lambda done: max(0.0, 1.5 - 0.5 * done), hold=2
        )
        stages = list(guidance.prepare(self.X).stages())
        assert [n for _, n in stages] == [2, 2, 2, np.inf]
        for level, (change, _) in zip((1.5, 2, 0.5), stages[:-1], strict=True):  # 1 is rounded up
            expected = by_eigenvectors(guidance.prepare(self.X).matrix, level, self.G)
            np.testing.assert_allclose(change.apply(change.adjoint(self.G)), expected, atol=1e-7)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("optimizer", ["gd", "lbfgs"])
    def test_as_a_parameter_of_an_estimator(self, optimizer):
        X = make_s_curve(80, noise=0.02, random_state=0)[0]
        flat = SpectralGuidance(schedule=lambda done: max(0.0, 2.0 - 0.25 * done), hold=2)
        settings = {"perplexity": 8, "init": "random", "random_state": 0, "up": "nw", "down": "nw"}
        model = SNE(guidance=flat, optimizer=optimizer, **settings).fit(X)
        assert model.kl_divergence_ < 0.2 * model.history_[0]


class TestEndOfDeflation:
    X = make_noisy_helix(80, random_state=0)[0]
    G = np.random.default_rng(0).standard_normal((80, 2))

    def guided(self, form, n_iter, **settings):
        guidance = SpectralGuidance(bandwidth=1.0, form=form, schedule=(6, 0), **settings)
        return guidance.prepare(self.X).guided(self.G, n_iter)

    def test_directions_are_projected_out_above_the_threshold_only(self):
        for n_iter, level in enumerate(range(6, 0, -1)):
            always = self.guided("deflated", n_iter)
            until_three = self.guided("deflated", n_iter, deflate_above=3.0)
            power = self.guided("power", n_iter)
            assert np.linalg.norm(always - power) > 1e-3 * np.linalg.norm(power)
            expected = always if level > 3 else power
            np.testing.assert_array_equal(until_three, expected)
        assert self.guided("deflated", 6) is self.G

    def test_later_levels_may_be_any_numbers(self):
        guidance = SpectralGuidance(
            form="deflated", bandwidth=1.0, schedule=(3, 0.5), deflate_above=1.0
        )
        guide = guidance.prepare(self.X)
        np.testing.assert_array_equal(guide.guided(self.G, 9), guide.power(self.G, 0.5))
        with pytest.raises(ValueError, match="whole powers above deflate_above="):
            SpectralGuidance(form="deflated", schedule=lambda _: 1.5).prepare(self.X).level(0)


class TestTruncationOfManyRows:
    X = np.column_stack([np.linspace(0.0, 30.0, 2_200), np.zeros(2_200)])

    def guide(self, **settings):
        settings = {"form": "truncated", "schedule": (1, 40), "bandwidth": 0.01, **settings}
        return SpectralGuidance(**settings).prepare(self.X)

    def test_projects_to_the_eigenvectors_of_the_matrix(self):
        # Links of different lengths keep the leading eigenvalues apart.
        X = np.cumsum(np.random.default_rng(1).uniform(0.5, 1.5, (2_200, 1)), axis=0)
        guidance = SpectralGuidance(
            form="truncated", schedule=(1, 40), bandwidth=30.0, n_eigenvectors=40
        )
        guide = guidance.prepare(X)
        G = np.random.default_rng(0).standard_normal((2_200, 2))
        vectors = eigh(guide.matrix.toarray(), subset_by_index=[2_150, 2_199])[1][:, ::-1]
        leading = vectors[:, 1:6]
        np.testing.assert_allclose(guide.guided(G, 4), leading @ (leading.T @ G), atol=1e-5)

    def test_the_number_of_eigenvectors_is_the_end(self):
        G = np.random.default_rng(0).standard_normal((2_200, 1))
        few = self.guide(n_eigenvectors=20)
        assert few.vectors().shape == (2_200, 21)
        assert not few.is_plain(18)
        assert few.is_plain(19)
        assert few.guided(G, 19) is G
        assert few.fades
        more = self.guide(n_eigenvectors=60)
        assert not more.is_plain(39)
        assert not more.fades  # the schedule ends before them
        assert self.guide(schedule="auto").is_plain(9)

    def test_few_rows_end_with_all(self):
        X = self.X[:50]
        guide = SpectralGuidance(form="truncated", schedule=(1, 60), n_eigenvectors=5).prepare(X)
        assert not guide.is_plain(30)
        assert guide.is_plain(48)

    def test_descents_and_stages_run(self):
        goal = np.sin(self.X)

        class Bowl:
            def value_and_grad(self, Z):
                return float(np.square(Z - goal).sum()), 2.0 * (Z - goal)

        guide = self.guide(n_eigenvectors=12, hold=1)
        for minimizer in (GradientDescent(guide=guide), Staged(LBFGS(), guide)):
            result = minimizer.minimize(
                Bowl(), np.random.default_rng(0).standard_normal((2_200, 2))
            )
            assert result.value < 1e-6
